//! The verdict on one device, from facts alone.

use std::io;

use iostrata_os::file::DeviceNumber;
use rustix::io::Errno;

use crate::open::{errno_of, errno_text};
use crate::signature::{Signature, content_identity, describe, identifier};
use crate::tree::Tree;

/// Why a device must not be written. `reason` goes on from "it …".
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) reason: String,
    pub(crate) remedy: Option<String>,
}

/// What the user has said.
pub(crate) struct Allowed<'a> {
    /// Identities that may be destroyed.
    pub(crate) destroy: &'a [String],
    /// fio's `allow_mounted_write`; it changes the words only.
    pub(crate) mounted_write: bool,
}

impl Allowed<'_> {
    fn names(&self, identity: &str) -> bool {
        self.destroy.iter().any(|given| given.trim().eq_ignore_ascii_case(identity))
    }
}

fn refuse(reason: String, identity: Option<&str>) -> Verdict {
    Verdict { reason, remedy: identity.map(|identity| format!("--allow-destroy={identity}")) }
}

/// A device in use is refused, whatever is allowed. `claimed_elsewhere`: the kernel says that someone holds it, which
/// also tells of users that this process cannot see.
pub(crate) fn use_of(
    tree: &Tree,
    number: DeviceNumber,
    claimed_elsewhere: bool,
    allowed: &Allowed,
) -> Result<(), Verdict> {
    let mut uses = tree.in_use(number);
    if uses.is_empty() && claimed_elsewhere {
        uses.push(
            "the kernel or another program holds it exclusively (a mount in another namespace, a ZFS pool, another \
             benchmark)"
                .into(),
        );
    }
    if uses.is_empty() {
        return Ok(());
    }
    let lift = if allowed.mounted_write { "; allow_mounted_write does not lift this" } else { "" };
    Err(refuse(format!("is in use: {}{lift}", uses.join("; ")), None))
}

/// A device that cannot even be opened to be claimed.
pub(crate) fn unopened(error: &io::Error) -> Verdict {
    let remedy = match errno_of(error) {
        Errno::ACCESS | Errno::PERM => "; run as a user who may open it",
        _ => "",
    };
    refuse(format!("cannot be opened to see what is on it ({}){remedy}", errno_text(errno_of(error))), None)
}

/// An idle device is refused if something known lies on it, or if that cannot be read, unless its identity is allowed.
/// Otherwise: what is given up, if anything.
pub(crate) fn content_of(
    tree: &Tree,
    number: DeviceNumber,
    size_bytes: u64,
    found: io::Result<Vec<Signature>>,
    allowed: &Allowed,
) -> Result<Option<String>, Verdict> {
    let hardware = tree.get(number).map(|device| device.identities(tree)).unwrap_or_default();
    let hardware_allowed = hardware.iter().any(|identity| allowed.names(identity));
    match found {
        Ok(found) if found.is_empty() => Ok(None),
        Ok(found) => {
            let identity = content_identity(&found, size_bytes);
            if hardware_allowed || allowed.names(&identity) {
                return Ok(Some(format!("gives up its {}, as allowed", describe(&found))));
            }
            Err(refuse(format!("holds: {}", describe(&found)), Some(&identity)))
        }
        Err(_) if hardware_allowed => Ok(None),
        Err(error) => {
            let reason = format!("cannot be read to see what is on it ({})", errno_text(errno_of(&error)));
            Err(refuse(reason, hardware.first().map(String::as_str)))
        }
    }
}

/// A character device that no rule covers.
pub(crate) fn unknown(name: &str, allowed: &Allowed) -> Result<(), Verdict> {
    let identity = identifier(&format!("char-{name}"));
    if allowed.names(&identity) {
        return Ok(());
    }
    let reason = format!("is a character device ({name}) of which nobody can tell what a write destroys");
    Err(refuse(reason, Some(&identity)))
}
