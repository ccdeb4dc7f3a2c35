//! Names of files and folders: made, looked up, removed. Each function is one system call on the hot path of an engine:
//! it answers 0 or `-errno`, and allocates nothing.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};

/// Opens a file for reading and writing (0600), and makes it where it is missing: the descriptor, or `-errno`.
pub fn create(name: &CStr) -> Result<OwnedFd, i32> {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_CLOEXEC;
    // SAFETY: a string that ends with a zero, and a mode as O_CREAT needs it.
    let fd = unsafe { libc::open(name.as_ptr(), flags, 0o600) };
    match answer(fd) {
        // SAFETY: the descriptor is new, and nobody else's.
        0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        error => Err(error),
    }
}

/// Looks up what a name, or the link of this name, leads to.
pub fn look(name: &CStr) -> i32 {
    let mut facts = MaybeUninit::uninit();
    // SAFETY: a string that ends with a zero, and room for what the call writes.
    answer(unsafe { libc::stat(name.as_ptr(), facts.as_mut_ptr()) })
}

/// As [`look`], but a link is looked at itself.
pub fn look_at_link(name: &CStr) -> i32 {
    let mut facts = MaybeUninit::uninit();
    // SAFETY: a string that ends with a zero, and room for what the call writes.
    answer(unsafe { libc::lstat(name.as_ptr(), facts.as_mut_ptr()) })
}

/// As [`look`], by `statx` with all that it knows; `-ENOSYS` on systems other than Linux.
pub fn look_at_all(name: &CStr) -> i32 {
    #[cfg(target_os = "linux")]
    {
        let mut facts = MaybeUninit::<libc::statx>::uninit();
        let mask = libc::STATX_BASIC_STATS | libc::STATX_BTIME;
        // SAFETY: a string that ends with a zero, and room for what the call writes.
        answer(unsafe { libc::statx(libc::AT_FDCWD, name.as_ptr(), 0, mask, facts.as_mut_ptr()) })
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = name;
        -libc::ENOSYS
    }
}

/// Removes a name of a file.
pub fn remove(name: &CStr) -> i32 {
    // SAFETY: a string that ends with a zero.
    answer(unsafe { libc::unlink(name.as_ptr()) })
}

/// Makes a folder (0700); `-EEXIST` where there is something of this name.
pub fn make_folder(name: &CStr) -> i32 {
    // SAFETY: a string that ends with a zero.
    answer(unsafe { libc::mkdir(name.as_ptr(), 0o700) })
}

/// Removes an empty folder.
pub fn remove_folder(name: &CStr) -> i32 {
    // SAFETY: a string that ends with a zero.
    answer(unsafe { libc::rmdir(name.as_ptr()) })
}

fn answer(result: i32) -> i32 {
    if result >= 0 { 0 } else { -std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    #[test]
    fn names_come_and_go_and_errors_are_the_systems() {
        let base = std::env::temp_dir().join(format!("iostrata-os-names-{}", std::process::id()));
        let name = |tail: &str| CString::new(format!("{}{tail}", base.display())).expect("no zero in it");
        let (folder, file) = (name(""), name("/file"));
        assert_eq!([make_folder(&folder), make_folder(&folder)], [0, -libc::EEXIST]);
        assert_eq!([look(&file), look_at_link(&file), remove(&file)], [-libc::ENOENT; 3]);
        drop(create(&file).expect("made"));
        drop(create(&file).expect("one that is there is opened"));
        assert_eq!([look(&file), look_at_link(&file)], [0; 2]);
        let all = if cfg!(target_os = "linux") { 0 } else { -libc::ENOSYS };
        assert_eq!(look_at_all(&file), all);
        assert_ne!(remove_folder(&folder), 0, "it is not empty");
        assert_eq!([remove(&file), remove_folder(&folder), remove_folder(&folder)], [0, 0, -libc::ENOENT]);
    }
}
