//! Control groups of version 1's blkio controller. Only Linux has them; elsewhere every call answers with a sentence.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A group of the blkio controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlkioGroup {
    folder: PathBuf,
}

impl BlkioGroup {
    /// The group of this name, and whether it was made just now.
    ///
    /// # Errors
    /// `Unsupported`, with what is missing and how to get it, where the controller is not mounted; else what the file
    /// system said.
    pub fn find_or_make(name: &str) -> io::Result<(BlkioGroup, bool)> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let Some(top) = controller(&mounts) else {
            let sentence = "version 1's blkio controller is not mounted: `mount -t cgroup -o blkio none /cgroup` \
                            mounts it, unless the kernel has given it to version 2 (cgroup_no_v1=blkio at boot keeps \
                            it from doing so)";
            return Err(io::Error::new(io::ErrorKind::Unsupported, sentence));
        };
        let folder = top.join(name.trim_start_matches('/'));
        let made = match fs::create_dir(&folder) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(error),
        };
        Ok((BlkioGroup { folder }, made))
    }

    /// Sets the group's share of the disk, as far as the I/O scheduler keeps to it.
    ///
    /// # Errors
    /// `Unsupported` where the kernel has no such shares.
    pub fn set_weight(&self, weight: u32) -> io::Result<()> {
        // CFQ's file, gone since Linux 5.0, and its successor's.
        for file in ["blkio.weight", "blkio.bfq.weight"] {
            let path = self.folder.join(file);
            if path.exists() {
                return fs::write(path, weight.to_string());
            }
        }
        let sentence = "this kernel has no blkio.weight: it went with the CFQ scheduler in Linux 5.0; the bfq \
                        scheduler (ioscheduler=bfq) brings blkio.bfq.weight where it is built with group support";
        Err(io::Error::new(io::ErrorKind::Unsupported, sentence))
    }

    /// Puts a thread of this process into the group.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn add_thread(&self, tid: u32) -> io::Result<()> {
        fs::write(self.folder.join("tasks"), tid.to_string())
    }

    /// Removes the group; its last thread must have ended.
    ///
    /// # Errors
    /// `EBUSY` while it has threads.
    pub fn remove(&self) -> io::Result<()> {
        fs::remove_dir(&self.folder)
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Where the blkio controller is mounted, from the text of `mountinfo`: the fifth field; type and options stand behind
/// the lone dash.
fn controller(mounts: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (front, back) = line.split_once(" - ")?;
        let mut back = back.split(' ');
        let cgroup = back.next()? == "cgroup" && back.nth(1)?.split(',').any(|option| option == "blkio");
        cgroup.then(|| front.split(' ').nth(4).map(PathBuf::from))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_controller_is_found_among_the_mounts() {
        let mounts = "30 23 0:26 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu\n\
                      33 23 0:29 / /cg/io rw,relatime - cgroup none rw,net_cls,blkio\n\
                      40 23 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        assert_eq!(controller(mounts), Some(PathBuf::from("/cg/io")));
        assert_eq!(controller("40 23 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"), None);
    }
}
