//! From jobs to workers: who runs, in which order, on which part of which file.
//!
//! The plan is made once, before anything is opened for I/O. It reads the sizes of what exists and changes nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use iostrata_engine::EngineSpec;
use iostrata_os::file::{Facts, Kind, facts_at};
use iostrata_spec::{Job, Seed, Size};

use crate::error::RunError;

/// One file of one worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlan {
    /// The file; for engines without files only a name.
    pub path: PathBuf,
    /// First byte of the region that I/O touches.
    pub region_start: u64,
    /// Length of that region, bytes.
    pub region_bytes: u64,
    /// Size that the file must have before I/O starts, bytes.
    pub file_bytes: u64,
    /// What it is; `None` if it does not exist yet or the engine has no files.
    pub kind: Option<Kind>,
}

/// One worker: one clone of one job.
#[derive(Clone)]
pub struct WorkerPlan {
    /// The job.
    pub job: Arc<Job>,
    /// Its engine.
    pub engine: &'static EngineSpec,
    /// Position of the job in the run, from 0.
    pub job_index: u32,
    /// Clone, from 0.
    pub clone: u32,
    /// Number in the run, from 1.
    pub thread_number: u32,
    /// Reporting group, from 0.
    pub group: u32,
    /// Workers of one stage run at the same time; a stage starts when the one before has ended.
    pub stage: u32,
    /// Its files.
    pub files: Vec<FilePlan>,
    /// Bytes to transfer in one loop.
    pub io_bytes: u64,
    /// Seed of the run's random streams.
    pub seed: u64,
}

/// The whole run.
#[derive(Clone, Default)]
pub struct Plan {
    /// Workers by thread number.
    pub workers: Vec<WorkerPlan>,
    /// Whether time is virtual (all workers drive the `sim` engine).
    pub virtual_time: bool,
}

impl Plan {
    /// Number of stages.
    pub fn stages(&self) -> u32 {
        self.workers.last().map_or(0, |worker| worker.stage + 1)
    }
}

/// The seed that `randrepeat=1` stands for.
const REPEAT_SEED: u64 = 0x89;

/// Makes the plan. Every fault of every job is reported, not only the first.
///
/// `fresh_seed` is used by jobs with `randrepeat=0`.
pub fn plan(
    jobs: &[Job],
    find_engine: impl Fn(&str) -> Option<&'static EngineSpec>,
    fresh_seed: u64,
) -> Result<Plan, Vec<RunError>> {
    let mut plan = Plan::default();
    let mut errors = Vec::new();
    let (mut group, mut stage) = (0, 0);
    for (index, job) in jobs.iter().enumerate() {
        if index > 0 && (job.stonewall || job.new_group) {
            group += 1;
        }
        if index > 0 && job.stonewall {
            stage += 1;
        }
        let Some(engine) = find_engine(&job.engine) else {
            errors.push(RunError::job(job, format!("there is no I/O engine `{}` in this build", job.engine)));
            continue;
        };
        if let iostrata_engine::Availability::Missing(why) = (engine.availability)() {
            errors.push(RunError::job(job, format!("ioengine={} cannot run here: {why}", job.engine)));
            continue;
        }
        let job = Arc::new(job.clone());
        let seed = match job.seed {
            Seed::Repeat => REPEAT_SEED,
            Seed::Fixed(seed) => seed,
            Seed::Fresh => fresh_seed,
        };
        for clone in 0..job.clones {
            match files_of(&job, engine, clone) {
                Ok(files) => {
                    let region: u64 = files.iter().map(|file| file.region_bytes).sum();
                    let io_bytes = match job.io_size {
                        None => region,
                        Some(Size::Bytes(bytes)) => bytes,
                        Some(Size::Percent(percent)) => share(region, percent),
                    };
                    plan.workers.push(WorkerPlan {
                        engine,
                        job_index: index as u32,
                        clone,
                        thread_number: plan.workers.len() as u32 + 1,
                        group,
                        stage,
                        files,
                        io_bytes,
                        seed,
                        job: Arc::clone(&job),
                    });
                }
                Err(error) => {
                    errors.push(error);
                    break;
                }
            }
        }
    }
    let virtual_workers = plan.workers.iter().filter(|worker| worker.engine.caps.virtual_time).count();
    plan.virtual_time = virtual_workers > 0;
    if plan.virtual_time && virtual_workers < plan.workers.len() {
        errors.push(RunError::run(
            "ioengine=sim runs in virtual time and cannot share a run with engines that run in real time: \
             put the jobs into two runs"
                .to_string(),
        ));
    }
    if errors.is_empty() { Ok(plan) } else { Err(errors) }
}

/// `percent` of `bytes`.
fn share(bytes: u64, percent: u32) -> u64 {
    (u128::from(bytes) * u128::from(percent) / 100) as u64
}

/// The names of a clone's files, by `filename`, `directory`, `filename_format` and `nrfiles`.
pub fn file_names(job: &Job, clone: u32) -> Vec<PathBuf> {
    let directory = match job.directories.len() {
        0 => None,
        count => Some(&job.directories[clone as usize % count]),
    };
    let place = |name: &Path| directory.map_or_else(|| name.to_path_buf(), |directory| directory.join(name));
    if !job.filenames.is_empty() {
        return job.filenames.iter().map(|name| place(Path::new(name))).collect();
    }
    // A job named after a device, with no file named, means that device.
    if job.files == 1 && directory.is_none() && is_special(Path::new(&job.section)) {
        return vec![PathBuf::from(&job.section)];
    }
    let format = job.filename_format.as_deref().unwrap_or("$jobname.$jobnum.$filenum");
    (0..job.files).map(|file| place(Path::new(&expand_format(format, &job.section, clone, file)))).collect()
}

fn is_special(path: &Path) -> bool {
    facts_at(path).is_ok_and(|facts| !matches!(facts.kind, Kind::Regular | Kind::Directory))
}

/// Replaces `$jobname`, `$jobnum`, `$filenum` and `$clientuid` (case-insensitive; no client here, so it is empty).
fn expand_format(format: &str, section: &str, clone: u32, file: u32) -> String {
    let mut expanded = String::with_capacity(format.len() + section.len());
    let mut rest = format;
    'scan: while let Some(dollar) = rest.find('$') {
        expanded.push_str(&rest[..dollar]);
        rest = &rest[dollar..];
        let words = [
            ("$jobname", section.to_string()),
            ("$jobnum", clone.to_string()),
            ("$filenum", file.to_string()),
            ("$clientuid", String::new()),
        ];
        for (word, value) in words {
            if rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)) {
                expanded.push_str(&value);
                rest = &rest[word.len()..];
                continue 'scan;
            }
        }
        expanded.push('$');
        rest = &rest[1..];
    }
    expanded.push_str(rest);
    expanded
}

/// Sizes and regions of a clone's files.
fn files_of(job: &Job, engine: &EngineSpec, clone: u32) -> Result<Vec<FilePlan>, RunError> {
    let names = file_names(job, clone);
    let count = names.len() as u64;
    let mut files = Vec::with_capacity(names.len());
    for path in names {
        let facts = if engine.caps.diskless { None } else { existing(job, &path)? };
        files.push(region(job, clone, count, path, facts)?);
    }
    let region: u64 = files.iter().map(|file| file.region_bytes).sum();
    let smallest = smallest_block(job);
    if region < smallest {
        return Err(RunError::job(
            job,
            format!(
                "the block size ({smallest} bytes) is larger than the data to work on ({region} bytes): give a larger \
                 size= or a smaller bs="
            ),
        ));
    }
    Ok(files)
}

/// The smallest block of the directions in use, bytes.
pub(crate) fn smallest_block(job: &Job) -> u64 {
    let used = [job.workload.reads, job.workload.writes, job.workload.trims];
    job.block_size.to_array().into_iter().zip(used).filter(|(_, used)| *used).map(|(size, _)| size).min().unwrap_or(1)
}

/// What is there already; `None` if nothing is.
fn existing(job: &Job, path: &Path) -> Result<Option<Facts>, RunError> {
    match facts_at(path) {
        Ok(facts) if facts.kind == Kind::Directory => Err(RunError::job(
            job,
            format!("{} is a directory: name a file in it, or give directory={0}", path.display()),
        )),
        Ok(facts) => Ok(Some(facts)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(RunError::system(job, Some(path), "stat", &error)),
    }
}

fn region(job: &Job, clone: u32, count: u64, path: PathBuf, facts: Option<Facts>) -> Result<FilePlan, RunError> {
    let kind = facts.as_ref().map(|facts| facts.kind);
    let existing_bytes = facts.as_ref().map_or(0, |facts| facts.size_bytes);
    // A device cannot grow, and a file that nobody sized is taken as it is.
    let fixed_bytes = (kind == Some(Kind::Block)).then_some(existing_bytes);
    let asked_bytes = match (job.file_size, job.size) {
        (Some((smallest, _)), _) => Some(smallest),
        (None, Some(Size::Bytes(bytes))) => Some(bytes / count),
        (None, Some(Size::Percent(percent))) => Some(share(existing_bytes, percent)),
        (None, None) => None,
    };
    let whole = fixed_bytes.or((existing_bytes > 0).then_some(existing_bytes)).or(asked_bytes).unwrap_or(0);
    let align = smallest_block(job).max(1);
    let start_of = |size: Size| match size {
        Size::Bytes(bytes) => bytes,
        Size::Percent(percent) => share(whole, percent).next_multiple_of(align),
    };
    let start = start_of(job.offset).saturating_add(start_of(job.offset_increment).saturating_mul(u64::from(clone)));
    let length = match (asked_bytes, fixed_bytes) {
        (Some(asked), Some(device)) => asked.min(device.saturating_sub(start)),
        (Some(asked), None) => asked,
        (None, Some(device)) => device.saturating_sub(start),
        (None, None) => existing_bytes.saturating_sub(start),
    };
    if length == 0 {
        return Err(match (asked_bytes, kind) {
            (None, None) => RunError::job_errno(
                job,
                libc::EINVAL,
                format!("you need to specify size=: {} does not exist and no size= is given", path.display()),
            ),
            (None, Some(_)) if existing_bytes == 0 => RunError::job_errno(
                job,
                libc::EINVAL,
                format!("you need to specify size=: {} is empty", path.display()),
            ),
            _ => RunError::job_errno(
                job,
                libc::EINVAL,
                format!("nothing to do in {}: it ends before offset {start}", path.display()),
            ),
        });
    }
    // A percentage is cut to whole blocks, as fio does.
    let length =
        if matches!(job.size, Some(Size::Percent(_))) && length > align { length - length % align } else { length };
    Ok(FilePlan { path, region_start: start, region_bytes: length, file_bytes: start.saturating_add(length), kind })
}
