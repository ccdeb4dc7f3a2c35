//! The job files that later tests run: all of them are understood, without a remark.

use std::io;
use std::path::{Path, PathBuf};

use iostrata_spec::{Source, parse_command_line, render_diagnostics};

use crate::world::HOST;

/// The real file system and an empty environment.
pub(crate) struct Disk;

impl Source for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn env(&self, _: &str) -> Option<String> {
        None
    }

    fn exists(&self, _: &Path) -> bool {
        false
    }
}

/// The job files of the corpus.
pub(crate) fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|e| e.path())).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "fio"));
    files.sort();
    files
}

#[test]
fn every_file_of_the_corpus_is_understood() {
    let files = files();
    assert!(files.len() >= 60, "{} files", files.len());
    for file in files {
        match parse_command_line(&[file.clone().into_os_string()], &HOST, &Disk) {
            Ok(invocation) => {
                let text = render_diagnostics(&invocation.diagnostics, false);
                assert!(text.is_empty(), "{}: {text}", file.display());
                assert!(!invocation.jobs.is_empty(), "{} holds no job", file.display());
            }
            Err(list) => panic!("{}: {}", file.display(), render_diagnostics(&list, false)),
        }
    }
}
