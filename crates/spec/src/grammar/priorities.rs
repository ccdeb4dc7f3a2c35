//! `cmdprio_bssplit`: shares of I/Os by size, and their priorities.

use super::shares::Each;
use super::{Fault, Grammar, Piece, Reading};
use crate::job::PriorityShare;

impl Grammar<'_> {
    /// `4k/30/1/0:8k/50,…`: size, percent, and class, level and hint of the priority where they are given.
    pub(super) fn priorities(&mut self, whole: Piece<'_>) -> Result<Each<PriorityShare>, Fault> {
        self.directions(whole, |g, part| {
            let items = part.split(':').into_iter().map(Piece::trimmed).filter(|item| !item.text.is_empty());
            let shares = items.map(|item| g.priority_share(item)).collect::<Result<Vec<_>, _>>()?;
            for share in &shares {
                let of_size = shares.iter().filter(|other| other.block_bytes == share.block_bytes);
                let sum: u32 = of_size.map(|other| other.percent).sum();
                if sum > 100 {
                    let message = format!("the shares of I/Os of {} bytes add to {sum} percent", share.block_bytes);
                    return Err(Fault::new(part.span(), message));
                }
            }
            Ok(shares)
        })
    }

    fn priority_share(&mut self, item: Piece<'_>) -> Result<PriorityShare, Fault> {
        let parts = item.split('/');
        if let Some(sixth) = parts.get(5) {
            return Err(Fault::new(sixth.span(), "five parts at most: size, percent, class, level and hint"));
        }
        let block_bytes = self.bytes(parts[0].trimmed(), 1, u64::MAX)?;
        let percent = match parts.get(1) {
            Some(percent) => self.int(percent.trimmed(), 0, 100)? as u32,
            None if self.reading == Reading::Fio => 0,
            None => {
                let fault = Fault::new(item.span(), "the share of these I/Os is missing");
                return Err(fault.help("give it in percent behind a slash, as in 4k/30; fio takes none for 0"));
            }
        };
        let mut part = |at: usize, max: i64| -> Result<Option<u16>, Fault> {
            let given = parts.get(at).map(|piece| piece.trimmed()).filter(|piece| !piece.text.is_empty());
            given.map(|piece| self.int(piece, 0, max).map(|number| number as u16)).transpose()
        };
        Ok(PriorityShare { block_bytes, percent, class: part(2, 3)?, level: part(3, 7)?, hint: part(4, 1023)? })
    }
}
