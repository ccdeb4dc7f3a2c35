//! Stands in for `librados` and `librbd` in tests: a pool is the folder that `STAND_IN_POOL` names, an object or an
//! image a file in it. Requests end in threads of their own, out of order.

#![allow(clippy::missing_safety_doc, missing_docs, unsafe_op_in_unsafe_fn)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI32, Ordering::SeqCst};
use std::time::Duration;

type Callback = extern "C" fn(*mut c_void, *mut c_void);

struct Completion {
    tag: *mut c_void,
    call: Callback,
    answer: AtomicI32,
}

#[derive(Clone, Copy)]
struct Shared(*mut Completion, *mut u8);
unsafe impl Send for Shared {}

fn file(name: &CStr) -> File {
    let path = PathBuf::from(std::env::var("STAND_IN_POOL").unwrap()).join(name.to_str().unwrap());
    File::options().read(true).write(true).create(true).truncate(false).open(path).unwrap()
}

unsafe fn begin(completion: *mut c_void, memory: *mut u8, work: impl FnOnce(*mut u8) -> i32 + Send + 'static) -> c_int {
    let shared = Shared(completion.cast(), memory);
    std::thread::spawn(move || {
        let Shared(completion, memory) = { shared };
        std::thread::sleep(Duration::from_micros(completion as u64 / 64 % 300));
        let answer = work(memory);
        unsafe {
            (*completion).answer.store(answer, SeqCst);
            ((*completion).call)(completion.cast(), (*completion).tag);
        }
    });
    0
}

unsafe fn read(file: File, completion: *mut c_void, memory: *mut u8, len: usize, at: u64) -> c_int {
    begin(completion, memory, move |memory| {
        file.read_at(unsafe { std::slice::from_raw_parts_mut(memory, len) }, at).unwrap() as i32
    })
}

unsafe fn write(file: File, completion: *mut c_void, memory: *const u8, len: usize, at: u64) -> c_int {
    begin(completion, memory.cast_mut(), move |memory| {
        file.write_all_at(unsafe { std::slice::from_raw_parts(memory, len) }, at).unwrap();
        0
    })
}

unsafe fn zero(file: File, completion: *mut c_void, len: u64, at: u64) -> c_int {
    begin(completion, std::ptr::null_mut(), move |_| {
        file.write_all_at(&vec![0; len as usize], at).unwrap();
        0
    })
}

unsafe fn complete(tag: *mut c_void, call: Callback, to: *mut *mut c_void) -> c_int {
    *to = Box::into_raw(Box::new(Completion { tag, call, answer: AtomicI32::new(0) })).cast();
    0
}

macro_rules! stand_in {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block)+) => {
        $(#[unsafe(no_mangle)] pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? $body)+
    };
}

stand_in! {
    rados_create(to: *mut *mut c_void, _id: *const c_char) -> c_int { *to = 8 as *mut c_void; 0 }
    rados_create2(to: *mut *mut c_void, _a: *const c_char, _b: *const c_char, _f: u64) -> c_int {
        *to = 8 as *mut c_void;
        0
    }
    rados_conf_read_file(_h: *mut c_void, _p: *const c_char) -> c_int { 0 }
    rados_conf_get(_h: *mut c_void, _o: *const c_char, _b: *mut c_char, _l: usize) -> c_int { -2 }
    rados_conf_set(_h: *mut c_void, _o: *const c_char, _v: *const c_char) -> c_int { 0 }
    rados_connect(_h: *mut c_void) -> c_int { 0 }
    rados_shutdown(_h: *mut c_void) {}
    rados_ioctx_create(_h: *mut c_void, name: *const c_char, to: *mut *mut c_void) -> c_int {
        *to = 8 as *mut c_void;
        if CStr::from_ptr(name) == c"there" { 0 } else { -2 }
    }
    rados_ioctx_destroy(_p: *mut c_void) {}
    rados_write(_p: *mut c_void, name: *const c_char, _b: *const u8, _l: usize, _o: u64) -> c_int {
        file(CStr::from_ptr(name));
        0
    }
    rados_aio_create_completion(tag: *mut c_void, call: Callback, _safe: *const c_void, to: *mut *mut c_void) -> c_int {
        complete(tag, call, to)
    }
    rados_aio_release(c: *mut c_void) { drop(Box::from_raw(c.cast::<Completion>())) }
    rados_aio_get_return_value(c: *mut c_void) -> c_int { (*c.cast::<Completion>()).answer.load(SeqCst) }
    rados_aio_read(_p: *mut c_void, n: *const c_char, c: *mut c_void, m: *mut u8, l: usize, o: u64) -> c_int {
        read(file(CStr::from_ptr(n)), c, m, l, o)
    }
    rados_aio_write(_p: *mut c_void, n: *const c_char, c: *mut c_void, m: *const u8, l: usize, o: u64) -> c_int {
        write(file(CStr::from_ptr(n)), c, m, l, o)
    }
    rados_aio_flush_async(_p: *mut c_void, c: *mut c_void) -> c_int { begin(c, std::ptr::null_mut(), |_| 0) }
    rados_create_write_op() -> *mut c_void { Box::into_raw(Box::new((0_u64, 0_u64))).cast() }
    rados_release_write_op(op: *mut c_void) { drop(Box::from_raw(op.cast::<(u64, u64)>())) }
    rados_write_op_zero(op: *mut c_void, o: u64, l: u64) { *op.cast::<(u64, u64)>() = (o, l) }
    rados_aio_write_op_operate(
        op: *mut c_void, _p: *mut c_void, c: *mut c_void, n: *const c_char, _t: *const c_void, _f: c_int
    ) -> c_int {
        let (at, len) = *op.cast::<(u64, u64)>();
        zero(file(CStr::from_ptr(n)), c, len, at)
    }
    rbd_open(_p: *mut c_void, name: *const c_char, to: *mut *mut c_void, _s: *const c_char) -> c_int {
        *to = 8 as *mut c_void;
        if CStr::from_ptr(name) == c"image" { 0 } else { -2 }
    }
    rbd_close(_i: *mut c_void) -> c_int { 0 }
    rbd_get_size(_i: *mut c_void, to: *mut u64) -> c_int { *to = file(c"image").metadata().unwrap().len(); 0 }
    rbd_aio_create_completion(tag: *mut c_void, call: Callback, to: *mut *mut c_void) -> c_int {
        complete(tag, call, to)
    }
    rbd_aio_release(c: *mut c_void) { rados_aio_release(c) }
    rbd_aio_get_return_value(c: *mut c_void) -> isize { rados_aio_get_return_value(c) as isize }
    rbd_aio_read(_i: *mut c_void, o: u64, l: usize, m: *mut u8, c: *mut c_void) -> c_int {
        read(file(c"image"), c, m, l, o)
    }
    rbd_aio_write(_i: *mut c_void, o: u64, l: usize, m: *const u8, c: *mut c_void) -> c_int {
        write(file(c"image"), c, m, l, o)
    }
    rbd_aio_discard(_i: *mut c_void, o: u64, l: u64, c: *mut c_void) -> c_int { zero(file(c"image"), c, l, o) }
    rbd_aio_flush(_i: *mut c_void, c: *mut c_void) -> c_int { begin(c, std::ptr::null_mut(), |_| 0) }
}
