//! Order, errors and placement: texts with a grammar of their own, and what must hold between jobs.

use super::Rules;
use crate::api::Severity;
use crate::job::{Job, NumaNodes, NumaPolicy};
use crate::report::Report;
use crate::words::Spot;

impl Rules<'_> {
    pub(super) fn process(&mut self) {
        let texts = self.built.draft.texts.clone();
        if let Some(text) = &texts.ignore_error {
            match errno_lists(text) {
                Ok(lists) => self.built.draft.job.errors.ignored = lists,
                Err(message) => {
                    let help =
                        "write names or numbers: `ignore_error=EAGAIN,ENOSPC:122`, for reads,writes,verification";
                    self.say(Severity::Error, &["ignore_error"], &message, help);
                }
            }
        }
        if let Some(text) = &texts.numa_cpu_nodes {
            match nodes(text) {
                Ok(nodes) => self.built.draft.job.process.numa_cpus = Some(nodes),
                Err(message) => self.say(Severity::Error, &["numa_cpu_nodes"], &message, NODES_HELP),
            }
        }
        if let Some(text) = &texts.numa_mem_policy {
            match policy(text) {
                Ok(policy) => self.built.draft.job.process.numa_memory = policy,
                Err(message) => self.say(Severity::Error, &["numa_mem_policy"], &message, POLICY_HELP),
            }
        }
    }
}

const NODES_HELP: &str = "write node numbers and ranges, such as `0,2-3`, or `all`";
const POLICY_HELP: &str = "write `default`, `local`, `prefer:N`, `bind:LIST` or `interleave:LIST`";

/// `wait_for` names one earlier job, and no other job has that name.
pub(crate) fn waits(jobs: &[(Job, Spot)], report: &mut Report) {
    for (index, (job, spot)) in jobs.iter().enumerate() {
        let Some(name) = &job.order.wait_for else { continue };
        let earlier = jobs[..index].iter().filter(|(other, _)| other.name == *name).count();
        let message = match earlier {
            1 => continue,
            0 if job.name == *name => format!("the job `{name}` cannot wait for itself"),
            0 => format!("`wait_for` names `{name}`, and no job before this one is named so"),
            _ => format!("`wait_for` names `{name}`, and {earlier} jobs before this one are named so"),
        };
        report.error(spot, message, Some("name one earlier job, whose name no other has".to_owned()));
    }
}

/// Lists of errors for reads, writes and verification, with commas between.
fn errno_lists(text: &str) -> Result<[Vec<i32>; 3], String> {
    let mut lists: [Vec<i32>; 3] = Default::default();
    for (index, part) in text.split(',').enumerate() {
        let list = lists.get_mut(index).ok_or("there are lists for reads, writes and verification, not more")?;
        for word in part.split(':').map(str::trim).filter(|word| !word.is_empty()) {
            list.push(errno(word).ok_or_else(|| format!("`{word}` is no error that this system has"))?);
        }
    }
    Ok(lists)
}

/// An errno by name or number.
fn errno(word: &str) -> Option<i32> {
    if let Ok(number) = word.parse::<i32>() {
        return (number > 0).then_some(number);
    }
    ERRNOS.iter().find(|(name, _)| *name == word).map(|(_, errno)| *errno)
}

macro_rules! errnos {
    ($($name:ident)+) => { &[$((stringify!($name), libc::$name)),+] };
}

/// What I/O can fail with.
const ERRNOS: &[(&str, i32)] = errnos!(
    EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT ENOTBLK EBUSY EEXIST
    EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE
    EDEADLK ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY ELOOP EOVERFLOW EILSEQ EOPNOTSUPP ENETDOWN ENETUNREACH ECONNABORTED
    ECONNRESET ENOBUFS ENOTCONN ETIMEDOUT ECONNREFUSED EHOSTDOWN EHOSTUNREACH EALREADY EINPROGRESS ESTALE EDQUOT
    ECANCELED EWOULDBLOCK
);

fn nodes(text: &str) -> Result<NumaNodes, String> {
    if text.trim() == "all" {
        return Ok(NumaNodes::All);
    }
    let number = |word: &str| word.trim().parse::<u32>().map_err(|_| format!("`{}` is no node", word.trim()));
    let mut list = Vec::new();
    for part in text.split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (low, high) = (number(low)?, number(high)?);
        if low > high || high > HIGHEST_NODE {
            return Err(format!("`{part}` is no range of nodes"));
        }
        list.extend(low..=high);
    }
    list.sort_unstable();
    list.dedup();
    Ok(NumaNodes::List(list))
}

/// The kernel has at most 1024 nodes.
const HIGHEST_NODE: u32 = 1023;

fn policy(text: &str) -> Result<NumaPolicy, String> {
    let (mode, list) = match text.split_once(':') {
        Some((mode, list)) => (mode.trim(), Some(list)),
        None => (text.trim(), None),
    };
    let needed = || list.ok_or_else(|| format!("`{mode}` needs nodes after a colon"));
    match mode {
        "default" => Ok(NumaPolicy::Default),
        "local" => Ok(NumaPolicy::Local),
        "prefer" => match nodes(needed()?)? {
            NumaNodes::List(list) if list.len() == 1 => Ok(NumaPolicy::Prefer(list[0])),
            _ => Err("`prefer` takes one node".to_owned()),
        },
        "bind" => Ok(NumaPolicy::Bind(nodes(needed()?)?)),
        "interleave" => Ok(NumaPolicy::Interleave(nodes(needed()?)?)),
        _ => Err(format!("`{mode}` is no memory policy")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_names_and_numbers_and_a_list_for_each_kind() {
        assert_eq!(errno_lists("EAGAIN,ENOSPC:122"), Ok([vec![libc::EAGAIN], vec![libc::ENOSPC, 122], vec![]]));
        assert_eq!(errno_lists(",,EILSEQ"), Ok([vec![], vec![], vec![libc::EILSEQ]]));
        for wrong in ["ENOSUCH", "-5", "0", "EIO,EIO,EIO,EIO"] {
            assert!(errno_lists(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn nodes_and_policies_are_read_as_the_manual_says() {
        let list = |nodes: &[u32]| NumaNodes::List(nodes.to_vec());
        assert_eq!(nodes("3,0-1,1"), Ok(list(&[0, 1, 3])));
        assert_eq!(policy("bind:all"), Ok(NumaPolicy::Bind(NumaNodes::All)));
        assert_eq!(policy("interleave:0-1"), Ok(NumaPolicy::Interleave(list(&[0, 1]))));
        assert_eq!(policy("prefer:1"), Ok(NumaPolicy::Prefer(1)));
        for wrong in ["prefer:0-1", "prefer", "bind", "bind:2-1", "bind:0-99999999", "bin:0", ""] {
            assert!(policy(wrong).is_err(), "{wrong}");
        }
    }
}
