//! What a job's logs over time are made of, in raw integers: a record for each I/O, or a row for each window.

/// The logs that a job can write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LogKind {
    /// Bandwidth.
    Bandwidth,
    /// I/Os.
    Iops,
    /// Submission latency.
    Slat,
    /// Completion latency.
    Clat,
    /// Total latency.
    Lat,
    /// Histograms of completion latency.
    ClatHistogram,
}

impl LogKind {
    /// All, in the order of their files.
    pub const ALL: [LogKind; 6] =
        [LogKind::Bandwidth, LogKind::Iops, LogKind::Slat, LogKind::Clat, LogKind::Lat, LogKind::ClatHistogram];

    /// The word in the file's name.
    pub fn word(self) -> &'static str {
        match self {
            LogKind::Bandwidth => "bw",
            LogKind::Iops => "iops",
            LogKind::Slat => "slat",
            LogKind::Clat => "clat",
            LogKind::Lat => "lat",
            LogKind::ClatHistogram => "clat_hist",
        }
    }
}

/// One completed I/O. Times are nanoseconds since measuring began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoRecord {
    /// When it completed.
    pub completed_ns: u64,
    /// When it was issued.
    pub issued_ns: u64,
    /// Submission latency.
    pub slat_ns: u64,
    /// Completion latency.
    pub clat_ns: u64,
    /// Total latency.
    pub lat_ns: u64,
    /// Where it was in its file, bytes.
    pub offset: u64,
    /// Its length, bytes.
    pub bytes: u32,
    /// 0 read, 1 write, 2 trim.
    pub direction: u8,
    /// Its priority as the kernel takes it; 0 for the job's.
    pub priority: u16,
}

/// One window of one log in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowRow {
    /// Which log.
    pub kind: LogKind,
    /// The end of the window, milliseconds since measuring began.
    pub end_ms: u64,
    /// 0 read, 1 write, 2 trim.
    pub direction: u8,
    /// KiB per second, I/Os per second, or the mean in nanoseconds.
    pub mean: u64,
    /// The largest value; for bandwidth and I/Os the same as the mean.
    pub largest: u64,
}

/// One window of a histogram log in one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramRow {
    /// The end of the window, milliseconds since measuring began.
    pub end_ms: u64,
    /// 0 read, 1 write, 2 trim.
    pub direction: u8,
    /// Block size of the job in this direction, bytes.
    pub block_bytes: u64,
    /// I/Os by bins of fio's histogram; larger latencies are in the last.
    pub bins: Box<[u64]>,
}

/// What a recording says was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedAction {
    /// A file is made known.
    Add,
    /// It is opened.
    Open,
    /// It is closed.
    Close,
    /// Bytes are read.
    Read,
    /// Bytes are written.
    Write,
    /// Bytes are discarded.
    Trim,
    /// `fsync`.
    Sync,
    /// `fdatasync`.
    DataSync,
}

/// One line of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// When, nanoseconds since the worker began.
    pub at_ns: u64,
    /// Where, bytes.
    pub offset: u64,
    /// How much.
    pub bytes: u32,
    /// Which of the worker's files.
    pub file: u32,
    /// What.
    pub action: RecordedAction,
}

/// A piece of a worker's logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogPiece {
    /// For logs without windows: an entry in each of them for every I/O.
    Ios(Vec<IoRecord>),
    /// For logs with windows.
    Windows(Vec<WindowRow>),
    /// For the histogram log.
    Histogram(HistogramRow),
    /// Measuring began at this moment of the run: milliseconds since the epoch of the clock that the job asked for.
    Began(u64),
    /// For the recording.
    Recorded(Vec<Recorded>),
}
