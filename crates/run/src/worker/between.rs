//! What happens to a worker's files before, between and after its passes.

use std::sync::atomic::Ordering::Relaxed;

use iostrata_engine::Instance;

use super::core::Core;
use super::files::{self, OpenFiles};
use super::replay::Replay;
use super::{Birth, attach, durable, engine_fault, open_at_once};
use crate::clock::Clock;
use crate::error::RunError;
use crate::layout::make_places;
use crate::live::State;

/// `unlink_each_loop`: between two loops the files go; what is left of them then is synced first, if that is asked for.
pub(super) fn unlink_between<C: Clock>(core: &mut Core<'_, C>) -> Result<(), RunError> {
    if !core.job.unlink_each_loop || core.plan.engine.caps.diskless {
        return Ok(());
    }
    close_files(core)?;
    files::unlink(core.plan)
}

/// Between passes fio closes and opens the files, which drops their caches and renews their hints.
pub(super) fn reopen<C: Clock>(
    birth: &Birth,
    core: &mut Core<'_, C>,
    instance: &mut Instance,
    depth: u32,
) -> Result<(), RunError> {
    release(instance);
    if birth.plan.engine.caps.diskless {
        return Ok(());
    }
    close_files(core)?;
    core.files = OpenFiles::open(&birth.plan, core.feed.open_files(), birth.open_files, &birth.guard)?;
    core.record_open(core.clock.now_ns());
    attach_again(birth, core, instance, depth)
}

/// The recording opens or closes files; nothing is in flight.
pub(super) fn change_files<C: Clock>(
    birth: &Birth,
    core: &mut Core<'_, C>,
    instance: &mut Instance,
    depth: u32,
) -> Result<(), RunError> {
    sync_at_end(core)?;
    release(instance);
    let now_ns = core.clock.now_ns();
    if let Some(replay) = &mut core.replay {
        replay.change_files(&mut core.files, &birth.plan, now_ns)?;
    }
    attach_again(birth, core, instance, depth)
}

/// An engine that holds on to its files itself (mappings) lets them go.
fn release(instance: &mut Instance) {
    if let Instance::Sync(engine) = instance {
        engine.release();
    }
}

/// The engine gets the files that are open now.
fn attach_again<C: Clock>(
    birth: &Birth,
    core: &mut Core<'_, C>,
    instance: &mut Instance,
    depth: u32,
) -> Result<(), RunError> {
    core.live.open_files.store(core.files.len() as u32, Relaxed);
    if let Some(placement) = &mut core.placement {
        placement.forget();
    }
    attach(instance, &core.files, &core.arena, depth).map(drop).map_err(|error| engine_fault(&birth.plan, &error))
}

/// The files that are open when the job begins.
pub(super) fn first_files(birth: &Birth, replay: Option<&mut Replay>) -> Result<OpenFiles, RunError> {
    let plan = &birth.plan;
    if plan.engine.caps.names.is_some_and(|names| !names.there) && plan.job.allow_create {
        make_places(plan)?;
    }
    match replay {
        Some(replay) if plan.replay.as_ref().is_some_and(|replay| replay.opens_files) => {
            let mut files = OpenFiles::closed(plan, &birth.guard);
            replay.change_files(&mut files, plan, 0)?;
            Ok(files)
        }
        _ => OpenFiles::open(plan, 0..open_at_once(plan), birth.open_files, &birth.guard),
    }
}

/// Closes what is open, synced before if that is asked for.
fn close_files<C: Clock>(core: &mut Core<'_, C>) -> Result<(), RunError> {
    sync_at_end(core)?;
    core.files = OpenFiles::default();
    let now_ns = core.clock.now_ns();
    if let Some(recording) = &mut core.recording {
        recording.closed(now_ns);
    }
    Ok(())
}

/// The syncs of `end_fsync` and `fsync_on_close`: both come at the end of each pass, as in fio.
fn sync_at_end<C: Clock>(core: &mut Core<'_, C>) -> Result<(), RunError> {
    let (job, plan, live) = (core.job, core.plan, core.live);
    if job.syncs.end_fs && job.workload.writes {
        durable::sync_file_systems(plan, &mut core.files)?;
    }
    if !(job.syncs.end || job.syncs.on_close) || !job.workload.writes {
        return Ok(());
    }
    let state = live.state();
    live.set_state(State::Syncing);
    let now_ns = core.clock.now_ns();
    if let Some(recording) = &mut core.recording {
        recording.synced(now_ns);
    }
    core.files.sync(plan, live)?;
    live.set_state(state);
    Ok(())
}

pub(super) fn put_away<C: Clock>(core: &mut Core<'_, C>) -> Result<(), RunError> {
    close_files(core)?;
    core.live.set_state(State::Finishing);
    if core.job.unlink && !core.plan.engine.caps.diskless {
        files::unlink(core.plan)?;
    }
    Ok(())
}
