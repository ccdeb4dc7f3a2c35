//! The engines that work on names of files and folders: each I/O is one call, and the next finds what it left.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use iostrata_engine::{EngineConfig, EngineSpec, Instance, Io, Op, SyncOp};
use iostrata_spec::{EngineOptions, LookUp};

use crate::bench::{BLOCK, engines};

/// A folder that is removed with all in it when the test ends.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// One I/O after the other on names, a read and then a write: what each answers.
fn calls(spec: &'static EngineSpec, options: &EngineOptions, paths: &[&Path]) -> Vec<i32> {
    let mut engine = made(spec, options, paths);
    let ops = [Op::Read, Op::Write];
    (0..paths.len()).map(|file| engine.call(&io(file, ops[file % 2]))).collect()
}

fn made(spec: &'static EngineSpec, options: &EngineOptions, paths: &[&Path]) -> Box<dyn SyncOp> {
    let names = paths.iter().map(|path| CString::new(path.as_os_str().as_bytes()).expect("no zero")).collect();
    match (spec.make)(&EngineConfig { names, ..EngineConfig::of(options) }) {
        Ok(Instance::Sync(engine)) => engine,
        _ => panic!("{} does one at a time", spec.name),
    }
}

fn io(file: usize, op: Op) -> Io {
    Io { offset: 0, slot_offset: 0, len: BLOCK as u32, slot: 0, file: file as u32, op, priority: 0 }
}

/// Tells the story of all of them in a folder.
pub(crate) fn tell(parent: &Path) {
    let folder = Folder(parent.join(format!("names-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).expect("a folder of its own");
    let [a, b, link] = ["a", "b", "link"].map(|name| folder.0.join(name));
    let pair = [a.as_path(), b.as_path()];
    let plain = EngineOptions::default();
    let whole = BLOCK as i32;
    let mut told = 0;
    for (kind, is_there) in [("file", Path::is_file as fn(&Path) -> bool), ("dir", Path::is_dir)] {
        let engine = |what: &str| {
            let name = format!("{kind}{what}");
            let spec = engines().find(|engine| engine.name == name).unwrap_or_else(|| panic!("{name} runs everywhere"));
            assert_eq!(spec.caps.names.map(|names| names.folders), Some(kind == "dir"));
            spec
        };
        let (create, stat, delete) = (engine("create"), engine("stat"), engine("delete"));
        assert_eq!(calls(stat, &plain, &pair), [-libc::ENOENT; 2]);
        assert_eq!(calls(delete, &plain, &pair), [-libc::ENOENT; 2]);
        assert_eq!(calls(create, &plain, &pair), [whole; 2]);
        assert!(pair.iter().all(|path| is_there(path)), "{kind}");
        let again = if kind == "file" { whole } else { -libc::EEXIST };
        assert_eq!(calls(create, &plain, &pair), [again; 2], "{kind}: what is there already");
        assert_eq!(calls(stat, &plain, &pair), [whole; 2]);
        std::os::unix::fs::symlink(folder.0.join("nothing"), &link).expect("link");
        let look = |look_up| calls(stat, &EngineOptions { look_up, ..plain.clone() }, &[&link])[0];
        assert_eq!([look(LookUp::Stat), look(LookUp::Lstat)], [-libc::ENOENT, whole], "the link itself is there");
        if cfg!(target_os = "linux") {
            assert_eq!(look(LookUp::Statx), -libc::ENOENT);
        }
        std::fs::remove_file(&link).expect("link");
        assert_eq!(calls(delete, &plain, &pair), [whole; 2]);
        assert!(!a.exists() && !b.exists(), "{kind}");
        for engine in [create, stat, delete] {
            let mut engine = made(engine, &plain, &pair);
            assert_eq!(engine.call(&io(2, Op::Trim)), -libc::EINVAL, "a file without a name");
            assert_eq!(engine.call(&io(0, Op::Sync)), -libc::EINVAL, "nothing is open");
            told += 1;
        }
    }
    assert_eq!(told, engines().filter(|engine| engine.caps.names.is_some()).count(), "none is left out");
}
