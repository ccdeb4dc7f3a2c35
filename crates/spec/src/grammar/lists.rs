//! Lists: per direction, ranges, names, CPUs, decimals.

use super::{Fault, Grammar, Piece, Reading, choice};
use crate::job::{FileService, Percentiles, SteadyCriterion};
use crate::value::Choice;

/// CPU numbers beyond this are a slip of the finger.
const HIGHEST_CPU: u32 = 65_535;

impl Grammar<'_> {
    /// Up to three values with commas between. One value is for all; a missing third is the second.
    pub(super) fn per_direction(
        &mut self,
        piece: Piece<'_>,
        mut one: impl FnMut(&mut Self, Piece<'_>) -> Result<u64, Fault>,
    ) -> Result<[Option<u64>; 3], Fault> {
        if self.reading == Reading::Plain && is_list_of_shares(piece) {
            let why = "fio reads a number up to the slash; shares of block sizes are given with `bssplit`";
            self.note(piece.span(), why);
            self.reading = Reading::Fio;
            let values = self.per_direction(piece, one);
            self.reading = Reading::Plain;
            return values;
        }
        let pieces = match self.reading {
            // A dash or colon separates as a comma does.
            Reading::Fio => split_any(piece),
            Reading::Plain => piece.split(','),
        };
        if self.reading == Reading::Plain {
            refuse_ranges(piece, &pieces)?;
            if let Some(fourth) = pieces.get(3) {
                let span = fourth.at - 1..piece.span().end;
                return Err(Fault::new(span, "three values at most: for reads, writes and trims"));
            }
        }
        let mut values = [None; 3];
        for (value, piece) in values.iter_mut().zip(&pieces) {
            if !piece.text.trim().is_empty() {
                let meant = if self.reading == Reading::Fio { *piece } else { self.trim_inner(*piece) };
                *value = Some(one(self, meant)?);
            }
        }
        if values == [None; 3] {
            return Err(Fault::new(piece.span(), "a value is missing"));
        }
        match pieces.len() {
            1 => values = [values[0]; 3],
            2 => values[2] = values[1],
            _ => {}
        }
        Ok(values)
    }

    /// `4k, 8k`: the blank after the comma is not meant.
    fn trim_inner<'a>(&mut self, piece: Piece<'a>) -> Piece<'a> {
        let trimmed = piece.trimmed();
        if trimmed.at > piece.at {
            self.note(piece.span(), "fio passes over the unit after a blank");
        }
        trimmed
    }

    /// `low-high` or `low:high` in any order, or one value for both.
    pub(super) fn range(
        &mut self,
        piece: Piece<'_>,
        mut one: impl FnMut(&mut Self, Piece<'_>) -> Result<u64, Fault>,
    ) -> Result<(u64, u64), Fault> {
        let separator = if piece.text.trim_start().starts_with('(') { None } else { separator_in(piece.text) };
        let Some(at) = separator else {
            let value = one(self, piece)?;
            return Ok((value, value));
        };
        let low = one(self, piece.to(at).trimmed())?;
        let high = one(self, piece.from(at + 1).trimmed())?;
        Ok((low.min(high), low.max(high)))
    }

    /// `1k-4k,8k-32k`.
    pub(super) fn ranges(&mut self, piece: Piece<'_>) -> Result<[Option<(u64, u64)>; 3], Fault> {
        let parts = piece.split(',');
        if let Some(fourth) = parts.get(3).filter(|_| self.reading == Reading::Plain) {
            let span = fourth.at - 1..piece.span().end;
            return Err(Fault::new(span, "three ranges at most: for reads, writes and trims"));
        }
        let mut ranges = [None; 3];
        for (range, part) in ranges.iter_mut().zip(&parts) {
            let part = part.trimmed();
            if part.text.is_empty() {
                continue;
            }
            if separator_in(part.text).is_none() {
                return Err(Fault::new(part.span(), "a range is written low-high"));
            }
            *range = Some(self.range(part, |g, p| g.bytes(p, 1, u64::MAX))?);
        }
        match parts.len() {
            1 => ranges = [ranges[0]; 3],
            2 => ranges[2] = ranges[1],
            _ => {}
        }
        if ranges == [None; 3] {
            return Err(Fault::new(piece.span(), "a value is missing"));
        }
        Ok(ranges)
    }
}

fn separator_in(text: &str) -> Option<usize> {
    text.char_indices().skip(1).find(|(_, c)| matches!(c, '-' | ':')).map(|(at, _)| at)
}

/// fio's way: commas first, a dash or colon separates where a comma is missing.
fn split_any(piece: Piece<'_>) -> Vec<Piece<'_>> {
    let commas = piece.split(',');
    let last = commas.len() - 1;
    let mut pieces = Vec::new();
    for (at, part) in commas.into_iter().enumerate() {
        if at == last && last < 2 {
            pieces.extend(split_by_dash(part));
        } else {
            pieces.push(part.to(separator_in(part.text).unwrap_or(part.text.len())));
        }
    }
    pieces
}

fn split_by_dash(piece: Piece<'_>) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = piece;
    while let Some(at) = separator_in(rest.text) {
        pieces.push(rest.to(at));
        rest = rest.from(at + 1);
    }
    pieces.push(rest);
    pieces
}

/// `4k/60:8k/40` where one value per direction is wanted.
fn is_list_of_shares(whole: Piece<'_>) -> bool {
    whole
        .split(',')
        .iter()
        .any(|part| !part.text.starts_with('(') && part.text.contains('/') && !part.text.ends_with("/s"))
}

/// `4k-64k` where one value per direction is wanted: fio makes reads and writes of it.
fn refuse_ranges(whole: Piece<'_>, pieces: &[Piece<'_>]) -> Result<(), Fault> {
    for piece in pieces {
        if piece.text.starts_with('(') {
            continue;
        }
        if let Some(at) = separator_in(piece.text) {
            let (low, high) = (&piece.text[..at], &piece.text[at + 1..]);
            let fault = Fault::new(piece.span(), format!("`{}` is a range, and one value is wanted", whole.text));
            let help =
                format!("fio takes it for `{low},{high}`: reads and writes; a range of block sizes is `bsrange`");
            return Err(fault.help(help));
        }
    }
    Ok(())
}

/// Names with colons between; `\:` is a colon.
pub(super) fn names(piece: Piece<'_>) -> Result<Vec<String>, Fault> {
    let mut names = vec![String::new()];
    let mut chars = piece.text.chars().peekable();
    while let Some(c) = chars.next() {
        let last = names.len() - 1;
        match c {
            '\\' if chars.peek() == Some(&':') => {
                chars.next();
                names[last].push(':');
            }
            ':' => names.push(String::new()),
            other => names[last].push(other),
        }
    }
    names.retain(|name| !name.is_empty());
    if names.is_empty() {
        return Err(Fault::new(piece.span(), "a name is missing"));
    }
    Ok(names)
}

/// `0,2-5`.
pub(super) fn cpus(piece: Piece<'_>) -> Result<Vec<u32>, Fault> {
    let number = |p: Piece<'_>| {
        let p = p.trimmed();
        match p.text.parse::<u32>() {
            Ok(n) if n <= HIGHEST_CPU => Ok(n),
            _ => Err(Fault::new(p.span(), format!("`{}` is no CPU number", p.text))),
        }
    };
    let mut ranges = Vec::new();
    for part in piece.split(',') {
        let (first, last) = match part.text.find('-') {
            Some(dash) => (number(part.to(dash))?, number(part.from(dash + 1))?),
            None => {
                let n = number(part)?;
                (n, n)
            }
        };
        if last < first {
            return Err(Fault::new(part.span(), format!("the range `{}` runs backwards", part.text)));
        }
        ranges.push((first, last));
    }
    ranges.sort_unstable();
    let mut cpus: Vec<u32> = Vec::new();
    for (first, last) in ranges {
        // What an earlier range covered is not listed again.
        let next = cpus.last().map_or(first, |seen| first.max(seen + 1));
        cpus.extend(next..=last);
    }
    Ok(cpus)
}

impl Grammar<'_> {
    /// `99:99.9`, sorted. Commas and blanks are meant so too; fio stops reading an item there, and at a percent sign.
    pub(super) fn floats(&mut self, piece: Piece<'_>, most: usize, above: f64, max: f64) -> Result<Percentiles, Fault> {
        let mut list = self.floats_in_order(piece, most, above, max)?;
        list.values.sort_by(f64::total_cmp);
        Ok(list)
    }

    /// `50:100` as it stands; commas and blanks as above.
    pub(super) fn floats_in_order(
        &mut self,
        piece: Piece<'_>,
        most: usize,
        above: f64,
        max: f64,
    ) -> Result<Percentiles, Fault> {
        let mut list = Percentiles { values: Vec::new(), precision: 0 };
        for part in piece.split(':') {
            let part = part.trimmed();
            let end = part.text.find([',', ' ', '%']).unwrap_or(part.text.len());
            if end == part.text.len() || end == 0 {
                float(part, above, max, &mut list)?;
            } else if self.reading == Reading::Fio {
                float(part.to(end), above, max, &mut list)?;
            } else {
                let items = part.split(',').into_iter().flat_map(|item| item.split(' '));
                for item in items.filter(|item| !item.text.is_empty()) {
                    let number = item.text.strip_suffix('%').unwrap_or(item.text);
                    float(item.to(number.len()), above, max, &mut list)?;
                }
                self.note(part.from(end).span(), "fio stops reading there; colons are between the numbers");
            }
        }
        if list.values.len() > most {
            return Err(Fault::new(piece.span(), format!("{} values, and {most} are the most", list.values.len())));
        }
        Ok(list)
    }
}

/// One decimal, into the list.
fn float(part: Piece<'_>, above: f64, max: f64, list: &mut Percentiles) -> Result<(), Fault> {
    const MOST_DECIMALS: usize = 15;
    let plain = part.text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let Some(value) = part.text.parse::<f64>().ok().filter(|v| plain && v.is_finite()) else {
        return Err(Fault::new(part.span(), format!("`{}` is no decimal number", part.text)));
    };
    if value <= above || value > max {
        return Err(Fault::new(part.span(), format!("{} is not above {above} and up to {max}", part.text)));
    }
    let decimals = part.text.split_once('.').map_or(0, |(_, d)| d.len());
    if decimals > MOST_DECIMALS {
        return Err(Fault::new(part.span(), "more decimals than a number can hold"));
    }
    list.values.push(value);
    list.precision = list.precision.max(decimals as u32);
    Ok(())
}

/// `criterion:limit[%]`.
pub(super) fn steady(piece: Piece<'_>, choices: &'static [Choice]) -> Result<SteadyCriterion, Fault> {
    let Some(colon) = piece.text.find(':') else {
        choice(piece, choices)?;
        let fault = Fault::new(piece.span(), "a limit is missing after the criterion");
        return Err(fault.help(format!("write `{}:0.3%` for instance", piece.text)));
    };
    let word = choice(piece.to(colon).trimmed(), choices)?;
    let limit = piece.from(colon + 1).trimmed();
    let (number, percent) = match limit.text.strip_suffix('%') {
        Some(number) => (number.trim_end(), true),
        None => (limit.text, false),
    };
    let plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let value = number.parse::<f64>().ok().filter(|value| plain && value.is_finite());
    let criterion = value.and_then(|value| SteadyCriterion::new(word, value, percent));
    criterion.ok_or_else(|| Fault::new(limit.span(), format!("`{}` is no limit: a number, perhaps with %", limit.text)))
}

/// `word[:parameter]` of file_service_type.
pub(super) fn file_service(piece: Piece<'_>, choices: &'static [Choice]) -> Result<FileService, Fault> {
    let colon = piece.text.find(':').unwrap_or(piece.text.len());
    let word = choice(piece.to(colon).trimmed(), choices)?;
    let parameter = (colon < piece.text.len()).then(|| piece.from(colon + 1).trimmed());
    FileService::new(word, parameter.map(|p| p.text))
        .map_err(|message| Fault::new(parameter.map_or_else(|| piece.span(), |p| p.span()), message))
}
