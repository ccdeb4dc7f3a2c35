//! Running other programs: to the end, for their output, or under a deadline with their output in a log.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How a program under a deadline ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// By itself.
    Exited(ExitStatus),
    /// It was still running at the deadline and was killed together with its children.
    TimedOut,
}

/// Runs a command to its end, its output going to ours; says whether it succeeded.
pub(crate) fn succeeds(command: &mut Command) -> Result<bool> {
    let status = command.status().with_context(|| format!("cannot run {}", shown(command)))?;
    Ok(status.success())
}

/// Runs a command to its end and returns its standard output; any failure is an error with its standard error.
pub(crate) fn stdout_of(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {}", shown(command)))?;
    if !output.status.success() {
        bail!("{}: {}\n{}", shown(command), output.status, String::from_utf8_lossy(&output.stderr).trim_end());
    }
    String::from_utf8(output.stdout).with_context(|| format!("{}: output is not UTF-8", shown(command)))
}

/// Runs a command with both output streams in the file `log`, and kills it if it outlives `limit`.
pub(crate) fn logged(command: &mut Command, log: &Path, limit: Duration) -> Result<Ended> {
    let out = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let mut child = command
        .stdout(out.try_clone()?)
        .stderr(out)
        .stdin(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot run {}", shown(command)))?;
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ended::Exited(status));
        }
        if Instant::now() >= deadline {
            kill_tree(&mut child)?;
            return Ok(Ended::TimedOut);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Kills a child and all that it started. Where the kernel lists no children (macOS), the child alone.
fn kill_tree(child: &mut Child) -> Result<()> {
    let mut doomed = vec![child.id()];
    let mut next = 0;
    while let Some(pid) = doomed.get(next).copied() {
        doomed.extend(children_of(pid));
        next += 1;
    }
    for pid in &doomed[1..] {
        // One that ended by itself in the meantime is no fault.
        let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).stderr(Stdio::null()).status();
    }
    child.kill()?;
    child.wait()?;
    Ok(())
}

fn children_of(pid: u32) -> Vec<u32> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let lists = tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u32>>()).collect()
}

/// The program `name`, if it is installed. Looks into the system's folders too, which a plain user's PATH may lack.
pub(crate) fn which(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(system).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// A command as a person would type it, for messages.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log_file(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("xtask-{}-{name}.log", std::process::id()))
    }

    #[test]
    fn a_log_holds_both_streams_and_the_status_is_told() {
        let log = log_file("streams");
        let ended =
            logged(Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"]), &log, Duration::from_secs(600));
        assert!(matches!(ended.unwrap(), Ended::Exited(status) if status.code() == Some(3)));
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "out\nerr\n");
        std::fs::remove_file(log).unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_program_that_outlives_its_limit_dies_with_its_children() {
        let log = log_file("deadline");
        let mut script = Command::new("sh");
        script.args(["-c", "sleep 1000 & echo $!; wait"]);
        assert!(matches!(logged(&mut script, &log, Duration::from_secs(2)).unwrap(), Ended::TimedOut));
        let pid: u32 = std::fs::read_to_string(&log).unwrap().trim().parse().unwrap();
        std::fs::remove_file(log).unwrap();
        // The kernel takes a moment to end it, and whoever adopts it may leave it a zombie.
        let asleep =
            || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains("(sleep) S"));
        let patience = Instant::now() + Duration::from_secs(60);
        while asleep() {
            assert!(Instant::now() < patience, "process {pid} sleeps on");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_failing_command_is_shown_with_what_it_said() {
        let error = stdout_of(Command::new("sh").args(["-c", "echo because >&2; exit 1"])).unwrap_err().to_string();
        assert!(error.contains("because") && error.contains("sh -c"), "{error}");
    }
}
