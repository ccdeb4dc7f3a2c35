//! Priorities of single I/Os: `cmdprio_*`.

/// One part of `cmdprio_bssplit=`: which I/Os of a size go down under which priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityShare {
    /// I/Os of this size, bytes.
    pub block_bytes: u64,
    /// So many in a hundred of them.
    pub percent: u32,
    /// Class, level and hint; what is left out is that of `cmdprio_class`, `cmdprio` and `cmdprio_hint`.
    pub class: Option<u16>,
    /// See `class`.
    pub level: Option<u16>,
    /// See `class`.
    pub hint: Option<u16>,
}

/// The `cmdprio` options of a job, by direction: reads, writes, trims. Trims have no priority of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandPriority {
    /// `cmdprio_percentage`: so many I/Os in a hundred, of any size.
    pub percent: [Option<u64>; 3],
    /// `cmdprio_class`: 0 none, 1 real time, 2 best effort, 3 idle; real time if it is not given.
    pub class: [Option<u64>; 3],
    /// `cmdprio`: the level within the class, 0 the highest.
    pub level: [Option<u64>; 3],
    /// `cmdprio_hint`.
    pub hint: [Option<u64>; 3],
    /// `cmdprio_bssplit`.
    pub split: [Option<Vec<PriorityShare>>; 3],
}

/// Class "real time" of Linux.
const REAL_TIME: u64 = 1;

/// So many in a hundred of the I/Os of this size, or of all, go down under this priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prioritised {
    /// `None`: I/Os of any size.
    pub block_bytes: Option<u64>,
    /// So many in a hundred.
    pub percent: u32,
    /// Class, hint and level as the kernel takes them; 0 leaves the I/O the priority of its thread.
    pub word: u16,
}

/// Class, hint and level as the kernel takes them.
pub const fn priority_word(class: u16, hint: u16, level: u16) -> u16 {
    (class & 7) << 13 | (hint & 0x3ff) << 3 | level & 7
}

impl CommandPriority {
    /// Whether some I/Os have a priority of their own.
    pub fn any(&self) -> bool {
        [0, 1].iter().any(|direction| !self.shares(*direction).is_empty())
    }

    /// Which I/Os of a direction (0 reads, 1 writes) have which priority; together at most all of them.
    pub fn shares(&self, direction: usize) -> Vec<Prioritised> {
        if direction > 1 {
            return Vec::new();
        }
        let own = |of: &[Option<u64>; 3], default: u64| of[direction].unwrap_or(default) as u16;
        let (class, level, hint) = (own(&self.class, REAL_TIME), own(&self.level, 0), own(&self.hint, 0));
        let mut shares: Vec<Prioritised> = Vec::new();
        if let Some(percent) = self.percent[direction] {
            let word = priority_word(class, hint, level);
            shares.push(Prioritised { block_bytes: None, percent: percent as u32, word });
        }
        for share in self.split[direction].iter().flatten() {
            let (class, level, hint) =
                (share.class.unwrap_or(class), share.level.unwrap_or(level), share.hint.unwrap_or(hint));
            let word = priority_word(class, hint, level);
            shares.push(Prioritised { block_bytes: Some(share.block_bytes), percent: share.percent, word });
        }
        shares.retain(|share| share.percent > 0);
        shares
    }
}
