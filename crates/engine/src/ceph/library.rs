//! Ceph's libraries, loaded when a job wants them: nothing of them is needed to build or to start the program.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

/// A cluster, a pool, an image, a completion or a compound write: what it is like is the library's own affair.
pub(super) type Handle = *mut c_void;

/// What the library calls, in a thread of its own, when a request has ended.
pub(super) type Callback = extern "C" fn(Handle, *mut c_void);

#[cfg(not(target_os = "macos"))]
const LIBRADOS: (&CStr, &str) = (c"librados.so.2", "librados.so.2 (Debian's package librados2)");
#[cfg(not(target_os = "macos"))]
const LIBRBD: (&CStr, &str) = (c"librbd.so.1", "librbd.so.1 (Debian's package librbd1)");
#[cfg(target_os = "macos")]
const LIBRADOS: (&CStr, &str) = (c"librados.2.dylib", "librados.2.dylib, which Ceph's own build makes");
#[cfg(target_os = "macos")]
const LIBRBD: (&CStr, &str) = (c"librbd.1.dylib", "librbd.1.dylib, which Ceph's own build makes");

/// Opens a library. It stays for the life of the program: its threads may outlive any job.
fn open((name, wanted): (&CStr, &str)) -> Result<Handle, String> {
    // SAFETY: a name that ends with a zero. What the library does as it is loaded is trusted as its package is.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if !library.is_null() {
        return Ok(library);
    }
    // SAFETY: the text, if there is one, is the library's until the next call of this thread.
    let why = unsafe {
        let text = libc::dlerror();
        if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    };
    Err(format!("it needs {wanted}, which cannot be loaded: {why}"))
}

/// The address of a function.
fn symbol(library: Handle, name: &CStr) -> Result<Handle, String> {
    // SAFETY: an open library, and a name that ends with a zero.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    let missing =
        || format!("the library that is installed lacks {}: install one of Ceph 14 or later", name.to_string_lossy());
    if address.is_null() { Err(missing()) } else { Ok(address) }
}

/// Declares the functions of a library, as its documentation has them.
macro_rules! library {
    (
        $(#[$doc:meta])* $kind:ident, $file:expr, $prefix:literal:
        $($name:ident ( $($type:ty),* ) $(-> $result:ty)?;)+
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(super) struct $kind {
            $(pub(super) $name: unsafe extern "C" fn($($type),*) $(-> $result)?,)+
        }

        impl $kind {
            /// Loads it; else a sentence that says what is missing.
            pub(super) fn load() -> Result<$kind, String> {
                let library = open($file)?;
                Ok($kind {
                    $($name: {
                        let address = symbol(library, c_name(concat!($prefix, stringify!($name), "\0")))?;
                        // SAFETY: the function of this name has this type, by the library's documentation.
                        unsafe {
                            std::mem::transmute::<Handle, unsafe extern "C" fn($($type),*) $(-> $result)?>(address)
                        }
                    },)+
                })
            }
        }
    };
}

fn c_name(text: &str) -> &CStr {
    CStr::from_bytes_with_nul(text.as_bytes()).unwrap_or(c"")
}

library! {
    /// `librados`: clusters, pools and objects.
    Rados, LIBRADOS, "rados_":
    create(*mut Handle, *const c_char) -> c_int;
    create2(*mut Handle, *const c_char, *const c_char, u64) -> c_int;
    conf_read_file(Handle, *const c_char) -> c_int;
    conf_get(Handle, *const c_char, *mut c_char, usize) -> c_int;
    conf_set(Handle, *const c_char, *const c_char) -> c_int;
    connect(Handle) -> c_int;
    shutdown(Handle);
    ioctx_create(Handle, *const c_char, *mut Handle) -> c_int;
    ioctx_destroy(Handle);
    write(Handle, *const c_char, *const u8, usize, u64) -> c_int;
    aio_create_completion(*mut c_void, Option<Callback>, Option<Callback>, *mut Handle) -> c_int;
    aio_release(Handle);
    aio_get_return_value(Handle) -> c_int;
    aio_read(Handle, *const c_char, Handle, *mut u8, usize, u64) -> c_int;
    aio_write(Handle, *const c_char, Handle, *const u8, usize, u64) -> c_int;
    aio_flush_async(Handle, Handle) -> c_int;
    create_write_op() -> Handle;
    release_write_op(Handle);
    write_op_zero(Handle, u64, u64);
    aio_write_op_operate(Handle, Handle, Handle, *const c_char, *mut libc::time_t, c_int) -> c_int;
}

library! {
    /// `librbd`: images.
    Rbd, LIBRBD, "rbd_":
    open(Handle, *const c_char, *mut Handle, *const c_char) -> c_int;
    close(Handle) -> c_int;
    get_size(Handle, *mut u64) -> c_int;
    aio_create_completion(*mut c_void, Option<Callback>, *mut Handle) -> c_int;
    aio_release(Handle);
    aio_get_return_value(Handle) -> isize;
    aio_read(Handle, u64, usize, *mut u8, Handle) -> c_int;
    aio_write(Handle, u64, usize, *const u8, Handle) -> c_int;
    aio_discard(Handle, u64, u64, Handle) -> c_int;
    aio_flush(Handle, Handle) -> c_int;
}

/// A text as C has it; one with a zero in it means nothing to the library.
pub(super) fn text(of: &str) -> CString {
    CString::new(of.replace('\0', "")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_named() {
        let why = open((c"libnix.so.7", "libnix.so.7 (Debian's package libnix7)")).expect_err("no such library");
        assert!(why.contains("it needs libnix.so.7 (Debian's package libnix7), which cannot be loaded"), "{why}");
    }
}
