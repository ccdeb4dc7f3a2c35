//! `iostrata quick`: a table of a disk, and nothing left behind.

use iostrata_testkit::{Folder, iostrata, list, run};

#[test]
fn quick_shows_every_test_and_removes_its_file() {
    let folder = Folder::new("quick");
    let output = run(iostrata(), &["quick", "--size=8m", "--runtime=100ms", "--save=kept.json"], folder.path());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let rows: Vec<&str> = text.lines().filter(|line| line.contains(", depth ")).collect();
    assert_eq!(rows.len(), 6, "{text}");
    for row in rows {
        let rate: f64 = row.split_whitespace().rev().nth(7).unwrap().parse().unwrap();
        assert!(rate > 0.0, "{row}");
    }
    let left: Vec<String> = list(folder.path()).into_iter().map(|(name, _)| name).collect();
    assert_eq!(left, ["kept.json"]);
}

#[test]
fn what_quick_does_not_know_is_said() {
    let folder = Folder::new("quick-words");
    for (words, sentence) in [
        (["quick", "--depth=4"], "does not know `--depth=4`"),
        (["quick", "no/such/folder"], "is no folder"),
        (["quick", "--size=many"], "size"),
    ] {
        let output = run(iostrata(), &words, folder.path());
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(sentence), "{words:?}: {stderr}");
        assert!(list(folder.path()).is_empty(), "{words:?} left a file");
    }
}
