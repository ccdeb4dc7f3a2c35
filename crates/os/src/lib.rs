//! The operating system behind a safe API: raw system calls, memory, clocks, affinity, signals; each OS one file.
#![allow(unsafe_code)]
#![deny(missing_docs)]

pub mod io;
