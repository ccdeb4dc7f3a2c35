//! From jobs to workers: who runs, in which order, on which part of which file.
//!
//! The plan is made once, before anything is opened for I/O. It reads the sizes of what exists and changes nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use iostrata_engine::EngineSpec;
use iostrata_os::file::{Kind, facts_at};
use iostrata_spec::engines::absent_engine;
use iostrata_spec::{Job, PlacementMeans, Seed, SubmitMode, ZoneMode};

use crate::error::{Refused, RunError};
use crate::generate::Streams;
use crate::regions::{MadeFiles, Regions};
use crate::replay::{ReplayPlan, Replayer, Surveys};
use crate::room::{ToMake, survey};
use crate::verify::find_shared_blocks;
use crate::zones::refuse_with_bad_trims;

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
    /// Bytes that it has now, before any layout.
    pub there_bytes: u64,
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
    /// Other workers of its stage, or other files of its own, write the same bytes on the disk. Known only where data
    /// is checked.
    pub shares_blocks: bool,
    /// The recording that it replays.
    pub(crate) replay: Option<ReplayPlan>,
    /// Seed of the run's random streams.
    pub seed: u64,
    /// What keeps it from starting, known before anything is touched. The other workers run, as in fio.
    pub fault: Option<RunError>,
}

impl WorkerPlan {
    /// Whether helper threads do its I/O. In virtual time there is nothing to be gained: submitting never blocks.
    pub fn offloads(&self) -> bool {
        let caps = self.engine.caps;
        self.job.submit_mode == SubmitMode::Offload && !caps.virtual_time && !caps.task
    }
}

/// The whole run.
#[derive(Clone, Default)]
pub struct Plan {
    /// Workers by thread number.
    pub workers: Vec<Arc<WorkerPlan>>,
    /// Whether time is virtual (all workers drive the `sim` engine).
    pub virtual_time: bool,
    /// What the run makes that is not there yet.
    pub to_make: ToMake,
}

impl Plan {
    /// Number of stages.
    pub fn stages(&self) -> u32 {
        self.workers.last().map_or(0, |worker| worker.stage + 1)
    }
}

/// The seed that `randrepeat=1` stands for.
const REPEAT_SEED: u64 = 0x89;

/// Makes the plan.
///
/// `fresh_seed` is used by jobs with `randrepeat=0`. A job whose files are at fault gets workers with that fault.
///
/// # Errors
/// What no run can begin with: an engine that is not there, a folder that does not exist, a file system without room
/// for the files. All of them, not only the first.
pub fn plan(
    jobs: &[Job],
    find_engine: impl Fn(&str) -> Option<&'static EngineSpec>,
    fresh_seed: u64,
) -> Result<Plan, Refused> {
    let mut plan = Plan::default();
    let mut errors = Vec::new();
    let mut made = MadeFiles::default();
    let (mut group, mut stage) = (0, 0);
    for (index, job) in jobs.iter().enumerate() {
        if index > 0 && (job.stonewall || job.new_group) {
            group += 1;
        }
        if index > 0 && job.stonewall {
            stage += 1;
        }
        let Some(engine) = find_engine(&job.engine) else {
            errors.push(RunError::job(job, no_engine(&job.engine)));
            continue;
        };
        let refusal = refusal(job, engine);
        let job = Arc::new(job.clone());
        let mut surveys = Surveys::default();
        let seed = match job.seed {
            Seed::Repeat => REPEAT_SEED,
            Seed::Fixed(seed) => seed,
            Seed::Fresh => fresh_seed,
        };
        for clone in 0..job.clones {
            let thread_number = plan.workers.len() as u32 + 1;
            let planned = match &refusal {
                None if job.replay.on() => surveys.replayer(&job, clone, engine).map(Replayer::into_parts),
                None => {
                    let regions = Regions::of(&job, engine, clone, Streams::new(seed, thread_number.into()), &made);
                    regions.map(|regions| (Arc::clone(&job), regions, None))
                }
                // It is in the document all the same.
                Some(error) => Err(error.clone()),
            };
            let (job, regions, replay, fault) = match planned {
                Ok((job, regions, replay)) => (job, regions, replay, None),
                Err(error) => {
                    // A recording that makes no sense lets nothing begin.
                    if refusal.is_none() && job.replay.on() && !errors.contains(&error) {
                        errors.push(error.clone());
                    }
                    (Arc::clone(&job), Regions::default(), None, Some(error))
                }
            };
            let last = index + 1 == jobs.len() && clone + 1 == job.clones;
            if !last {
                made.note(&job, engine, &regions.files);
            }
            plan.workers.push(Arc::new(WorkerPlan {
                engine,
                job_index: index as u32,
                clone,
                thread_number,
                group,
                stage,
                files: regions.files,
                io_bytes: regions.io_bytes,
                shares_blocks: false,
                seed,
                job,
                replay,
                fault,
            }));
        }
        errors.extend(refusal);
    }
    refuse_with_bad_trims(&mut plan.workers);
    find_shared_blocks(&mut plan.workers);
    let (to_make, lacking) = survey(&plan.workers);
    plan.to_make = to_make;
    errors.extend(lacking);
    let virtual_workers = plan.workers.iter().filter(|worker| worker.engine.caps.virtual_time).count();
    plan.virtual_time = virtual_workers > 0;
    if plan.virtual_time && virtual_workers < plan.workers.len() {
        errors.push(RunError::run(
            "ioengine=sim runs in virtual time and cannot share a run with engines that run in real time: \
             put the jobs into two runs"
                .to_string(),
        ));
    }
    // Many jobs and files want many descriptors.
    iostrata_os::host::raise_open_files_limit();
    if errors.is_empty() { Ok(plan) } else { Err(Refused { plan, errors }) }
}

/// Why there is no engine of this name.
fn no_engine(name: &str) -> String {
    match absent_engine(name) {
        Some(absent) => format!("ioengine={name} cannot run here: it {}; instead: {}", absent.why, absent.instead),
        None => format!("there is no I/O engine `{name}`"),
    }
}

/// Why no run can begin with this job.
fn refusal(job: &Job, engine: &EngineSpec) -> Option<RunError> {
    if let iostrata_engine::Availability::Missing(why) = (engine.availability)() {
        return Some(RunError::job(job, format!("ioengine={} cannot run here: {why}", job.engine)));
    }
    if job.shape.placement.means == PlacementMeans::Fdp {
        let text = "dataplacement=fdp is not carried out yet; dataplacement=streams works through the file system";
        return Some(RunError::job(job, text.into()));
    }
    if engine.caps.only_writes && (job.workload.reads || job.workload.trims) {
        let text = format!("ioengine={} can only write: give rw=write or rw=randwrite", engine.name);
        return Some(RunError::job_errno(job, libc::EINVAL, text));
    }
    if engine.caps.stream
        && let Some(refused) = for_streams(job)
    {
        let text = format!("ioengine={} {refused}", engine.name);
        return Some(RunError::job_errno(job, libc::EINVAL, text));
    }
    if engine.caps.names.is_some()
        && let Some(refused) = for_names(job)
    {
        let text = format!("{refused} with ioengine={}, which works on names: leave it out", engine.name);
        return Some(RunError::job(job, text));
    }
    let missing = job.directories.iter().find(|directory| !directory.is_dir())?;
    Some(RunError::job(job, format!("{} is not a directory", missing.display())))
}

/// What bytes that go from one side to another cannot do, if the job asks for it.
fn for_streams(job: &Job) -> Option<&'static str> {
    let asks = &job.workload;
    [
        (asks.random, "moves bytes in their order: give rw=write or rw=read"),
        (asks.trims, "has nothing to trim: give rw=write or rw=read"),
        (asks.reads && asks.writes, "either sends or receives: give rw=write or rw=read; pingpong=1 does both in turn"),
        (job.submit_mode == SubmitMode::Offload, "has one link for a job: leave io_submit_mode=offload out"),
        (job.replay.on(), "has no offsets to replay: leave read_iolog= out"),
    ]
    .into_iter()
    .find_map(|(asked, text)| asked.then_some(text))
}

/// What makes no sense for an engine that opens no file, if the job asks for it.
fn for_names(job: &Job) -> Option<&'static str> {
    let (low, high) = job.block_limits();
    [
        (job.syncs.every > 0, "fsync= has no open file to sync"),
        (job.syncs.data_every > 0, "fdatasync= has no open file to sync"),
        (job.syncs.range.every > 0, "sync_file_range= has no open file to sync"),
        (low != high, "a range of block sizes has no meaning"),
        (job.shape.zone_mode != ZoneMode::None, "zonemode= has no meaning"),
        (job.replay.on(), "read_iolog= has no meaning"),
    ]
    .into_iter()
    .find_map(|(asked, text)| asked.then_some(text))
}

/// All files below a folder, in the order of their names; links are not followed, and fio neither.
fn files_below(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type()?;
        if kind.is_dir() {
            files_below(&entry.path(), found)?;
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    Ok(())
}

/// The files that a clone uses: those that it names or generates, or what `opendir` finds.
pub(crate) fn files_of(job: &Job, clone: u32) -> Result<Vec<PathBuf>, RunError> {
    let Some(folder) = &job.open_directory else { return Ok(file_names(job, clone)) };
    let mut found = if job.filenames.is_empty() { Vec::new() } else { file_names(job, clone) };
    let folder = Path::new(folder);
    files_below(folder, &mut found).map_err(|error| RunError::system(job, Some(folder), "opendir", &error))?;
    Ok(found)
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
