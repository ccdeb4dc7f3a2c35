//! What passed, what failed, what was skipped and why: the tally that `cargo xtask test` ends with.

use std::collections::BTreeMap;

/// A test that did not run because something is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Skip {
    /// The test or stage.
    pub(crate) what: String,
    /// What is missing.
    pub(crate) missing: String,
    /// How to get it: a command where there is one.
    pub(crate) remedy: String,
}

/// Counts of one stage or of the whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ledger {
    /// Tests that ran and passed.
    pub(crate) passed: u64,
    /// Tests that failed, by name.
    pub(crate) failed: Vec<String>,
    /// Tests that could not run.
    pub(crate) skipped: Vec<Skip>,
}

impl Ledger {
    /// One check that either holds or does not.
    pub(crate) fn check(name: &str, holds: bool) -> Ledger {
        if holds { Ledger { passed: 1, ..Ledger::default() } } else { Ledger::failure(name) }
    }

    /// One check that failed.
    pub(crate) fn failure(name: impl Into<String>) -> Ledger {
        Ledger { failed: vec![name.into()], ..Ledger::default() }
    }

    /// One check that could not run.
    pub(crate) fn skip(what: &str, missing: impl Into<String>, remedy: impl Into<String>) -> Ledger {
        let skip = Skip { what: what.to_owned(), missing: missing.into(), remedy: remedy.into() };
        Ledger { skipped: vec![skip], ..Ledger::default() }
    }

    /// Adds the counts of another.
    pub(crate) fn merge(&mut self, other: Ledger) {
        self.passed += other.passed;
        self.failed.extend(other.failed);
        self.skipped.extend(other.skipped);
    }

    /// Whether nothing failed; with `strict` a skip is a failure too.
    pub(crate) fn is_good(&self, strict: bool) -> bool {
        self.failed.is_empty() && (self.skipped.is_empty() || !strict)
    }

    /// The last line of all output.
    pub(crate) fn line(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed, self.failed.len(), self.skipped.len())
    }

    /// The table of what was skipped, one block per missing thing; empty if nothing was.
    pub(crate) fn skip_table(&self) -> String {
        let mut blocks: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        for skip in &self.skipped {
            blocks.entry((&skip.missing, &skip.remedy)).or_default().push(&skip.what);
        }
        let block = |((missing, remedy), tests): (&(&str, &str), &Vec<&str>)| {
            format!("missing: {missing}\n  bring it: {remedy}\n  skipped ({}): {}\n", tests.len(), tests.join(", "))
        };
        blocks.iter().map(block).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts_every_test_once() {
        let mut ledger = Ledger { passed: 3, ..Ledger::default() };
        ledger.merge(Ledger::check("fmt", true));
        ledger.merge(Ledger::check("clippy", false));
        ledger.merge(Ledger::skip("io_on_xfs", "mkfs.xfs", "apt-get install xfsprogs"));
        assert_eq!(ledger.line(), "4 passed, 1 failed, 1 skipped");
        assert_eq!(ledger.failed, ["clippy"]);
    }

    #[test]
    fn a_skip_is_a_failure_only_where_skips_are_forbidden() {
        let skipped = Ledger::skip("io_on_xfs", "mkfs.xfs", "apt-get install xfsprogs");
        assert!(skipped.is_good(false));
        assert!(!skipped.is_good(true));
        assert!(!Ledger::failure("x").is_good(false));
    }

    #[test]
    fn skips_for_the_same_reason_share_a_block() {
        let mut ledger = Ledger::skip("a", "root", "run as root");
        ledger.merge(Ledger::skip("b", "fio", "apt-get install fio"));
        ledger.merge(Ledger::skip("c", "root", "run as root"));
        let table = ledger.skip_table();
        assert!(table.contains("missing: root\n  bring it: run as root\n  skipped (2): a, c\n"), "{table}");
        assert_eq!(table.matches("missing:").count(), 2);
    }
}
