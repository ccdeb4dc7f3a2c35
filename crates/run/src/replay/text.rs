//! Lines of fio's recordings.
//!
//! Version 3: `µs file add|open|close` and `µs file read|write|trim|sync|datasync offset length`. Version 2 has no
//! times; `file wait µs 0` lets time pass. The format is described in fio's manual.

use std::ops::Range;

use iostrata_engine::Op;

use super::Action;

/// What one line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// Its time, microseconds; none in version 2.
    pub(super) at_us: Option<u64>,
    pub(super) file: &'a str,
    pub(super) what: What,
}

/// What is done with the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// It is made known.
    Add,
    /// As in entries.
    Do(Action, u64, u64),
    /// So many microseconds pass.
    Wait(u64),
    /// Nothing that a replay does.
    Nothing,
}

/// Why a line makes no sense, and which bytes of it.
pub(super) type Wrong = (Range<usize>, String);

/// The version in `fio version 3 iolog`; `None` for any other line.
pub(super) fn version(line: &str) -> Option<&str> {
    line.trim().strip_prefix("fio version ")?.strip_suffix(" iolog")
}

/// Actions that have an offset and a length.
const ACTIONS: [&str; 5] = ["read", "write", "trim", "sync", "datasync"];
/// Shorter pauses are no pauses: the manual says so.
const SHORTEST_WAIT_US: u64 = 100;
/// A transfer moves at most this much, bytes: the system takes no larger one.
const MOST_BYTES: u64 = 1 << 30;

impl<'a> Line<'a> {
    /// Takes a line apart; blanks within a file's name are kept.
    pub(super) fn parse(line: &'a str, version: u32) -> Result<Line<'a>, Wrong> {
        let mut words = Words { line, at: 0..line.len() };
        let at_us = match version {
            2 => None,
            _ => Some(number(line, words.first().ok_or_else(|| short(line))?, "a time in microseconds")?),
        };
        let last = words.last().ok_or_else(|| short(line))?;
        let file_action = match &line[last.clone()] {
            "add" => Some(What::Add),
            "open" => Some(What::Do(Action::Open, 0, 0)),
            "close" => Some(What::Do(Action::Close, 0, 0)),
            _ => None,
        };
        if let Some(what) = file_action {
            return Ok(Line { at_us, file: words.rest().ok_or_else(|| short(line))?, what });
        }
        let (Some(offset), Some(action)) = (words.last(), words.last()) else { return Err(short(line)) };
        let what = request(line, version, action, offset, last)?;
        Ok(Line { at_us, file: words.rest().ok_or_else(|| short(line))?, what })
    }
}

fn request(
    line: &str,
    version: u32,
    action: Range<usize>,
    offset: Range<usize>,
    len: Range<usize>,
) -> Result<What, Wrong> {
    let op = match &line[action.clone()] {
        "read" => Op::Read,
        "write" => Op::Write,
        "trim" => Op::Trim,
        "sync" => Op::Sync,
        "datasync" => Op::DataSync,
        "wait" if version == 2 => {
            let wait_us = number(line, offset, "a time in microseconds")?;
            return Ok(if wait_us < SHORTEST_WAIT_US { What::Nothing } else { What::Wait(wait_us) });
        }
        "wait" => return Err((action, "version 3 has times and no `wait`".into())),
        // fio records it, and does not read it.
        "sync_file_range" => return Ok(What::Nothing),
        // The length is missing.
        _ if ACTIONS.contains(&&line[offset.clone()]) => return Err(short(line)),
        other => {
            let message = format!(
                "unknown action `{other}`: there are add, open, close, and with offset and length read, write, trim, \
                 sync and datasync"
            );
            return Err((action, message));
        }
    };
    let place = number(line, offset, "an offset in bytes")?;
    let bytes = number(line, len.clone(), "a length in bytes")?;
    match op {
        // fio records the place of the write before.
        Op::Sync | Op::DataSync => return Ok(What::Do(Action::Io(op), 0, 0)),
        Op::Read | Op::Write if bytes > MOST_BYTES => return Err((len, "no transfer is longer than 1 GiB".into())),
        Op::Trim if bytes > u64::from(u32::MAX) => return Err((len, "no trim here is longer than 4 GiB".into())),
        _ => {}
    }
    if place.checked_add(bytes).is_none_or(|end| i64::try_from(end).is_err()) {
        return Err((0..line.len(), "this lies beyond what any file can hold".into()));
    }
    Ok(if bytes == 0 { What::Nothing } else { What::Do(Action::Io(op), place, bytes) })
}

fn short(line: &str) -> Wrong {
    (0..line.len(), "a line names a file and an action; reads, writes and trims have offset and length".into())
}

fn number(line: &str, span: Range<usize>, what: &str) -> Result<u64, Wrong> {
    let word = &line[span.clone()];
    word.parse().map_err(|_| (span, format!("`{word}` is not {what}")))
}

/// The words of a line, taken from both ends.
struct Words<'a> {
    line: &'a str,
    at: Range<usize>,
}

impl<'a> Words<'a> {
    fn first(&mut self) -> Option<Range<usize>> {
        let rest = self.rest()?;
        let len = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let start = self.at.start;
        self.at.start += len;
        Some(start..start + len)
    }

    fn last(&mut self) -> Option<Range<usize>> {
        let rest = self.rest()?;
        let start = rest.rfind(char::is_whitespace).map_or(0, |blank| blank + 1);
        let word = self.at.start + start..self.at.end;
        self.at.end = word.start;
        Some(word)
    }

    /// All that is left, without the blanks around it; none if that is nothing.
    fn rest(&mut self) -> Option<&'a str> {
        let rest = &self.line[self.at.clone()];
        let trimmed = rest.trim();
        let start = self.at.start + (rest.len() - rest.trim_start().len());
        self.at = start..start + trimmed.len();
        (!trimmed.is_empty()).then_some(trimmed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(op: Op, offset: u64, len: u64) -> What {
        What::Do(Action::Io(op), offset, len)
    }

    #[test]
    fn both_versions_are_read() {
        let line = |at_us, file, what| Ok(Line { at_us, file, what });
        assert_eq!(Line::parse("12 a.dat read 4096 512", 3), line(Some(12), "a.dat", io(Op::Read, 4096, 512)));
        assert_eq!(Line::parse(" 0  a.dat\tadd ", 3), line(Some(0), "a.dat", What::Add));
        assert_eq!(Line::parse("a.dat trim 0 4096", 2), line(None, "a.dat", io(Op::Trim, 0, 4096)));
        assert_eq!(Line::parse("7 a b.dat close", 3), line(Some(7), "a b.dat", What::Do(Action::Close, 0, 0)));
        assert_eq!(Line::parse("7 a b.dat sync 4096 0", 3), line(Some(7), "a b.dat", io(Op::Sync, 0, 0)));
        assert_eq!(Line::parse("f wait 2000 0", 2), line(None, "f", What::Wait(2000)));
        assert_eq!(Line::parse("f wait 99 0", 2), line(None, "f", What::Nothing));
        assert_eq!(Line::parse("3 f sync_file_range 4096 0", 3), line(Some(3), "f", What::Nothing));
    }

    #[test]
    fn what_makes_no_sense_is_pointed_at() {
        for (line, version, wrong) in [
            ("x f read 0 1", 3, "x"),
            ("5 f frob 0 4096", 3, "frob"),
            ("5 f read x 4096", 3, "x"),
            ("5 f read 0 -4", 3, "-4"),
            ("5 f wait 100 0", 3, "wait"),
            ("5 f read 0 1073741825", 3, "1073741825"),
            ("5 f trim 0 4294967296", 3, "4294967296"),
            ("5 f write 9223372036854775807 1", 3, "5 f write 9223372036854775807 1"),
            ("5 f read 0", 3, "5 f read 0"),
            ("abc", 3, "abc"),
            ("5 add", 3, "5 add"),
            ("5 read 0 1", 3, "5 read 0 1"),
            ("open", 2, "open"),
        ] {
            let (span, message) = Line::parse(line, version).expect_err(line);
            assert_eq!(&line[span], wrong, "{line}: {message}");
        }
    }

    #[test]
    fn only_a_header_is_a_header() {
        assert_eq!(version("fio version 3 iolog\n"), Some("3"));
        assert_eq!(version("fio version 3 iolog of mine"), None);
        assert_eq!(version("12 fio version"), None);
    }
}
