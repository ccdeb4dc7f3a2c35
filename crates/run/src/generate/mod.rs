//! What to do next: offsets, directions, and the random streams behind them. Pure: no clock, no system call.

mod coverage;
mod file_choice;
mod law;
mod mix;
mod offsets;
mod permutation;
pub(crate) mod precondition;
mod priority;
pub(crate) mod random;
mod sequential;
mod shaped;

pub use file_choice::FileChoice;
pub use mix::Mix;
pub use offsets::{Block, OffsetSpec, Offsets};
pub(crate) use priority::Priorities;
pub use random::Streams;
pub use shaped::Shape;

/// The direction in which data moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Direction {
    /// From the target.
    Read = 0,
    /// To the target.
    Write = 1,
    /// Blocks are given up.
    Trim = 2,
}

impl Direction {
    /// All of them, in the order of their index.
    pub const ALL: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];

    /// Its place in an array for each direction.
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }
}
