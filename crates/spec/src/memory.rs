//! Where the data of requests lies, and who else may use a file meanwhile.

use std::path::PathBuf;

/// `mem=`: where the memory for data comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MemoryKind {
    /// `malloc`, and `mmap` without a file: private memory of the program.
    #[default]
    Private,
    /// `mmapshared` without a file: shared with whoever inherits it.
    Shared,
    /// `mmap:FILE`: a file's pages, of which changes stay private.
    File(PathBuf),
    /// `mmapshared:FILE`: a file's pages, written to with the data.
    SharedFile(PathBuf),
    /// `mmaphuge`: huge pages.
    Huge,
    /// `mmaphuge:FILE`: a file in a file system of huge pages.
    HugeFile(PathBuf),
    /// `shm`: a segment of System V.
    Segment,
    /// `shmhuge`: such a segment in huge pages.
    HugeSegment,
}

/// The memory for a job's data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Where it comes from.
    pub kind: MemoryKind,
    /// `iomem_align`, bytes: where the first buffer begins. 0: each begins at a page.
    pub align_bytes: u64,
    /// `hugepage-size`, bytes; none: the system's.
    pub huge_page_bytes: Option<u64>,
}

/// `lockfile=`: who may do I/O to a file while another job does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileLock {
    /// Everybody.
    #[default]
    None,
    /// Nobody.
    Exclusive,
    /// Those who read, while it reads.
    ReadWrite,
}
