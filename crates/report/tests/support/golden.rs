//! Documents that must stay as they are until somebody changes them on purpose.

use std::path::Path;

/// Compares with the file of this name in a folder; with UPDATE_GOLDENS in the environment it is written anew.
#[track_caller]
pub(crate) fn check(folder: impl AsRef<Path>, name: &str, actual: &str) {
    let path = folder.as_ref().join(name);
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        std::fs::write(&path, actual).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    if golden != actual {
        let at = golden.lines().zip(actual.lines()).take_while(|(left, right)| left == right).count();
        panic!(
            "{name} differs from line {} on\n  golden: {:?}\n  actual: {:?}\n(UPDATE_GOLDENS=1 writes it anew)",
            at + 1,
            golden.lines().nth(at),
            actual.lines().nth(at)
        );
    }
}

/// The part of a page that is about its run, a tag a line: no styles, scripts, and explanations.
pub(crate) fn of_this_run(page: &str) -> String {
    let (head, rest) = page.split_once("<style>").expect("styles");
    let (_, body) = rest.split_once("</style>").expect("their end");
    let (body, _) = body.split_once("<section aria-labelledby=\"numbers\"").expect("explanations");
    format!("{head}{body}\n").replace("><", ">\n<")
}
