//! A world of text: files, an environment and a machine that do not change.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Error, ErrorKind};
use std::path::Path;

use iostrata_spec::{Diagnostic, Host, Invocation, Job, Severity, Source, parse_command_line, render_diagnostics};

/// The machine of these tests.
pub(crate) const HOST: Host = Host { page_size: 4096, cpus: 6, memory_bytes: 3 << 30, macos: false };

#[derive(Default)]
pub(crate) struct World {
    files: BTreeMap<String, Vec<u8>>,
    env: BTreeMap<String, String>,
}

impl Source for World {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        let name = path.to_string_lossy();
        self.files.get(name.as_ref()).cloned().ok_or_else(|| Error::new(ErrorKind::NotFound, "no such file"))
    }

    fn env(&self, name: &str) -> Option<String> {
        self.env.get(name).cloned()
    }

    fn exists(&self, path: &Path) -> bool {
        self.files.contains_key(path.to_string_lossy().as_ref())
    }
}

impl World {
    pub(crate) fn file(self, name: &str, text: &str) -> Self {
        self.bytes(name, text.as_bytes())
    }

    pub(crate) fn bytes(mut self, name: &str, bytes: &[u8]) -> Self {
        self.files.insert(name.to_owned(), bytes.to_vec());
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn run(&self, args: &[&str]) -> Result<Invocation, Vec<Diagnostic>> {
        self.run_on(&HOST, args)
    }

    pub(crate) fn run_on(&self, host: &Host, args: &[&str]) -> Result<Invocation, Vec<Diagnostic>> {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        parse_command_line(&args, host, self)
    }

    /// The jobs of a line that is right and has nothing to remark on.
    pub(crate) fn jobs(&self, args: &[&str]) -> Vec<Job> {
        let invocation = self.run(args).unwrap_or_else(|d| panic!("{}", render_diagnostics(&d, false)));
        assert_eq!(invocation.diagnostics, Vec::new(), "remarks on {args:?}");
        invocation.jobs
    }

    /// The messages of the errors of a line that is wrong.
    pub(crate) fn errors(&self, args: &[&str]) -> Vec<String> {
        match self.run(args) {
            Ok(_) => panic!("{args:?} was accepted"),
            Err(list) => list.into_iter().filter(|d| d.severity == Severity::Error).map(|d| d.message).collect(),
        }
    }
}

/// The jobs of a job file that is right and has nothing to remark on.
pub(crate) fn jobs_of(text: &str) -> Vec<Job> {
    World::default().file("j.fio", text).jobs(&["j.fio"])
}

/// The errors of a job file that is wrong.
pub(crate) fn errors_of(text: &str) -> Vec<String> {
    World::default().file("j.fio", text).errors(&["j.fio"])
}

/// The last job of `--name=t` and these arguments.
pub(crate) fn job(args: &[&str]) -> Job {
    let mut line = vec!["--name=t"];
    line.extend(args);
    let mut jobs = World::default().jobs(&line);
    jobs.pop().expect("the line has a job")
}

/// The errors of `--name=t` and these arguments.
pub(crate) fn job_errors(args: &[&str]) -> Vec<String> {
    let mut line = vec!["--name=t"];
    line.extend(args);
    World::default().errors(&line)
}
