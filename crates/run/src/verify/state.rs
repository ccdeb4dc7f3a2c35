//! The state of a verification, from one run to another: how far a job's writes came.
//!
//! A file of text:
//!
//! ```text
//! iostrata verify state 1
//! issued 120
//! missing 117 119
//! flushed 100
//! unflushed 98
//! ```
//!
//! Writes are numbered from 0 in the order in which the job issues them, which is the same in each run with the same
//! seed. All before `issued` were issued, and all of them but the `missing` completed. All before `flushed` but the
//! `unflushed` completed before the last flush began.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use iostrata_spec::VerifyPolicy;

use crate::error::plain;
use crate::plan::WorkerPlan;

const FIRST_LINE: &str = "iostrata verify state 1";

/// Writes that were done: all before a number, but for some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// How many were issued.
    pub(super) issued: u64,
    /// Those of them that did not complete.
    pub(super) missing: BTreeSet<u64>,
}

impl Done {
    /// Whether write number `number` was done.
    pub(super) fn has(&self, number: u64) -> bool {
        number < self.issued && !self.missing.contains(&number)
    }
}

/// What is saved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    /// By completion.
    pub(super) completed: Done,
    /// By flushes.
    pub(super) flushed: Done,
}

/// The name of a worker's file in `folder`.
fn path(plan: &WorkerPlan, folder: &Path) -> PathBuf {
    let name = plan.job.name.replace('/', ".");
    folder.join(format!("local-{name}-{}-verify.state", plan.thread_number - 1))
}

impl State {
    fn text(&self) -> String {
        let list = |numbers: &BTreeSet<u64>| numbers.iter().map(|number| format!(" {number}")).collect::<String>();
        format!(
            "{FIRST_LINE}\nissued {}\nmissing{}\nflushed {}\nunflushed{}\n",
            self.completed.issued,
            list(&self.completed.missing),
            self.flushed.issued,
            list(&self.flushed.missing)
        )
    }

    fn parse(text: &str) -> Option<State> {
        let mut lines = text.lines();
        if lines.next() != Some(FIRST_LINE) {
            return None;
        }
        let mut numbers = |word: &str| -> Option<Vec<u64>> {
            let mut words = lines.next()?.split(' ');
            if words.next() != Some(word) {
                return None;
            }
            words.map(|number| number.parse().ok()).collect()
        };
        let mut done = |issued: &str, missing: &str| -> Option<Done> {
            let issued = *numbers(issued)?.first()?;
            Some(Done { issued, missing: numbers(missing)?.into_iter().collect() })
        };
        Some(State { completed: done("issued", "missing")?, flushed: done("flushed", "unflushed")? })
    }

    /// Writes a worker's file: first under another name, so that no half of it is ever read.
    #[expect(clippy::disallowed_methods, reason = "a file beside the run, no job's target")]
    pub(super) fn save(&self, plan: &WorkerPlan, folder: &Path) -> Result<(), String> {
        let path = path(plan, folder);
        let temporary = path.with_extension("state.new");
        std::fs::write(&temporary, self.text()).and_then(|()| std::fs::rename(&temporary, &path)).map_err(|error| {
            format!("the state of the verification could not be saved as {}: {}", path.display(), plain(&error))
        })
    }

    /// What a worker's file says is to be checked.
    pub(super) fn load(plan: &WorkerPlan, folder: &Path) -> Result<Done, (i32, String)> {
        let path = path(plan, folder);
        let text = std::fs::read_to_string(&path).map_err(|error| {
            let text = format!(
                "verify_state_load=1, and {} cannot be read: {}; the run that wrote must have had verify_state_save=1",
                path.display(),
                plain(&error)
            );
            (error.raw_os_error().unwrap_or(libc::EINVAL), text)
        })?;
        let Some(state) = State::parse(&text) else {
            return Err((
                libc::EINVAL,
                format!("{} is no state of a verification written by iostrata", path.display()),
            ));
        };
        Ok(match plan.job.verify.policy {
            VerifyPolicy::Completed => state.completed,
            VerifyPolicy::Fsynced => state.flushed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_loaded() {
        let state = State {
            completed: Done { issued: 120, missing: [117, 119].into() },
            flushed: Done { issued: 100, missing: BTreeSet::new() },
        };
        assert_eq!(State::parse(&state.text()), Some(state.clone()));
        assert!(state.completed.has(118) && !state.completed.has(117) && !state.completed.has(120));
        for broken in ["", "issued 1", "iostrata verify state 2\nissued 1\n", "iostrata verify state 1\nissued x\n"] {
            assert_eq!(State::parse(broken), None, "{broken:?}");
        }
    }
}
