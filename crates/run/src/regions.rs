//! Which part of which file a clone works on, and how many bytes it moves.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use iostrata_device::{nvme_namespace_bytes, scsi_disk_bytes};
use iostrata_engine::{Devices, EngineConfig, EngineSpec, Instance};
use iostrata_os::file::{Facts, Kind, facts_at};
use iostrata_spec::{Fallocate, Job, Size, ZoneMode};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::error::RunError;
use crate::generate::Streams;
use crate::generate::precondition::pass_bytes;
use crate::generate::random::{below, generator};
use crate::layout::needs_data;
use crate::plan::{FilePlan, files_of};
use crate::zones::{round_to_zones, zone_bytes};

/// More than any device has; the largest offset that systems know is twice this.
const ENDLESS_BYTES: u64 = 1 << 62;

/// The files of one clone.
#[derive(Default)]
pub(crate) struct Regions {
    pub(crate) files: Vec<FilePlan>,
    /// Bytes to transfer in one loop.
    pub(crate) io_bytes: u64,
}

/// Sizes of files that the layout of earlier workers makes: later ones find them there.
#[derive(Default)]
pub(crate) struct MadeFiles(HashMap<PathBuf, u64>);

/// What lies at a path now, or will once the workers before are laid out.
#[derive(Clone, Copy, Default)]
struct Present {
    kind: Option<Kind>,
    bytes: u64,
    /// Of these, what is there now.
    there_bytes: u64,
}

impl MadeFiles {
    /// Remembers what a job's layout makes. Where nothing but the writes themselves gives a file its size, later
    /// workers find it empty, as in fio.
    pub(crate) fn note(&mut self, job: &Job, engine: &EngineSpec, files: &[FilePlan]) {
        let sized = needs_data(job, engine) || !matches!(job.fallocate, Fallocate::None | Fallocate::Keep);
        if job.create_on_open || !sized || !engine.caps.lays_out() {
            return;
        }
        for file in files {
            let bytes = self.0.entry(file.path.clone()).or_default();
            *bytes = file.file_bytes.max(*bytes);
        }
    }

    fn look(&self, job: &Job, engine: &EngineSpec, path: &Path) -> Result<Present, RunError> {
        let made_bytes = self.0.get(path).copied();
        match facts_at(path) {
            Ok(facts) if engine.caps.names.is_some() => name_taken(job, engine, path, &facts),
            Ok(facts) if engine.caps.devices.is_some() => device(job, engine, path, &facts),
            Ok(facts) if facts.kind == Kind::Directory => Err(RunError::job_errno(
                job,
                libc::EISDIR,
                format!("{} is a directory: name a file in it, or give directory={0}", path.display()),
            )),
            Ok(facts) => Ok(Present {
                kind: Some(facts.kind),
                bytes: facts.size_bytes.max(made_bytes.unwrap_or(0)),
                there_bytes: facts.size_bytes,
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && engine.caps.devices.is_none() => {
                let kind = made_bytes.map(|_| Kind::Regular);
                Ok(Present { kind, bytes: made_bytes.unwrap_or(0), there_bytes: 0 })
            }
            Err(error) => Err(RunError::system(job, Some(path), "stat", &error)),
        }
    }
}

impl Regions {
    /// Sizes and regions of a clone's files, by what is there and by `size`, `filesize`, `offset`, `offset_increment`
    /// and `io_size`.
    pub(crate) fn of(
        job: &Job,
        engine: &EngineSpec,
        clone: u32,
        streams: Streams,
        made: &MadeFiles,
    ) -> Result<Regions, RunError> {
        if engine.caps.task {
            return Ok(Regions::default());
        }
        let names = files_of(job, clone)?;
        let remote_bytes = if engine.caps.remote { Some(remote_bytes(job, engine)?) } else { None };
        let count = names.len() as u64;
        let mut rng = generator(streams.files);
        let mut files = Vec::with_capacity(names.len());
        let mut zone = 0;
        for path in names {
            let present = match remote_bytes {
                Some(0) => Present::default(),
                Some(bytes) => Present { kind: Some(Kind::Block), bytes, there_bytes: bytes },
                None if engine.caps.diskless => Present::default(),
                None => made.look(job, engine, &path)?,
            };
            let file_size = job.file_size.map(|range| draw_size(range, smallest_block(job), &mut rng));
            let zone_bytes = zone_bytes(job, engine, &path)?;
            let file = region(&Wanted { job, clone, count, zone_bytes }, path, present, file_size)?;
            files.push(if engine.caps.names.is_some() { name_alone(job, file) } else { file });
            zone = zone_bytes;
        }
        let region_bytes: u64 = files.iter().map(|file| file.region_bytes).sum();
        // filesize= says how large the files are; size= then says how much of them the job covers, wherever in them.
        let covered_bytes = match (job.file_size, job.size) {
            (Some(_), Some(Size::Bytes(bytes))) => region_bytes.min(bytes),
            _ => region_bytes,
        };
        let smallest = smallest_block(job);
        if covered_bytes < smallest {
            return Err(RunError::job(
                job,
                format!(
                    "the block size ({smallest} bytes) is larger than the data to work on ({covered_bytes} bytes): \
                     give a larger size= or a smaller bs="
                ),
            ));
        }
        let io_bytes = match job.io_size {
            None if job.shape.precondition.on => precondition_bytes(job, &files)?,
            None => covered_bytes,
            Some(Size::Bytes(bytes)) => bytes,
            Some(Size::Percent(percent)) => share(covered_bytes, percent),
            Some(Size::Zones(count)) => zone.saturating_mul(count),
        };
        Ok(Regions { files, io_bytes })
    }
}

/// How large a target is that is elsewhere.
fn remote_bytes(job: &Job, engine: &EngineSpec) -> Result<u64, RunError> {
    let asked = (engine.make)(&EngineConfig::of(&job.engine_options)).and_then(|instance| match instance {
        Instance::Async(mut engine) => engine.target_bytes(),
        Instance::Sync(_) | Instance::Task(_) => Ok(0),
    });
    asked.map_err(|error| RunError::job_errno(job, error.errno(), format!("ioengine={}: {error}", engine.name)))
}

/// The device that the engine sends its commands to. `/dev/sg0` and `/dev/ng0n1` are as long as the disks that they are
/// other ways to.
fn device(job: &Job, engine: &EngineSpec, path: &Path, facts: &Facts) -> Result<Present, RunError> {
    let (bytes, wanted) = match engine.caps.devices {
        Some(Devices::Nvme) => (
            nvme_namespace_bytes(facts.kind, facts.device),
            "no generic device of an NVMe namespace: ioengine=io_uring_cmd takes /dev/ngXnY, as `nvme list` shows them",
        ),
        _ => (
            scsi_disk_bytes(facts.kind, facts.device),
            "no SCSI disk: ioengine=sg takes /dev/sgN or the block device of a whole disk, because its commands count \
             from where the disk begins",
        ),
    };
    let Some(bytes) = bytes else {
        return Err(RunError::job_errno(job, libc::ENOTBLK, format!("{} is {wanted}", path.display())));
    };
    Ok(Present { kind: Some(facts.kind), bytes, there_bytes: bytes })
}

/// A name has one I/O, however long its file is.
fn name_alone(job: &Job, file: FilePlan) -> FilePlan {
    FilePlan { region_start: 0, region_bytes: smallest_block(job), ..file }
}

/// What is there already of a name that the engine works on. Only names of what it is made for are touched: that of a
/// device is not removed.
fn name_taken(job: &Job, engine: &EngineSpec, path: &Path, facts: &Facts) -> Result<Present, RunError> {
    let folders = engine.caps.names.is_some_and(|names| names.folders);
    let (wanted, errno, what) = match folders {
        true => (Kind::Directory, libc::ENOTDIR, "directories"),
        false if facts.kind == Kind::Directory => (Kind::Regular, libc::EISDIR, "regular files"),
        false => (Kind::Regular, libc::EINVAL, "regular files"),
    };
    if facts.kind != wanted {
        let text = format!("{} is there and none of the {what} that ioengine={} works on", path.display(), engine.name);
        return Err(RunError::job_errno(job, errno, text));
    }
    let there_bytes = if folders { 0 } else { facts.size_bytes };
    Ok(Present { kind: Some(facts.kind), bytes: there_bytes, there_bytes })
}

/// What `sprandom` writes: as much as the flash behind each region holds.
fn precondition_bytes(job: &Job, files: &[FilePlan]) -> Result<u64, RunError> {
    let rules = &job.shape.precondition;
    let pass = |file: &FilePlan| pass_bytes(rules, file.region_bytes, job.block_size.write);
    files.iter().map(pass).try_fold(0, |sum: u64, bytes| sum.checked_add(bytes?)).ok_or_else(|| {
        let text = "sprandom: so few regions cannot be brought into this state: give a larger spr_num_regions= or \
                    size=, or a smaller spr_cs= or spr_op=";
        RunError::job(job, text.into())
    })
}

/// A file's size from the range of `filesize`: whole blocks, but at least the lower limit.
fn draw_size((low, high): (u64, u64), block: u64, rng: &mut Xoshiro256PlusPlus) -> u64 {
    if low >= high {
        return low;
    }
    let drawn = low + below(rng, high - low + 1);
    (drawn - drawn % block.max(1)).max(low)
}

/// The smallest block of the directions in use, bytes.
pub(crate) fn smallest_block(job: &Job) -> u64 {
    job.block_limits().0
}

/// `percent` of `bytes`.
fn share(bytes: u64, percent: u32) -> u64 {
    (u128::from(bytes) * u128::from(percent) / 100) as u64
}

/// Where a clone's region begins. What is in percent is added up first and then rounded up, as fio does.
fn start_of(wanted: &Wanted<'_>, whole_bytes: u64, block: u64) -> u64 {
    let Wanted { job, clone, zone_bytes, .. } = *wanted;
    let bytes_of = |size: Size| match size {
        Size::Bytes(bytes) => bytes,
        Size::Percent(percent) => share(whole_bytes, percent),
        Size::Zones(count) => zone_bytes.saturating_mul(count),
    };
    let start = bytes_of(job.offset).saturating_add(bytes_of(job.offset_increment).saturating_mul(u64::from(clone)));
    let in_percent = [job.offset, job.offset_increment].iter().any(|size| matches!(size, Size::Percent(_)));
    let align = if job.offset_align_bytes > 0 { job.offset_align_bytes } else { block };
    if in_percent { start.checked_next_multiple_of(align).unwrap_or(start) } else { start }
}

/// What a clone wants of each of its files.
struct Wanted<'a> {
    job: &'a Job,
    clone: u32,
    /// Files.
    count: u64,
    /// Bytes of a zone; 0 without zones.
    zone_bytes: u64,
}

fn region(wanted: &Wanted<'_>, path: PathBuf, present: Present, file_size: Option<u64>) -> Result<FilePlan, RunError> {
    let &Wanted { job, count, zone_bytes, .. } = wanted;
    let zoned = job.shape.zone_mode == ZoneMode::Zoned;
    // A device cannot grow, nor can what stands for one, and a file that nobody sized is taken as it is.
    let fixed = present.kind == Some(Kind::Block)
        || present.kind == Some(Kind::Char) && present.bytes > 0
        || zoned && present.bytes > 0;
    let fixed_bytes = fixed.then_some(present.bytes);
    let file_size = file_size.map(|bytes| match job.size {
        Some(Size::Percent(percent)) => share(bytes, percent),
        _ => bytes,
    });
    let asked_bytes = match job.size {
        _ if file_size.is_some() => None,
        Some(Size::Bytes(bytes)) => Some(bytes / count),
        Some(Size::Percent(percent)) => Some(share(present.bytes, percent)),
        Some(Size::Zones(zones)) => Some(zone_bytes.saturating_mul(zones) / count),
        // Sequential writes may go on to wherever the device is full.
        None if job.fill_device && present.bytes == 0 && job.workload.writes && !job.workload.random => {
            Some(ENDLESS_BYTES / count)
        }
        None => None,
    };
    let whole_bytes =
        fixed_bytes.or(file_size).or((present.bytes > 0).then_some(present.bytes)).or(asked_bytes).unwrap_or(0);
    let align = smallest_block(job).max(1);
    let start = start_of(wanted, whole_bytes, align);
    // A file of a given size ends there, whatever lies behind.
    let end_bytes = match (fixed_bytes, file_size) {
        (Some(device), Some(file)) => Some(device.min(file)),
        (fixed, file) => fixed.or(file),
    };
    let start = if job.append && fixed_bytes.is_none() { start.saturating_add(present.bytes) } else { start };
    // Making a file as long as that is not what a job that only reads one can mean.
    let only_reads = job.workload.reads && !job.workload.writes && !job.workload.trims;
    let beyond = present.kind == Some(Kind::Regular) && present.bytes > 0 && start > present.bytes;
    if beyond && only_reads && file_size.is_none() {
        return Err(nothing_to_do(job, &path, present, asked_bytes, start));
    }
    let length = match (asked_bytes, end_bytes) {
        (Some(asked), Some(end)) => asked.min(end.saturating_sub(start)),
        (Some(asked), None) => asked,
        (None, Some(end)) => end.saturating_sub(start),
        (None, None) => present.bytes.saturating_sub(start),
    };
    if length == 0 {
        return Err(nothing_to_do(job, &path, present, asked_bytes.or(file_size), start));
    }
    // A percentage is cut to whole blocks, as fio does.
    let length =
        if matches!(job.size, Some(Size::Percent(_))) && length > align { length - length % align } else { length };
    let (start, length) = if zoned { round_to_zones(job, zone_bytes, start, length)? } else { (start, length) };
    let file_bytes = file_size.unwrap_or_else(|| start.saturating_add(length));
    let Present { kind, there_bytes, .. } = present;
    Ok(FilePlan { path, region_start: start, region_bytes: length, file_bytes, kind, there_bytes })
}

fn nothing_to_do(job: &Job, path: &Path, present: Present, asked_bytes: Option<u64>, start: u64) -> RunError {
    let path = path.display();
    let text = match (asked_bytes, present.kind) {
        _ if present.bytes == 0 && matches!(job.size, Some(Size::Percent(_))) => {
            format!("you need to specify size=: a percentage is of what is there already, and {path} holds nothing")
        }
        (None, None) => format!("you need to specify size=: {path} does not exist and no size= is given"),
        (None, Some(_)) if present.bytes == 0 => format!("you need to specify size=: {path} is empty"),
        _ => format!("nothing to do in {path}: it ends before offset {start}"),
    };
    RunError::job(job, text)
}
