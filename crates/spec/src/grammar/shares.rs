//! Shares: `bssplit`, and the zones of a distribution.

use super::{Fault, Grammar, Piece, Reading};
use crate::job::{AccessZone, SizeShare};

/// What a direction has; `None` for one that was left out.
pub(super) type Each<T> = [Option<Vec<T>>; 3];

/// `a/b` with either part perhaps missing: one item of a list of shares.
struct Item<'a> {
    first: Piece<'a>,
    second: Option<Piece<'a>>,
}

impl Grammar<'_> {
    /// `4k/60:8k/40,16k/…`.
    pub(super) fn split(&mut self, whole: Piece<'_>) -> Result<Each<SizeShare>, Fault> {
        let parts = whole.split(',');
        if self.reading == Reading::Plain && is_one_list(&parts) {
            self.note(
                whole.span(),
                "fio takes a comma for the end of a direction's list; sizes are separated by colons",
            );
            let list = self.sizes(whole, parts)?;
            return Ok([Some(list.clone()), Some(list.clone()), Some(list)]);
        }
        self.directions(whole, |g, part| g.sizes(part, part.split(':')))
    }

    /// `50/5:50/95,…`; `absolute`: the second number is bytes, not percent.
    pub(super) fn zones(&mut self, whole: Piece<'_>, absolute: bool) -> Result<Each<AccessZone>, Fault> {
        self.directions(whole, |g, part| g.zone_list(part, absolute))
    }

    /// Up to three lists with commas between. One is for all; a missing third is the second.
    pub(super) fn directions<T: Clone>(
        &mut self,
        whole: Piece<'_>,
        mut list: impl FnMut(&mut Self, Piece<'_>) -> Result<Vec<T>, Fault>,
    ) -> Result<Each<T>, Fault> {
        let parts = whole.split(',');
        if let Some(fourth) = parts.get(3).filter(|_| self.reading == Reading::Plain) {
            let span = fourth.at - 1..whole.span().end;
            return Err(Fault::new(span, "three lists at most: for reads, writes and trims"));
        }
        let mut each: Each<T> = [None, None, None];
        for (slot, part) in each.iter_mut().zip(&parts) {
            let part = part.trimmed();
            if !part.text.is_empty() {
                *slot = Some(list(self, part)?);
            }
        }
        match parts.len() {
            1 => each = [each[0].clone(), each[0].clone(), each[0].clone()],
            2 => each[2] = each[1].clone(),
            _ => {}
        }
        if each.iter().all(Option::is_none) {
            return Err(Fault::new(whole.span(), "a value is missing"));
        }
        Ok(each)
    }

    fn sizes(&mut self, whole: Piece<'_>, parts: Vec<Piece<'_>>) -> Result<Vec<SizeShare>, Fault> {
        let mut bytes = Vec::new();
        let mut percents = Vec::new();
        for item in parts.into_iter().filter_map(|part| item_of(part.trimmed())) {
            let mut first = item.first;
            if let Some(dash) = first.text.get(1..).and_then(|rest| rest.find('-')) {
                self.note(
                    first.from(dash + 1).span(),
                    "a share is one of a single size: the first of a range is taken",
                );
                first = first.to(dash + 1);
            }
            bytes.push(self.bytes(first, 1, u64::MAX)?);
            let most = if self.reading == Reading::Fio { i64::MAX } else { 100 };
            let percent = item.second.map(|p| self.percent(p, most)).transpose()?;
            percents.push(percent.map(|p| p.min(100) as u32));
        }
        if bytes.is_empty() {
            return Err(Fault::new(whole.span(), "a block size is missing"));
        }
        let percents = self.hundred(whole, &percents)?;
        Ok(bytes.into_iter().zip(percents).map(|(bytes, percent)| SizeShare { bytes, percent }).collect())
    }

    /// A share in percent. The sign is not needed here, and does no harm.
    fn percent(&mut self, piece: Piece<'_>, most: i64) -> Result<i64, Fault> {
        let sign = piece.text.strip_suffix('%').filter(|number| !number.is_empty()).map(str::len);
        let Some(at) = sign else { return self.int(piece, 0, most) };
        if self.reading == Reading::Plain {
            self.note(piece.from(at).span(), "fio passes over the sign");
        }
        self.int(piece.to(at), 0, most)
    }

    /// The shares such that they add to 100: those left out have equal parts of what the others leave.
    fn hundred(&mut self, whole: Piece<'_>, given: &[Option<u32>]) -> Result<Vec<u32>, Fault> {
        let sum: u32 = given.iter().flatten().sum();
        if sum > 100 {
            if self.reading == Reading::Fio {
                return Ok(fios_excess(given));
            }
            let fault = Fault::new(whole.span(), format!("the shares add to {sum} percent"));
            return Err(fault.help("fio cuts off what is beyond 100; give shares that add to 100"));
        }
        let open = given.iter().filter(|share| share.is_none()).count() as u32;
        let mut shares: Vec<u32> = given.iter().map(|share| share.unwrap_or((100 - sum) / open.max(1))).collect();
        let rest = 100 - shares.iter().sum::<u32>();
        if rest > 0 {
            let target = match given.iter().rposition(Option::is_none) {
                Some(last_open) => last_open,
                None => {
                    self.note(whole.span(), "the shares do not add to 100; the largest has what is missing");
                    largest(&shares)
                }
            };
            shares[target] += rest;
        }
        Ok(shares)
    }

    fn zone_list(&mut self, whole: Piece<'_>, absolute: bool) -> Result<Vec<AccessZone>, Fault> {
        let mut accesses = Vec::new();
        let mut sizes = Vec::new();
        for item in whole.split(':').into_iter().filter_map(|part| item_of(part.trimmed())) {
            accesses.push(self.int(item.first, 0, 100)? as u32);
            let most = if absolute { u64::MAX } else { 100 };
            sizes.push(item.second.map(|p| self.bytes(p, 0, most)).transpose()?);
            if absolute && sizes.last() == Some(&None) {
                return Err(Fault::new(item.first.span(), "the size of this zone is missing"));
            }
        }
        let sum: u32 = accesses.iter().sum();
        if sum != 100 {
            let message = format!("the accesses of the zones add to {sum} percent; they must add to 100");
            return Err(Fault::new(whole.span(), message));
        }
        let given: u64 = sizes.iter().flatten().fold(0, |sum, size| sum.saturating_add(*size));
        if !absolute && given > 100 {
            return Err(Fault::new(whole.span(), format!("the sizes of the zones add to {given} percent")));
        }
        let open = sizes.iter().filter(|size| size.is_none()).count() as u64;
        let each = 100u64.saturating_sub(given) / open.max(1);
        let zones = accesses.into_iter().zip(sizes);
        let mut zones: Vec<AccessZone> =
            zones.map(|(percent, size)| AccessZone { percent, size: size.unwrap_or(each) }).collect();
        if let Some(last) = zones.last_mut().filter(|_| open > 0) {
            // What equal parts leave over is at the end.
            last.size += 100u64.saturating_sub(given) - each * open;
        }
        Ok(zones)
    }
}

/// Commas where colons were meant: more lists than there are directions, or single sizes whose shares add to 100.
fn is_one_list(parts: &[Piece<'_>]) -> bool {
    if parts.len() < 2 || parts.iter().any(|part| part.text.contains(':')) {
        return false;
    }
    let share = |part: &Piece<'_>| part.text.split_once('/')?.1.trim().parse::<u32>().ok();
    let shares: Option<Vec<u32>> = parts.iter().map(share).collect();
    let hundred = shares.is_some_and(|list| list.iter().sum::<u32>() == 100 && !list.contains(&100));
    parts.len() > 3 || hundred
}

/// None for an empty piece, as two separators in a row leave it.
fn item_of(part: Piece<'_>) -> Option<Item<'_>> {
    if part.text.is_empty() {
        return None;
    }
    let slash = part.text.find('/');
    let first = part.to(slash.unwrap_or(part.text.len()));
    let second = slash.map(|at| part.from(at + 1)).filter(|rest| !rest.text.trim().is_empty());
    Some(Item { first, second })
}

/// The last of the largest shares.
fn largest(shares: &[u32]) -> usize {
    (0..shares.len()).max_by_key(|at| shares[*at]).unwrap_or(0)
}

/// fio goes through the shares from the smallest to the largest, up to 100.
fn fios_excess(given: &[Option<u32>]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..given.len()).collect();
    order.sort_by_key(|at| given[*at].unwrap_or(0));
    let mut shares = vec![0; given.len()];
    let mut left = 100;
    for at in order {
        shares[at] = given[at].unwrap_or(0).min(left);
        left -= shares[at];
    }
    shares
}
