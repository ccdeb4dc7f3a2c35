//! `dataplacement=streams`: before each write the file is told how long the data will live.

use iostrata_engine::{Io, Op};
use iostrata_os::file::hint_write_life;
use iostrata_spec::{PlacementMeans, PlacementSelect};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::files::OpenFiles;
use crate::error::RunError;
use crate::generate::random::{below, derive, generator};
use crate::plan::WorkerPlan;

/// The lives of `linux/fcntl.h` from RWH_WRITE_LIFE_SHORT on; stream 1 is the first.
const SHORT: u64 = 2;

/// One line of a scheme: writes from `start` to before `end` take this identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    start: u64,
    end: u64,
    id: u16,
}

/// Which stream each write belongs to.
pub(super) struct Placement {
    select: PlacementSelect,
    ids: Vec<u16>,
    next: usize,
    scheme: Vec<Span>,
    rng: Xoshiro256PlusPlus,
    /// What each file was told last.
    told: Vec<Option<u16>>,
}

impl Placement {
    /// Of a job that marks its writes.
    pub(super) fn for_worker(plan: &WorkerPlan, seed: u64) -> Result<Option<Box<Placement>>, RunError> {
        let asked = &plan.job.shape.placement;
        if asked.means != PlacementMeans::Streams {
            return Ok(None);
        }
        let ids = if asked.ids.is_empty() { (1..=4).collect() } else { asked.ids.clone() };
        let scheme = match (&asked.scheme, asked.select) {
            (Some(path), PlacementSelect::Scheme) => {
                let path = std::path::Path::new(path);
                let text = std::fs::read_to_string(path)
                    .map_err(|error| RunError::system(&plan.job, Some(path), "reading dp_scheme", &error))?;
                parse(&text, &ids).map_err(|line| {
                    let place = format!("{}:{line}", path.display());
                    RunError::job(&plan.job, format!("{place}: a line is `start, end, index`, the index one of plids"))
                })?
            }
            _ => Vec::new(),
        };
        let told = vec![None; plan.files.len()];
        let rng = generator(derive(seed, 2));
        Ok(Some(Box::new(Placement { select: asked.select, ids, next: 0, scheme, rng, told })))
    }

    /// The files were opened anew.
    pub(super) fn forget(&mut self) {
        self.told.fill(None);
    }

    fn pick(&mut self, offset: u64) -> u16 {
        match self.select {
            PlacementSelect::RoundRobin => {
                let id = self.ids[self.next];
                self.next = (self.next + 1) % self.ids.len();
                id
            }
            PlacementSelect::Random => self.ids[below(&mut self.rng, self.ids.len() as u64) as usize],
            PlacementSelect::Scheme => {
                self.scheme.iter().find(|span| (span.start..span.end).contains(&offset)).map_or(0, |span| span.id)
            }
        }
    }

    /// Tells the file which stream a write belongs to; nothing, if it is the same as before.
    pub(super) fn mark(&mut self, io: &Io, files: &OpenFiles) -> std::io::Result<()> {
        if io.op != Op::Write {
            return Ok(());
        }
        let id = self.pick(io.offset);
        let (Some(told), Some(fd)) = (self.told.get_mut(io.file as usize), files.descriptor(io.file)) else {
            return Ok(());
        };
        if *told != Some(id) {
            hint_write_life(fd, if id == 0 { 0 } else { SHORT + u64::from(id) - 1 })?;
            *told = Some(id);
        }
        Ok(())
    }
}

/// The lines of a scheme, or the number of the first that is none.
fn parse(text: &str, ids: &[u16]) -> Result<Vec<Span>, usize> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            let mut numbers = line.split(',').map(|word| word.trim().parse::<u64>());
            let span = match (numbers.next(), numbers.next(), numbers.next(), numbers.next()) {
                (Some(Ok(start)), Some(Ok(end)), Some(Ok(index)), None) if start < end => {
                    usize::try_from(index).ok().and_then(|index| ids.get(index)).map(|&id| Span { start, end, id })
                }
                _ => None,
            };
            span.ok_or(number + 1)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placement(select: PlacementSelect, scheme: &str) -> Placement {
        let ids = vec![1, 3];
        let scheme = parse(scheme, &ids).expect("a scheme");
        Placement { select, ids, next: 0, scheme, rng: generator(1), told: Vec::new() }
    }

    #[test]
    fn streams_come_in_turn_at_random_or_by_the_offset() {
        let picks = |mut of: Placement| (0..200).map(|block| of.pick(block * 4096)).collect::<Vec<_>>();
        assert_eq!(picks(placement(PlacementSelect::RoundRobin, ""))[..4], [1, 3, 1, 3]);
        let drawn = picks(placement(PlacementSelect::Random, ""));
        let ones = drawn.iter().filter(|id| **id == 1).count();
        assert!((60..140).contains(&ones) && drawn.iter().all(|id| [1, 3].contains(id)), "{ones}");
        let told = picks(placement(PlacementSelect::Scheme, "0, 8192, 1\n\n4096, 16384, 0\n"));
        assert_eq!(told[..5], [3, 3, 1, 1, 0], "the first line that fits holds; without one there is no stream");
    }

    #[test]
    fn a_line_that_is_no_range_is_named() {
        for (text, line) in [("0,1", 1), ("0,1,0\n5,5,0", 2), ("0,1,2", 1), ("0,1,0,0", 1), ("\na,1,0", 2)] {
            assert_eq!(parse(text, &[1, 3]), Err(line), "{text}");
        }
    }
}
