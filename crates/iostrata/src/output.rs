//! Where documents go: a file that appears whole or not at all, or standard output.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anyhow::{Context, bail};
use iostrata_os::{signals, stdio};

/// A place for one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Standard output.
    Stdout,
    /// A file.
    File(PathBuf),
}

impl Destination {
    /// Looks before the run whether the document could be written afterwards, so that no result is lost to a typing
    /// mistake.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let Destination::File(path) = self else {
            if stdio::stdout_was_closed() {
                bail!("standard output is closed: name a file with --output=FILE");
            }
            return Ok(());
        };
        if is_stream(path) {
            return Ok(());
        }
        if path.is_dir() {
            bail!("{} is a folder: name a file for the output", path.display());
        }
        let probe = temporary(path);
        File::create_new(&probe).with_context(|| format!("cannot write {}", path.display()))?;
        fs::remove_file(&probe).with_context(|| format!("cannot remove {}", probe.display()))
    }

    /// Writes the document.
    pub(crate) fn write(&self, text: &str) -> anyhow::Result<()> {
        match self {
            Destination::Stdout => print(text),
            Destination::File(path) => write_whole(path, text.as_bytes()).with_context(|| {
                format!("the output could not be written to {}; use --save=FILE on another file system", path.display())
            }),
        }
    }
}

/// Writes to standard output. A reader that went away, or a full disk, is an error: a report must not get lost in
/// silence.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    send(text.as_bytes())
        .context("standard output took no more; with --output=FILE or --save=FILE the result is kept in a file")
}

/// After a signal, how long a reader that does not read is waited for, nanoseconds.
const READER_PATIENCE_NS: u64 = 500_000_000;
/// How long to wait between looks at whether a signal came, nanoseconds.
const READER_LOOK_NS: u64 = 100_000_000;

/// In pieces that block nobody: a reader that sleeps must not keep the program from hearing a signal.
fn send(bytes: &[u8]) -> io::Result<()> {
    static GIVEN_UP: AtomicBool = AtomicBool::new(false);
    if stdio::stdout_was_closed() {
        return Err(io::Error::other("it is closed"));
    }
    let mut stdout = io::stdout().lock();
    for piece in bytes.chunks(stdio::READY_BYTES) {
        let mut waited_ns = 0;
        while !stdio::stdout_is_ready(READER_LOOK_NS) {
            waited_ns += if signals::pending().is_some() { READER_LOOK_NS } else { 0 };
            if waited_ns >= READER_PATIENCE_NS || GIVEN_UP.load(Relaxed) {
                GIVEN_UP.store(true, Relaxed);
                return Err(io::Error::other("its reader does not read"));
            }
        }
        stdout.write_all(piece).and_then(|()| stdout.flush())?;
    }
    Ok(())
}

/// Standard output as a writer, with the patience of [`print()`].
pub(crate) struct StdoutWriter;

impl Write for StdoutWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        send(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Says something on standard error; there is nobody to tell if that fails.
pub(crate) fn complain(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Anything that is there and no regular file: a pipe, a terminal, `/dev/null`.
fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

pub(crate) fn temporary(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}

/// Under a temporary name, synced, renamed.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if is_stream(path) {
        return File::options().write(true).open(path)?.write_all(bytes);
    }
    // Through a link to the file it names, as opening it would.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let temporary = temporary(&path);
    let written = File::create_new(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&temporary, &path)).inspect_err(|_| {
        // The first error is the one to tell.
        let _ = fs::remove_file(&temporary);
    })
}

#[cfg(test)]
mod tests {
    use super::{Destination, write_whole};

    #[test]
    fn a_file_appears_whole_and_nothing_else_does() {
        let folder = std::env::temp_dir().join(format!("iostrata-output-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("result.json");
        Destination::File(path.clone()).check().unwrap();
        assert!(!path.exists(), "the check leaves nothing");
        write_whole(&path, b"first").unwrap();
        write_whole(&path, b"second").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"second");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        assert!(Destination::File(folder.join("no/such/folder")).check().is_err());
        assert!(Destination::File(folder.clone()).check().is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
