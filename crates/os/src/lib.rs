//! The operating system behind a safe API: one call or one file in, one typed fact out.
//!
//! Linux and macOS. Each module whose parts differ between the two has one file per system with the same functions;
//! what a system cannot do answers with a sentence in an [`std::io::Error`], or, where "none" is a true answer, with
//! an empty value.
#![deny(missing_docs)]
#![allow(unsafe_code)]

pub mod block;
pub mod cgroup;
pub mod clock;
pub mod file;
pub mod fill;
pub mod host;
pub mod io;
pub mod mapped;
pub mod memory;
pub mod names;
pub mod signals;
pub mod stdio;
pub mod terminal;
pub mod thread;
pub mod vector;
pub mod zoned;

/// An error that says in one sentence what this system cannot do.
#[cfg(target_os = "macos")]
pub(crate) fn unsupported(sentence: &'static str) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::Unsupported, sentence)
}
