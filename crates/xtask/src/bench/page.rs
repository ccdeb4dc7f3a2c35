//! The page that the bench writes: `docs/performance.md`. Each part of the bench writes its own section and keeps the
//! others.

use anyhow::{Context, Result};

use super::Tool;
use crate::process::stdout_of;
use crate::workspace::Workspace;

/// A part of the page with a writer of its own, in the order of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// CPU time and instructions per I/O.
    Cpu,
    /// Very many jobs and files.
    Scale,
    /// Logs of each I/O.
    Logs,
    /// Beside fio on devices.
    Devices,
}

const SECTIONS: [Section; 4] = [Section::Cpu, Section::Scale, Section::Logs, Section::Devices];

const HEAD: &str = "# Performance

Written by `cargo xtask bench` and its `--scale`, `--hour` and `--devices`; do not edit.
";

impl Section {
    /// The lines around it.
    fn markers(self) -> (&'static str, &'static str) {
        match self {
            Section::Cpu => ("<!-- begin: cpu -->\n", "<!-- end: cpu -->\n"),
            Section::Scale => ("<!-- begin: scale -->\n", "<!-- end: scale -->\n"),
            Section::Logs => ("<!-- begin: logs -->\n", "<!-- end: logs -->\n"),
            Section::Devices => ("<!-- begin: devices -->\n", "<!-- end: devices -->\n"),
        }
    }

    /// What stands in a page between its markers.
    fn of(self, page: &str) -> Result<Option<&str>> {
        let (begin, end) = self.markers();
        let Some((_, rest)) = page.split_once(begin) else { return Ok(None) };
        let body = rest.split_once(end).with_context(|| format!("docs/performance.md lacks `{}`", end.trim_end()))?.0;
        Ok(Some(body))
    }
}

/// Writes one section of the page.
pub(crate) fn write(workspace: &Workspace, section: Section, body: &str) -> Result<()> {
    let path = workspace.root().join("docs/performance.md");
    let old = if path.exists() { std::fs::read_to_string(&path)? } else { String::new() };
    std::fs::write(&path, with(&old, section, body)?)?;
    println!("written: {}", path.display());
    Ok(())
}

/// The page with a new body of one section and what it had of the others.
fn with(old: &str, section: Section, body: &str) -> Result<String> {
    let mut page = HEAD.to_owned();
    for one in SECTIONS {
        let kept = if one == section { Some(body) } else { one.of(old)? };
        let (begin, end) = one.markers();
        page.extend(kept.map(|body| format!("\n{begin}{body}{end}")));
    }
    Ok(page)
}

/// What was measured on.
pub(crate) struct Machine {
    processor: String,
    kernel: String,
    fio: String,
    commit: String,
}

impl Machine {
    /// This machine and these programs.
    pub(crate) fn here(workspace: &Workspace, fio: &Tool) -> Result<Machine> {
        let said = |program: &std::path::Path, words: &[&str]| {
            stdout_of(&mut workspace.command(program, words)).map(|text| text.trim().to_owned())
        };
        let info = std::fs::read_to_string("/proc/cpuinfo")?;
        let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        Ok(Machine {
            processor: model.map_or("unknown processor", |(_, name)| name).to_owned(),
            kernel: said("uname".as_ref(), &["-sr"])?,
            fio: said(&fio.program, &["--version"])?,
            commit: said("git".as_ref(), &["describe", "--always", "--dirty"])?,
        })
    }

    /// As lines of a Markdown list.
    pub(crate) fn list(&self) -> String {
        format!(
            "- processor: {}\n- kernel: {}\n- fio: {} (Debian's)\n- iostrata: {}\n",
            self.processor, self.kernel, self.fio, self.commit
        )
    }

    /// One for tests.
    #[cfg(test)]
    pub(crate) fn example() -> Machine {
        Machine { processor: "P".to_owned(), kernel: "K".to_owned(), fio: "F".to_owned(), commit: "C".to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_the_bench_keeps_what_the_other_wrote() {
        let devices = with("", Section::Devices, "on devices\n").unwrap();
        let both = with(&devices, Section::Cpu, "per I/O\n").unwrap();
        assert!(both.starts_with(HEAD));
        assert_eq!(Section::Cpu.of(&both).unwrap(), Some("per I/O\n"));
        assert_eq!(Section::Devices.of(&both).unwrap(), Some("on devices\n"));
        let again = with(&both, Section::Devices, "newer\n").unwrap();
        assert_eq!(again, both.replace("on devices", "newer"));
        assert!(again.find("per I/O") < again.find("newer"), "{again}");
    }

    #[test]
    fn a_section_that_lost_its_end_is_not_guessed_at() {
        let page = with("", Section::Cpu, "per I/O\n").unwrap().replace("<!-- end: cpu -->\n", "");
        assert!(with(&page, Section::Devices, "x\n").unwrap_err().to_string().contains("end: cpu"));
    }
}
