//! Who may be written, and the door.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::node::{self, DeviceNumber, NodeKind, Place};
use crate::open::{OpenError, OpenHow, OpenTarget, errno_of, open_target};

/// A file or device a job is about to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// As the job names it.
    pub path: PathBuf,
    /// Whether the job can destroy what is there: write, trim, pass-through.
    pub destructive: bool,
    /// The job's name.
    pub job: String,
}

/// A target that this run must not use. Its `Display` is a whole sentence with the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// As the job names it.
    pub path: PathBuf,
    /// The first job that names it.
    pub job: String,
    /// Why, as a sentence without its full stop.
    pub reason: String,
    /// What to add to the command line if it is meant all the same.
    pub remedy: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job {}: {}: {}", self.job, self.path.display(), self.reason)?;
        if let Some(remedy) = &self.remedy {
            write!(f, "; if it may be destroyed, add {remedy}")?;
        }
        Ok(())
    }
}

/// The permission to open the targets of one run, and the claims on the devices it writes, until dropped.
#[derive(Debug)]
pub struct Guard {
    /// Device nodes that may be opened for writing.
    writable: HashSet<(bool, DeviceNumber)>,
}

impl Guard {
    /// Looks at every target of a run, before any job starts.
    ///
    /// # Errors
    /// All targets that must not be used, each path once.
    pub fn admit(
        targets: &[Target],
        _allow_destroy: &[String],
        _allow_mounted_write: bool,
    ) -> Result<Self, Vec<Refusal>> {
        let mut seen = HashSet::new();
        let mut refusals = Vec::new();
        let writable = HashSet::new();
        for target in targets {
            if !seen.insert((&target.path, target.destructive)) {
                continue;
            }
            let refuse =
                |reason: String| Refusal { path: target.path.clone(), job: target.job.clone(), reason, remedy: None };
            match node::locate(&target.path) {
                Ok(Place::Missing { path, number, .. }) if node::among_devices(&path, number) => {
                    refusals.push(refuse(under_dev(&path)));
                }
                Ok(Place::Node { kind: NodeKind::Directory, .. }) => {
                    refusals.push(refuse("it is a folder, not a file or device".into()));
                }
                Ok(Place::Node { kind: NodeKind::Block | NodeKind::Char, .. }) if target.destructive => {
                    refusals.push(refuse("writing to devices is not admitted by this build".into()));
                }
                Ok(_) | Err(_) => {}
            }
        }
        if refusals.is_empty() { Ok(Self { writable }) } else { Err(refusals) }
    }

    /// Opens a target: the only door.
    ///
    /// # Errors
    /// What the system says, in words; a device that was not admitted for writing; a file that would be made under
    /// `/dev`.
    pub fn open(&self, path: &Path, how: &OpenHow) -> Result<OpenTarget, OpenError> {
        let place = node::locate(path).map_err(|e| OpenError::new(path, how, errno_of(&e), ""))?;
        match &place {
            Place::Missing { path: made, number, .. } if how.create && node::among_devices(made, *number) => {
                return Err(OpenError::new(path, how, Errno::NOENT, under_dev(made)));
            }
            Place::Node { kind, number, .. } if how.write => self.check_writable(path, how, *kind, *number)?,
            Place::Node { .. } | Place::Missing { .. } => {}
        }
        let open = open_target(path, how)?;
        if how.write {
            // The node may have been exchanged since; what is open now is what counts.
            self.check_writable(path, how, open.facts.kind, open.facts.device)?;
        }
        Ok(open)
    }

    fn check_writable(
        &self,
        path: &Path,
        how: &OpenHow,
        kind: NodeKind,
        number: DeviceNumber,
    ) -> Result<(), OpenError> {
        let device = matches!(kind, NodeKind::Block | NodeKind::Char);
        if device && !self.writable.contains(&(kind == NodeKind::Block, number)) {
            let hint =
                format!("device {number} was not there, or not to be written, when this run's targets were checked");
            return Err(OpenError::new(path, how, Errno::PERM, hint));
        }
        Ok(())
    }
}

/// Why no file is made there.
fn under_dev(path: &Path) -> String {
    format!(
        "there is no such device, and no regular file is ever made under /dev ({} would fill memory, not a disk)",
        path.display()
    )
}
