//! What happens to a job whose I/Os are too slow: `max_latency`, and the search for the depth of `latency_target`.

use std::sync::atomic::Ordering::Relaxed;

use iostrata_engine::Io;
use iostrata_os::thread::thread_usage;

use super::complaint::operation;
use super::core::Core;
use crate::clock::Clock;
use crate::error::RunError;
use crate::generate::Direction;
use crate::latency_target::Verdict;

impl<C: Clock> Core<'_, C> {
    /// What the search for a depth decided, nothing being in flight any more: the depth to go on at, or none for the
    /// end.
    pub(super) fn follow(&mut self, verdict: Verdict, now_ns: u64) -> Option<u32> {
        self.verdict = None;
        let (Verdict::Try(depth) | Verdict::Found(depth)) = verdict else {
            self.stopping = true;
            return None;
        };
        self.live.search_depth.store(depth, Relaxed);
        if matches!(verdict, Verdict::Found(_)) {
            self.usage_start = thread_usage();
            self.timeline.measure_anew(self.job, self.live, now_ns);
            self.begin_log(now_ns);
        }
        if let Some(search) = &mut self.watch.search {
            search.begin_window(now_ns, self.live.ios());
        }
        self.watch.plan_next();
        self.timeline.watch_at(self.watch.next_ns());
        Some(depth)
    }

    /// An I/O that took longer than `max_latency` allows or than the search for a latency likes.
    #[cold]
    pub(super) fn too_slow(&mut self, io: &Io, direction: Direction, lat_ns: u64) {
        let most_ns = self.job.max_latency_ns.to_array()[direction.index()].unwrap_or(u64::MAX);
        let search = self.watch.search.as_mut().filter(|_| self.timeline.measures() && self.verdict.is_none());
        let target_ns = self.job.latency_search.target_ns;
        // The windows may be over at once: then there is something to look at.
        let impossible = search.is_some_and(|search| lat_ns > target_ns && search.note_late());
        self.watch.plan_next();
        self.timeline.watch_at(self.watch.next_ns());
        let broken_ns = if lat_ns > most_ns { most_ns } else { target_ns };
        if lat_ns > most_ns || impossible {
            let text =
                self.place_text(io, &format!("latency of {lat_ns} nsec exceeds specified max ({broken_ns} nsec)"));
            self.error.get_or_insert_with(|| RunError::job_errno(self.job, libc::ETIMEDOUT, text));
            self.stopping = true;
        }
    }

    /// `read of FILE, offset 0, length 4096: …`
    fn place_text(&self, io: &Io, what: &str) -> String {
        let file = self.plan.files.get(io.file as usize).map_or(String::new(), |file| file.path.display().to_string());
        format!("{} of {file}, offset {}, length {}: {what}", operation(io.op), io.offset, io.len)
    }
}
