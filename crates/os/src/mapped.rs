//! A file's bytes in memory.
//!
//! A page of a mapping that the file no longer reaches, or that the disk cannot give or take, raises SIGBUS at the
//! instruction that touches it. Copies made here survive that: the handler puts a page of zeros in the place of the
//! missing ones, the copy goes on to its end, and then answers that it did not happen.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::file::Advice;

/// A part of a file, mapped shared: what is written to it is written to the file.
#[derive(Debug)]
pub struct FileMapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to this value alone; its bytes are reached by copies only.
unsafe impl Send for FileMapping {}

/// The file no longer has the bytes, or the medium failed: the mapping is no longer that of the file and has to be made
/// anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost;

impl FileMapping {
    /// Maps `len` bytes from `offset`, which is a multiple of the page size.
    ///
    /// # Errors
    /// `ENOMEM` where address space runs out, `ENODEV` where a file of this kind cannot be mapped, `EACCES` where it is
    /// not open for reading, or not for writing and `writable`.
    pub fn new(file: BorrowedFd<'_>, offset: u64, len: usize, writable: bool) -> io::Result<FileMapping> {
        catch_bus_errors();
        let access = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        let offset = i64::try_from(offset).map_err(|_| io::Error::from_raw_os_error(libc::EOVERFLOW))?;
        // SAFETY: a new mapping at an address of the kernel's choice; nothing of ours is replaced.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), len, access, libc::MAP_SHARED, file.as_raw_fd(), offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        Ok(FileMapping { start, len })
    }

    /// Tells the kernel how the mapping will be used. There is no such hint as [`Advice::NoReuse`] for mappings; it
    /// changes nothing.
    ///
    /// # Errors
    /// What `madvise` answers.
    pub fn advise(&self, advice: Advice) -> io::Result<()> {
        self.madvise(match advice {
            Advice::Normal => libc::MADV_NORMAL,
            Advice::Sequential => libc::MADV_SEQUENTIAL,
            Advice::Random => libc::MADV_RANDOM,
            Advice::DontNeed => libc::MADV_DONTNEED,
            Advice::NoReuse => return Ok(()),
        })
    }

    /// Asks for huge pages.
    ///
    /// # Errors
    /// `EINVAL` where the kernel has none.
    #[cfg(target_os = "linux")]
    pub fn want_huge_pages(&self) -> io::Result<()> {
        self.madvise(libc::MADV_HUGEPAGE)
    }

    /// Asks for huge pages.
    ///
    /// # Errors
    /// Always: there is no such request here.
    #[cfg(target_os = "macos")]
    pub fn want_huge_pages(&self) -> io::Result<()> {
        Err(crate::unsupported("macOS takes no wish for huge pages"))
    }

    fn madvise(&self, advice: libc::c_int) -> io::Result<()> {
        // SAFETY: the range is ours; none of the kinds of advice above changes bytes of a shared mapping of a file.
        match unsafe { libc::madvise(self.start.as_ptr().cast(), self.len, advice) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Has what was written to a part of the mapping written to the medium, and waits for it.
    ///
    /// # Errors
    /// `EIO` and its like from the medium.
    pub fn sync(&self, from: usize, len: usize) -> io::Result<()> {
        let first = from.min(self.len) / page_bytes() * page_bytes();
        let len = from.saturating_add(len).min(self.len) - first;
        // SAFETY: a range of whole pages within the mapping; it is written out and not changed.
        match unsafe { libc::msync(self.start.as_ptr().add(first).cast(), len, libc::MS_SYNC) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Copies `len` bytes out of the mapping from `from` on.
    ///
    /// # Safety
    /// `to` must be valid for writes of `len` bytes, and nothing else may use these bytes during the call.
    ///
    /// # Panics
    /// If the bytes do not lie within the mapping.
    #[inline]
    pub unsafe fn read(&self, from: usize, to: *mut u8, len: usize) -> Result<(), Lost> {
        let at = self.place(from, len);
        // SAFETY: `at` has `len` bytes in the mapping; the caller vouches for `to`. Whoever else maps the file may
        // change the bytes meanwhile: they are plain bytes, of which the copy takes what it finds.
        self.guarded(|| unsafe { std::ptr::copy_nonoverlapping(at.cast_const(), to, len) })
    }

    /// Copies `len` bytes into the mapping from `to` on. The mapping must be writable.
    ///
    /// # Safety
    /// `from` must be valid for reads of `len` bytes that nothing writes during the call, and the mapping writable.
    ///
    /// # Panics
    /// If the bytes do not lie within the mapping.
    #[inline]
    pub unsafe fn write(&self, to: usize, from: *const u8, len: usize) -> Result<(), Lost> {
        let at = self.place(to, len);
        // SAFETY: as for reading.
        self.guarded(|| unsafe { std::ptr::copy_nonoverlapping(from, at, len) })
    }

    fn place(&self, at: usize, len: usize) -> *mut u8 {
        let end = at.checked_add(len);
        assert!(end.is_some_and(|end| end <= self.len), "{len} bytes at {at} of a mapping of {}", self.len);
        // SAFETY: within the mapping, just checked.
        unsafe { self.start.as_ptr().add(at) }
    }

    #[inline]
    fn guarded(&self, copy: impl FnOnce()) -> Result<(), Lost> {
        let start = self.start.as_ptr() as usize;
        GUARDED.set((start, start + self.len));
        copy();
        // The copy may not be moved behind this, nor before the line above it: both are seen by the handler.
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
        GUARDED.set((0, 0));
        if LOST.replace(false) { Err(Lost) } else { Ok(()) }
    }
}

impl Drop for FileMapping {
    fn drop(&mut self) {
        // SAFETY: exactly the range that `new` mapped (or what the handler put in its place), and nobody can reach it
        // any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

thread_local! {
    /// Addresses of the mapping that this thread copies from or to just now: first, and the one behind the last.
    static GUARDED: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    /// A page of it was missing.
    static LOST: Cell<bool> = const { Cell::new(false) };
}

/// What handled SIGBUS before.
static BEFORE: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);

fn page_bytes() -> usize {
    rustix::param::page_size()
}

/// Installs the handler, once.
fn catch_bus_errors() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Known now, for the handler may not find it out.
        page_bytes();
        // SAFETY: `sigaction` is plain data, for which zero is valid; the handler has the signature of one with
        // SA_SIGINFO. It cannot fail for a signal that can be caught.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let mut before: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_bus_error as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(libc::SIGBUS, &action, &mut before);
            let takes_three = before.sa_flags & libc::SA_SIGINFO != 0;
            BEFORE.store(if takes_three { before.sa_sigaction } else { libc::SIG_DFL }, Ordering::SeqCst);
        }
    });
}

/// The handler: thread-local cells without a destructor, and `mmap`, which is a plain system call.
extern "C" fn on_bus_error(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel hands a valid siginfo to a handler with SA_SIGINFO.
    let address = unsafe { (*info).si_addr() } as usize;
    let (start, end) = GUARDED.get();
    if (start..end).contains(&address) {
        let page = address / page_bytes() * page_bytes();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_FIXED;
        // SAFETY: the pages from this one to the end of a mapping that lives through the copy that was interrupted;
        // their user learns that they are no longer the file's.
        let zeros = unsafe { libc::mmap(page as *mut libc::c_void, end - page, access, flags, -1, 0) };
        if zeros != libc::MAP_FAILED {
            LOST.set(true);
            return;
        }
    }
    match BEFORE.load(Ordering::SeqCst) {
        // With its old meaning the signal comes again as soon as this returns.
        // SAFETY: both are valid dispositions.
        plain @ (libc::SIG_DFL | libc::SIG_IGN) => unsafe { _ = libc::signal(signal, plain) },
        handler => {
            type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
            // SAFETY: it was installed as a handler that takes these three.
            let handler = unsafe { std::mem::transmute::<usize, Handler>(handler) };
            handler(signal, info, context);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsFd;

    fn nameless(tag: &str, len: u64) -> File {
        let path = std::env::temp_dir().join(format!("iostrata-os-mapped-{}-{tag}", std::process::id()));
        let file = File::options().create_new(true).read(true).write(true).open(&path).expect("create");
        std::fs::remove_file(&path).expect("unlink");
        file.set_len(len).expect("size");
        file
    }

    fn read(mapping: &FileMapping, from: usize, len: usize) -> Result<Vec<u8>, Lost> {
        let mut bytes = vec![9; len];
        // SAFETY: a live buffer of its own.
        unsafe { mapping.read(from, bytes.as_mut_ptr(), len) }.map(|()| bytes)
    }

    #[test]
    fn what_is_written_to_the_mapping_is_in_the_file() {
        use std::os::unix::fs::FileExt;
        let page = page_bytes();
        let file = nameless("plain", 3 * page as u64);
        let mapping = FileMapping::new(file.as_fd(), page as u64, 2 * page, true).expect("map");
        mapping.advise(Advice::Random).expect("madvise");
        // SAFETY: a live literal of four bytes.
        assert_eq!(unsafe { mapping.write(page - 2, b"abcd".as_ptr(), 4) }, Ok(()));
        mapping.sync(page - 2, 4).expect("msync");
        let mut back = [0; 4];
        file.read_exact_at(&mut back, 2 * page as u64 - 2).expect("read");
        assert_eq!(&back, b"abcd");
        assert_eq!(read(&mapping, page - 1, 2).as_deref(), Ok(&b"bc"[..]));
    }

    #[test]
    fn a_file_cut_short_is_an_error_and_not_the_end() {
        let page = page_bytes();
        let file = nameless("cut", 4 * page as u64);
        let mapping = FileMapping::new(file.as_fd(), 0, 4 * page, true).expect("map");
        assert_eq!(read(&mapping, 3 * page, 8).map(|bytes| bytes.len()), Ok(8));
        file.set_len(page as u64).expect("cut");
        assert_eq!(read(&mapping, page - 4, 8), Err(Lost), "a read over the new end");
        let mapping = FileMapping::new(file.as_fd(), 0, 4 * page, true).expect("map again");
        // SAFETY: a live literal of four bytes.
        assert_eq!(unsafe { mapping.write(2 * page, b"abcd".as_ptr(), 4) }, Err(Lost), "a write behind it");
        assert_eq!(read(&mapping, 0, 4).map(|bytes| bytes.len()), Ok(4), "what is still there");
    }

    #[test]
    #[should_panic(expected = "of a mapping of")]
    fn bytes_outside_are_not_reached() {
        let file = nameless("outside", page_bytes() as u64);
        let mapping = FileMapping::new(file.as_fd(), 0, page_bytes(), false).expect("map");
        let _ = read(&mapping, page_bytes() - 1, 2);
    }
}
