//! Reading what Rust's test harness prints.
//!
//! The project's convention: a test that cannot run prints one line `SKIP: <what is missing> (<how to get it>)` and
//! returns. Run with `--show-output`, the harness prints each test's output under its name, so every skip is
//! counted as that and not as a pass. One that wrote past the harness, straight to standard error, counts too.

use crate::ledger::{Ledger, Skip};

const SKIP: &str = "SKIP: ";

/// Reads the output of one test program, or of several in a row as documentation tests give it. `program` goes
/// before each test's name. `None` if there is no summary: the program died before its end.
pub(crate) fn read(program: &str, output: &str) -> Option<Ledger> {
    let mut ledger = Ledger::default();
    let (mut passed, mut failed, mut summaries) = (0, 0, 0);
    let (mut skipped_passes, mut loose) = (0, 0);
    let mut section: Option<&str> = None;
    for line in output.lines() {
        if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            section = Some(name);
        } else if let Some(summary) = line.strip_prefix("test result: ") {
            passed += count(summary, "passed")?;
            failed += count(summary, "failed")?;
            summaries += 1;
            section = None;
        } else if let Some((name, outcome)) = verdict(line)
            && !outcome.starts_with(SKIP)
        {
            match outcome {
                "FAILED" => ledger.failed.push(format!("{program}: {name}")),
                _ if outcome.starts_with("ignored") => ledger.skipped.push(ignored(program, name, outcome)),
                _ => {}
            }
        } else if let Some((name, reason)) = skip_line(line, section) {
            let what = name.map_or_else(
                || {
                    loose += 1;
                    format!("{program}: (unnamed {loose})")
                },
                |name| format!("{program}: {name}"),
            );
            let known = ledger.failed.contains(&what) || ledger.skipped.iter().any(|skip| skip.what == what);
            if !known {
                let (missing, remedy) = split_reason(reason);
                ledger.skipped.push(Skip { what, missing, remedy });
                skipped_passes += 1;
            }
        }
    }
    // A test's own output may have torn its verdict's line; the summary's count holds.
    while (ledger.failed.len() as u64) < failed {
        ledger.failed.push(format!("{program}: (see its output)"));
    }
    ledger.passed = u64::saturating_sub(passed, skipped_passes);
    (summaries > 0).then_some(ledger)
}

/// `test NAME ... OUTCOME`.
fn verdict(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("test ")?.rsplit_once(" ... ")
}

/// `SKIP: REASON`, under the name of a test or, from one that wrote past the harness, under none or after its name.
fn skip_line<'o>(line: &'o str, section: Option<&'o str>) -> Option<(Option<&'o str>, &'o str)> {
    if let Some(reason) = line.strip_prefix(SKIP) {
        return Some((section, reason));
    }
    let (name, outcome) = verdict(line)?;
    Some((Some(name), outcome.strip_prefix(SKIP)?))
}

/// The number before `word` in `ok. 3 passed; 0 failed; …`.
fn count(summary: &str, word: &str) -> Option<u64> {
    let before = summary.split_once(&format!(" {word}"))?.0;
    before.rsplit(' ').next()?.parse().ok()
}

fn ignored(program: &str, name: &str, outcome: &str) -> Skip {
    let why = outcome.strip_prefix("ignored, ").unwrap_or("no reason given").to_owned();
    Skip { what: format!("{program}: {name}"), missing: format!("ignored: {why}"), remedy: "mend the test".to_owned() }
}

/// Splits `what is missing (how to get it)`.
fn split_reason(reason: &str) -> (String, String) {
    let halves = reason.trim_end().strip_suffix(')').and_then(|rest| rest.split_once(" ("));
    let (missing, remedy) = halves.unwrap_or((reason.trim_end(), "not said"));
    (missing.to_owned(), remedy.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIXED: &str = "
running 4 tests
test a ... ok
test b ... ok
test c ... FAILED
test d ... ignored, too slow

successes:

---- b stdout ----
SKIP: mkfs.xfs (apt-get install xfsprogs)

successes:
    a
    b

failures:

---- c stdout ----
SKIP: nothing, this one failed (really)
thread 'c' panicked

failures:
    c

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    #[test]
    fn each_test_is_counted_as_what_it_was() {
        let ledger = read("os", MIXED).unwrap();
        assert_eq!(ledger.line(), "1 passed, 1 failed, 2 skipped");
        assert_eq!(ledger.failed, ["os: c"]);
        let skip = ledger.skipped.iter().find(|skip| skip.what == "os: b").unwrap();
        assert_eq!((&*skip.missing, &*skip.remedy), ("mkfs.xfs", "apt-get install xfsprogs"));
        let ignored = ledger.skipped.iter().find(|skip| skip.what == "os: d").unwrap();
        assert_eq!(ignored.missing, "ignored: too slow");
    }

    #[test]
    fn the_summaries_of_several_programs_add_up() {
        let two = "test result: ok. 2 passed; 0 failed; 0 ignored\n\ntest result: ok. 5 passed; 0 failed; 0 ignored\n";
        assert_eq!(read("doc", two).unwrap().passed, 7);
    }

    #[test]
    fn a_program_that_died_before_its_summary_gives_no_counts() {
        assert_eq!(read("os", "running 2 tests\ntest a ... ok\n"), None);
    }

    #[test]
    fn a_failure_whose_verdict_was_torn_still_counts() {
        let torn = "test a ... some outputFAILED\ntest result: FAILED. 0 passed; 1 failed; 0 ignored\n";
        assert_eq!(read("os", torn).unwrap().failed.len(), 1);
    }

    #[test]
    fn a_reason_may_hold_brackets_and_may_lack_a_remedy() {
        assert_eq!(split_reason("root (run as root (sudo))"), ("root".into(), "run as root (sudo)".into()));
        assert_eq!(split_reason("root"), ("root".into(), "not said".into()));
    }

    #[test]
    fn a_skip_written_past_the_harness_counts() {
        let loose = "SKIP: root (sudo)\ntest a ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored\n";
        assert_eq!(read("os", loose).unwrap().line(), "0 passed, 0 failed, 1 skipped");
        let torn = "test a ... SKIP: root (sudo)\nok\ntest result: ok. 1 passed; 0 failed; 0 ignored\n";
        let ledger = read("os", torn).unwrap();
        assert_eq!((ledger.passed, &*ledger.skipped[0].what), (0, "os: a"));
    }

    #[test]
    fn a_test_that_skips_several_things_is_one_skipped_test() {
        let output = "---- a stdout ----\nSKIP: xfs (x)\nSKIP: btrfs (y)\n\ntest result: ok. 1 passed; 0 failed;\n";
        let ledger = read("os", output).unwrap();
        assert_eq!(ledger.line(), "0 passed, 0 failed, 1 skipped");
    }
}
