//! What a job replays, and how.

/// `read_iolog` and its kin. Without a recording nothing of it counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// `read_iolog`: recordings; each clone takes the next one. `-` is standard input.
    pub recordings: Vec<String>,
    /// `read_iolog_chunked`: the recording is read while the job runs.
    pub chunked: bool,
    /// `replay_no_stall`: as fast as it goes, whatever times the recording holds.
    pub no_stall: bool,
    /// `replay_redirect`: all I/O goes here.
    pub redirect: Option<String>,
    /// `replay_scale`: offsets are divided by this.
    pub scale: u32,
    /// `replay_align`: offsets are rounded down to this, bytes (0 = not).
    pub align_bytes: u64,
    /// `replay_time_scale`: speed, percent.
    pub speed_percent: u32,
    /// `replay_skip`: what is left out.
    pub skip: ReplaySkip,
    /// `merge_blktrace_file`: the traces are merged into this one, which is then replayed.
    pub merge_into: Option<String>,
    /// `merge_blktrace_scalars`: how long each trace takes, percent of what it took.
    pub merge_percent: Vec<f64>,
    /// `merge_blktrace_iters`: how often each trace comes.
    pub merge_repeats: Vec<f64>,
}

/// Kinds of I/O that a replay leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplaySkip {
    /// Reads.
    pub reads: bool,
    /// Writes.
    pub writes: bool,
    /// Trims.
    pub trims: bool,
    /// The sync family.
    pub syncs: bool,
}

impl Default for Replay {
    fn default() -> Self {
        Replay {
            recordings: Vec::new(),
            chunked: false,
            no_stall: false,
            redirect: None,
            scale: 1,
            align_bytes: 0,
            speed_percent: 100,
            skip: ReplaySkip::default(),
            merge_into: None,
            merge_percent: Vec::new(),
            merge_repeats: Vec::new(),
        }
    }
}

impl Replay {
    /// Whether the job replays a recording.
    pub fn on(&self) -> bool {
        !self.recordings.is_empty()
    }

    /// The recording of a clone.
    pub fn recording(&self, clone: u32) -> Option<&str> {
        match (&self.merge_into, self.recordings.len()) {
            (_, 0) => None,
            (Some(merged), _) => Some(merged),
            (None, count) => Some(&self.recordings[clone as usize % count]),
        }
    }
}
