//! Recording and replay: what goes together, and what has nothing to say any more.

use super::Rules;
use crate::api::Severity;
use crate::job::ReplaySkip;

/// Options that are about a recording.
const OF_A_RECORDING: [&str; 10] = [
    "read_iolog_chunked",
    "replay_no_stall",
    "replay_redirect",
    "replay_scale",
    "replay_align",
    "replay_time_scale",
    "replay_skip",
    "merge_blktrace_file",
    "merge_blktrace_scalars",
    "merge_blktrace_iters",
];

/// Options that say what a recording says.
const SAID_BY_A_RECORDING: [&str; 16] = [
    "filename",
    "directory",
    "opendir",
    "nrfiles",
    "openfiles",
    "size",
    "io_size",
    "filesize",
    "offset",
    "number_ios",
    "loops",
    "time_based",
    "rate",
    "rate_iops",
    "fsync",
    "fdatasync",
];

impl Rules<'_> {
    pub(super) fn replay(&mut self, readonly: bool) {
        let texts = self.built.draft.texts.clone();
        let replay = &mut self.built.draft.job.replay;
        replay.skip = texts.replay_skip.as_deref().map_or(ReplaySkip::default(), skips);
        if !self.built.draft.job.replay.on() {
            if let Some(name) = OF_A_RECORDING.into_iter().find(|name| self.given(name)) {
                let message = format!("{name} has no effect without read_iolog");
                self.say(Severity::Warning, &[name], &message, "name the recording with `read_iolog=`");
            }
            return;
        }
        // What nothing may write is left out, as in fio.
        let skip = &mut self.built.draft.job.replay.skip;
        skip.writes |= readonly;
        skip.trims |= readonly;
        self.merging();
        let (align_bytes, verify) = {
            let job = &self.built.draft.job;
            (job.replay.align_bytes, job.verify.on() || job.verify.pattern.is_some())
        };
        if align_bytes > 0 && !align_bytes.is_power_of_two() {
            let message = format!("replay_align is {align_bytes}, and must be a power of two");
            self.say(Severity::Error, &["replay_align"], &message, "");
        }
        if verify {
            let message = "a replay checks no data: a recording holds none";
            self.say(Severity::Error, &["verify", "verify_pattern"], message, "leave `verify` out");
        }
        if self.built.draft.job.record.take().is_some() {
            let message = "read_iolog overrides write_iolog: nothing is recorded";
            self.say(Severity::Warning, &["write_iolog"], message, "leave one of them out");
        }
        let unheard: Vec<&str> = SAID_BY_A_RECORDING.into_iter().filter(|name| self.given(name)).collect();
        if let Some(first) = unheard.first() {
            let message = format!("the recording says what is done: no effect has {}", unheard.join(", "));
            self.say(Severity::Warning, &[first], &message, "");
        }
    }

    fn merging(&mut self) {
        let replay = &self.built.draft.job.replay;
        let traces = replay.recordings.len();
        let lists = [
            ("merge_blktrace_scalars", replay.merge_percent.len()),
            ("merge_blktrace_iters", replay.merge_repeats.len()),
        ];
        let merges = replay.merge_into.is_some();
        let broken = replay.merge_repeats.iter().any(|repeats| repeats.fract() != 0.0);
        for (name, count) in lists.into_iter().filter(|(_, count)| *count > 0) {
            if !merges {
                let message = format!("{name} has no effect without merge_blktrace_file");
                self.say(Severity::Warning, &[name], &message, "");
            } else if count != traces {
                let message = format!("{name} has {count} values for {traces} traces");
                self.say(Severity::Error, &[name], &message, "give one for each trace of `read_iolog`");
            }
        }
        if merges && broken {
            let message = "a trace comes a whole number of times";
            self.say(Severity::Error, &["merge_blktrace_iters"], message, "");
        }
    }
}

fn skips(text: &str) -> ReplaySkip {
    let has = |word: &str| text.split(',').any(|one| one.split(':').next().is_some_and(|one| one.trim() == word));
    ReplaySkip { reads: has("read"), writes: has("write"), trims: has("trim"), syncs: has("sync") }
}
