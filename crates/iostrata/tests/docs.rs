//! Generated pages under `docs/` are those that the program generates. `UPDATE_DOCS=1` (or `cargo xtask docs`) writes
//! them anew.

use std::path::Path;

use iostrata_testkit::{iostrata, run};

/// What `iostrata generate` takes, and the page that holds it.
const PAGES: &[(&str, &str)] = &[
    ("options", "options.md"),
    ("fio-compatibility", "fio-compatibility.md"),
    ("result-schema", "result-schema.json"),
];

#[test]
fn generated_pages_are_up_to_date() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for (word, page) in PAGES {
        let output = run(iostrata(), &["generate", word], &docs);
        assert!(output.status.success(), "{word}: {}", String::from_utf8_lossy(&output.stderr));
        let path = docs.join(page);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &output.stdout).unwrap();
        }
        let kept = std::fs::read(&path).unwrap_or_default();
        assert!(kept == output.stdout, "docs/{page} is out of date: `cargo xtask docs` makes it anew");
    }
}
