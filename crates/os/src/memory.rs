//! Page-aligned memory straight from the kernel.

use std::io;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// A private anonymous mapping: zeroed, page aligned, given back on drop.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    len: usize,
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
        let page_bytes = rustix::param::page_size();
        let len = bytes.max(1).checked_next_multiple_of(page_bytes).ok_or(rustix::io::Errno::NOMEM)?;
        // SAFETY: a new mapping at an address of the kernel's choice; nothing of ours is replaced.
        let start = unsafe {
            mmap_anonymous(std::ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)?
        };
        let start = NonNull::new(start.cast::<u8>()).ok_or(rustix::io::Errno::NOMEM)?;
        Ok(Mapping { start, len })
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

    /// Gives the memory up for good: for buffers that the kernel may still write into.
    pub fn leak(self) -> (*mut u8, usize) {
        let this = std::mem::ManuallyDrop::new(self);
        (this.start.as_ptr(), this.len)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly the range that `new` mapped, and nobody can reach it through this value any more. It cannot
        // fail for such a range; if it did, the memory would only stay mapped.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
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
}
