//! `mmap`: the file is mapped, and an I/O is a copy from or to the mapping.
//!
//! A file that cannot be mapped at once is mapped in windows: the one that an I/O needs takes the place of the last.

use std::os::fd::{BorrowedFd, RawFd};
use std::sync::Arc;

use iostrata_os::file::{self, Advice, Kind};
use iostrata_os::io;
use iostrata_os::mapped::FileMapping;

use crate::api::{
    Availability, Caps, EngineConfig, EngineError, EngineSpec, FileTable, Granted, Instance, Io, Op, SyncOp, TrimMeans,
};
use crate::arena::SlotArena;
use crate::blocking;

/// The registry's row.
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: "mmap",
    caps: Caps { extends: false, ..Caps::SYNCHRONOUS },
    doc: "copies from and to a mapping of the file; fsync is msync",
    availability: || Availability::Here,
    make,
};

/// The longest window, bytes: of the 128 TiB that a process can address, so much that many files fit.
const LONGEST_WINDOW: u64 = 1 << 40;
/// Below this, address space is too short to work with.
const SHORTEST_WINDOW: u64 = 1 << 20;

fn make(config: &EngineConfig) -> Result<Instance, EngineError> {
    let habits = Habits { advice: config.advice, huge_pages: config.options.huge_pages, longest: LONGEST_WINDOW };
    Ok(Instance::Sync(Box::new(Mmap {
        habits,
        files: Vec::new(),
        table: FileTable::default(),
        slots: None,
        direct: false,
        trim: TrimMeans::Discard,
    })))
}

/// How files are mapped.
#[derive(Clone, Copy)]
struct Habits {
    advice: Option<Advice>,
    huge_pages: bool,
    /// The longest window, bytes; less once address space ran out.
    longest: u64,
}

struct Mmap {
    habits: Habits,
    files: Vec<Mapped>,
    table: FileTable,
    slots: Option<Arc<SlotArena>>,
    /// Each write is followed by an msync of its pages.
    direct: bool,
    trim: TrimMeans,
}

/// One file.
struct Mapped {
    fd: RawFd,
    /// Its length when it was last looked at, bytes.
    bytes: u64,
    readable: bool,
    writable: bool,
    window: Option<Window>,
    /// Something was written through a window that is gone.
    left_dirty: bool,
}

/// The part of the file that is mapped.
struct Window {
    start: u64,
    bytes: u64,
    mapping: FileMapping,
    dirty: bool,
}

impl SyncOp for Mmap {
    fn attach(&mut self, files: &FileTable, slots: Arc<SlotArena>) -> Result<Granted, EngineError> {
        self.files = files.descriptors().map(Mapped::new).collect();
        self.table = files.clone();
        self.slots = Some(slots);
        self.direct = files.direct;
        self.trim = files.trim;
        let direct = "a mapping goes through the page cache: with direct=1 each write is synced, and reads may come \
                      from memory";
        Ok(Granted { depth: 1, used: Vec::new(), notes: files.direct.then(|| direct.into()).into_iter().collect() })
    }

    fn call(&mut self, io: &Io) -> i32 {
        let (Some(slots), Some(file)) = (&self.slots, self.files.get_mut(io.file as usize)) else {
            return -libc::EBADF;
        };
        if self.table.exchanges {
            *file = Mapped::new(self.table.descriptor(io.file));
        }
        match io.op {
            Op::Read | Op::Write => {
                file.transfer(io, slots, &mut self.habits, self.direct).unwrap_or_else(|errno| -errno)
            }
            Op::Sync | Op::DataSync => file.sync(),
            Op::Trim => blocking::without_data(file.fd, io, self.trim),
        }
    }

    /// Pages that are mapped stay in the page cache.
    fn release(&mut self) {
        self.files.iter_mut().for_each(Mapped::unmap);
    }
}

/// The number of an error of the system.
fn errno_of(error: &std::io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

/// An open file to ask and map; -1 is none.
fn borrow(fd: RawFd) -> Result<BorrowedFd<'static>, i32> {
    if fd < 0 {
        return Err(libc::EBADF);
    }
    // SAFETY: the table's owner keeps its descriptors open for as long as the engine lives (see `FileTable`).
    Ok(unsafe { BorrowedFd::borrow_raw(fd) })
}

/// The file's length, bytes.
fn length_of(fd: RawFd) -> Result<u64, i32> {
    let facts = file::facts(borrow(fd)?).map_err(|error| errno_of(&error))?;
    match facts.kind {
        Kind::Regular | Kind::Block => Ok(facts.size_bytes),
        _ => Err(libc::ENODEV),
    }
}

impl Mapped {
    fn new(fd: RawFd) -> Mapped {
        // SAFETY: a descriptor that is none is answered with an error.
        let mode = unsafe { libc::fcntl(fd, libc::F_GETFL) } & libc::O_ACCMODE;
        Mapped {
            fd,
            bytes: 0,
            readable: mode != libc::O_WRONLY,
            writable: mode != libc::O_RDONLY,
            window: None,
            left_dirty: false,
        }
    }

    /// Bytes moved; `Err` is an errno.
    fn transfer(&mut self, io: &Io, slots: &SlotArena, habits: &mut Habits, direct: bool) -> Result<i32, i32> {
        let end = io.offset.saturating_add(io.len.into());
        if end > self.bytes {
            self.bytes = length_of(self.fd)?;
        }
        let writes = io.op == Op::Write;
        if if writes { !self.writable } else { !self.readable } {
            return Err(libc::EBADF);
        }
        let len = self.bytes.saturating_sub(io.offset).min(io.len.into()).min(io::MAX_TRANSFER_BYTES.into());
        if len == 0 {
            return Ok(0);
        }
        let buffer = blocking::buffer(slots, io);
        let window = self.window_at(io.offset, len, habits)?;
        let (at, len) = ((io.offset - window.start) as usize, len as usize);
        slots.lend(io.slot);
        // SAFETY: the bytes lie within the slot, which is lent to this call and to nobody else; a file that can be
        // written to is mapped so.
        let copied = unsafe {
            if writes { window.mapping.write(at, buffer, len) } else { window.mapping.read(at, buffer, len) }
        };
        slots.give_back(io.slot);
        window.dirty |= writes;
        if copied.is_err() {
            self.unmap();
            self.bytes = 0;
            return Err(libc::EIO);
        }
        if writes && direct {
            window.mapping.sync(at, len).map_err(|error| errno_of(&error))?;
        }
        Ok(len as i32)
    }

    /// The window that holds these bytes, mapped now if it is not the one that is.
    fn window_at(&mut self, offset: u64, len: u64, habits: &mut Habits) -> Result<&mut Window, i32> {
        let holds = |window: &Window| window.start <= offset && offset + len <= window.start + window.bytes;
        if !self.window.as_ref().is_some_and(holds) {
            self.unmap();
            self.window = Some(self.map(offset, len, habits)?);
        }
        self.window.as_mut().ok_or(libc::EFAULT)
    }

    #[cold]
    fn map(&self, offset: u64, len: u64, habits: &mut Habits) -> Result<Window, i32> {
        let file = borrow(self.fd)?;
        // Offsets of a mapping are whole pages; no system has larger ones than 64 KiB.
        const GRAIN: u64 = 64 << 10;
        loop {
            let longest = habits.longest;
            let start = offset / longest * longest;
            let start = if offset + len > start + longest { offset / GRAIN * GRAIN } else { start };
            let bytes = longest.max(offset + len - start).min(self.bytes - start);
            match FileMapping::new(file, start, bytes as usize, self.writable) {
                Ok(mapping) => {
                    habits.apply(&mapping)?;
                    return Ok(Window { start, bytes, mapping, dirty: false });
                }
                Err(error) if errno_of(&error) == libc::ENOMEM && bytes > SHORTEST_WINDOW.max(len + GRAIN) => {
                    habits.longest = (bytes.next_power_of_two() / 2).max(SHORTEST_WINDOW);
                }
                Err(error) => return Err(errno_of(&error)),
            }
        }
    }

    fn unmap(&mut self) {
        self.left_dirty |= self.window.take().is_some_and(|window| window.dirty);
    }

    fn sync(&mut self) -> i32 {
        if let Some(window) = self.window.as_mut().filter(|window| window.dirty) {
            window.dirty = false;
            if let Err(error) = window.mapping.sync(0, window.bytes as usize) {
                return -errno_of(&error);
            }
            if !self.left_dirty {
                return 0;
            }
        }
        // What went through other windows is in the page cache.
        self.left_dirty = false;
        io::fsync(self.fd)
    }
}

impl Habits {
    fn apply(&self, mapping: &FileMapping) -> Result<(), i32> {
        if self.huge_pages {
            mapping.want_huge_pages().map_err(|error| errno_of(&error))?;
        }
        // Best effort, as for the file: a hint that is not understood changes nothing that is measured wrongly.
        if let Some(advice) = self.advice {
            let _ = mapping.advise(advice);
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a file of the test's own needs no guard")]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    fn io(op: Op, offset: u64, len: u32) -> Io {
        Io { offset, len, ..Io::of(op) }
    }

    /// A file of four windows of 1 MiB, and an engine that maps no more at once.
    fn in_windows(test: impl FnOnce(&std::fs::File, &mut Mmap, &SlotArena)) {
        // The tests of a program share its process; each has a thread of its own.
        let name = format!("iostrata-mmap-{}-{:?}", std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(name);
        let file = std::fs::File::options().create_new(true).read(true).write(true).open(&path).expect("create");
        std::fs::remove_file(&path).expect("unlink");
        file.set_len(4 << 20).expect("size");
        let slots = SlotArena::new(1, 3 << 20, 4096).expect("map");
        let habits = Habits { advice: Some(Advice::Random), huge_pages: false, longest: 1 << 20 };
        let mut engine = Mmap {
            habits,
            files: Vec::new(),
            table: FileTable::default(),
            slots: None,
            direct: false,
            trim: TrimMeans::Discard,
        };
        let table = FileTable::new(vec![file.as_raw_fd()], false);
        engine.attach(&table, Arc::clone(&slots)).expect("attach");
        test(&file, &mut engine, &slots);
    }

    fn window(engine: &Mmap) -> Option<(u64, u64)> {
        engine.files[0].window.as_ref().map(|window| (window.start, window.bytes))
    }

    #[test]
    fn a_long_file_is_mapped_window_by_window() {
        in_windows(|_, engine, slots| {
            for (offset, len, expected) in [
                (0, 4096, (0, 1 << 20)),
                ((1 << 20) - 4096, 4096, (0, 1 << 20)),
                (5 << 18, 512, (1 << 20, 1 << 20)),
                // Over the border of two: one that begins near the bytes.
                ((2 << 20) - 4096, 8192, ((2 << 20) - (64 << 10), 1 << 20)),
                // Longer than a window.
                (1 << 20, 3 << 20, (1 << 20, 3 << 20)),
                // The end of the file.
                ((4 << 20) - 512, 512, (1 << 20, 3 << 20)),
            ] {
                slots.with_bytes(0, |bytes| bytes.fill(offset as u8 ^ 0x5a));
                assert_eq!(engine.call(&io(Op::Write, offset, len)), len as i32);
                assert_eq!(window(engine), Some(expected), "{offset} {len}");
                slots.with_bytes(0, |bytes| bytes.fill(0));
                assert_eq!(engine.call(&io(Op::Read, offset, len)), len as i32);
                slots.with_bytes(0, |bytes| assert!(bytes[..len as usize].iter().all(|&b| b == offset as u8 ^ 0x5a)));
            }
            assert!(engine.files[0].left_dirty, "a window that was written to is gone");
            assert_eq!(engine.call(&io(Op::Sync, 0, 0)), 0);
            assert!(!engine.files[0].left_dirty && !engine.files[0].window.as_ref().is_some_and(|window| window.dirty));
            engine.release();
            assert_eq!(window(engine), None);
            assert_eq!(engine.call(&io(Op::Read, 0, 4096)), 4096);
        });
    }

    #[test]
    fn a_file_cut_short_under_the_mapping_is_an_error_and_then_its_end() {
        in_windows(|file, engine, _| {
            assert_eq!(engine.call(&io(Op::Read, 8192, 4096)), 4096);
            file.set_len(4096).expect("cut");
            assert_eq!(engine.call(&io(Op::Read, 8192, 4096)), -libc::EIO);
            assert_eq!(engine.call(&io(Op::Read, 8192, 4096)), 0, "looked at anew");
            assert_eq!(engine.call(&io(Op::Read, 0, 4096)), 4096);
            file.set_len(16384).expect("grow");
            assert_eq!(engine.call(&io(Op::Write, 8192, 4096)), 4096, "one that grows is followed");
        });
    }
}
