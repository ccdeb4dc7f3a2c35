//! How a worker comes to its engine.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use iostrata_device::{OpenHow, SyncKind};
use iostrata_engine::{EngineConfig, EngineError, Instance, JobFacts};

use super::async_loop::BatchRules;
use super::files::advice;
use super::offload::Offload;
use super::{Birth, Time};
use crate::error::RunError;
use crate::generate::Streams;
use crate::plan::{FilePlan, WorkerPlan};

/// The engine itself failed.
pub(super) fn engine_fault(plan: &WorkerPlan, error: &EngineError) -> RunError {
    RunError::job_errno(&plan.job, error.errno(), format!("ioengine={}: {error}", plan.engine.name))
}

/// The worker's engine, and what it was told.
pub(super) fn make_engine(birth: &Birth) -> Result<(Instance, EngineConfig), RunError> {
    let plan = &birth.plan;
    let streams = Streams::new(plan.seed, u64::from(plan.thread_number));
    let config = EngineConfig {
        options: plan.job.engine_options.clone(),
        advice: advice(&plan.job),
        seed: streams.think,
        // Of real files the kernel knows it.
        file_sizes: plan.files.iter().filter(|_| plan.engine.caps.diskless).map(|file| file.file_bytes).collect(),
        names: names_of(plan)?,
        donor: donor_of(birth)?,
        job: job_facts(birth),
        world: match &birth.time {
            Time::Real(_) => None,
            Time::Virtual(world) => Some(Arc::clone(world)),
        },
        worker: plan.thread_number - 1,
        zoned: plan.files.iter().filter_map(|file| birth.zones.disk(&file.path).cloned()).collect(),
    };
    if plan.offloads() {
        let offload = Offload::new(plan.engine, config.clone(), Arc::clone(&birth.live));
        return Ok((Instance::Async(Box::new(offload)), config));
    }
    let instance = (plan.engine.make)(&config).map_err(|error| engine_fault(plan, &error))?;
    Ok((instance, config))
}

/// The file that `donorname=` names, open for writing.
fn donor_of(birth: &Birth) -> Result<Option<Arc<OwnedFd>>, RunError> {
    let job = &birth.plan.job;
    let Some(name) = &job.engine_options.donor else { return Ok(None) };
    let how = OpenHow { read: false, write: true, create: true, direct: false, sync: SyncKind::None, mode: 0o644 };
    match birth.guard.open(Path::new(name), &how) {
        Ok(target) => Ok(Some(Arc::new(target.fd))),
        Err(error) => Err(RunError::job_errno(job, error.errno(), format!("donorname=: {error}"))),
    }
}

fn job_facts(birth: &Birth) -> JobFacts {
    let (job, clone) = (&birth.plan.job, birth.plan.clone);
    let mut file_name = job.name.replace('/', "_");
    if clone > 0 {
        file_name = format!("{file_name}.{clone}");
    }
    let folder = birth.aux_folder.to_path_buf();
    JobFacts { name: job.name.clone(), file_name, clone, reads: job.workload.reads, runtime_ns: job.runtime_ns, folder }
}

/// The names of its files, if they mean something to the engine: files, a socket, objects.
fn names_of(plan: &WorkerPlan) -> Result<Vec<CString>, RunError> {
    let name = |file: &FilePlan| {
        CString::new(file.path.as_os_str().as_bytes()).map_err(|_| {
            let text = format!("the name {:?} has a character of the value 0 in it", file.path);
            RunError::job_errno(&plan.job, libc::EINVAL, text)
        })
    };
    let caps = plan.engine.caps;
    plan.files.iter().filter(|_| caps.names.is_some() || caps.stream || caps.remote).map(name).collect()
}

/// How requests go down. One that does not come back before it is carried out (`vsync`) would wait for those behind it:
/// so many go down at a time as the job says, and no more.
pub(super) fn rules_of(plan: &WorkerPlan, depth: u32) -> BatchRules {
    let rules = BatchRules::of(&plan.job, depth);
    let alone = plan.engine.caps.synchronous && !plan.offloads() && plan.job.batch_submit.is_none();
    if alone { BatchRules { submit: 1, submit_given: true, ..rules } } else { rules }
}
