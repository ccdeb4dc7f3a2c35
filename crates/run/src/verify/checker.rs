//! Makes blocks that can be checked, and checks them. It never changes, so that threads can share it.

use std::path::{Path, PathBuf};

use iostrata_os::fill::{FillState, fill_random};
use iostrata_spec::job::Pattern;
use iostrata_spec::{Job, Verify, VerifyMethod};

use super::dump::{self, Dumped};
use super::header::{Header, NoHeader, move_header, move_header_back};
use super::pattern;
use super::sums::sum;
use crate::generate::random::derive;
use crate::plan::WorkerPlan;

/// What is checked, and how, for one worker.
pub(super) struct Checker {
    method: VerifyMethod,
    interval_bytes: usize,
    header_offset: usize,
    pattern: Option<Pattern>,
    pattern_interval_bytes: usize,
    fatal: bool,
    dump: bool,
    check_sequence: bool,
    check_seed: bool,
    /// Whether data are made from the seed in the header.
    seeded: bool,
    /// Seed of all seeds.
    stream: u64,
    thread: u16,
    paths: Vec<PathBuf>,
    /// Where `verify_dump` writes.
    folder: PathBuf,
}

/// A block: where it is, and which write it must come from, if that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: u32,
    pub(super) offset: u64,
    pub(super) number: Option<u64>,
}

/// What is wrong with one interval.
enum Wrong {
    /// Its header, so that nothing else can be said.
    Header(String),
    /// Its data.
    Data(String),
}

impl Checker {
    pub(super) fn new(plan: &WorkerPlan, stream: u64, folder: &Path) -> Self {
        let method = method(plan);
        let (job, verify) = (&*plan.job, &plan.job.verify);
        let exclusive = !(plan.shares_blocks || verify.only);
        Checker {
            method,
            interval_bytes: verify.interval_bytes.unwrap_or(0).max(1) as usize,
            header_offset: verify.header_offset_bytes as usize,
            pattern: verify.pattern.clone(),
            pattern_interval_bytes: verify.pattern_interval_bytes as usize,
            fatal: verify.fatal,
            dump: verify.dump,
            check_sequence: verify.check_sequence && exclusive,
            check_seed: verify.check_seed && exclusive && method.has_header(),
            seeded: makes_data(job),
            stream,
            thread: plan.thread_number as u16,
            paths: plan.files.iter().map(|file| file.path.clone()).collect(),
            folder: folder.to_path_buf(),
        }
    }

    /// Makes the data of a write, as far as they are ours to make, and puts header and checksum into each interval.
    pub(super) fn seal(&self, block: &mut [u8], offset: u64, number: u64, now_ns: u64) {
        if let Some(pattern) = &self.pattern {
            pattern::fill(pattern, block, offset, self.pattern_interval_bytes);
        }
        if !self.method.has_header() {
            return;
        }
        for (index, interval) in block.chunks_mut(self.interval_bytes).enumerate() {
            let seed = self.seed(number, index);
            if self.seeded && self.pattern.is_none() {
                fill_random(interval, &mut FillState::new(seed));
            }
            let header = Header {
                method: Some(self.method),
                len: interval.len() as u32,
                seed,
                offset: offset + (index * self.interval_bytes) as u64,
                time_ns: now_ns,
                number,
                number_mask: u64::MAX,
                thread: self.thread,
                bytes: Verify::HEADER_BYTES,
            };
            if !self.has_room(interval.len()) {
                // The end of a block whose size is no multiple of the interval.
                continue;
            }
            let sum_end = Verify::HEADER_BYTES + self.method.sum_bytes();
            let sum = sum(self.method, &interval[sum_end..]);
            interval[Verify::HEADER_BYTES..sum_end].copy_from_slice(sum.bytes());
            header.write(interval);
            move_header(interval, Verify::HEADER_BYTES, self.header_offset);
        }
    }

    /// Whether an interval of so many bytes has room for a header, wherever it stands, and for a checksum.
    fn has_room(&self, bytes: usize) -> bool {
        bytes >= Verify::HEADER_BYTES + self.method.sum_bytes().max(self.header_offset)
    }

    /// Checks a block that was trimmed: it holds zeroes.
    pub(super) fn check_trimmed(&self, block: &[u8], place: Place) -> Option<String> {
        let at = block.iter().position(|byte| *byte != 0)?;
        let path = self.paths.get(place.file as usize).map_or(Path::new(""), PathBuf::as_path);
        let dumped = if self.dump {
            let zeroes = vec![0; block.len()];
            dump::write(&self.folder, path, place.offset, &Dumped::Data { received: block, expected: Some(&zeroes) })
        } else {
            String::new()
        };
        Some(format!(
            "{}, offset {}, length {}: it was trimmed and should read as zeroes, and byte {at} is {:#04x}; not every \
             device promises zeroes: trim_verify_zero=0 does not look{dumped}",
            path.display(),
            place.offset,
            block.len(),
            block[at]
        ))
    }

    /// Whether all data of a block come from here.
    pub(super) fn makes_data(&self) -> bool {
        self.pattern.is_some() || (self.seeded && self.method.has_header())
    }

    fn seed(&self, number: u64, index: usize) -> u64 {
        derive(derive(self.stream, number), index as u64)
    }

    /// Checks a block that was read; its bytes may change. `None` if all is well, else a sentence for each interval at
    /// fault; with `verify_fatal` for the first.
    pub(super) fn check(&self, block: &mut [u8], place: Place) -> Option<String> {
        if self.method == VerifyMethod::Null {
            return None;
        }
        let mut faults: Vec<String> = Vec::new();
        for start in (0..block.len()).step_by(self.interval_bytes) {
            let end = block.len().min(start + self.interval_bytes);
            let Err(wrong) = self.check_interval(block, start..end, place) else { continue };
            faults.push(self.tell(wrong, block, start..end, place));
            if self.fatal {
                break;
            }
        }
        (!faults.is_empty()).then(|| faults.join("; "))
    }

    fn check_interval(&self, block: &mut [u8], range: std::ops::Range<usize>, place: Place) -> Result<(), Wrong> {
        if self.method == VerifyMethod::Pattern {
            return self.check_pattern(block, range.clone(), range.start, place.offset);
        }
        if !self.has_room(range.len()) {
            return Ok(());
        }
        let interval = &mut block[range.clone()];
        move_header_back(interval, Verify::HEADER_BYTES, self.header_offset);
        let header = Header::read(interval);
        let header = header.map_err(|fault| Wrong::Header(no_header(fault)))?;
        self.check_header(&header, range.start, range.len(), place).map_err(Wrong::Header)?;
        let sum_end = header.bytes + self.method.sum_bytes();
        if self.method == VerifyMethod::PatternHeader {
            return self.check_pattern(block, range.clone(), range.start + header.bytes, place.offset);
        }
        let interval = &block[range];
        let found = sum(self.method, &interval[sum_end..]);
        let said = &interval[header.bytes..sum_end];
        if found.bytes() == said {
            return Ok(());
        }
        let said: String = said.iter().map(|byte| format!("{byte:02x}")).collect();
        Err(Wrong::Data(format!("the {} of its data is {found}, and {said} was written", self.method)))
    }

    /// Whether the header is that of the block that was meant.
    fn check_header(&self, header: &Header, start: usize, len: usize, place: Place) -> Result<(), String> {
        let offset = place.offset + start as u64;
        if header.offset != offset {
            return Err(format!("it holds the block of offset {}", header.offset));
        }
        if header.len as usize != len {
            return Err(format!(
                "its header is for {} bytes and {len} were expected; verify_interval={} fits",
                header.len, header.len
            ));
        }
        // The header alone is the same whatever follows it.
        if self.method != VerifyMethod::Meta && header.method != Some(self.method) {
            let found = header.method.map_or("by something unknown".into(), |method| format!("with {method}"));
            return Err(format!("it was written to be checked {found}, not with {}", self.method));
        }
        let Some(number) = place.number else { return Ok(()) };
        if self.check_sequence && header.number != number & header.number_mask {
            return Err(format!("it holds write number {}, and number {number} was the last one here", header.number));
        }
        if self.check_seed && header.seed != self.seed(number, start / self.interval_bytes) {
            return Err(format!("the seed in its header is {:#x}, not that of write number {number}", header.seed));
        }
        Ok(())
    }

    /// The bytes of the interval from `from` on, against the pattern.
    fn check_pattern(
        &self,
        block: &[u8],
        range: std::ops::Range<usize>,
        from: usize,
        offset: u64,
    ) -> Result<(), Wrong> {
        let Some(expected) = self.pattern_of(block.len(), offset) else { return Ok(()) };
        let different = (from..range.end).find(|&at| block[at] != expected[at]);
        let Some(at) = different else { return Ok(()) };
        Err(Wrong::Data(format!("byte {} is {:#04x} and {:#04x} was written", at, block[at], expected[at])))
    }

    fn pattern_of(&self, len: usize, offset: u64) -> Option<Vec<u8>> {
        let pattern = self.pattern.as_ref()?;
        let mut expected = vec![0; len];
        pattern::fill(pattern, &mut expected, offset, self.pattern_interval_bytes);
        Some(expected)
    }

    /// The sentence, and the files of `verify_dump`.
    #[cold]
    fn tell(&self, wrong: Wrong, block: &mut [u8], range: std::ops::Range<usize>, place: Place) -> String {
        let path = self.paths.get(place.file as usize).map(PathBuf::as_path).unwrap_or(Path::new(""));
        let offset = place.offset + range.start as u64;
        let expected = match &wrong {
            Wrong::Header(_) => None,
            Wrong::Data(_) => self.expected(block, range.clone(), place),
        };
        // On the disk the header stands where `verify_offset` has it.
        if self.method.has_header() && self.has_room(range.len()) {
            move_header(&mut block[range.clone()], Verify::HEADER_BYTES, self.header_offset);
        }
        let received = &block[range.clone()];
        let dumped = if !self.dump {
            String::new()
        } else {
            let dumped = match &wrong {
                Wrong::Header(_) => Dumped::Header(received),
                Wrong::Data(_) => Dumped::Data { received, expected: expected.as_deref() },
            };
            dump::write(&self.folder, path, offset, &dumped)
        };
        let (Wrong::Header(what) | Wrong::Data(what)) = wrong;
        format!("{}, offset {offset}, length {}: {what}{dumped}", path.display(), range.len())
    }

    /// The interval as it was written, if that can be known: from the pattern, or from the seed in its header where
    /// that gives data of the checksum in its header.
    fn expected(&self, block: &[u8], range: std::ops::Range<usize>, place: Place) -> Option<Vec<u8>> {
        let interval = &block[range.clone()];
        let header = if self.method.has_header() { Header::read(interval).ok() } else { None };
        let kept = header.map_or(0, |header| header.bytes + self.method.sum_bytes());
        let mut expected = match self.pattern_of(block.len(), place.offset) {
            Some(pattern) => pattern[range].to_vec(),
            None => {
                let mut data = vec![0; interval.len()];
                fill_random(&mut data, &mut FillState::new(header?.seed));
                data
            }
        };
        expected[..kept].copy_from_slice(&interval[..kept]);
        let sums = self.method.sum_bytes();
        if sums > 0 && sum(self.method, &expected[kept..]).bytes() != &expected[kept - sums..kept] {
            return None;
        }
        if header.is_some() {
            move_header(&mut expected, Verify::HEADER_BYTES, self.header_offset);
        }
        Some(expected)
    }
}

/// How blocks are checked. Engines without files give back nothing that was written: their reads are not looked at.
pub(super) fn method(plan: &WorkerPlan) -> VerifyMethod {
    if !plan.engine.caps.keeps_data() { VerifyMethod::Null } else { plan.job.verify.method }
}

/// Whether the data of a job's writes come from the seeds in their headers.
fn makes_data(job: &Job) -> bool {
    let buffers = &job.buffers;
    buffers.refill && buffers.compress_percent == 0 && buffers.dedupe_percent.is_none() && buffers.pattern.is_none()
}

fn no_header(fault: NoHeader) -> String {
    match fault {
        NoHeader::Magic(0) => "there is no header: its place holds zeroes, as if nothing had been written".into(),
        NoHeader::Magic(magic) => {
            format!("there is no header: it would begin with 0xacca, and {magic:#06x} stands there")
        }
        NoHeader::Sum(said, found) => {
            format!("its header is damaged: the CRC-32C in it is {said:08x} and that of it {found:08x}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: usize = 4096;

    fn checker(method: VerifyMethod) -> Checker {
        Checker {
            method,
            interval_bytes: 1024,
            header_offset: 0,
            pattern: None,
            pattern_interval_bytes: 0,
            fatal: false,
            dump: false,
            check_sequence: true,
            check_seed: true,
            seeded: true,
            stream: 5,
            thread: 1,
            paths: vec![PathBuf::from("disk")],
            folder: PathBuf::new(),
        }
    }

    fn sealed(checker: &Checker, offset: u64, number: u64) -> Vec<u8> {
        let mut block = vec![0; BLOCK];
        checker.seal(&mut block, offset, number, 77);
        block
    }

    fn place(offset: u64, number: Option<u64>) -> Place {
        Place { file: 0, offset, number }
    }

    #[test]
    fn a_block_is_right_in_its_place_from_its_write_only() {
        let checker = checker(VerifyMethod::Md5);
        let block = sealed(&checker, 8192, 3);
        for number in [None, Some(3)] {
            assert_eq!(checker.check(&mut block.clone(), place(8192, number)), None);
        }
        // A write that the disk lost: what is there is whole, and older than the last write.
        let stale = checker.check(&mut block.clone(), place(8192, Some(9))).unwrap();
        assert!(stale.starts_with("disk, offset 8192, length 1024: it holds write number 3"), "{stale}");
        assert_eq!(stale.matches("disk").count(), 4, "each interval is told of");
        let elsewhere = checker.check(&mut block.clone(), place(4096, None)).unwrap();
        assert!(elsewhere.contains("it holds the block of offset 8192"), "{elsewhere}");
        let torn = [&block[..1024], &sealed(&checker, 8192, 4)[1024..]].concat();
        let told = checker.check(&mut torn.clone(), place(8192, Some(4))).unwrap();
        assert_eq!(told.matches("disk").count(), 1, "{told}");
        assert_eq!(checker.check(&mut vec![0; BLOCK], place(0, None)).unwrap().matches("holds zeroes").count(), 4);
    }

    #[test]
    fn fatal_tells_of_the_first_fault_and_the_seed_is_checked_apart_from_the_number() {
        let other = Checker { stream: 6, ..checker(VerifyMethod::Crc16) };
        let block = sealed(&other, 0, 3);
        let seed = Checker { fatal: true, ..checker(VerifyMethod::Crc16) };
        let told = seed.check(&mut block.clone(), place(0, Some(3))).unwrap();
        assert!(told.contains("the seed in its header") && told.matches("disk").count() == 1, "{told}");
        let lenient = Checker { check_seed: false, ..checker(VerifyMethod::Crc16) };
        assert_eq!(lenient.check(&mut block.clone(), place(0, Some(3))), None);
    }

    #[test]
    fn the_short_end_of_a_block_is_checked_where_a_header_has_room() {
        for header_offset in [0, 100] {
            let checker = Checker { header_offset, ..checker(VerifyMethod::Md5) };
            for len in [1024 + 300, 1024 + 110, 1024 + 20, 300] {
                let mut block = vec![0; len];
                checker.seal(&mut block, 4096, 3, 77);
                assert_eq!(checker.check(&mut block.clone(), place(4096, Some(3))), None, "{len}");
                let last = len - 1;
                block[last] ^= 1;
                let told = checker.check(&mut block, place(4096, Some(3)));
                assert_eq!(told.is_some(), len % 1024 >= 48 + header_offset.max(16), "{len} {header_offset}");
            }
        }
    }

    #[test]
    fn what_was_trimmed_is_zero() {
        let checker = checker(VerifyMethod::Md5);
        assert_eq!(checker.check_trimmed(&[0; 512], place(4096, None)), None);
        let told = checker.check_trimmed(&[0, 0, 3, 0], place(4096, None)).unwrap();
        assert!(told.starts_with("disk, offset 4096, length 4: it was trimmed") && told.contains("byte 2 is 0x03"));
    }

    #[test]
    fn the_header_may_stand_anywhere_in_its_interval() {
        for header_offset in [1, 40, 48, 51, 700, 1024 - 48] {
            let checker = Checker { header_offset, ..checker(VerifyMethod::Sha1) };
            let block = sealed(&checker, 4096, 1);
            assert_eq!(block[header_offset..header_offset + 2], [0xca, 0xac]);
            assert_eq!(checker.check(&mut block.clone(), place(4096, Some(1))), None, "at {header_offset}");
            for at in (0..BLOCK).step_by(37) {
                let mut changed = block.clone();
                changed[at] ^= 4;
                assert!(checker.check(&mut changed, place(4096, Some(1))).is_some(), "byte {at}");
            }
        }
    }
}
