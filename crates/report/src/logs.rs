//! Lines of fio's log files: `time, value, direction, block size[, offset], priority[, issue time]`, times in
//! milliseconds.

pub mod packed;

use iostrata_result::series::{HistogramRow, IoRecord, LogKind, Recorded, RecordedAction, WindowRow};

/// How the lines of a job's logs look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogStyle {
    /// A column with the offset.
    pub offset: bool,
    /// The last column holds the whole I/O priority, in hexadecimal.
    pub prio: bool,
    /// A column with the time of issue.
    pub issue_time: bool,
    /// Windows show their mean.
    pub mean: bool,
    /// Windows show their largest value.
    pub largest: bool,
    /// What is added to times, milliseconds.
    pub base_ms: u64,
    /// The job's I/O priority.
    pub priority: u16,
}

/// One line or one compressed record: what an I/O, or a window, has to say in one log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Milliseconds, the style's base left out.
    pub time_ms: u64,
    /// What the log is about.
    pub value: u64,
    /// The largest value of a window; the value itself for an I/O.
    pub largest: u64,
    /// 0 read, 1 write, 2 trim.
    pub direction: u8,
    /// Length of the I/O; 0 for a window.
    pub bytes: u64,
    /// Offset of the I/O; 0 for a window.
    pub offset: u64,
    /// When the I/O was issued; 0 for a window.
    pub issued_ns: u64,
    /// The I/O's priority; 0 for the job's.
    pub priority: u16,
}

impl Entry {
    /// Of an I/O in a log without windows; `None` where a histogram is asked for.
    pub fn of_io(kind: LogKind, io: &IoRecord) -> Option<Entry> {
        let value = match kind {
            // As fio: thousands of bytes per second during this I/O.
            LogKind::Bandwidth => u64::from(io.bytes) * 1_000_000 / io.clat_ns.max(1),
            LogKind::Iops => 1,
            LogKind::Slat => io.slat_ns,
            LogKind::Clat => io.clat_ns,
            LogKind::Lat => io.lat_ns,
            LogKind::ClatHistogram => return None,
        };
        Some(Entry {
            time_ms: io.completed_ns / 1_000_000,
            value,
            largest: value,
            direction: io.direction,
            bytes: io.bytes.into(),
            offset: io.offset,
            issued_ns: io.issued_ns,
            priority: io.priority,
        })
    }

    /// Of a window.
    pub fn of_window(row: &WindowRow) -> Entry {
        Entry {
            time_ms: row.end_ms,
            value: row.mean,
            largest: row.largest,
            direction: row.direction,
            bytes: 0,
            offset: 0,
            issued_ns: 0,
            priority: 0,
        }
    }

    /// An I/O without a byte is none.
    fn is_window(&self) -> bool {
        self.bytes == 0
    }

    /// As in fio, whose windows know of no priority.
    fn priority(&self, style: &LogStyle) -> u16 {
        match self.priority {
            _ if self.is_window() => 0,
            0 => style.priority,
            own => own,
        }
    }

    /// The line of text.
    pub fn line(&self, style: &LogStyle) -> String {
        let mut line = Vec::new();
        self.write_line(style, &mut line);
        String::from_utf8_lossy(&line).into_owned()
    }

    /// Adds the line of text to others. There may be millions of them: nothing is allocated for one.
    pub fn write_line(&self, style: &LogStyle, lines: &mut Vec<u8>) {
        let mut digits = itoa::Buffer::new();
        let mut number = |lines: &mut Vec<u8>, before: &str, value: u64| {
            lines.extend_from_slice(before.as_bytes());
            lines.extend_from_slice(digits.format(value).as_bytes());
        };
        number(lines, "", self.time_ms + style.base_ms);
        match (style.mean, style.largest) {
            (true, true) if self.is_window() => {
                number(lines, ", ", self.value);
                number(lines, ", ", self.largest);
            }
            (false, true) => number(lines, ", ", self.largest),
            _ => number(lines, ", ", self.value),
        }
        number(lines, ", ", self.direction.into());
        number(lines, ", ", self.bytes);
        if style.offset {
            number(lines, ", ", self.offset);
        }
        let priority = self.priority(style);
        if style.prio {
            lines.extend_from_slice(format!(", 0x{priority:04x}").as_bytes());
        } else {
            // Class 1 is real time, which fio calls high.
            lines.extend_from_slice(if priority >> 13 == 1 { b", 1" } else { b", 0" });
        }
        if style.issue_time {
            number(lines, ", ", self.issued_ns);
        }
        lines.push(b'\n');
    }
}

/// The line of a histogram: `time, direction, block size, count, count, …`.
pub fn histogram_line(row: &HistogramRow, style: &LogStyle) -> String {
    let mut line = format!("{}, {}, {}", row.end_ms + style.base_ms, row.direction, row.block_bytes);
    for count in &row.bins {
        line.push_str(", ");
        line.push_str(&count.to_string());
    }
    line.push('\n');
    line
}

/// The first line of a recording that fio can replay (its version 3).
pub const RECORDING_HEADER: &str = "fio version 3 iolog\n";

/// A line of a recording: `µs file action[ offset length]`.
pub fn recorded_line(file: &str, line: &Recorded) -> String {
    let (word, moves) = match line.action {
        RecordedAction::Add => ("add", false),
        RecordedAction::Open => ("open", false),
        RecordedAction::Close => ("close", false),
        RecordedAction::Read => ("read", true),
        RecordedAction::Write => ("write", true),
        RecordedAction::Trim => ("trim", true),
        RecordedAction::Sync => ("sync", true),
        RecordedAction::DataSync => ("datasync", true),
    };
    let place = if moves { format!(" {} {}", line.offset, line.bytes) } else { String::new() };
    format!("{} {file} {word}{place}\n", line.at_ns / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IO: IoRecord = IoRecord {
        completed_ns: 12_345_678,
        issued_ns: 12_190_578,
        slat_ns: 99_217,
        clat_ns: 155_100,
        lat_ns: 254_317,
        offset: 61_440,
        bytes: 4096,
        direction: 1,
        priority: 0,
    };

    #[test]
    fn an_io_has_a_line_in_each_log_with_the_columns_that_were_asked_for() {
        let plain = LogStyle::default();
        let line = |kind, style: &LogStyle| Entry::of_io(kind, &IO).map(|entry| entry.line(style));
        let lines: Vec<_> = LogKind::ALL.into_iter().map(|kind| line(kind, &plain)).collect();
        let wanted = ["12, 26408, 1, 4096, 0\n", "12, 1, 1, 4096, 0\n", "12, 99217, 1, 4096, 0\n"];
        assert_eq!(lines[..3], wanted.map(|line| Some(line.to_owned())));
        assert_eq!(lines[5], None);
        let all = LogStyle { offset: true, prio: true, issue_time: true, base_ms: 1000, priority: 0x4004, ..plain };
        assert_eq!(line(LogKind::Lat, &all).unwrap(), "1012, 254317, 1, 4096, 61440, 0x4004, 12190578\n");
        let own = Entry::of_io(LogKind::Iops, &IoRecord { priority: 0x2003, ..IO }).unwrap();
        assert_eq!(
            (own.line(&plain), own.line(&LogStyle { prio: true, ..plain })),
            ("12, 1, 1, 4096, 1\n".to_owned(), "12, 1, 1, 4096, 0x2003\n".to_owned(),)
        );
    }

    #[test]
    fn windows_show_mean_largest_or_both() {
        let row = WindowRow { kind: LogKind::Clat, end_ms: 500, direction: 0, mean: 7, largest: 9 };
        let style = |mean, largest| LogStyle { mean, largest, ..LogStyle::default() };
        assert_eq!(Entry::of_window(&row).line(&style(true, false)), "500, 7, 0, 0, 0\n");
        assert_eq!(Entry::of_window(&row).line(&style(false, true)), "500, 9, 0, 0, 0\n");
        assert_eq!(Entry::of_window(&row).line(&style(true, true)), "500, 7, 9, 0, 0, 0\n");
    }

    #[test]
    fn a_recording_is_written_as_fio_writes_it() {
        let line =
            |action, offset, bytes| recorded_line("a.dat", &Recorded { at_ns: 12_345, offset, bytes, file: 0, action });
        assert_eq!(line(RecordedAction::Add, 0, 0), "12 a.dat add\n");
        assert_eq!(line(RecordedAction::Write, 4096, 512), "12 a.dat write 4096 512\n");
        assert_eq!(line(RecordedAction::DataSync, 4096, 0), "12 a.dat datasync 4096 0\n");
    }

    #[test]
    fn a_histogram_is_one_line() {
        let row = HistogramRow { end_ms: 10, direction: 2, block_bytes: 512, bins: vec![0, 3, 1].into() };
        assert_eq!(histogram_line(&row, &LogStyle::default()), "10, 2, 512, 0, 3, 1\n");
    }
}
