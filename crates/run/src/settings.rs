//! What a run changes in the system beside its files, and puts back at its end, however it ends.

use std::time::{Duration, Instant};

use iostrata_os::block::Sysfs;
use iostrata_os::cgroup::BlkioGroup;

use crate::disks::disk_under;
use crate::error::{RunError, plain};
use crate::plan::WorkerPlan;

/// How long the kernel may take to forget the last thread of a control group.
const LAST_THREAD: Duration = Duration::from_millis(200);
const LOOK: Duration = Duration::from_millis(5);

/// The changes so far; dropping it takes them back.
#[derive(Default)]
pub(crate) struct Settings {
    sysfs: Sysfs,
    /// Disks, and the schedulers that they had.
    schedulers: Vec<(String, String)>,
    /// Control groups that we made and do not keep.
    made_groups: Vec<BlkioGroup>,
}

impl Settings {
    /// Does what a worker's job asks for, as far as it is not done already.
    pub(crate) fn apply(&mut self, worker: &WorkerPlan) -> Result<(), RunError> {
        if let Some(scheduler) = &worker.job.process.io_scheduler {
            self.set_schedulers(worker, scheduler)?;
        }
        if worker.job.process.cgroup.is_some() || worker.job.process.cgroup_weight.is_some() {
            self.make_group(worker)?;
        }
        Ok(())
    }

    fn set_schedulers(&mut self, worker: &WorkerPlan, scheduler: &str) -> Result<(), RunError> {
        if worker.engine.caps.diskless {
            return Ok(());
        }
        for file in &worker.files {
            // What has no disk, or a disk without a choice, is passed over, as in fio.
            let Some(disk) = disk_under(&self.sysfs, &file.path) else { continue };
            let Some((before, offered)) = self.sysfs.schedulers(&disk) else { continue };
            if before == scheduler {
                continue;
            }
            if !offered.iter().any(|offer| offer == scheduler) {
                let text =
                    format!("ioscheduler={scheduler}: the disk {disk} offers {} and no other", offered.join(", "));
                return Err(RunError::job(&worker.job, text));
            }
            self.sysfs.set_scheduler(&disk, scheduler).map_err(|error| {
                RunError::system(&worker.job, None, &format!("setting the scheduler of {disk}"), &error)
            })?;
            if !self.schedulers.iter().any(|(known, _)| *known == disk) {
                self.schedulers.push((disk, before));
            }
        }
        Ok(())
    }

    fn make_group(&mut self, worker: &WorkerPlan) -> Result<(), RunError> {
        let process = &worker.job.process;
        let Some(name) = &process.cgroup else {
            return Err(RunError::job(&worker.job, "cgroup_weight needs the group that it is for: add cgroup=".into()));
        };
        let failed = |error: std::io::Error| {
            let errno = error.raw_os_error().unwrap_or(libc::ENOENT);
            RunError::job_errno(&worker.job, errno, format!("cgroup={name}: {}", plain(&error)))
        };
        let (group, made) = BlkioGroup::find_or_make(name).map_err(failed)?;
        if made && !process.cgroup_keep {
            self.made_groups.push(group.clone());
        }
        process.cgroup_weight.map_or(Ok(()), |weight| group.set_weight(weight)).map_err(failed)
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        for (disk, before) in &self.schedulers {
            // A disk that went away has nothing to put back.
            let _ = self.sysfs.set_scheduler(disk, before);
        }
        let until = Instant::now() + LAST_THREAD;
        for group in &self.made_groups {
            while group.remove().is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY)) && Instant::now() < until
            {
                std::thread::sleep(LOOK);
            }
        }
    }
}
