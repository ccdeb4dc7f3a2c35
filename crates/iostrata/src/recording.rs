//! The file of `write_iolog`: what a job did, in fio's format. It goes behind what the file holds already, as in fio;
//! until the run has ended it has a temporary name.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use iostrata_os::file::{Kind, facts_at};
use iostrata_report::logs::{RECORDING_HEADER, recorded_line};
use iostrata_result::series::Recorded;
use iostrata_run::WorkerPlan;

use crate::output::temporary;

/// Bytes gathered before the file is written to.
const BUFFER_BYTES: usize = 64 << 10;

/// The recording of one worker.
pub(crate) struct RecordingFile {
    path: PathBuf,
    temporary: PathBuf,
    /// Names of the worker's files.
    names: Vec<String>,
    file: Option<BufWriter<File>>,
}

impl RecordingFile {
    /// The recording that a worker's job asks for.
    pub(crate) fn of(worker: &WorkerPlan) -> Option<RecordingFile> {
        let path = PathBuf::from(worker.job.record.as_ref()?);
        let mut own = temporary(&path).into_os_string();
        own.push(format!(".{}", worker.thread_number));
        let names = worker.files.iter().map(|file| file.path.display().to_string()).collect();
        Some(RecordingFile { path, temporary: own.into(), names, file: None })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it can be written at all; a device is never overwritten with it.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let kind = facts_at(&self.path).map(|facts| facts.kind);
        if matches!(kind, Ok(Kind::Block | Kind::Directory)) {
            bail!("write_iolog={}: it is no file", self.path.display());
        }
        if matches!(kind, Ok(Kind::Regular)) {
            // What cannot be appended to would be lost at the end.
            File::options().append(true).open(&self.path).with_context(|| self.path.display().to_string())?;
        }
        Ok(())
    }

    /// Writes lines down.
    pub(crate) fn write(&mut self, lines: &[Recorded]) -> io::Result<()> {
        let file = open(&mut self.file, &self.temporary)?;
        for line in lines {
            let name = self.names.get(line.file as usize).map_or("", String::as_str);
            file.write_all(recorded_line(name, line).as_bytes())?;
        }
        Ok(())
    }

    /// The run has ended: the recording gets its name, or its place behind what is there.
    pub(crate) fn name(mut self) -> io::Result<()> {
        open(&mut self.file, &self.temporary)?;
        let Some(writer) = self.file.take() else { return Ok(()) };
        let named = writer.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| {
            if !self.path.exists() {
                file.sync_all()?;
                return fs::rename(&self.temporary, &self.path);
            }
            let mut whole = File::options().append(true).open(&self.path)?;
            io::copy(&mut File::open(&self.temporary)?, &mut whole)?;
            if facts_at(&self.path)?.kind == Kind::Regular {
                whole.sync_all()?;
            }
            fs::remove_file(&self.temporary)
        });
        named.inspect_err(|_| {
            // The first error is the one to tell.
            let _ = fs::remove_file(&self.temporary);
        })
    }
}

fn open<'a>(file: &'a mut Option<BufWriter<File>>, path: &Path) -> io::Result<&'a mut BufWriter<File>> {
    if file.is_none() {
        let mut begun = BufWriter::with_capacity(BUFFER_BYTES, File::create(path)?);
        begun.write_all(RECORDING_HEADER.as_bytes())?;
        *file = Some(begun);
    }
    file.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
}
