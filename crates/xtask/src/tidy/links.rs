//! Links in Markdown lead to a file and a heading that exist.

use std::path::{Component, Path, PathBuf};

use super::{Finding, Text};

/// Relative links of every Markdown file that lead nowhere.
pub(crate) fn check(texts: &[Text], root: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    for text in texts.iter().filter(|text| text.path.ends_with(".md")) {
        for (line, target) in links(&text.content) {
            if let Some(message) = fault(text, target, texts, root) {
                findings.push(text.finding(line, message));
            }
        }
    }
    findings
}

/// Targets of `[words](target)` outside code, with their lines.
fn links(content: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (index, line) in content.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            continue;
        }
        if in_code {
            continue;
        }
        // Every second piece between back quotes is code.
        for prose in line.split('`').step_by(2) {
            let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
            found.extend(targets.map(|(target, _)| (index + 1, target)));
        }
    }
    found
}

fn fault(text: &Text, target: &str, texts: &[Text], root: &Path) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() { PathBuf::from(&text.path) } else { resolved(&text.path, file)? };
    if !root.join(&path).exists() {
        return Some(format!("`{target}` leads to no file"));
    }
    let linked = texts.iter().find(|other| Path::new(&other.path) == path);
    let known = heading.is_empty() || linked.is_none_or(|other| headings(&other.content).any(|known| known == heading));
    (!known).then(|| format!("`{target}`: there is no such heading"))
}

/// The path of `file` as seen from the file `from`, without `..`.
fn resolved(from: &str, file: &str) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for part in Path::new(from).parent()?.join(file).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    Some(path)
}

/// Headings as web hosts name them: lower case, spaces to hyphens, other signs dropped.
fn headings(content: &str) -> impl Iterator<Item = String> {
    let lines = content.lines().filter_map(|line| line.strip_prefix('#'));
    lines.map(|line| {
        let words = line.trim_start_matches('#').trim().to_lowercase();
        words.replace(' ', "-").chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(content: &str) -> Vec<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let page = |path: &str, content: &str| Text { path: path.to_owned(), content: content.to_owned() };
        // `src/main.rs` and `Cargo.toml` exist in this crate's folder, which stands for the root here.
        let texts = [page("src/page.md", content), page("Cargo.toml", "# A heading, really!\n")];
        check(&texts, root).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_link_to_an_existing_file_is_good_from_where_it_stands() {
        assert!(messages("[a](main.rs), [b](../Cargo.toml) and [c](https://example.org/x)").is_empty());
        assert_eq!(messages("[a](lost.rs)"), ["`lost.rs` leads to no file"]);
        assert_eq!(messages("[a](main.rs) [b](Cargo.toml)"), ["`Cargo.toml` leads to no file"]);
    }

    #[test]
    fn a_heading_must_exist_too() {
        assert!(messages("[a](../Cargo.toml#a-heading-really)").is_empty());
        assert_eq!(messages("[a](../Cargo.toml#gone)"), ["`../Cargo.toml#gone`: there is no such heading"]);
    }

    #[test]
    fn code_holds_no_links() {
        assert!(messages("`x[i](lost)`\n```\n[a](lost.rs)\n```\n").is_empty());
    }
}
