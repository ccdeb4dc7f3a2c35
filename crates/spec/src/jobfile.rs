//! Job files: text to sections.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::api::{Host, Source};
use crate::grammar::evaluate_plain;
use crate::report::Report;
use crate::words::{Line, Section, Spot, Word};

/// Includes nest this deep; a file that includes itself ends here.
const DEEPEST_INCLUDE: u32 = 16;
/// Lines that a job file may include; more is a loop of includes.
const MOST_INCLUDED: usize = 10_000;

struct Reader<'a> {
    host: &'a Host,
    source: &'a dyn Source,
    sections: Vec<Section>,
    report: &'a mut Report,
    included: usize,
}

/// The sections of the job file at `path`; what is wrong goes to `report`.
pub(crate) fn read(
    path: &Path,
    named_at: &Spot,
    host: &Host,
    source: &dyn Source,
    report: &mut Report,
) -> Vec<Section> {
    let mut reader = Reader { host, source, sections: Vec::new(), report, included: 0 };
    reader.file(path, named_at, 0);
    reader.sections
}

impl Reader<'_> {
    fn file(&mut self, path: &Path, named_at: &Spot, depth: u32) {
        let bytes = match self.source.read(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                let message = format!("unable to open job file `{}`: {error}", path.display());
                let device =
                    path.starts_with("/dev").then(|| format!("a device is given with --filename={}", path.display()));
                return self.report.error(named_at, message, device);
            }
        };
        if bytes.contains(&0) {
            let message = format!("`{}` is no job file: it is not text", path.display());
            let help = "a device or data file is given with --filename=".to_owned();
            return self.report.error(named_at, message, Some(help));
        }
        let origin: Rc<str> =
            if path == Path::new("-") { "standard input".into() } else { path.to_string_lossy().into() };
        for (index, raw) in bytes.split(|b| *b == b'\n').enumerate() {
            self.included += usize::from(depth > 0);
            if depth > 0 && self.included > MOST_INCLUDED {
                let message = "too many lines are included; does a file include itself?";
                return self.report.error(named_at, message, None);
            }
            let raw = raw.strip_suffix(b"\r").unwrap_or(raw);
            let text = String::from_utf8_lossy(raw);
            let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
            let invalid = matches!(text, std::borrow::Cow::Owned(_));
            let line = Rc::new(Line { origin: Rc::clone(&origin), number, text: text.into_owned() });
            if invalid {
                let all = Spot { span: 0..line.text.len(), line };
                self.report.error(&all, "the line is not UTF-8", None);
                continue;
            }
            self.line(&line, path, depth);
        }
    }

    fn line(&mut self, line: &Rc<Line>, path: &Path, depth: u32) {
        let code = line.text.split([';', '#']).next().unwrap_or("");
        let start = code.len() - code.trim_start().len();
        let text = code.trim();
        let spot = Spot { line: Rc::clone(line), span: start..start + text.len() };
        if text.is_empty() {
            return;
        }
        if text.starts_with('[') {
            return self.header(text, spot, depth);
        }
        if self.sections.is_empty() {
            let help = "begin with `[global]` or `[name of a job]`".to_owned();
            let message = format!("option `{text}` stands outside of any [section]");
            return self.report.error(&spot, message, Some(help));
        }
        if let Some(rest) = text.strip_prefix("include").filter(|r| r.starts_with(char::is_whitespace)) {
            return self.include(rest.trim(), &spot, path, depth);
        }
        let mut word = self.word(text, &spot);
        if let (Some(word), Some(whole)) = (&mut word, uncut(&line.text)) {
            let value = self.expand(whole).split_once('=').map(|(_, value)| self.keywords(value.trim()));
            word.uncut = value.filter(|_| word.value.is_some());
        }
        if let (Some(word), Some(section)) = (word, self.sections.last_mut()) {
            section.words.push(word);
        }
    }

    fn header(&mut self, text: &str, spot: Spot, depth: u32) {
        if depth > 0 {
            return self.report.error(&spot, "an included file holds no sections", None);
        }
        let (name, rest) = match text.rfind(']') {
            Some(end) => (&text[1..end], text[end + 1..].trim()),
            None => return self.report.error(&spot, "`]` is missing at the end of the section's name", None),
        };
        if !rest.is_empty() {
            return self.report.error(&spot, format!("`{rest}` after the section's name"), None);
        }
        self.sections.push(Section { name: name.to_owned(), spot, words: Vec::new() });
    }

    fn include(&mut self, name: &str, spot: &Spot, path: &Path, depth: u32) {
        if depth >= DEEPEST_INCLUDE {
            return self.report.error(spot, "includes are nested too deeply", None);
        }
        let name = self.expand(name);
        let relative = PathBuf::from(&name);
        let target = match path.parent() {
            Some(folder) if relative.is_relative() => folder.join(relative),
            _ => relative,
        };
        self.file(&target, spot, depth + 1);
    }

    fn word(&mut self, text: &str, spot: &Spot) -> Option<Word> {
        let expanded = self.expand(text);
        let verbatim = expanded == text;
        let (name, value) = match expanded.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value)),
            None => (expanded.as_str(), None),
        };
        if name.is_empty() {
            self.report.error(spot, "an option's name is missing before `=`", None);
            return None;
        }
        let name_spot = if verbatim { spot.within(&(0..name.len())) } else { spot.clone() };
        let replaced = value.map(|v| self.keywords(v));
        let unchanged = replaced.as_deref() == value;
        let value_spot = match (text.find('='), value) {
            (Some(equals), Some(_)) if verbatim && equals + 1 < text.len() => spot.within(&(equals + 1..text.len())),
            _ => spot.clone(),
        };
        let verbatim = verbatim && unchanged;
        Some(Word { name: name.to_owned(), name_spot, value: replaced, value_spot, uncut: None, verbatim })
    }

    /// Replaces `${NAME}` by the environment's value, or by nothing.
    fn expand(&self, text: &str) -> String {
        let mut result = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let Some(length) = rest[start..].find('}') else { break };
            result.push_str(&rest[..start]);
            result.push_str(&self.source.env(&rest[start + 2..start + length]).unwrap_or_default());
            rest = &rest[start + length + 1..];
        }
        result.push_str(rest);
        result
    }

    /// Replaces `$pagesize`, `$ncpus` and `$mb_memory`; the arithmetic around one is carried out.
    fn keywords(&self, value: &str) -> String {
        let facts = [
            ("$pagesize", self.host.page_size),
            ("$mb_memory", self.host.memory_bytes >> 20),
            ("$ncpus", u64::from(self.host.cpus)),
        ];
        let mut result = value.to_owned();
        for (keyword, fact) in facts {
            result = result.replace(keyword, &fact.to_string());
        }
        let arithmetic = |c: char| c.is_ascii_digit() || c.is_whitespace() || "+-*/%^()".contains(c);
        if result != value && result.contains(['+', '-', '*', '/']) && result.chars().all(arithmetic) {
            return evaluate_plain(&result).map_or(result, |n| n.to_string());
        }
        result
    }
}

/// The line up to the first comment sign with a blank before it, if another within a word cuts the line before that.
fn uncut(line: &str) -> Option<&str> {
    let is_sign = |c: char| matches!(c, ';' | '#');
    let cut = line.find(is_sign)?;
    let within = |at: usize| {
        let blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
        !blank(line[..at].chars().next_back()) && !blank(line[at + 1..].chars().next())
    };
    if !within(cut) {
        return None;
    }
    let end = line.match_indices(is_sign).map(|(at, _)| at).find(|at| !within(*at)).unwrap_or(line.len());
    Some(line[..end].trim())
}
