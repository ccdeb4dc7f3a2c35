//! What is told of written data, and when it is made durable besides `fsync`.

/// `write_hint=`: how long written data will live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteHint {
    /// Nothing is said.
    #[default]
    Unset,
    /// `RWH_WRITE_LIFE_NONE`.
    None,
    /// `RWH_WRITE_LIFE_SHORT`.
    Short,
    /// `RWH_WRITE_LIFE_MEDIUM`.
    Medium,
    /// `RWH_WRITE_LIFE_LONG`.
    Long,
    /// `RWH_WRITE_LIFE_EXTREME`.
    Extreme,
}

/// `fsync` and its kin: when written data is made durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Syncs {
    /// `fsync`: after this many writes (0 = never).
    pub every: u32,
    /// `fdatasync`: after this many writes (0 = never).
    pub data_every: u32,
    /// `sync_file_range`.
    pub range: RangeSync,
    /// `end_syncfs`.
    pub end_fs: bool,
    /// `end_fsync`.
    pub end: bool,
    /// `fsync_on_close`.
    pub on_close: bool,
}

/// `sync_file_range=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RangeSync {
    /// Wait for writes of these pages that are under way.
    pub wait_before: bool,
    /// Begin to write the dirty ones.
    pub write: bool,
    /// Wait for the end of these.
    pub wait_after: bool,
    /// After so many writes; 0: never.
    pub every: u32,
}

impl RangeSync {
    /// Reads `WORD[,WORD…][:N]`. Without a number fio never syncs.
    pub(crate) fn from_text(text: &str) -> Self {
        let (words, every) = text.split_once(':').unwrap_or((text, "0"));
        let mut sync = RangeSync { every: every.trim().parse().unwrap_or(0), ..RangeSync::default() };
        for word in words.split(',').map(str::trim) {
            sync.wait_before |= word == "wait_before";
            sync.write |= word == "write";
            sync.wait_after |= word == "wait_after";
        }
        sync
    }

    /// The text that [`RangeSync::from_text`] reads back; `None` where nothing was asked for.
    pub(crate) fn text(self) -> Option<String> {
        let words = [(self.wait_before, "wait_before"), (self.write, "write"), (self.wait_after, "wait_after")];
        let words: Vec<&str> = words.into_iter().filter(|(on, _)| *on).map(|(_, word)| word).collect();
        match (words.is_empty(), self.every) {
            (true, _) => None,
            (false, 0) => Some(words.join(",")),
            (false, every) => Some(format!("{}:{every}", words.join(","))),
        }
    }
}
