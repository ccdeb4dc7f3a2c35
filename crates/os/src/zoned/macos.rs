//! macOS has no zoned block devices.

use std::io;
use std::os::fd::BorrowedFd;

use super::{Zone, ZoneCommand};
use crate::unsupported;

const SENTENCE: &str = "zoned block devices are an interface of Linux alone";

pub(super) fn report(_: BorrowedFd<'_>, _: u64) -> io::Result<Vec<Zone>> {
    Err(unsupported(SENTENCE))
}

pub(super) fn command(_: BorrowedFd<'_>, _: ZoneCommand, _: u64, _: u64) -> io::Result<()> {
    Err(unsupported(SENTENCE))
}

pub(super) fn geometry(_: BorrowedFd<'_>) -> io::Result<(u64, u32)> {
    Err(unsupported(SENTENCE))
}
