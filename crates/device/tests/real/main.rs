//! The crate against the real thing: loop devices, and what the tools of each format make.
#![cfg(target_os = "linux")]

mod common;
mod devices;
mod files;
mod signatures;
