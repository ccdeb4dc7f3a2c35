//! `filecreate`, `filestat`, `filedelete`, `dircreate`, `dirstat`, `dirdelete`: no data at all, but names. Each I/O is
//! one call on the name of its file or folder.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use iostrata_os::names;
use iostrata_spec::LookUp;

use crate::api::{
    Availability, Caps, EngineConfig, EngineError, EngineSpec, FileTable, Granted, Instance, Io, Names, Op, SyncOp,
};
use crate::arena::SlotArena;
use crate::blocking::whole;

/// Files that are made.
pub(crate) const FILECREATE: EngineSpec = EngineSpec {
    name: "filecreate",
    caps: Caps { descriptors: 1, ..caps(false, false) },
    doc: "makes files: one open for each I/O",
    make: |config| make(config, |_| Call::Create),
    ..NAMES
};

/// Files that are looked up.
pub(crate) const FILESTAT: EngineSpec = EngineSpec {
    name: "filestat",
    caps: caps(false, true),
    doc: "looks files up: one stat, lstat or statx for each I/O",
    make: |config| make(config, look),
    ..NAMES
};

/// Files that are removed.
pub(crate) const FILEDELETE: EngineSpec = EngineSpec {
    name: "filedelete",
    caps: caps(false, true),
    doc: "removes files: one unlink for each I/O",
    make: |config| make(config, |_| Call::Plain(names::remove)),
    ..NAMES
};

/// Folders that are made.
pub(crate) const DIRCREATE: EngineSpec = EngineSpec {
    name: "dircreate",
    caps: caps(true, false),
    doc: "makes folders: one mkdir for each I/O",
    make: |config| make(config, |_| Call::Plain(names::make_folder)),
    ..NAMES
};

/// Folders that are looked up.
pub(crate) const DIRSTAT: EngineSpec = EngineSpec {
    name: "dirstat",
    caps: caps(true, true),
    doc: "looks folders up: one stat, lstat or statx for each I/O",
    make: |config| make(config, look),
    ..NAMES
};

/// Folders that are removed.
pub(crate) const DIRDELETE: EngineSpec = EngineSpec {
    name: "dirdelete",
    caps: caps(true, true),
    doc: "removes folders: one rmdir for each I/O",
    make: |config| make(config, |_| Call::Plain(names::remove_folder)),
    ..NAMES
};

/// What all of them share.
const NAMES: EngineSpec = EngineSpec {
    name: "",
    caps: caps(false, false),
    doc: "",
    availability: || Availability::Here,
    make: |config| make(config, |_| Call::Create),
};

const fn caps(folders: bool, there: bool) -> Caps {
    Caps { names: Some(Names { folders, there }), moves_data: false, extends: false, ..Caps::SYNCHRONOUS }
}

/// What an I/O does with its name.
#[derive(Clone, Copy)]
enum Call {
    /// The file is open afterwards.
    Create,
    Plain(fn(&CStr) -> i32),
}

fn look(config: &EngineConfig) -> Call {
    Call::Plain(match config.options.look_up {
        LookUp::Stat => names::look,
        LookUp::Lstat => names::look_at_link,
        LookUp::Statx => names::look_at_all,
    })
}

fn make(config: &EngineConfig, call: fn(&EngineConfig) -> Call) -> Result<Instance, EngineError> {
    let names = config.names.clone();
    Ok(Instance::Sync(Box::new(Namespace { names, call: call(config), open: None })))
}

struct Namespace {
    names: Vec<CString>,
    call: Call,
    /// The file that the last I/O made: closing it is not part of making it.
    open: Option<OwnedFd>,
}

impl SyncOp for Namespace {
    fn attach(&mut self, _: &FileTable, _: Arc<SlotArena>) -> Result<Granted, EngineError> {
        Ok(Granted { depth: 1, used: Vec::new(), notes: Vec::new() })
    }

    fn call(&mut self, io: &Io) -> i32 {
        let name = match io.op {
            Op::Read | Op::Write | Op::Trim => self.names.get(io.file as usize),
            Op::Sync | Op::DataSync => None,
        };
        let Some(name) = name else { return -libc::EINVAL };
        let result = match self.call {
            Call::Plain(call) => call(name),
            Call::Create => match names::create(name) {
                Ok(fd) => {
                    self.open = Some(fd);
                    0
                }
                Err(error) => error,
            },
        };
        if result == 0 { whole(io.len) } else { result }
    }

    fn release(&mut self) {
        self.open = None;
    }
}
