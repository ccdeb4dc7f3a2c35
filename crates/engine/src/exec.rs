//! `exec`: a program that runs beside the other jobs. Its whole run is one I/O of no bytes; what it prints goes to
//! files.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use iostrata_os::clock::monotonic_ns;
use iostrata_os::signals;

use crate::api::{Availability, Caps, EngineConfig, EngineError, EngineSpec, Instance, JobFacts, Step, Task};

/// The registry's row.
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: "exec",
    caps: Caps { diskless: true, moves_data: false, task: true, descriptors: 2, ..Caps::SYNCHRONOUS },
    doc: "runs program until it ends or the time is over; its whole run is an I/O of no bytes",
    availability: || Availability::Here,
    make,
};

/// How long to wait between two looks at a program that is being ended.
const LOOK: Duration = Duration::from_millis(2);

fn make(config: &EngineConfig) -> Result<Instance, EngineError> {
    let options = &config.options.exec;
    let Some(program) = options.program.clone() else {
        return Err(EngineError::lacking("program= is missing: it names the program to run"));
    };
    let arguments = words(options.arguments.as_deref().unwrap_or_default(), &config.job);
    let (job, redirect) = (config.job.clone(), options.redirect);
    Ok(Instance::Task(Box::new(Exec { program, arguments, job, redirect, grace_ns: options.grace_ns, child: None })))
}

struct Exec {
    program: String,
    arguments: Vec<String>,
    job: JobFacts,
    redirect: bool,
    grace_ns: u64,
    child: Option<Child>,
}

/// fio splits at white space and knows no quotes.
fn words(arguments: &str, job: &JobFacts) -> Vec<String> {
    let seconds = (job.runtime_ns / 1_000_000_000).to_string();
    arguments.split_whitespace().map(|word| word.replace("%r", &seconds).replace("%n", &job.name)).collect()
}

impl Task for Exec {
    fn step(&mut self, _: &AtomicBool, _: u64) -> Result<Step, EngineError> {
        let Some(child) = &mut self.child else {
            self.child = Some(self.start().map_err(|error| self.fault("cannot be started", &error))?);
            return Ok(Step::Busy);
        };
        match child.try_wait() {
            Ok(None) => Ok(Step::Busy),
            Ok(Some(status)) if status.success() => {
                self.child = None;
                Ok(Step::Last)
            }
            Ok(Some(status)) => {
                self.child = None;
                let text = format!("{} failed ({status}){}", self.program, self.where_told());
                Err(EngineError::Failed { text, errno: libc::EIO })
            }
            Err(error) => Err(self.fault("cannot be waited for", &error)),
        }
    }

    fn end(&mut self, hurry: &AtomicBool) {
        let Some(mut child) = self.child.take() else { return };
        signals::terminate_group(child.id());
        let until_ns = monotonic_ns().saturating_add(self.grace_ns);
        while monotonic_ns() < until_ns && !hurry.load(Relaxed) {
            if !matches!(child.try_wait(), Ok(None)) {
                break;
            }
            std::thread::sleep(LOOK);
        }
        // Those that the program has started, too.
        signals::kill_group(child.id());
        let _ = child.wait();
    }
}

impl Exec {
    #[allow(clippy::disallowed_methods, reason = "what a program prints, no job's target")]
    fn start(&self) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::null()).process_group(0);
        signals::leave_unblocked(&mut command);
        if self.redirect {
            let file = |stream: &str| File::create(self.job.folder.join(format!("{}.{stream}", self.job.file_name)));
            command.stdout(file("stdout")?).stderr(file("stderr")?);
        }
        command.spawn()
    }

    fn where_told(&self) -> String {
        if self.redirect { format!("; see {}.stderr", self.job.file_name) } else { String::new() }
    }

    fn fault(&self, what: &str, error: &io::Error) -> EngineError {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        let reason = io::Error::from_raw_os_error(errno).to_string();
        let reason = reason.split(" (os error").next().unwrap_or_default();
        EngineError::Failed { text: format!("{} {what}: {reason}", self.program), errno }
    }
}

impl Drop for Exec {
    fn drop(&mut self) {
        self.end(&AtomicBool::new(true));
    }
}
