//! The job files that later tests run: all of them are understood, without a remark. And those that people published.

use std::io;
use std::path::{Path, PathBuf};

use iostrata_spec::{Source, parse_command_line, render_diagnostics};

use crate::command_line::{again_if_right, shell_words};
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

/// A folder of published job files, and the environment that they are for.
struct Published {
    folder: PathBuf,
    env: Vec<(String, String)>,
}

impl Source for Published {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(self.folder.join(path))
    }

    fn env(&self, name: &str) -> Option<String> {
        self.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    fn exists(&self, _: &Path) -> bool {
        false
    }
}

/// The words of a flat JSON object of texts without escapes: names and values in turn.
fn texts(json: &str) -> Vec<(String, String)> {
    let words: Vec<&str> = json.split('"').skip(1).step_by(2).collect();
    words.chunks_exact(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect()
}

#[test]
#[allow(clippy::print_stderr)] // a test that is skipped says so
fn showcmd_gives_back_every_published_job() {
    let Some(shared) = std::env::var_os("IOSTRATA_SHARED") else {
        eprintln!("SKIP: published job files (set IOSTRATA_SHARED to the folder that holds cases/jobs)");
        return;
    };
    let cases = Path::new(&shared).join("cases");
    let read = |name: &str| std::fs::read_to_string(cases.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let env = texts(&read("jobs/env.json"));
    let (mut same, mut refused) = (0, Vec::new());
    let mut compare = |source: &Published, args: &[&str]| match again_if_right(source, args) {
        Ok((first, second)) => {
            assert_eq!(first, second, "{args:?}");
            same += usize::from(!first.is_empty());
        }
        Err(_) => refused.push(args.join(" ")),
    };
    for folder in ["jobs/small", "jobs/original"] {
        let source = Published { folder: cases.join(folder), env: env.clone() };
        let files = std::fs::read_dir(&source.folder).unwrap_or_else(|e| panic!("{folder}: {e}"));
        for file in files.map(|entry| entry.expect("entry").file_name().into_string().expect("UTF-8")) {
            // The others are parts of these.
            if file.starts_with('j') {
                compare(&source, &[&file]);
            }
        }
    }
    let source = Published { folder: cases.clone(), env };
    for line in read("cmdlines.tsv").lines().skip(1) {
        for command in line.split('\t').skip(4) {
            let words = shell_words(command);
            let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
            compare(&source, &words);
        }
    }
    // Some are for engines and machines that are not here, or were published to show an error.
    assert!(same > 4 * refused.len() && same > 200, "{same} compared; refused:\n{}", refused.join("\n"));
}
