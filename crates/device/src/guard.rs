//! Who may be written, and the door.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use iostrata_os::file::{DeviceNumber, Kind, facts};
use rustix::io::Errno;

use crate::judge::{self, Allowed, Verdict};
use crate::node::{self, LastFolder, Place};
use crate::open::{OpenError, OpenHow, OpenTarget, errno_of, open_target};
use crate::platform::{self, Host};
use crate::signature::{FileMedium, signatures};
use crate::tree::{Behind, Tree};

/// A file or device a job is about to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// As the job names it.
    pub path: &'a Path,
    /// Whether the job can destroy what is there: write, trim, pass-through.
    pub destructive: bool,
    /// The job's name.
    pub job: &'a str,
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
    /// What to add to the command line if it is meant all the same: `--allow-destroy=ID`.
    pub remedy: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job {}: {} is refused: {}", self.job, self.path.display(), self.reason)?;
        match self.remedy.as_deref().and_then(|remedy| Some((remedy, remedy.split_once('=')?.1))) {
            Some((remedy, id)) => {
                write!(f, ". If it may be destroyed, add {remedy} (or set IOSTRATA_ALLOW_DESTROY={id})")
            }
            None => Ok(()),
        }
    }
}

/// The permission to open the targets of one run, and the claims on the devices it writes, until dropped.
#[derive(Debug)]
pub struct Guard {
    /// Device nodes that may be opened for writing.
    writable: HashSet<(NodeClass, DeviceNumber)>,
    /// One claim per device that is written; they live as long as this.
    claims: Vec<File>,
    notes: Vec<String>,
    last_folder: LastFolder,
}

/// Block and character devices are numbered apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum NodeClass {
    Block,
    Char,
}

impl NodeClass {
    fn of(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Block => Some(Self::Block),
            Kind::Char => Some(Self::Char),
            _ => None,
        }
    }
}

impl Guard {
    /// Looks at every target of a run, before any job starts, and claims the devices that are to be written.
    ///
    /// `allow_destroy` are the identities of `--allow-destroy` and `IOSTRATA_ALLOW_DESTROY`: of content
    /// ([`content_identity`](crate::content_identity)) or of hardware
    /// ([`Device::identities`](crate::Device::identities)).
    /// `allow_mounted_write` is fio's option; a device in use stays refused, in words that name the option.
    ///
    /// # Errors
    /// All targets that must not be used, each path once.
    pub fn admit(
        targets: &[Target<'_>],
        allow_destroy: &[String],
        allow_mounted_write: bool,
    ) -> Result<Self, Vec<Refusal>> {
        let host = Host::system();
        let allowed = Allowed { destroy: allow_destroy, mounted_write: allow_mounted_write };
        let mut admission = Admission::new(&host, allowed);
        let mut seen = HashSet::new();
        for target in targets {
            if seen.insert((target.path, target.destructive)) {
                admission.look_at(*target);
            }
        }
        admission.decide()
    }

    /// Opens a target: the only door.
    ///
    /// # Errors
    /// What the system says, in words; a device that was not admitted for writing; a file that would be made under
    /// `/dev`.
    pub fn open(&self, path: &Path, how: &OpenHow) -> Result<OpenTarget, OpenError> {
        // What cannot be looked at cannot be opened either; opening says why in better words.
        let place = node::locate(path, &self.last_folder).ok();
        match &place {
            Some(Place::Missing { path: made, number, .. }) if how.create && node::among_devices(made, *number) => {
                return Err(OpenError::new(path, how, Errno::NOENT, under_dev(made)));
            }
            Some(Place::Node { kind, number, .. }) if how.write => self.check_writable(path, how, *kind, *number)?,
            _ => {}
        }
        // A device that vanishes now must not come back as a file.
        let device = matches!(place, Some(Place::Node { kind: Kind::Block | Kind::Char, .. }));
        let open = open_target(path, &OpenHow { create: how.create && !device, ..*how })?;
        if how.write {
            // The node may have been exchanged since; what is open now is what counts.
            self.check_writable(path, how, open.facts.kind, open.facts.device)?;
        }
        Ok(open)
    }

    /// What the user should know about admitted targets: what is given up, what lies behind a loop device.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// How many devices are claimed.
    pub fn claimed(&self) -> usize {
        self.claims.len()
    }

    fn check_writable(&self, path: &Path, how: &OpenHow, kind: Kind, number: DeviceNumber) -> Result<(), OpenError> {
        match NodeClass::of(kind) {
            Some(class) if !self.writable.contains(&(class, number)) => {
                let hint = format!("device {number} was not admitted for writing when this run's targets were checked");
                Err(OpenError::new(path, how, Errno::PERM, hint))
            }
            _ => Ok(()),
        }
    }
}

/// A device that is to be written.
struct Subject<'a> {
    /// The first target that leads to it.
    target: Target<'a>,
    /// A block device node of it.
    node: PathBuf,
}

/// The work of [`Guard::admit`].
struct Admission<'a> {
    host: &'a Host,
    allowed: Allowed<'a>,
    /// Read when the first device turns up.
    tree: Option<Tree>,
    /// Loop devices and the files behind them.
    loops: Option<Vec<(String, PathBuf)>>,
    subjects: BTreeMap<DeviceNumber, Subject<'a>>,
    refusals: Vec<Refusal>,
    guard: Guard,
}

impl<'a> Admission<'a> {
    fn new(host: &'a Host, allowed: Allowed<'a>) -> Self {
        let guard = Guard {
            writable: HashSet::new(),
            claims: Vec::new(),
            notes: Vec::new(),
            last_folder: LastFolder::default(),
        };
        Self { host, allowed, tree: None, loops: None, subjects: BTreeMap::new(), refusals: Vec::new(), guard }
    }

    fn refuse(&mut self, target: Target<'_>, reason: String, remedy: Option<String>) {
        self.refusals.push(Refusal { path: target.path.to_path_buf(), job: target.job.to_owned(), reason, remedy });
    }

    /// The tree of disks. Where the system tells none (a container without `/sys`), the kernel's claim and the
    /// signatures still protect.
    fn tree(&mut self) -> &Tree {
        self.tree.get_or_insert_with(|| self.host.tree().unwrap_or_default())
    }

    /// What kind of thing a target is; devices to be written are only noted down.
    fn look_at(&mut self, target: Target<'a>) {
        // A target that cannot be looked at cannot be opened either; opening it says why.
        match node::locate(target.path, &self.guard.last_folder) {
            Ok(Place::Missing { path, number, .. }) if node::among_devices(&path, number) => {
                self.refuse(target, under_dev(&path), None);
            }
            Ok(Place::Node { kind: Kind::Directory, .. }) => {
                self.refuse(target, "it is a folder; name a file in it, or give the folder as directory=".into(), None);
            }
            Ok(Place::Node { kind: Kind::Block, path, number }) if target.destructive => {
                self.guard.writable.insert((NodeClass::Block, number));
                self.subjects.entry(number).or_insert_with(|| Subject { target, node: node::without_links(path) });
            }
            Ok(Place::Node { kind: Kind::Char, number, .. }) if target.destructive => {
                self.look_at_char(target, number);
            }
            Ok(Place::Node { kind: Kind::Regular, path, .. }) if target.destructive => self.note_loop(path),
            Ok(_) | Err(_) => {}
        }
    }

    fn look_at_char(&mut self, target: Target<'a>, number: DeviceNumber) {
        let host = self.host;
        let tree = self.tree();
        match host.behind(tree, number) {
            Behind::Nothing => {}
            Behind::Disks(disks) => {
                let nodes: Vec<_> = disks.iter().filter_map(|&disk| Some((disk, host.node(tree.get(disk)?)))).collect();
                for (disk, node) in nodes {
                    self.subjects.entry(disk).or_insert(Subject { target, node });
                }
            }
            Behind::Unknown(name) => {
                if let Err(verdict) = judge::unknown(&name, &self.allowed) {
                    self.refuse(target, format!("it {}", verdict.reason), verdict.remedy);
                }
            }
        }
        self.guard.writable.insert((NodeClass::Char, number));
    }

    fn note_loop(&mut self, file: PathBuf) {
        let loops = self.loops.get_or_insert_with(|| self.host.loop_files());
        if loops.is_empty() {
            return;
        }
        let file = node::without_links(file);
        for (name, _) in loops.iter().filter(|(_, behind)| *behind == file) {
            self.guard.notes.push(format!("{} is also what {name} reads and writes", file.display()));
        }
    }

    /// Judges the devices noted down. Nothing stays claimed if anything is refused.
    fn decide(mut self) -> Result<Guard, Vec<Refusal>> {
        for (number, subject) in self.subjects_outermost() {
            if let Err(verdict) = self.judge(number, &subject) {
                let lead = match subject.node == subject.target.path {
                    true => "it".into(),
                    false => format!("it leads to {}, which", subject.node.display()),
                };
                self.refuse(subject.target, format!("{lead} {}", verdict.reason), verdict.remedy);
            }
        }
        if self.refusals.is_empty() { Ok(self.guard) } else { Err(self.refusals) }
    }

    /// The devices noted down without partitions of disks that are noted down too: the disk's verdict and claim cover
    /// them.
    fn subjects_outermost(&mut self) -> BTreeMap<DeviceNumber, Subject<'a>> {
        let mut subjects = std::mem::take(&mut self.subjects);
        if !subjects.is_empty() {
            let tree = self.tree();
            let disk_of = |number: &DeviceNumber| Some(tree.get(*number)?.partition?.disk);
            let numbers: HashSet<DeviceNumber> = subjects.keys().copied().collect();
            subjects.retain(|number, _| disk_of(number).is_none_or(|disk| !numbers.contains(&disk)));
        }
        subjects
    }

    /// Claims a device first: from then on nobody else can mount it or make a file system on it while it is looked at.
    fn judge(&mut self, number: DeviceNumber, subject: &Subject) -> Result<(), Verdict> {
        let claim = platform::claim(&subject.node).and_then(|file| same_device(file, number));
        let busy = matches!(&claim, Err(error) if errno_of(error) == Errno::BUSY);
        let tree = self.tree.get_or_insert_with(|| self.host.tree().unwrap_or_default());
        let (allowed, guard) = (&self.allowed, &mut self.guard);
        judge::use_of(tree, number, busy, allowed)?;
        let (file, size_bytes) = claim.map_err(|error| judge::unopened(&error))?;
        let medium = FileMedium { file, size_bytes };
        let given_up = judge::content_of(tree, number, size_bytes, signatures(&medium), allowed)?;
        let path = subject.target.path.display();
        guard.notes.extend(given_up.map(|given_up| format!("{path} {given_up}")));
        if let Some(file) = tree.get(number).and_then(|device| device.backing_file.as_ref()) {
            guard.notes.push(format!("{path} is a loop device on {}: both layers are measured", file.display()));
        }
        guard.claims.push(medium.file);
        Ok(())
    }
}

/// The node could have been exchanged since it was looked at.
fn same_device(file: File, number: DeviceNumber) -> io::Result<(File, u64)> {
    let facts = facts(&file)?;
    if facts.device == number { Ok((file, facts.size_bytes)) } else { Err(Errno::NODEV.into()) }
}

/// Why no file is made there.
fn under_dev(path: &Path) -> String {
    format!("there is no device {}, and no regular file is ever made under /dev", path.display())
}
