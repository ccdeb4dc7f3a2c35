//! `random_distribution`: a law and its parameters.

use super::{Fault, Grammar, Piece, Reading, choice};
use crate::job::Distribution;
use crate::value::Choice;

/// Blocks that `sequence` may list.
const LONGEST_SEQUENCE: usize = 64;

impl Grammar<'_> {
    /// `word[:parameters]`.
    pub(super) fn distribution(&mut self, whole: Piece<'_>, choices: &'static [Choice]) -> Result<Distribution, Fault> {
        let colon = whole.text.find(':').unwrap_or(whole.text.len());
        let comma = whole.text.find(',').filter(|at| *at < colon);
        let end = comma.unwrap_or(colon);
        let word = choice(whole.to(end), choices)?;
        let mut rest = (end < whole.text.len()).then(|| whole.from(end + 1));
        if comma.is_some() {
            self.note(whole.from(end).to(1).span(), "fio passes over parameters that do not follow a colon");
            if self.reading == Reading::Fio {
                rest = None;
            }
        }
        match word {
            "zipf" => {
                let (theta, center) = self.law(whole, rest, 1.1)?;
                if theta == 1.0 {
                    return Err(Fault::new(whole.span(), "zipf's parameter must not be 1"));
                }
                Ok(Distribution::Zipf { theta, center })
            }
            "pareto" => {
                let (power, center) = self.law(whole, rest, 0.2)?;
                if power <= 0.0 || power >= 1.0 {
                    return Err(Fault::new(whole.span(), "pareto's parameter is between 0 and 1"));
                }
                Ok(Distribution::Pareto { power, center })
            }
            "normal" => {
                let (deviation, center) = self.law(whole, rest, 0.0)?;
                if !(0.0..100.0).contains(&deviation) {
                    return Err(Fault::new(whole.span(), "the deviation is a percentage from 0 to below 100"));
                }
                Ok(Distribution::Normal { deviation, center })
            }
            "zoned" => Ok(Distribution::Zoned(self.zones(needed(whole, rest)?, false)?.into())),
            "zoned_abs" => Ok(Distribution::ZonedAbs(self.zones(needed(whole, rest)?, true)?.into())),
            "sequence" => self.sequence(needed(whole, rest)?),
            _ => Ok(Distribution::Random),
        }
    }

    /// A law's parameter and its centre.
    fn law(&mut self, whole: Piece<'_>, rest: Option<Piece<'_>>, default: f64) -> Result<(f64, Option<f64>), Fault> {
        let Some(rest) = rest else { return Ok((default, None)) };
        let parts = rest.split(':');
        let parameter = decimal(parts[0])?;
        let center = parts.get(1).map(|part| decimal(*part)).transpose()?;
        if let Some(third) = parts.get(2) {
            return Err(Fault::new(
                third.at - 1..whole.span().end,
                "two numbers at most: the parameter and the centre",
            ));
        }
        if center.is_some_and(|center| !(0.0..=1.0).contains(&center)) {
            return Err(Fault::new(parts[1].span(), "the centre is between 0 and 1"));
        }
        Ok((parameter, center))
    }

    fn sequence(&mut self, list: Piece<'_>) -> Result<Distribution, Fault> {
        let parts = list.split(',');
        if parts.len() > LONGEST_SEQUENCE {
            return Err(Fault::new(list.span(), format!("{LONGEST_SEQUENCE} blocks at most")));
        }
        let blocks = parts.into_iter().map(|part| self.bytes(part.trimmed(), 0, u64::MAX));
        blocks.collect::<Result<_, _>>().map(Distribution::Sequence)
    }
}

fn needed<'a>(whole: Piece<'a>, rest: Option<Piece<'a>>) -> Result<Piece<'a>, Fault> {
    rest.filter(|piece| !piece.text.trim().is_empty())
        .ok_or_else(|| Fault::new(whole.span(), "parameters are missing after a colon"))
}

fn decimal(piece: Piece<'_>) -> Result<f64, Fault> {
    let text = piece.text.trim();
    let plain = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+'));
    let value = text.parse::<f64>().ok().filter(|value| plain && value.is_finite());
    value.ok_or_else(|| Fault::new(piece.span(), format!("`{text}` is no decimal number")))
}
