//! Page-aligned memory straight from the kernel.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use crate::file::{self, Kind, OpenFlags};

/// Where a mapping's memory comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source<'a> {
    /// The program's own.
    #[default]
    Private,
    /// Shared with programs that this one starts.
    Shared,
    /// The pages of a file or of a device's memory. A file that is not there is made, and is gone when the mapping is.
    File {
        /// The file.
        path: &'a Path,
        /// What is written to the memory goes to the file; only a file that holds nothing is taken, then.
        shared: bool,
    },
    /// Huge pages of so many bytes; none: of the system's size.
    Huge(Option<u64>),
    /// A file in a file system of huge pages, as for [`Source::File`], and shared.
    HugeFile(&'a Path),
    /// A segment of System V.
    Segment,
    /// Such a segment in huge pages.
    HugeSegment(Option<u64>),
}

/// The huge pages of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HugePages {
    /// Bytes in one.
    pub page_bytes: u64,
    /// How many there are.
    pub total: u64,
    /// How many of them nobody uses.
    pub free: u64,
    /// It is the system's own size, of which `vm.nr_hugepages` tells.
    pub default: bool,
}

/// The huge pages that a request for this size would use; `None` where there are none of any size.
pub fn huge_pages(page_bytes: Option<u64>) -> Option<HugePages> {
    system::huge_pages(page_bytes)
}

/// A mapping: zeroed unless it is of a file, page aligned, given back on drop.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    len: usize,
    release: Release,
}

/// How memory is given back.
#[derive(Clone, Copy, Debug)]
enum Release {
    Unmap,
    Detach,
}

// SAFETY: the mapping is memory that belongs to this value alone, like a boxed slice of bytes.
unsafe impl Send for Mapping {}
// SAFETY: through a shared reference the bytes can only be read (`as_slice`) or reached by the raw pointer, whose users
// answer for their accesses themselves.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps at least `bytes` bytes, rounded up to whole pages (at least one).
    ///
    /// # Errors
    /// `ENOMEM` where the system has or allows no more, also for a length that cannot be rounded up.
    pub fn new(bytes: usize) -> io::Result<Mapping> {
        Mapping::anonymous(whole_pages(bytes, page_bytes())?, MapFlags::PRIVATE)
    }

    /// Maps at least `bytes` bytes from this source, rounded up to whole pages of its size (at least one).
    ///
    /// # Errors
    /// `ENOMEM` as for [`Mapping::new`], and where no huge pages are free (see [`huge_pages`]); what opening a file
    /// said; `InvalidInput`, with a sentence, for a file that cannot be taken; `Unsupported` for huge pages on macOS.
    pub fn from_source(bytes: usize, source: Source<'_>) -> io::Result<Mapping> {
        match source {
            Source::Private => Mapping::new(bytes),
            Source::Shared => Mapping::anonymous(whole_pages(bytes, page_bytes())?, MapFlags::SHARED),
            Source::File { path, shared } => of_file(path, bytes, shared, false),
            Source::HugeFile(path) => of_file(path, bytes, true, true),
            Source::Huge(page_bytes) => {
                let (flags, unit) = system::huge_mapping(page_bytes)?;
                Mapping::anonymous(whole_pages(bytes, unit)?, MapFlags::PRIVATE | flags)
            }
            Source::Segment => segment(whole_pages(bytes, page_bytes())?, 0),
            Source::HugeSegment(page_bytes) => {
                let (flags, unit) = system::huge_segment(page_bytes)?;
                segment(whole_pages(bytes, unit)?, flags)
            }
        }
    }

    fn anonymous(len: usize, flags: MapFlags) -> io::Result<Mapping> {
        // SAFETY: a new mapping at an address of the kernel's choice; nothing of ours is replaced.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, flags)? };
        Mapping::of(start, len, Release::Unmap)
    }

    fn of(start: *mut std::ffi::c_void, len: usize, release: Release) -> io::Result<Mapping> {
        let start = NonNull::new(start.cast::<u8>()).ok_or(rustix::io::Errno::NOMEM)?;
        Ok(Mapping { start, len, release })
    }

    /// Its first byte, aligned to a page.
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Its length in bytes: whole pages.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never: a mapping has at least one page.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Its bytes. Whoever writes through [`Mapping::as_ptr`] sees to it that no slice is alive meanwhile.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `len` readable bytes, initialised (zero at least), that live as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// Its bytes, to write. The same care as for [`Mapping::as_slice`].
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is exclusively borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// Keeps it in RAM from now on.
    ///
    /// # Errors
    /// `ENOMEM` or `EPERM` beyond what the system has or the user may lock (`ulimit -l`).
    pub fn lock(&self) -> io::Result<()> {
        // SAFETY: the range is mapped as long as `self` lives, and locking changes none of its bytes.
        unsafe { rustix::mm::mlock(self.start.as_ptr().cast(), self.len) }.map_err(io::Error::from)
    }

    /// Gives the pages that lie wholly within these bytes back to the system. Of a mapping of [`Mapping::new`] they are
    /// zero when they are touched again.
    ///
    /// # Errors
    /// `EINVAL` for bytes outside of the mapping.
    pub fn give_back(&self, from: usize, len: usize) -> io::Result<()> {
        let page = rustix::param::page_size();
        let end = from.checked_add(len).filter(|end| *end <= self.len).ok_or(rustix::io::Errno::INVAL)?;
        let (first, last) = (from.next_multiple_of(page), end - end % page);
        if first >= last {
            return Ok(());
        }
        // SAFETY: whole pages of the mapping; that their bytes become zero is what the caller asks for, and a borrowed
        // slice of them would see it only as it sees writes through `as_ptr`.
        unsafe { system::renew(self.start.as_ptr().add(first).cast(), last - first) }
    }

    /// Gives the memory up for good: for buffers that the kernel may still write into.
    pub fn leak(self) -> (*mut u8, usize) {
        let this = std::mem::ManuallyDrop::new(self);
        (this.start.as_ptr(), this.len)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly the range that was mapped, or the segment that was attached, and nobody can reach it through
        // this value any more. It cannot fail for such a range; if it did, the memory would only stay mapped.
        unsafe {
            match self.release {
                Release::Unmap => _ = munmap(self.start.as_ptr().cast(), self.len),
                Release::Detach => _ = libc::shmdt(self.start.as_ptr().cast()),
            }
        }
    }
}

fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

fn whole_pages(bytes: usize, unit_bytes: u64) -> io::Result<usize> {
    let unit = usize::try_from(unit_bytes).ok();
    let whole = unit.and_then(|unit| bytes.max(1).checked_next_multiple_of(unit));
    whole.filter(|&all| isize::try_from(all).is_ok()).ok_or_else(|| rustix::io::Errno::NOMEM.into())
}

/// A segment that nobody else finds, and that is gone when it is detached.
fn segment(len: usize, flags: libc::c_int) -> io::Result<Mapping> {
    // SAFETY: no pointer is passed.
    let id = unsafe { libc::shmget(libc::IPC_PRIVATE, len, libc::IPC_CREAT | 0o600 | flags) };
    if id < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: at an address of the kernel's choice, where nothing of ours is.
    let start = unsafe { libc::shmat(id, std::ptr::null(), 0) };
    let attached = if start as isize == -1 { Err(io::Error::last_os_error()) } else { Ok(start) };
    // SAFETY: no pointer is passed that the kernel uses: the segment is marked to go with its last user, which it does
    // at once where attaching failed.
    unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) };
    Mapping::of(attached?, len, Release::Detach)
}

/// One file at a time is made, mapped and unlinked: clones of a job name the same one.
static MAKING: Mutex<()> = Mutex::new(());

fn of_file(path: &Path, bytes: usize, shared: bool, huge: bool) -> io::Result<Mapping> {
    let _alone = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let flags = OpenFlags { read: true, write: true, ..OpenFlags::default() };
    let (fd, made) = match file::open(path, OpenFlags { create: true, exclusive: true, ..flags }, 0o644) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (file::open(path, flags, 0)?, false),
        made => (made?, true),
    };
    let mapped = map_open_file(&fd, bytes, shared, huge);
    // The mapping keeps it.
    let gone = if made { file::unlink(path) } else { Ok(()) };
    let mapped = mapped?;
    gone.map(|()| mapped)
}

fn map_open_file(fd: &OwnedFd, bytes: usize, shared: bool, huge: bool) -> io::Result<Mapping> {
    let refuse = |text: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    let facts = file::facts(fd)?;
    let unit_bytes = match (huge, system::huge_page_of_file(fd)?) {
        (_, Some(unit_bytes)) => unit_bytes,
        (false, None) => page_bytes(),
        (true, None) => {
            return refuse("it is not in a file system of huge pages: `mount -t hugetlbfs none FOLDER` makes one");
        }
    };
    let len = whole_pages(bytes, unit_bytes)?;
    let needed = len as u64;
    match facts.kind {
        Kind::Char => {}
        Kind::Regular if facts.size_bytes == 0 => {
            rustix::fs::ftruncate(fd, needed)?;
        }
        Kind::Regular if shared => {
            return refuse("it holds data, which would be written over: name a file that is empty or not there");
        }
        Kind::Regular if facts.size_bytes < needed => {
            return refuse("it holds data and is too short: name one that is long enough, empty or not there");
        }
        Kind::Regular => {}
        _ => return refuse("buffers can be in a file or in a device's memory, and it is neither"),
    }
    let flags = if shared { MapFlags::SHARED } else { MapFlags::PRIVATE };
    // SAFETY: a new mapping at an address of the kernel's choice; nothing of ours is replaced.
    let start = unsafe { mmap(std::ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, flags, fd, 0)? };
    Mapping::of(start, len, Release::Unmap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_is_zeroed_aligned_and_whole_pages() {
        let page = rustix::param::page_size();
        for (asked, got) in [(0, page), (1, page), (page, page), (page + 1, 2 * page)] {
            let mut mapping = Mapping::new(asked).unwrap();
            assert_eq!((mapping.len(), mapping.as_ptr() as usize % page), (got, 0));
            assert!(mapping.as_slice().iter().all(|&byte| byte == 0));
            mapping.as_mut_slice().fill(7);
            assert_eq!(mapping.as_slice()[got - 1], 7);
        }
    }

    #[test]
    fn too_much_is_an_error_and_no_panic() {
        assert!(Mapping::new(usize::MAX).is_err());
        assert!(Mapping::new(usize::MAX / 2).is_err());
    }

    #[test]
    fn leaked_memory_stays() {
        let mapping = Mapping::new(1).unwrap();
        let kept = mapping.as_ptr();
        let (start, len) = mapping.leak();
        assert_eq!(start, kept);
        // SAFETY: leaked, so still mapped, and nobody else knows the address.
        unsafe { start.add(len - 1).write(1) };
    }

    /// Address space of this process in pages, as the kernel counts it.
    #[cfg(target_os = "linux")]
    fn mapped_pages() -> usize {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        text.split_whitespace().next().unwrap().parse().unwrap()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn dropped_memory_goes_back() {
        let page = rustix::param::page_size();
        let before = mapped_pages();
        for _ in 0..64 {
            Mapping::new(1 << 30).unwrap();
        }
        assert!(mapped_pages() < before + (32 << 30) / page, "64 GiB were mapped; other tests' threads take little");
    }

    fn folder(tag: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("iostrata-os-memory-{}-{tag}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn memory_of_every_source_can_be_written_and_read() {
        let folder = folder("sources");
        let path = folder.join("made");
        let (private, shared) =
            (Source::File { path: &path, shared: false }, Source::File { path: &path, shared: true });
        for source in [Source::Private, Source::Shared, Source::Segment, private, shared] {
            let mut mapping = Mapping::from_source(10_000, source).unwrap();
            assert!(mapping.len() >= 10_000 && mapping.len().is_multiple_of(rustix::param::page_size()), "{source:?}");
            assert!(mapping.as_slice().iter().all(|&byte| byte == 0), "{source:?}");
            mapping.as_mut_slice().fill(7);
            assert_eq!(mapping.as_slice()[9_999], 7, "{source:?}");
            assert!(!path.exists(), "a file that was made is nobody else's");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_a_file_holds_stays() {
        let folder = folder("kept");
        let path = folder.join("data");
        let text = |source| Mapping::from_source(8192, source).unwrap_err().to_string();
        let (private, shared) =
            (Source::File { path: &path, shared: false }, Source::File { path: &path, shared: true });
        std::fs::write(&path, [1; 4096]).unwrap();
        assert!(text(private).contains("too short") && text(shared).contains("written over"));
        assert_eq!(std::fs::read(&path).unwrap(), [1; 4096]);
        std::fs::write(&path, [1; 8192]).unwrap();
        Mapping::from_source(8192, private).unwrap().as_mut_slice().fill(9);
        assert_eq!(std::fs::read(&path).unwrap(), [1; 8192]);
        // An empty one is taken, made long enough and left.
        std::fs::write(&path, []).unwrap();
        Mapping::from_source(8192, shared).unwrap().as_mut_slice().fill(9);
        assert_eq!(std::fs::read(&path).unwrap(), [9; 8192]);
        assert!(text(Source::HugeFile(&path)).contains("huge pages"));
        let directory = Source::File { path: &folder, shared: true };
        assert!(Mapping::from_source(1, directory).is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
