//! What a path leads to, through every link, also when nothing is there yet.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use iostrata_os::file::{DeviceNumber, Facts, Kind, facts_at};

/// Where a path ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Something is there.
    Node {
        /// Its path; links may be in it.
        path: PathBuf,
        /// What it is.
        kind: Kind,
        /// For a device its own number, else that of the file system it lies in.
        number: DeviceNumber,
    },
    /// Nothing is there; this file would be made.
    Missing {
        /// The path without links of the file that would be made.
        path: PathBuf,
        /// The nearest folder above it that exists.
        folder: PathBuf,
        /// The file system of that folder.
        number: DeviceNumber,
    },
}

/// As many links as the kernel follows.
const MAX_LINKS: usize = 40;

/// Follows `path` to its end, also through links whose end does not exist: making a file through such a link makes it
/// where the link points.
///
/// # Errors
/// What `stat` says, except that nothing is there; `ELOOP` after 40 links.
///
/// `last` spares the look at every folder above for each of the many files of one folder.
pub(crate) fn locate(path: &Path, last: &LastFolder) -> io::Result<Place> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match facts_at(&path) {
            Ok(facts) => {
                return Ok(Place::Node { path, kind: facts.kind, number: facts.device });
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => match std::fs::read_link(&path) {
                Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
                Err(_) => return missing(&path, last),
            },
            Err(e) => return Err(e),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

/// The path without links of something that exists.
pub(crate) fn without_links(path: PathBuf) -> PathBuf {
    // `/dev/stdout` and its like can be statted where they cannot be named.
    std::fs::canonicalize(&path).unwrap_or(path)
}

/// The place of a file that does not exist: the nearest existing folder, without links, and the names below it.
fn missing(path: &Path, last: &LastFolder) -> io::Result<Place> {
    let absolute = std::path::absolute(path)?;
    for folder in absolute.ancestors().skip(1) {
        let Ok(found) = last.find(folder) else { continue };
        let mut path = found.real.clone();
        for part in absolute.strip_prefix(folder).unwrap_or(Path::new("")).components() {
            match part {
                Component::ParentDir => {
                    path.pop();
                }
                part => path.push(part),
            }
        }
        return Ok(Place::Missing { path, folder: found.real, number: found.facts.device });
    }
    Err(io::ErrorKind::NotFound.into())
}

/// The folder that was looked up last.
#[derive(Debug, Default)]
pub(crate) struct LastFolder(Mutex<Option<Folder>>);

/// A folder that exists.
#[derive(Clone, Debug)]
struct Folder {
    /// As it was named.
    named: PathBuf,
    /// Without links.
    real: PathBuf,
    facts: Facts,
}

impl LastFolder {
    /// The folder of this name. If it is the one that was looked up last, and still the same one, that was enough.
    fn find(&self, folder: &Path) -> io::Result<Folder> {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let facts = facts_at(folder)?;
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |known: &&Folder| {
            known.named == folder && known.facts.inode == facts.inode && known.facts.device == facts.device
        };
        if let Some(known) = last.as_ref().filter(same) {
            return Ok(known.clone());
        }
        let found = Folder { named: folder.to_path_buf(), real: std::fs::canonicalize(folder)?, facts };
        *last = Some(found.clone());
        Ok(found)
    }
}

/// Whether a file made at `path` would lie among the device nodes: below `/dev`, in the same file system as `/dev`
/// itself. `/dev/shm`, by name or because it is a file system of its own, is a place like any other.
pub(crate) fn among_devices(path: &Path, file_system: DeviceNumber) -> bool {
    let dev = Path::new("/dev");
    path.starts_with(dev)
        && !path.starts_with("/dev/shm")
        && facts_at(dev).is_ok_and(|facts| facts.device == file_system)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_to_nothing_leads_to_the_file_that_would_be_made() {
        let dir = tempfile::tempdir().unwrap();
        let real = std::fs::canonicalize(dir.path()).unwrap();
        symlink("sub/b", dir.path().join("a")).unwrap();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        symlink(real.join("end"), dir.path().join("sub/b")).unwrap();
        let Place::Missing { path, folder, .. } = locate(&dir.path().join("a"), &LastFolder::default()).unwrap() else {
            panic!("exists")
        };
        assert_eq!((path, folder), (real.join("end"), real));
    }

    #[test]
    fn missing_folders_are_kept_in_the_path() {
        let Place::Missing { path, folder, .. } =
            locate(Path::new("/dev/no-such-bus/ns1"), &LastFolder::default()).unwrap()
        else {
            panic!("exists")
        };
        assert_eq!((path.as_path(), folder.as_path()), (Path::new("/dev/no-such-bus/ns1"), Path::new("/dev")));
    }

    #[test]
    fn a_circle_of_links_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        symlink("b", dir.path().join("a")).unwrap();
        symlink("a", dir.path().join("b")).unwrap();
        let error = locate(&dir.path().join("a"), &LastFolder::default()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::LOOP.raw_os_error()));
    }

    #[test]
    fn devices_have_their_own_number() {
        let Place::Node { kind, .. } = locate(Path::new("/dev/null"), &LastFolder::default()).unwrap() else {
            panic!("no /dev/null")
        };
        assert_eq!(kind, Kind::Char);
    }
}
