//! Words that do not belong into what is committed, and attributes that every crate must carry.
//!
//! The words are put together from halves, so that this file does not break its own rules.

use super::{Finding, Text};

/// Not in Rust source: a word, and why.
const UNFINISHED: &[(&str, &str)] = &[
    (concat!("todo", "!"), "unfinished"),
    (concat!("unimplemented", "!"), "unfinished"),
    (concat!("dbg", "!("), "left from debugging"),
    (concat!("FIX", "ME"), "unfinished"),
    (concat!("XX", "X"), "unfinished"),
    (concat!("#[ign", "ore"), "a test runs, or says `SKIP: what is missing (how to get it)`"),
    (concat!("SKIP", "PED"), "a test that cannot run says `SKIP: what is missing (how to get it)`"),
    (concat!("allow(dead", "_code"), "dead code is deleted"),
    (concat!("expect(dead", "_code"), "dead code is deleted"),
    (concat!("allow(un", "used"), "what is not used is deleted"),
    (concat!("allow(clippy::", "all"), "allow one lint, with its reason"),
    (concat!("allow(clippy::", "too_many"), "split it"),
];

/// Not in any file: folders that exist on one machine only.
const MACHINE_FOLDERS: &[&str] = &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/tmp/", "wt/")];

/// The crates whose code may be unsafe.
const MAY_BE_UNSAFE: &[&str] = &["crates/os/", "crates/engine/"];
const ALLOW_UNSAFE: &str = concat!("allow(unsafe", "_code");

const DENY_MISSING_DOCS: &str = "#![deny(missing_docs)]";

/// Words and attributes of one file.
pub(crate) fn check(text: &Text) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.content.lines().enumerate() {
        for folder in MACHINE_FOLDERS.iter().filter(|folder| names_folder(line, folder)) {
            findings.push(text.finding(index + 1, format!("`{folder}` exists on one machine only")));
        }
        if !text.is_rust() {
            continue;
        }
        for (word, why) in UNFINISHED.iter().filter(|(word, _)| line.contains(word)) {
            findings.push(text.finding(index + 1, format!("`{word}`: {why}")));
        }
        if line.contains(ALLOW_UNSAFE) && !MAY_BE_UNSAFE.iter().any(|folder| text.path.starts_with(folder)) {
            findings.push(text.finding(index + 1, "only crates os and engine may be unsafe"));
        }
    }
    if is_library_root(&text.path) && !text.content.contains(DENY_MISSING_DOCS) {
        findings.push(text.finding(0, format!("a library says `{DENY_MISSING_DOCS}`")));
    }
    if is_crate_manifest(&text.path) && !text.content.contains("[lints]\nworkspace = true") {
        findings.push(text.finding(0, "a crate takes the workspace's lints: `[lints]`, `workspace = true`"));
    }
    findings
}

/// Whether an absolute path begins with `folder` on this line; `a/work/b` is another folder.
fn names_folder(line: &str, folder: &str) -> bool {
    let inside =
        |before: &str| before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '}'));
    line.match_indices(folder).any(|(at, _)| !inside(&line[..at]))
}

fn is_library_root(path: &str) -> bool {
    path.starts_with("crates/") && path.ends_with("/src/lib.rs")
}

fn is_crate_manifest(path: &str) -> bool {
    path.starts_with("crates/") && path.ends_with("/Cargo.toml")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, content: &str) -> Vec<usize> {
        let text = Text { path: path.to_owned(), content: content.to_owned() };
        check(&text).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn unfinished_work_is_found_in_rust_only() {
        for (word, _) in UNFINISHED {
            assert_eq!(found("crates/run/src/a.rs", &format!("fn a() {{\n    {word}\n}}")), [2], "{word}");
            assert!(found("docs/a.md", word).is_empty());
        }
    }

    #[test]
    fn folders_of_one_machine_are_found_in_every_file() {
        for folder in MACHINE_FOLDERS {
            assert_eq!(found("docs/a.md", &format!("\n\nsee {folder}x")), [3]);
            assert_eq!(found(".ci/run", &format!("cd {folder}x")), [1]);
            assert!(found("docs/a.md", &format!("see ..{folder}x and $HOME{folder}x")).is_empty());
        }
    }

    #[test]
    fn unsafe_code_is_allowed_in_two_crates() {
        let attribute = format!("#![{ALLOW_UNSAFE})]");
        assert!(found("crates/engine/src/uring.rs", &attribute).is_empty());
        assert_eq!(found("crates/run/src/loop.rs", &attribute), [1]);
    }

    #[test]
    fn libraries_document_everything_and_crates_take_the_lints() {
        assert_eq!(found("crates/os/src/lib.rs", "//! Words.\n"), [0]);
        assert!(found("crates/os/src/lib.rs", "//! Words.\n#![deny(missing_docs)]\n").is_empty());
        assert!(found("crates/xtask/src/main.rs", "").is_empty());
        assert_eq!(found("crates/os/Cargo.toml", "[package]\n"), [0]);
        assert!(found("crates/os/Cargo.toml", "[package]\n\n[lints]\nworkspace = true\n").is_empty());
    }
}
