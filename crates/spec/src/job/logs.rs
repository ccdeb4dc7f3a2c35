//! Logs over time, as a job asks for them.

/// `log_window_value=`: what a window of a log shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowValue {
    /// The mean.
    #[default]
    Mean,
    /// The largest.
    Largest,
    /// Both, in this order.
    Both,
}

/// Logs over time. A log is written where its name has a beginning; an empty one stands for the job's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logs {
    /// `write_bw_log`.
    pub bandwidth: Option<String>,
    /// `write_iops_log`.
    pub iops: Option<String>,
    /// `write_lat_log`: submission, completion and total latency.
    pub latency: Option<String>,
    /// `write_hist_log`.
    pub histogram: Option<String>,
    /// `log_avg_msec`: length of a window, milliseconds; 0 logs every I/O.
    pub window_ms: u32,
    /// `log_window_value`.
    pub window_value: WindowValue,
    /// `log_hist_msec`: length of a histogram's window, milliseconds; 0 writes none.
    pub histogram_window_ms: u32,
    /// `log_hist_coarseness`: 2 to this power bins are joined.
    pub coarseness: u32,
    /// `log_offset`: a column with offsets.
    pub offset: bool,
    /// `log_prio`: the whole I/O priority in the last column.
    pub prio: bool,
    /// `log_issue_time`: a column with the time of issue.
    pub issue_time: bool,
    /// `log_alternate_epoch`: times are those of a clock, not since the start.
    pub clock_time: bool,
    /// `log_alternate_epoch_clock_id`: which clock.
    pub clock_id: i32,
    /// `per_job_logs`: a file for each clone, with its number in the name.
    pub per_job: bool,
    /// `log_store_compressed`: files hold compressed records instead of lines.
    pub compressed: bool,
    /// `log_compression`: bytes of records that are compressed together.
    pub compressed_bytes: Option<u64>,
    /// `log_compression_cpus`: where the thread that compresses may run.
    pub compression_cpus: Vec<u32>,
}

impl Default for Logs {
    fn default() -> Self {
        Logs {
            bandwidth: None,
            iops: None,
            latency: None,
            histogram: None,
            window_ms: 0,
            window_value: WindowValue::Mean,
            histogram_window_ms: 0,
            coarseness: 0,
            offset: false,
            prio: false,
            issue_time: false,
            clock_time: false,
            clock_id: 0,
            per_job: true,
            compressed: false,
            compressed_bytes: None,
            compression_cpus: Vec::new(),
        }
    }
}

impl Logs {
    /// Whether any log is written.
    pub fn any(&self) -> bool {
        [&self.bandwidth, &self.iops, &self.latency, &self.histogram].into_iter().any(Option::is_some)
    }
}
