//! A worker's side of its logs over time: what completed goes out in pieces to whoever writes the files.
//!
//! Memory is bounded: a piece is handed over when it is full, and the worker waits where nobody takes it. How long it
//! waited is told.

use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::Instant;

use iostrata_result::series::{HistogramRow, IoRecord, LogKind, LogPiece, WindowRow};
use iostrata_spec::Job;
use iostrata_stats::histogram::{FIO_BINS, bin_of};

/// Pieces on their way, with the position of their worker in the plan.
pub type LogSender = SyncSender<(usize, LogPiece)>;

/// Records in a piece.
const PIECE: usize = 1024;
const NS_PER_MS: u64 = 1_000_000;

/// Takes what completed; belongs to the worker.
pub(crate) struct Recorder {
    sender: LogSender,
    worker: usize,
    /// When measuring began; nothing is logged before.
    base_ns: u64,
    /// A record for each I/O is wanted.
    each: bool,
    ios: Vec<IoRecord>,
    rows: Vec<WindowRow>,
    windows: Option<Windows>,
    histograms: Option<Histograms>,
    waited_ns: u64,
}

impl Recorder {
    /// The recorder of a job that writes logs, or whose I/Os are traced.
    pub(crate) fn for_job(
        job: &Job,
        synchronous: bool,
        worker: usize,
        sender: Option<&LogSender>,
        traced: bool,
    ) -> Option<Recorder> {
        let (sender, logs) = (sender?.clone(), &job.logs);
        if !logs.any() && !traced {
            return None;
        }
        let series = logs.bandwidth.is_some() || logs.iops.is_some() || logs.latency.is_some();
        let windows = (series && logs.window_ms > 0).then(|| Windows::new(job, synchronous));
        let histograms = (logs.histogram.is_some() && logs.histogram_window_ms > 0).then(|| Histograms::new(job));
        Some(Recorder {
            sender,
            worker,
            base_ns: u64::MAX,
            each: traced || (series && logs.window_ms == 0),
            ios: Vec::new(),
            rows: Vec::new(),
            windows,
            histograms,
            waited_ns: 0,
        })
    }

    /// Measuring begins. `clock_ms`: what the clock that the job asked for shows then.
    pub(crate) fn begin(&mut self, now_ns: u64, clock_ms: u64) {
        self.base_ns = now_ns;
        self.send(LogPiece::Began(clock_ms));
    }

    /// An I/O completed; its times are still those of the run's clock.
    #[inline]
    pub(crate) fn io(&mut self, mut record: IoRecord) {
        if record.completed_ns < self.base_ns {
            return;
        }
        record.completed_ns -= self.base_ns;
        record.issued_ns = record.issued_ns.saturating_sub(self.base_ns);
        if self.each {
            self.ios.push(record);
            if self.ios.len() >= PIECE {
                self.send_ios();
            }
        }
        if let Some(windows) = &mut self.windows {
            windows.close_until(record.completed_ns, &mut self.rows);
            windows.add(&record);
            if self.rows.len() >= PIECE {
                self.send_rows();
            }
        }
        if let Some(histograms) = &mut self.histograms {
            let closed = histograms.close_until(record.completed_ns);
            histograms.add(&record);
            closed.into_iter().for_each(|row| self.send(LogPiece::Histogram(row)));
        }
    }

    /// The job has ended: what is left goes out. Says how long the worker had to wait for the log.
    pub(crate) fn finish(mut self, now_ns: u64) -> u64 {
        let end_ns = now_ns.saturating_sub(self.base_ns);
        self.send_ios();
        if let Some(mut windows) = self.windows.take() {
            windows.finish(end_ns, &mut self.rows);
        }
        self.send_rows();
        if let Some(mut histograms) = self.histograms.take() {
            let mut rows = histograms.close_until(end_ns);
            rows.extend(histograms.take_rows(end_ns));
            rows.into_iter().for_each(|row| self.send(LogPiece::Histogram(row)));
        }
        self.waited_ns
    }

    #[cold]
    fn send_ios(&mut self) {
        if !self.ios.is_empty() {
            let full = std::mem::replace(&mut self.ios, Vec::with_capacity(PIECE));
            self.send(LogPiece::Ios(full));
        }
    }

    #[cold]
    fn send_rows(&mut self) {
        if !self.rows.is_empty() {
            let rows = std::mem::take(&mut self.rows);
            self.send(LogPiece::Windows(rows));
        }
    }

    fn send(&mut self, piece: LogPiece) {
        self.waited_ns += send(&self.sender, (self.worker, piece));
    }
}

/// Sends a piece; how long the worker had to wait for that, nanoseconds.
pub(crate) fn send(sender: &LogSender, message: (usize, LogPiece)) -> u64 {
    // A writer that is gone has said why.
    let Err(TrySendError::Full(message)) = sender.try_send(message) else { return 0 };
    let since = Instant::now();
    let _ = sender.send(message);
    since.elapsed().as_nanos() as u64
}

/// Sum, count and maximum of the latencies of a window.
#[derive(Clone, Copy, Default)]
struct Latency {
    sum_ns: u64,
    ios: u64,
    largest_ns: u64,
}

/// What happened in a window, by direction.
#[derive(Clone, Copy, Default)]
struct Window {
    bytes: [u64; 3],
    ios: [u64; 3],
    /// slat, clat, lat.
    latencies: [[Latency; 3]; 3],
}

impl Window {
    fn merge(&mut self, other: &Window) {
        for direction in 0..3 {
            self.bytes[direction] += other.bytes[direction];
            self.ios[direction] += other.ios[direction];
            for (mine, others) in self.latencies.iter_mut().zip(&other.latencies) {
                let (mine, others) = (&mut mine[direction], others[direction]);
                mine.sum_ns += others.sum_ns;
                mine.ios += others.ios;
                mine.largest_ns = mine.largest_ns.max(others.largest_ns);
            }
        }
    }
}

/// Aligned windows of one length. The last that was closed is held back: what is left at the end may belong to it.
struct Windows {
    length_ns: u64,
    end_ns: u64,
    current: Window,
    closed: Option<(u64, Window)>,
    used: [bool; 3],
    bandwidth: bool,
    iops: bool,
    /// slat, clat, lat.
    latencies: [bool; 3],
}

impl Windows {
    fn new(job: &Job, synchronous: bool) -> Windows {
        let (logs, measure, workload) = (&job.logs, job.measure, job.workload);
        let length_ns = u64::from(logs.window_ms) * NS_PER_MS;
        let latency = logs.latency.is_some();
        Windows {
            length_ns,
            end_ns: length_ns,
            current: Window::default(),
            closed: None,
            used: [workload.reads, workload.writes, workload.trims],
            bandwidth: logs.bandwidth.is_some(),
            iops: logs.iops.is_some(),
            latencies: [latency && measure.slat && !synchronous, latency && measure.clat, latency && measure.lat],
        }
    }

    #[inline]
    fn add(&mut self, record: &IoRecord) {
        let direction = usize::from(record.direction);
        self.current.bytes[direction] += u64::from(record.bytes);
        self.current.ios[direction] += 1;
        let values = [record.slat_ns, record.clat_ns, record.lat_ns];
        for (latencies, value_ns) in self.current.latencies.iter_mut().zip(values) {
            let latency = &mut latencies[direction];
            latency.sum_ns += value_ns;
            latency.ios += 1;
            latency.largest_ns = latency.largest_ns.max(value_ns);
        }
    }

    /// Closes the windows that ended by `now_ns`, those without I/O among them.
    #[inline]
    fn close_until(&mut self, now_ns: u64, rows: &mut Vec<WindowRow>) {
        while self.end_ns <= now_ns {
            self.release(rows);
            self.closed = Some((self.end_ns, std::mem::take(&mut self.current)));
            self.end_ns += self.length_ns;
        }
    }

    /// The end of the job: a rest that is shorter than half a window belongs to the window before it, as a rate over a
    /// few microseconds would be no rate.
    fn finish(&mut self, end_ns: u64, rows: &mut Vec<WindowRow>) {
        self.close_until(end_ns, rows);
        let begun_ns = self.end_ns - self.length_ns;
        let rest_ns = end_ns - begun_ns;
        let rest = std::mem::take(&mut self.current);
        if rest.ios != [0; 3] {
            if let Some((_, mut window)) = self.closed.take_if(|_| rest_ns < self.length_ns / 2) {
                window.merge(&rest);
                self.write(end_ns, self.length_ns + rest_ns, &window, rows);
            } else {
                self.release(rows);
                self.write(end_ns, rest_ns.max(1), &rest, rows);
            }
        }
        self.release(rows);
    }

    fn release(&mut self, rows: &mut Vec<WindowRow>) {
        if let Some((end_ns, window)) = self.closed.take() {
            self.write(end_ns, self.length_ns, &window, rows);
        }
    }

    fn write(&self, end_ns: u64, length_ns: u64, window: &Window, rows: &mut Vec<WindowRow>) {
        let per_second = |amount: u64| (u128::from(amount) * 1_000_000_000 / u128::from(length_ns)) as u64;
        let kinds = [LogKind::Slat, LogKind::Clat, LogKind::Lat];
        for direction in (0..3).filter(|&direction| self.used[direction]) {
            let row = |kind, mean, largest| WindowRow {
                kind,
                end_ms: end_ns / NS_PER_MS,
                direction: direction as u8,
                mean,
                largest,
            };
            let rates = [
                (self.bandwidth, LogKind::Bandwidth, per_second(window.bytes[direction]) / 1024),
                (self.iops, LogKind::Iops, per_second(window.ios[direction])),
            ];
            rows.extend(rates.into_iter().filter(|(on, ..)| *on).map(|(_, kind, rate)| row(kind, rate, rate)));
            for (index, kind) in kinds.into_iter().enumerate().filter(|(index, _)| self.latencies[*index]) {
                let latency = window.latencies[index][direction];
                // Without an I/O there is no latency.
                if let Some(mean) = latency.sum_ns.checked_div(latency.ios) {
                    rows.push(row(kind, mean, latency.largest_ns));
                }
            }
        }
    }
}

/// Histograms of completion latency, window by window.
struct Histograms {
    length_ns: u64,
    end_ns: u64,
    bins: [Option<Box<[u64]>>; 3],
    block_bytes: [u64; 3],
    /// 2 to this power bins are joined.
    coarseness: u32,
}

impl Histograms {
    fn new(job: &Job) -> Histograms {
        let length_ns = u64::from(job.logs.histogram_window_ms) * NS_PER_MS;
        Histograms {
            length_ns,
            end_ns: length_ns,
            bins: [None, None, None],
            block_bytes: job.block_sizes().map(|sizes| sizes.min()),
            coarseness: job.logs.coarseness,
        }
    }

    fn add(&mut self, record: &IoRecord) {
        let bins = self.bins[usize::from(record.direction)]
            .get_or_insert_with(|| vec![0; FIO_BINS >> self.coarseness].into_boxed_slice());
        bins[bin_of(record.clat_ns).min(FIO_BINS - 1) >> self.coarseness] += 1;
    }

    fn close_until(&mut self, now_ns: u64) -> Vec<HistogramRow> {
        let mut rows = Vec::new();
        while self.end_ns <= now_ns {
            rows.extend(self.take_rows(self.end_ns));
            self.end_ns += self.length_ns;
        }
        rows
    }

    /// A row for each direction that had I/O.
    fn take_rows(&mut self, end_ns: u64) -> Vec<HistogramRow> {
        let block_bytes = self.block_bytes;
        let taken = self.bins.iter_mut().enumerate();
        taken
            .filter_map(|(direction, bins)| {
                Some(HistogramRow {
                    end_ms: end_ns / NS_PER_MS,
                    direction: direction as u8,
                    block_bytes: block_bytes[direction],
                    bins: bins.take()?,
                })
            })
            .collect()
    }
}
