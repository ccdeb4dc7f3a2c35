//! The shell commands before and after a job.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use iostrata_os::signals;

use crate::error::RunError;
use crate::live::Live;
use crate::plan::WorkerPlan;

/// How long to wait between looks at whether a command has ended, or the run shall.
const LOOK: Duration = Duration::from_millis(5);

/// `exec_prerun`: a failure is the job's.
pub(super) fn before(plan: &WorkerPlan, live: &Live, folder: &Path) -> Result<(), RunError> {
    let Some(command) = &plan.job.process.before else { return Ok(()) };
    match run(plan, &live.stop, command, &output(plan, folder, "prerun"))? {
        Some(status) if !status.success() => {
            let text = format!("exec_prerun=`{command}` failed ({status}): the job does not begin");
            Err(RunError::job(&plan.job, text))
        }
        _ => Ok(()),
    }
}

/// `exec_postrun`: the job is done, so that a failure is only told of.
pub(super) fn after(plan: &WorkerPlan, live: &Live, folder: &Path) -> Result<Option<String>, RunError> {
    let Some(command) = &plan.job.process.after else { return Ok(None) };
    // It may tidy up: only a run that must end at once ends it.
    let status = run(plan, &live.abandon, command, &output(plan, folder, "postrun"))?;
    let failed = status.filter(|status| !status.success());
    Ok(failed.map(|status| format!("exec_postrun=`{command}` failed ({status})")))
}

fn output(plan: &WorkerPlan, folder: &Path, which: &str) -> PathBuf {
    folder.join(format!("{}.{which}.txt", plan.job.name))
}

/// `None` if `stop` was set first; the command, and what it started, is ended then.
#[allow(clippy::disallowed_methods, reason = "what a command prints, no job's target")]
fn run(plan: &WorkerPlan, stop: &AtomicBool, command: &str, output: &Path) -> Result<Option<ExitStatus>, RunError> {
    let failed = |what: &str, error: &std::io::Error| RunError::system(&plan.job, Some(output), what, error);
    let file = File::create(output).map_err(|error| failed("writing", &error))?;
    let again = file.try_clone().map_err(|error| failed("writing", &error))?;
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).stdin(Stdio::null()).stdout(file).stderr(again).process_group(0);
    signals::leave_unblocked(&mut shell);
    let mut child = shell.spawn().map_err(|error| failed("starting /bin/sh for", &error))?;
    wait(&mut child, stop).map_err(|error| failed("waiting for the command of", &error))
}

fn wait(child: &mut Child, stop: &AtomicBool) -> std::io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if stop.load(Relaxed) {
            signals::kill_group(child.id());
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}
