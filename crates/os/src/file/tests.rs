//! Real files on the disk and in memory.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::*;

const TO_READ: OpenFlags = OpenFlags {
    read: true,
    write: false,
    create: false,
    exclusive: false,
    truncate: false,
    append: false,
    direct: false,
    sync: false,
    dsync: false,
    no_atime: false,
};
const TO_CREATE: OpenFlags = OpenFlags { write: true, create: true, ..TO_READ };

/// A path of its own in `dir`, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Scratch {
        Scratch(std::env::temp_dir().join(format!("iostrata-file-{test}-{}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn a_file_is_created_written_and_read_back_where_it_ends() {
    let scratch = Scratch::new("write");
    let fd = open(&scratch.0, OpenFlags { exclusive: true, ..TO_CREATE }, 0o640).unwrap();
    assert_eq!(fs::metadata(&scratch.0).unwrap().mode() & 0o777 & !0o640, 0, "no right that was not asked");
    write_all_at(&fd, b"stratum", 10).unwrap();
    sync(&fd).unwrap();
    data_sync(&fd).unwrap();
    let mut buffer = [0xff; 32];
    assert_eq!(read_at(&fd, &mut buffer, 8).unwrap(), 9, "up to the end of the file");
    assert_eq!(&buffer[..9], b"\0\0stratum");
    truncate(&fd, 12).unwrap();
    assert_eq!(facts(&fd).unwrap().size_bytes, 12);
    let again = open(&scratch.0, OpenFlags { exclusive: true, ..TO_CREATE }, 0o640);
    assert_eq!(again.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    open(&scratch.0, OpenFlags { truncate: true, ..TO_CREATE }, 0).unwrap();
    assert_eq!(facts(&fd).unwrap().size_bytes, 0);
    unlink(&scratch.0).unwrap();
    assert_eq!(facts_at(&scratch.0).unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn errors_are_the_systems_own() {
    let nothing = open(Path::new("/dev/null"), OpenFlags::default(), 0).unwrap_err();
    assert_eq!(nothing.raw_os_error(), Some(libc::EINVAL));
    let null = open(Path::new("/dev/null"), TO_READ, 0).unwrap();
    assert_eq!(write_all_at(&null, b"x", 0).unwrap_err().raw_os_error(), Some(libc::EBADF));
    assert_eq!(truncate(&null, 0).unwrap_err().raw_os_error(), Some(libc::EINVAL));
    assert!(flush_block_cache(&null).is_err());
    let odd = open(Path::new("with\0zero"), TO_READ, 0).unwrap_err();
    assert_eq!(odd.raw_os_error(), Some(libc::EINVAL));
}

#[test]
fn facts_agree_with_the_standard_library() {
    let scratch = Scratch::new("facts");
    let fd = open(&scratch.0, TO_CREATE, 0o600).unwrap();
    write_all_at(&fd, &[1; 10_000], 0).unwrap();
    sync(&fd).unwrap();
    let seen = facts(&fd).unwrap();
    assert_eq!(seen, facts_at(&scratch.0).unwrap());
    let metadata = fs::metadata(&scratch.0).unwrap();
    assert_eq!((seen.kind, seen.size_bytes), (Kind::Regular, 10_000));
    assert_eq!((seen.inode, seen.blocks_bytes), (metadata.ino(), metadata.blocks() * 512));
    let (major, minor) = (libc::major(metadata.dev() as _) as u32, libc::minor(metadata.dev() as _) as u32);
    assert_eq!(seen.device, DeviceNumber { major, minor });
}

#[test]
fn every_kind_is_told_apart() {
    assert_eq!(facts_at(Path::new("/")).unwrap().kind, Kind::Directory);
    let null = facts_at(Path::new("/dev/null")).unwrap();
    assert_eq!((null.kind, null.size_bytes), (Kind::Char, 0));
    if cfg!(target_os = "linux") {
        assert_eq!(null.device, DeviceNumber { major: 1, minor: 3 }, "its own number, not that of /dev");
    }
    let (reader, _writer) = io::pipe().unwrap();
    assert_eq!(facts(&reader).unwrap().kind, Kind::Fifo);
    let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    assert_eq!(facts(&socket).unwrap().kind, Kind::Socket);
}

#[test]
fn allocation_grows_the_file_unless_told_to_keep_its_size() {
    let scratch = Scratch::new("allocate");
    let fd = open(&scratch.0, TO_CREATE, 0o600).unwrap();
    fallocate(&fd, true, 0, 1 << 20).unwrap();
    let kept = facts(&fd).unwrap();
    assert_eq!(kept.size_bytes, 0);
    assert!(kept.blocks_bytes >= 1 << 20);
    fallocate(&fd, false, 0, 1 << 20).unwrap();
    assert_eq!(facts(&fd).unwrap().size_bytes, 1 << 20);
    if cfg!(target_os = "linux") {
        posix_fallocate(&fd, 1 << 20, 4096).unwrap();
        assert_eq!(facts(&fd).unwrap().size_bytes, (1 << 20) + 4096);
        assert!(posix_fallocate(&fd, 0, u64::MAX).is_err());
    } else {
        assert_eq!(posix_fallocate(&fd, 0, 1).unwrap_err().kind(), io::ErrorKind::Unsupported);
    }
}

#[test]
fn appending_ignores_the_place_it_is_given_on_linux() {
    let scratch = Scratch::new("append");
    fs::write(&scratch.0, b"abc").unwrap();
    let fd = open(&scratch.0, OpenFlags { write: true, append: true, ..TO_READ }, 0).unwrap();
    rustix::io::write(&fd, b"def").unwrap();
    assert_eq!(fs::read(&scratch.0).unwrap(), b"abcdef");
}

/// The flags as the kernel keeps them, which a mistake in the translation cannot hide from.
#[cfg(target_os = "linux")]
#[test]
fn each_flag_reaches_the_kernel_and_no_other() {
    let scratch = Scratch::new("flags");
    fs::write(&scratch.0, b"").unwrap();
    let kept = |flags: OpenFlags| {
        let fd = open(&scratch.0, flags, 0).unwrap();
        // The kernel adds O_LARGEFILE of its own.
        let ours = libc::O_ACCMODE | libc::O_SYNC | libc::O_APPEND | libc::O_DIRECT | libc::O_NOATIME;
        rustix::fs::fcntl_getfl(&fd).unwrap().bits() as i32 & ours
    };
    let write = OpenFlags { write: true, ..OpenFlags::default() };
    assert_eq!(kept(TO_READ), libc::O_RDONLY);
    assert_eq!(kept(write), libc::O_WRONLY);
    assert_eq!(kept(OpenFlags { read: true, ..write }), libc::O_RDWR);
    assert_eq!(kept(OpenFlags { sync: true, ..write }), libc::O_WRONLY | libc::O_SYNC);
    assert_eq!(kept(OpenFlags { dsync: true, ..write }), libc::O_WRONLY | libc::O_DSYNC);
    assert_eq!(kept(OpenFlags { append: true, ..write }), libc::O_WRONLY | libc::O_APPEND);
    assert_eq!(kept(OpenFlags { direct: true, ..write }), libc::O_WRONLY | libc::O_DIRECT);
    assert_eq!(kept(OpenFlags { no_atime: true, ..TO_READ }), libc::O_NOATIME);
}

/// Whether a file's pages are in the page cache, by mincore(2): what DontNeed is for.
#[cfg(target_os = "linux")]
fn cached_pages(path: &Path, pages: usize) -> usize {
    let file = fs::File::open(path).unwrap();
    let len = pages * rustix::param::page_size();
    let mut resident = vec![0u8; pages];
    // SAFETY: a new read-only mapping of the file that nobody reads, asked about and unmapped; `resident` has a byte
    // for each of its pages.
    unsafe {
        use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
        let map = mmap(std::ptr::null_mut(), len, ProtFlags::READ, MapFlags::SHARED, &file, 0).unwrap();
        assert_eq!(libc::mincore(map, len, resident.as_mut_ptr()), 0);
        munmap(map, len).unwrap();
    }
    resident.iter().filter(|&&page| page & 1 != 0).count()
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_not_needed_leaves_the_cache() {
    let scratch = Scratch::new("advise");
    let fd = open(&scratch.0, OpenFlags { read: true, ..TO_CREATE }, 0o600).unwrap();
    let pages = 64;
    write_all_at(&fd, &vec![1; pages * rustix::param::page_size()], 0).unwrap();
    sync(&fd).unwrap();
    assert_eq!(cached_pages(&scratch.0, pages), pages);
    advise(&fd, 0, 0, Advice::DontNeed).unwrap();
    // The page cache is where a tmpfs keeps its files: there nothing can leave.
    let left = if file_system_name(&fd).unwrap() == "tmpfs" { pages } else { 0 };
    assert_eq!(cached_pages(&scratch.0, pages), left);
}

#[test]
fn advice_is_taken_or_refused_with_a_reason() {
    let scratch = Scratch::new("advices");
    let fd = open(&scratch.0, OpenFlags { read: true, ..TO_CREATE }, 0o600).unwrap();
    for advice in [Advice::Normal, Advice::Sequential, Advice::Random] {
        advise(&fd, 0, 4096, advice).unwrap();
    }
    for advice in [Advice::DontNeed, Advice::NoReuse] {
        assert_eq!(advise(&fd, 0, 0, advice).is_ok(), cfg!(target_os = "linux"), "{advice:?}");
    }
    let (reader, _writer) = io::pipe().unwrap();
    assert!(advise(&reader, 0, 0, Advice::Random).is_err());
}

#[cfg(target_os = "linux")]
#[test]
fn file_systems_are_named() {
    for (path, name) in [("/dev/shm", "tmpfs"), ("/proc", "proc"), ("/sys", "sysfs")] {
        let fd = open(Path::new(path), TO_READ, 0).unwrap();
        assert_eq!(file_system_name(&fd).unwrap(), name);
    }
}

#[test]
fn free_space_is_what_df_shows() {
    let dir = std::env::temp_dir();
    let fd = open(&dir, TO_READ, 0).unwrap();
    let output = std::process::Command::new("df").arg("-Pk").arg(&dir).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let shown: u64 = text.lines().nth(1).unwrap().split_whitespace().nth(3).unwrap().parse().unwrap();
    // Others write at the same time: the scale must be right, not the last block.
    let ratio = free_bytes(&fd).unwrap() as f64 / (shown as f64 * 1024.0);
    assert!((0.5..2.0).contains(&ratio), "{ratio}");
}

/// The machine's own block devices, seen by path alone: none is opened.
#[cfg(target_os = "linux")]
#[test]
fn block_devices_have_the_size_that_sysfs_gives() {
    use std::os::unix::fs::FileTypeExt;

    for entry in fs::read_dir("/sys/class/block").unwrap().flatten() {
        let path = Path::new("/dev").join(entry.file_name());
        if !fs::metadata(&path).is_ok_and(|metadata| metadata.file_type().is_block_device()) {
            continue;
        }
        let in_sysfs = || fs::read_to_string(entry.path().join("size")).ok()?.trim().parse::<u64>().ok();
        let before = in_sysfs();
        let seen = facts_at(&path);
        if before.is_none() || in_sysfs() != before {
            continue; // Attached or taken away meanwhile by somebody else.
        }
        let seen = seen.unwrap();
        assert_eq!((seen.kind, seen.size_bytes), (Kind::Block, before.unwrap() * 512), "{}", path.display());
        assert_eq!(fs::read_to_string(entry.path().join("dev")).unwrap().trim(), seen.device.to_string());
        assert!(seen.dio.is_some_and(|dio| dio.offset_bytes >= 512), "{seen:?}");
    }
}
