//! Whether each message that the language can give stands in a golden: the texts are taken from the source itself, so
//! that a new one without a golden fails.

use std::path::{Path, PathBuf};

/// Tables and their texts for help pages: they have goldens and documents of their own.
const TABLES: [&str; 9] = [
    "cli_options.rs",
    "docs.rs",
    "engines.rs",
    "help.rs",
    "lib.rs",
    "profile.rs",
    "table.rs",
    "table_tests.rs",
    "value.rs",
];

/// Texts that no golden can show, each with the reason.
const UNSEEN: &[(&str, &str)] = &[
    ("`{}` is not carried out yet ({})", NOT_YET),
    ("only `{}={h}` is possible so far", NOT_YET),
    ("`--{}` is not carried out yet; it would {}", NOT_YET),
    ("this option is gone", "an option that is gone is refused before its value is read"),
    ("topics of --debug: {},all,job:N\n", "an answer to `--debug=help`, not a diagnostic"),
    ("no file can be read here", "only a caller without a source of files gets it; the command line has one"),
];
const NOT_YET: &str = "which options are not carried out changes all the time, and some day it is none";

/// Shorter pieces between what is filled in tell nothing.
const SHORTEST: usize = 6;

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "options" {
            sources(&path, found);
        } else if path.is_file() && !TABLES.contains(&name.as_str()) {
            found.push(path);
        }
    }
}

/// The string literals of a source, with their lines, without comments and what follows `#[cfg(test)]` on a module.
fn literals(source: &str) -> Vec<(usize, String)> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let mut found = Vec::new();
    let mut rest = source;
    let line = |rest: &str| source[..source.len() - rest.len()].matches('\n').count() + 1;
    while let Some(start) = rest.find(['"', '/', '\'']) {
        let from = &rest[start..];
        if from.starts_with("//") {
            rest = from.split_once('\n').map_or("", |(_, rest)| rest);
        } else if let Some(text) = from.strip_prefix('"') {
            let number = line(from);
            let (literal, after) = literal(text);
            found.push((number, literal));
            rest = after;
        } else if from.starts_with("'\"'") || from.starts_with("'/'") {
            rest = &from[3..];
        } else {
            rest = &from[1..];
        }
    }
    found
}

/// What stands up to the closing quote, and what follows it.
fn literal(text: &str) -> (String, &str) {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (out, &text[at + 1..]),
            '\\' => match chars.next() {
                Some((at, '\n')) => {
                    let blanks = text[at + 1..].chars().take_while(|c| c.is_whitespace()).count();
                    let skipped = chars.by_ref().take(blanks).count();
                    assert_eq!(skipped, blanks);
                }
                Some((_, 'n')) => out.push('\n'),
                Some((_, c)) => out.push(c),
                None => {}
            },
            c => out.push(c),
        }
    }
    panic!("a literal without an end: {text:.60}")
}

/// The longest piece of a literal between what is filled in.
fn fixed_part(literal: &str) -> &str {
    let pieces = literal.split('{').map(|piece| piece.split_once('}').map_or(piece, |(_, after)| after));
    pieces.max_by_key(|piece| piece.len()).unwrap_or("").trim()
}

/// All goldens of diagnostics: the files, and what stands in the stories between `str![r#"` and its end.
fn goldens(stories: &Path) -> String {
    let mut all = String::new();
    for entry in std::fs::read_dir(stories.join("diagnostics")).unwrap() {
        all += &std::fs::read_to_string(entry.unwrap().path()).unwrap();
    }
    for story in ["diagnostics.rs", "misreadings.rs", "rules.rs"] {
        let text = std::fs::read_to_string(stories.join(story)).unwrap();
        for golden in text.split("str![[r#\"").skip(1) {
            all += golden.split_once("\"#]]").unwrap().0;
        }
    }
    // Goldens are compared without regard to the direction of slashes.
    all.replace('\\', "/")
}

#[test]
fn each_message_has_a_golden() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let goldens = goldens(&here.join("tests/stories"));
    let mut files = Vec::new();
    sources(&here.join("src"), &mut files);
    files.sort();
    let (mut messages, mut missing) = (0, Vec::new());
    for file in files {
        for (line, literal) in literals(&std::fs::read_to_string(&file).unwrap()) {
            let part = fixed_part(&literal).replace('\\', "/");
            if !part.contains(' ') && literal.split_whitespace().count() < 2 || part.len() < SHORTEST {
                continue;
            }
            messages += 1;
            let excused = UNSEEN.iter().any(|(text, _)| *text == literal);
            assert!(!excused || !goldens.contains(&part), "a golden shows `{literal}` after all");
            if !goldens.contains(&part) && !excused {
                missing.push(format!("{}:{line}: {literal}", file.strip_prefix(here).unwrap().display()));
            }
        }
    }
    assert!(messages > 150, "only {messages} messages were found");
    let how = "add what gives it to WRONG, MISREAD, UNFIT or UNREADABLE in diagnostics.rs";
    assert!(missing.is_empty(), "{} of {messages} have no golden; {how}:\n{}", missing.len(), missing.join("\n"));
    for (text, why) in UNSEEN {
        assert!(!why.is_empty(), "{text}");
    }
}

#[test]
fn literals_are_found_in_source_text() {
    let source = "// a \"comment\"\nfn f() -> &'static str { g(\"one {x} two\"); h('\"', \"a \\\n    b\\\"c\") }\n\
                  #[cfg(test)]\nmod tests { \"none\" }";
    let expected = [(2, "one {x} two".to_owned()), (2, "a b\"c".to_owned())];
    assert_eq!(literals(source), expected);
    assert_eq!(fixed_part("`{}` is no number"), "` is no number");
}
