//! What the command line can ask for besides jobs: trace topics, small measurements of the machine itself.

use std::path::PathBuf;

use crate::verify::VerifyMethod;

/// Something that is done at once, instead of jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Service {
    /// `--inflate-log`: print a compressed log.
    InflateLog(PathBuf),
    /// `--crctest`: how fast checksums are.
    Checksums(Vec<VerifyMethod>),
    /// `--memcpytest`: how fast memory is copied.
    Copies(Vec<Copying>),
    /// `--cpuclock-test`: whether the CPU's clock can be relied on.
    ClockTest,
    /// `--idle-prof=calibrate`: how long a unit of work takes.
    Calibrate,
}

/// `--idle-prof`: what is said of how idle the CPUs were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleReport {
    /// All of them together.
    System,
    /// Each besides.
    PerCpu,
}

/// A way to copy memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copying {
    /// The C library's for places that do not overlap.
    Memcpy,
    /// The C library's for places that may.
    Memmove,
    /// A loop over words of eight bytes.
    Simple,
    /// The loop below 64 bytes, the C library's above.
    Hybrid,
}

impl Copying {
    /// All, as fio lists them.
    pub const ALL: [Copying; 4] = [Copying::Memcpy, Copying::Memmove, Copying::Simple, Copying::Hybrid];

    /// Its word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Copying::Memcpy => "memcpy",
            Copying::Memmove => "memmove",
            Copying::Simple => "simple",
            Copying::Hybrid => "hybrid",
        }
    }
}

/// Checksums by the words of `--crctest`, in fio's order; what is here has a `verify=` method too.
pub(crate) const CHECKSUMS: &[(&str, VerifyMethod)] = &[
    ("md5", VerifyMethod::Md5),
    ("crc64", VerifyMethod::Crc64),
    ("crc32", VerifyMethod::Crc32),
    ("crc32c", VerifyMethod::Crc32c),
    ("crc16", VerifyMethod::Crc16),
    ("crc7", VerifyMethod::Crc7),
    ("sha1", VerifyMethod::Sha1),
    ("sha256", VerifyMethod::Sha256),
    ("sha512", VerifyMethod::Sha512),
    ("xxhash", VerifyMethod::Xxhash),
    ("sha3-224", VerifyMethod::Sha3_224),
    ("sha3-256", VerifyMethod::Sha3_256),
    ("sha3-384", VerifyMethod::Sha3_384),
    ("sha3-512", VerifyMethod::Sha3_512),
];

impl VerifyMethod {
    /// The word of `--crctest`; none for methods without a checksum.
    pub fn checksum_word(self) -> Option<&'static str> {
        CHECKSUMS.iter().find(|(_, method)| *method == self).map(|(word, _)| *word)
    }
}

/// A part of the program that `--debug` can trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// Workers: when they start and end, and what they run as.
    Process,
    /// Files: which, how large, made or there.
    File,
    /// Each I/O.
    Io,
    /// Memory of the buffers.
    Mem,
    /// Checking of data.
    Verify,
    /// Random numbers: seeds and laws.
    Random,
    /// Options as they were read.
    Parse,
    /// Disks and their counters.
    DiskUtil,
    /// Jobs as they were understood.
    Job,
    /// The canned workload.
    Profile,
    /// Clocks and times.
    Time,
    /// Rates.
    Rate,
    /// Compression of logs.
    Compress,
    /// Steady state.
    SteadyState,
}

/// fio's words for topics. Those without a topic of ours are about parts that this program does not have.
pub(crate) const TOPICS: &[(&str, Option<Topic>)] = &[
    ("process", Some(Topic::Process)),
    ("file", Some(Topic::File)),
    ("io", Some(Topic::Io)),
    ("mem", Some(Topic::Mem)),
    ("blktrace", None),
    ("verify", Some(Topic::Verify)),
    ("random", Some(Topic::Random)),
    ("parse", Some(Topic::Parse)),
    ("diskutil", Some(Topic::DiskUtil)),
    ("job", Some(Topic::Job)),
    ("mutex", None),
    ("profile", Some(Topic::Profile)),
    ("time", Some(Topic::Time)),
    ("net", None),
    ("rate", Some(Topic::Rate)),
    ("compress", Some(Topic::Compress)),
    ("steadystate", Some(Topic::SteadyState)),
    ("helperthread", None),
    ("zbd", None),
    ("sprandom", None),
];

impl Topic {
    /// Its word.
    pub fn word(self) -> &'static str {
        TOPICS.iter().find(|(_, topic)| *topic == Some(self)).map_or("", |(word, _)| word)
    }
}

/// `--debug`: what is traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Debug {
    topics: u32,
    /// Only this job, by its number from 1 (`job:N`).
    pub only_job: Option<u32>,
}

impl Debug {
    /// Whether anything is traced.
    pub fn any(&self) -> bool {
        self.topics != 0
    }

    /// Whether a topic is traced, for the job of this number.
    pub fn traces(&self, topic: Topic, job: u32) -> bool {
        self.topics & (1 << topic as u32) != 0 && self.only_job.is_none_or(|only| only == job)
    }

    /// Adds a word of the list; false if there is no such word.
    pub(crate) fn add(&mut self, word: &str) -> bool {
        if let Some(number) = word.strip_prefix("job:") {
            self.only_job = number.parse().ok().filter(|number| *number > 0);
            return self.only_job.is_some();
        }
        let mut known = word == "all";
        for (name, topic) in TOPICS {
            if word == "all" || word == *name {
                self.topics |= topic.map_or(0, |topic| 1 << topic as u32);
                known = true;
            }
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_traced_for_the_job_that_was_asked_for() {
        let mut debug = Debug::default();
        assert!(!debug.any() && debug.add("io") && debug.add("job:2") && debug.add("net"));
        assert!(debug.traces(Topic::Io, 2) && !debug.traces(Topic::Io, 1) && !debug.traces(Topic::File, 2));
        assert!(!debug.add("ios") && !debug.add("job:0") && !debug.add("job:x"));
        assert!(debug.add("all") && TOPICS.iter().filter_map(|(_, topic)| *topic).all(|topic| debug.traces(topic, 2)));
    }
}
