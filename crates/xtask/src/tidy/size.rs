//! Files, functions and lines small enough to know.

use super::{Finding, Text};

const FILE_LINES: usize = 600;
const FUNCTION_LINES: usize = 100;
const WISHED_FUNCTION_LINES: usize = 70;
const COLUMNS: usize = 120;

/// Files, functions and lines over their limit.
pub(crate) fn check(text: &Text) -> Vec<Finding> {
    if !text.is_rust() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let lines = text.content.lines().count();
    if lines > FILE_LINES && !is_flat_table(&text.path) {
        findings.push(text.finding(0, format!("{lines} lines; a file has at most {FILE_LINES}: split it")));
    }
    for function in functions(&text.content).into_iter().filter(|function| function.lines > FUNCTION_LINES) {
        let message = format!("`{}` has {} lines, the limit is {FUNCTION_LINES}", function.name, function.lines);
        findings.push(text.finding(function.start, message));
    }
    for (index, line) in text.content.lines().enumerate() {
        let columns = line.chars().count();
        if columns > COLUMNS {
            findings.push(text.finding(index + 1, format!("{columns} columns, the limit is {COLUMNS}")));
        }
    }
    findings
}

/// Functions longer than wished but within the limit.
pub(crate) fn wishes(text: &Text) -> Vec<Finding> {
    if !text.is_rust() {
        return Vec::new();
    }
    let long = |function: &Function| (WISHED_FUNCTION_LINES + 1..=FUNCTION_LINES).contains(&function.lines);
    let wish = |function: Function| {
        let message =
            format!("`{}` has {} lines, {WISHED_FUNCTION_LINES} are wished for", function.name, function.lines);
        text.finding(function.start, message)
    };
    functions(&text.content).into_iter().filter(long).map(wish).collect()
}

/// The option table's files and test data are as long as what they list.
fn is_flat_table(path: &str) -> bool {
    path.contains("/options/") || path.contains("/goldens/")
}

#[derive(Debug, PartialEq, Eq)]
struct Function {
    name: String,
    /// Its first line, from 1.
    start: usize,
    lines: usize,
}

/// Functions in source formatted by rustfmt: a body ends at the first `}` with the `fn`'s own indentation.
fn functions(content: &str) -> Vec<Function> {
    let lines: Vec<&str> = content.lines().collect();
    let begins = lines.iter().enumerate().filter_map(|(index, line)| Some((index, function_name(line)?)));
    begins
        .filter_map(|(start, name)| Some(Function { name, start: start + 1, lines: body_length(&lines[start..])? }))
        .collect()
}

/// The name if a function begins on this line.
fn function_name(line: &str) -> Option<String> {
    let (before, after) = line.split_once("fn ")?;
    let qualifies = |word: &str| {
        matches!(word, "pub" | "const" | "async" | "unsafe" | "extern" | "default")
            || word.starts_with("pub(")
            || word.starts_with('"')
    };
    if !before.split_whitespace().all(qualifies) || !before.is_empty() && !before.ends_with(' ') {
        return None;
    }
    let name: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!name.is_empty()).then_some(name)
}

/// Lines from the `fn` to its closing brace; `None` if it has no body.
fn body_length(lines: &[&str]) -> Option<usize> {
    let head = lines.iter().position(|line| line.ends_with(['{', '}', ';']))?;
    match lines[head].chars().last()? {
        ';' => None,
        '}' => Some(head + 1),
        _ => {
            let indent = lines[0].len() - lines[0].trim_start().len();
            let closes = |line: &&str| line.strip_prefix(&" ".repeat(indent)).is_some_and(|rest| rest.starts_with('}'));
            Some(head + 2 + lines[head + 1..].iter().position(closes)?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &str, content: String) -> Text {
        Text { path: path.to_owned(), content }
    }

    fn function_of(lines: usize) -> String {
        format!("    pub(crate) fn long(\n        a: u8,\n    ) {{\n{}    }}\n", "        a;\n".repeat(lines - 4))
    }

    #[test]
    fn a_function_counts_from_its_fn_to_its_closing_brace() {
        let source = "fn one() {}

trait T {
    fn none(&self);
    unsafe fn two(&self) -> [u8; 4] {
        if x {
        }
    }
}
";
        let found = functions(source);
        let found: Vec<_> = found.iter().map(|f| (f.name.as_str(), f.start, f.lines)).collect();
        assert_eq!(found, [("one", 1, 1), ("two", 5, 4)]);
        assert_eq!(functions(&function_of(50))[0].lines, 50);
    }

    #[test]
    fn words_that_only_look_like_a_function_are_none() {
        assert_eq!(function_name("// the fn of it"), None);
        assert_eq!(function_name("    let f = &fn x"), None);
        assert_eq!(function_name("    run: fn(&Workspace) -> bool,"), None);
        assert_eq!(function_name("    pub extern \"C\" fn call("), Some("call".to_owned()));
    }

    #[test]
    fn functions_are_wished_short_and_must_not_be_too_long() {
        let at = |lines| text("crates/os/src/lib.rs", function_of(lines));
        assert!(check(&at(70)).is_empty() && wishes(&at(70)).is_empty());
        assert!(check(&at(100)).is_empty() && wishes(&at(100)).len() == 1);
        assert!(check(&at(101)).len() == 1 && wishes(&at(101)).is_empty());
    }

    #[test]
    fn files_have_600_lines_unless_they_are_tables() {
        assert!(check(&text("crates/os/src/lib.rs", "//\n".repeat(600))).is_empty());
        assert_eq!(check(&text("crates/os/src/lib.rs", "//\n".repeat(601))).len(), 1);
        assert!(check(&text("crates/spec/src/options/io.rs", "//\n".repeat(601))).is_empty());
        assert!(check(&text("docs/options.md", "a\n".repeat(601))).is_empty());
    }

    #[test]
    fn columns_are_characters_not_bytes() {
        assert!(check(&text("a.rs", "é".repeat(120))).is_empty());
        assert_eq!(check(&text("a.rs", format!("\n{}", "e".repeat(121))))[0].line, 2);
    }
}
