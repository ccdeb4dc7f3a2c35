//! The line that tells how far a run has come.

use crate::number::Style;
use std::fmt::{self, Display};

/// What a job is doing; each has its letter in the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// Waits for an earlier group.
    NotStarted,
    /// Is being set up.
    SettingUp,
    /// Is set up and waits for the others.
    Created,
    /// Reads its files before the measured I/O.
    PreReading,
    /// Runs, but is not measured yet.
    Ramp,
    /// Runs.
    Running {
        /// The directions that it has.
        traffic: Traffic,
        /// Offsets are random.
        random: bool,
    },
    /// Waits for a sync.
    Syncing,
    /// Reads back what it wrote.
    Verifying,
    /// Winds up.
    Finishing,
    /// Has ended, but is not collected yet.
    Exited,
    /// Has ended well.
    Reaped,
    /// Has ended with an error.
    Failed,
    /// Was ended by a signal.
    Killed,
}

/// The directions of a running job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Reads only.
    Reads,
    /// Writes only.
    Writes,
    /// Trims only.
    Trims,
    /// Several.
    Mixed,
}

impl JobState {
    /// Its letter in the map.
    pub fn letter(self) -> char {
        match self {
            Self::NotStarted => 'P',
            Self::SettingUp => 'I',
            Self::Created => 'C',
            Self::PreReading => 'p',
            Self::Ramp => '/',
            Self::Running { traffic, random } => {
                let letter = match traffic {
                    Traffic::Reads => 'R',
                    Traffic::Writes => 'W',
                    Traffic::Trims => 'D',
                    Traffic::Mixed => 'M',
                };
                if random { letter.to_ascii_lowercase() } else { letter }
            }
            Self::Syncing => 'F',
            Self::Verifying => 'V',
            Self::Finishing => 'f',
            Self::Exited => 'E',
            Self::Reaped => '_',
            Self::Failed => 'X',
            Self::Killed => 'K',
        }
    }
}

/// The rates that the running jobs are held to, summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateLimits {
    /// Lower and upper bound, bytes per second.
    Bytes(u64, u64),
    /// Lower and upper bound, I/Os per second.
    Iops(u64, u64),
}

/// One look at a running run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Jobs that run.
    pub running: u32,
    /// Files that they have open.
    pub open_files: u32,
    /// What they are held to, if anything.
    pub limits: Option<RateLimits>,
    /// The state of each job, in the order of their thread numbers.
    pub states: Vec<JobState>,
    /// How much is done, 0 to 100; `None` if that is not known.
    pub percent: Option<f64>,
    /// Bytes per second since the last look for read, write and trim; `None` for a direction that no job has.
    pub bytes_per_second: [Option<u64>; 3],
    /// I/Os per second, likewise.
    pub iops: [Option<u64>; 3],
    /// Seconds to the end; `None` if that is not known.
    pub eta_seconds: Option<u64>,
}

impl Display for Progress {
    /// The line without an end: the caller keeps it on one row with [`Row`], or ends it with a newline.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = Style::default();
        write!(f, "Jobs: {} (f={})", self.running, self.open_files)?;
        match self.limits {
            Some(RateLimits::Bytes(low, high)) => write!(f, ", {}-{}", style.rate(low), style.rate(high))?,
            Some(RateLimits::Iops(low, high)) => write!(f, ", {}-{} IOPS", style.count(low), style.count(high))?,
            None => {}
        }
        f.write_str(": [")?;
        for (index, run) in self.states.chunk_by(|left, right| left == right).enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{}({})", run[0].letter(), run.len())?;
        }
        f.write_str("]")?;
        match self.percent.filter(|percent| percent.is_finite()) {
            Some(percent) => write!(f, "[{:.1}%]", percent.clamp(0.0, 100.0))?,
            None => f.write_str("[-.-%]")?,
        }
        per_direction(f, &self.bytes_per_second, "", |rate| style.rate(rate))?;
        per_direction(f, &self.iops, " IOPS", |iops| style.count(iops))?;
        write!(f, "[eta {}]", Eta(self.eta_seconds))
    }
}

fn per_direction(
    f: &mut fmt::Formatter<'_>,
    values: &[Option<u64>; 3],
    unit: &str,
    write: impl Fn(u64) -> String,
) -> fmt::Result {
    let known = ["r", "w", "t"].iter().zip(values).filter_map(|(letter, value)| Some((letter, (*value)?)));
    let parts: Vec<String> = known.map(|(letter, value)| format!("{letter}={}", write(value))).collect();
    if parts.is_empty() { Ok(()) } else { write!(f, "[{}{unit}]", parts.join(",")) }
}

/// `00m:01s`, with hours and days in front when there are any, `-` when it is not known. Ten thousand days are as
/// good as not known: such a guess comes from a run that has not got going.
struct Eta(Option<u64>);

impl Display for Eta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DAY: u64 = 86_400;
        let Some(seconds) = self.0.filter(|seconds| *seconds < 10_000 * DAY) else { return f.write_str("-") };
        let (days, hours) = (seconds / DAY, seconds % DAY / 3_600);
        if days > 0 {
            write!(f, "{days:02}d:")?;
        }
        if days > 0 || hours > 0 {
            write!(f, "{hours:02}h:")?;
        }
        write!(f, "{:02}m:{:02}s", seconds % 3_600 / 60, seconds % 60)
    }
}

/// Keeps the line on one row of a terminal.
#[derive(Clone, Debug, Default)]
pub struct Row {
    shown: usize,
}

impl Row {
    /// The next line, padded over the rest of the one before it, with the return that lets the next one overwrite it.
    pub fn next(&mut self, progress: &Progress) -> String {
        let line = progress.to_string();
        let padded = format!("{line:width$}\r", width = self.shown);
        self.shown = line.chars().count();
        padded
    }

    /// The row was left by a newline: nothing is to be overwritten.
    pub fn left(&mut self) {
        self.shown = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIXED: JobState = JobState::Running { traffic: Traffic::Mixed, random: false };

    /// Lines that fio printed, from what they say.
    #[test]
    fn lines_are_those_of_fio() {
        let mut progress = Progress {
            running: 1,
            open_files: 1,
            limits: Some(RateLimits::Bytes(0, 40 << 20)),
            states: vec![MIXED],
            percent: Some(80.0),
            bytes_per_second: [Some(20_866_662), Some(20_866_662), None],
            iops: [Some(5097), Some(5097), None],
            eta_seconds: Some(1),
        };
        assert_eq!(
            progress.to_string(),
            "Jobs: 1 (f=1), 0B/s-40.0MiB/s: [M(1)][80.0%][r=19.9MiB/s,w=19.9MiB/s][r=5097,w=5097 IOPS][eta 00m:01s]"
        );

        let random_read = JobState::Running { traffic: Traffic::Reads, random: true };
        progress = Progress {
            running: 3,
            open_files: 3,
            limits: None,
            states: vec![random_read, random_read, random_read, JobState::NotStarted],
            percent: Some(0.0),
            bytes_per_second: [Some(6_158_336), None, None],
            iops: [Some(1503), None, None],
            eta_seconds: Some(15 * 3600 + 28 * 60 + 13),
        };
        assert_eq!(progress.to_string(), "Jobs: 3 (f=3): [r(3),P(1)][0.0%][r=6014KiB/s][r=1503 IOPS][eta 15h:28m:13s]");
    }

    /// Where fio shows an overflow ("49710d:06h:28m:14s"), a time that is not known is a dash.
    #[test]
    fn nothing_known_and_nothing_overflows() {
        let mut progress = Progress {
            limits: Some(RateLimits::Iops(0, 2000)),
            states: vec![JobState::Ramp, JobState::NotStarted],
            ..Progress::default()
        };
        assert_eq!(progress.to_string(), "Jobs: 0 (f=0), 0-2000 IOPS: [/(1),P(1)][-.-%][eta -]");
        progress.eta_seconds = Some(u64::MAX);
        progress.percent = Some(f64::NAN);
        assert!(progress.to_string().ends_with("[-.-%][eta -]"));
        progress.eta_seconds = Some(86_400 + 7_200 + 65);
        progress.percent = Some(1e300);
        assert!(progress.to_string().ends_with("[100.0%][eta 01d:02h:01m:05s]"));
        progress.bytes_per_second = [None, None, Some(u64::MAX)];
        progress.iops = [None, None, Some(u64::MAX)];
        assert!(progress.to_string().contains("[t=16.0EiB/s][t=18.4E IOPS]"));
    }

    #[test]
    fn every_state_has_its_own_letter() {
        let running = [Traffic::Reads, Traffic::Writes, Traffic::Trims, Traffic::Mixed]
            .into_iter()
            .flat_map(|traffic| [true, false].map(|random| JobState::Running { traffic, random }));
        let others = [
            JobState::NotStarted,
            JobState::SettingUp,
            JobState::Created,
            JobState::PreReading,
            JobState::Ramp,
            JobState::Syncing,
            JobState::Verifying,
            JobState::Finishing,
            JobState::Exited,
            JobState::Reaped,
            JobState::Failed,
            JobState::Killed,
        ];
        let letters: String = running.chain(others).map(JobState::letter).collect();
        assert_eq!(letters, "rRwWdDmMPICp/FVfE_XK");
    }

    #[test]
    fn a_shorter_line_wipes_out_the_longer_one() {
        let mut row = Row::default();
        let long = Progress { eta_seconds: Some(90_000), ..Progress::default() };
        let short = Progress { eta_seconds: Some(9), ..Progress::default() };
        assert_eq!(row.next(&long), "Jobs: 0 (f=0): [][-.-%][eta 01d:01h:00m:00s]\r");
        assert_eq!(row.next(&short), "Jobs: 0 (f=0): [][-.-%][eta 00m:09s]        \r");
        assert_eq!(row.next(&short), "Jobs: 0 (f=0): [][-.-%][eta 00m:09s]\r");
        row.next(&long);
        row.left();
        assert_eq!(row.next(&short), "Jobs: 0 (f=0): [][-.-%][eta 00m:09s]\r");
    }
}
