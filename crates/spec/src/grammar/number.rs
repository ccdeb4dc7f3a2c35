//! Numbers: suffixes by `kb_base`, decimals, times.

use super::arithmetic::{self, Dimension};
use super::{Fault, Grammar, Piece, Reading};
use crate::value::TimeUnit;

/// Power of the base, and whether the suffix has an `i` before its `b` (which *swaps* the base, as fio defines it).
const SUFFIXES: &[(&str, u32, bool)] = &[
    ("kib", 1, true),
    ("mib", 2, true),
    ("gib", 3, true),
    ("tib", 4, true),
    ("pib", 5, true),
    ("kb", 1, false),
    ("mb", 2, false),
    ("gb", 3, false),
    ("tb", 4, false),
    ("pb", 5, false),
    ("ki", 1, false),
    ("mi", 2, false),
    ("gi", 3, false),
    ("ti", 4, false),
    ("pi", 5, false),
    ("k", 1, false),
    ("m", 2, false),
    ("g", 3, false),
    ("t", 4, false),
    ("p", 5, false),
    ("b", 0, false),
];

fn multiplier(power: u32, swapped: bool, kb_base: u32) -> u64 {
    let binary = (kb_base == 1024) != swapped;
    if binary { 1024u64.pow(power) } else { 1000u64.pow(power) }
}

/// What a size suffix multiplies by; none for a word that is no suffix.
pub(super) fn size_suffix(word: &str, kb_base: u32) -> Option<u64> {
    let found = SUFFIXES.iter().find(|(name, ..)| word.eq_ignore_ascii_case(name))?;
    Some(multiplier(found.1, found.2, kb_base))
}

/// fio takes the longest suffix that the text begins with, and passes over the rest.
fn size_suffix_prefix(text: &str, kb_base: u32) -> u64 {
    let lower = text.to_ascii_lowercase();
    SUFFIXES.iter().find(|(name, ..)| lower.starts_with(name)).map_or(1, |s| multiplier(s.1, s.2, kb_base))
}

/// Nanoseconds in a unit that fio knows.
pub(super) fn time_suffix(word: &str) -> Option<u64> {
    match word.to_ascii_lowercase().as_str() {
        "us" | "usec" => Some(1_000),
        "ms" | "msec" => Some(1_000_000),
        "s" => Some(1_000_000_000),
        "m" => Some(60_000_000_000),
        "h" => Some(3_600_000_000_000),
        "d" => Some(86_400_000_000_000),
        _ => None,
    }
}

/// Nanoseconds in a unit that fio does not know but nobody can misunderstand.
fn plain_time_suffix(word: &str) -> Option<u64> {
    match word.to_ascii_lowercase().as_str() {
        "ns" | "nsec" | "nsecs" => Some(1),
        "usecs" | "µs" => Some(1_000),
        "msecs" => Some(1_000_000),
        "sec" | "secs" | "second" | "seconds" => Some(1_000_000_000),
        "min" | "mins" | "minute" | "minutes" => Some(60_000_000_000),
        "hr" | "hrs" | "hour" | "hours" => Some(3_600_000_000_000),
        "day" | "days" => Some(86_400_000_000_000),
        _ => None,
    }
}

fn default_unit(unit: TimeUnit) -> u64 {
    match unit {
        TimeUnit::Seconds => 1_000_000_000,
        TimeUnit::Microseconds => 1_000,
    }
}

/// A number taken apart: `-` `0x` digits `.`digits blanks word.
struct Parts<'a> {
    negative: bool,
    whole: u128,
    /// Digits after the point; none without a point.
    fraction: Option<&'a str>,
    blank: bool,
    suffix: Piece<'a>,
}

fn overflow(piece: Piece<'_>) -> Fault {
    Fault::new(piece.span(), format!("`{}` is too large", piece.text))
}

fn take_apart(piece: Piece<'_>) -> Result<Parts<'_>, Fault> {
    let text = piece.text;
    let signs = text.len() - text.trim_start_matches(['-', '+']).len();
    let body = &text[signs.min(1)..];
    let (digits_at, radix) = match body.get(..2) {
        Some("0x" | "0X") => (2, 16),
        _ => (0, 10),
    };
    let digits = body[digits_at..].bytes().take_while(|b| (*b as char).is_digit(radix)).count();
    if digits == 0 || signs > 1 {
        return Err(Fault::new(piece.span(), format!("`{text}` is no number")));
    }
    let number = &body[digits_at..digits_at + digits];
    let whole = u128::from_str_radix(number, radix).map_err(|_| overflow(piece))?;
    let mut rest_at = signs + digits_at + digits;
    let mut fraction = None;
    if radix == 10 && text[rest_at..].starts_with('.') {
        let decimals = text[rest_at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        if decimals > 0 {
            fraction = Some(&text[rest_at + 1..rest_at + 1 + decimals]);
            rest_at += 1 + decimals;
        }
    }
    let rest = piece.from(rest_at);
    let suffix = rest.trimmed();
    let blank = suffix.at > rest.at && !suffix.text.is_empty();
    Ok(Parts { negative: text.starts_with('-'), whole, fraction, blank, suffix })
}

/// `N%` where a plain number is wanted. fio marks a percentage by a negative number, −N − 1, and takes it as it is:
/// without a sign it is more than any limit.
fn is_percentage(piece: Piece<'_>) -> bool {
    piece.text.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('%')
}

/// Whether a size in the text has a unit that does not mean what it says elsewhere: `GiB` is a power of 1000 as long as
/// `kb_base` is 1024, and with 1000 each unit is another than usual.
pub(crate) fn has_odd_unit(text: &str, kb_base: u32) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(|token| {
        let unit = token.trim_start_matches(|c: char| c.is_ascii_digit());
        let known = SUFFIXES.iter().find(|(name, ..)| unit.eq_ignore_ascii_case(name) && unit.len() < token.len());
        known.is_some_and(|&(_, power, swapped)| power > 0 && (swapped || kb_base == 1000))
    })
}

/// `whole.fraction × multiplier`, if that is a whole number.
fn scale(parts: &Parts<'_>, multiplier: u64, piece: Piece<'_>) -> Result<u64, Fault> {
    let too_large = || overflow(piece);
    let product = parts.whole.checked_mul(u128::from(multiplier)).ok_or_else(too_large)?;
    let fraction = parts.fraction.unwrap_or("").trim_end_matches('0');
    let mut sum = product;
    if !fraction.is_empty() {
        let denominator = 10u128.checked_pow(fraction.len() as u32).ok_or_else(too_large)?;
        let numerator: u128 = fraction.parse().map_err(|_| too_large())?;
        let part = numerator.checked_mul(u128::from(multiplier)).ok_or_else(too_large)?;
        // Without a unit the fraction cannot have been meant; with one it must come out.
        if multiplier > 1 && !part.is_multiple_of(denominator) {
            return Err(Fault::new(piece.span(), format!("`{}` is not a whole number", piece.text)));
        }
        sum = product.checked_add(part / denominator).ok_or_else(too_large)?;
    }
    u64::try_from(sum).map_err(|_| too_large())
}

impl Grammar<'_> {
    /// The magnitude and sign of an integer with a size suffix.
    fn number(&mut self, piece: Piece<'_>) -> Result<(bool, u64), Fault> {
        if piece.text.trim_start().starts_with('(') {
            let (n, _) = arithmetic::evaluate(piece.trimmed(), self.kb_base, Dimension::Number)?;
            let magnitude = u64::try_from(n.unsigned_abs()).map_err(|_| overflow(piece))?;
            return Ok((n < 0, magnitude));
        }
        if self.reading == Reading::Fio {
            return self.fio_number(piece);
        }
        let parts = take_apart(piece)?;
        let word = parts.suffix.text;
        let multiplier = match word {
            "" => 1,
            "%" => {
                self.note(parts.suffix.span(), "fio makes a negative number of a percentage where it wants none");
                1
            }
            _ => match size_suffix(word, self.kb_base) {
                Some(n) => n,
                None => self.loose_suffix(parts.suffix)?,
            },
        };
        if parts.blank {
            self.note(piece.span(), "fio passes over the unit after a blank");
        }
        if parts.fraction.is_some() {
            self.note(piece.span(), "fio stops reading at the decimal point");
        }
        let magnitude = scale(&parts, multiplier, piece)?;
        Ok((parts.negative, magnitude))
    }

    /// `MB/s`, `kbytes`, `MiBps`: the suffix within.
    fn loose_suffix(&mut self, suffix: Piece<'_>) -> Result<u64, Fault> {
        let lower = suffix.text.to_ascii_lowercase();
        let stem = lower.trim_end_matches("/s").trim_end_matches("ytes").trim_end_matches("yte");
        if let Some(multiplier) = size_suffix(stem, self.kb_base) {
            self.note(suffix.span(), "fio knows no such unit and passes over what it does not know");
            return Ok(multiplier);
        }
        let known = "units are k, m, g, t, p (with `b` or `ib` after them, if you like)";
        Err(Fault::new(suffix.span(), format!("`{}` is no unit", suffix.text)).help(known))
    }

    /// fio's reading: digits, then the suffix that directly follows them, whatever comes after.
    fn fio_number(&self, piece: Piece<'_>) -> Result<(bool, u64), Fault> {
        let text = piece.text.trim_start();
        let blank = text.len() < piece.text.len();
        let negative = text.starts_with('-');
        let body = text.trim_start_matches(['-', '+']);
        let (body, radix) = match body.get(..2) {
            Some("0x" | "0X") => (&body[2..], 16),
            _ => (body, 10),
        };
        let digits = body.bytes().take_while(|b| (*b as char).is_digit(radix)).count();
        let whole = u64::from_str_radix(&body[..digits], radix)
            .map_err(|_| Fault::new(piece.span(), format!("`{}` is no number", piece.text)))?;
        if is_percentage(piece) {
            return Ok((true, whole.saturating_add(1)));
        }
        let multiplier = if blank || radix == 16 { 1 } else { size_suffix_prefix(&body[digits..], self.kb_base) };
        let magnitude = whole.checked_mul(multiplier).ok_or_else(|| overflow(piece))?;
        Ok((negative, magnitude))
    }

    /// A whole number between `min` and `max`.
    pub(super) fn int(&mut self, piece: Piece<'_>, min: i64, max: i64) -> Result<i64, Fault> {
        let (negative, magnitude) = self.number(piece)?;
        let signed = i128::from(magnitude) * if negative { -1 } else { 1 };
        if self.reading == Reading::Fio && min == 0 && negative && is_percentage(piece) {
            return Ok(max);
        }
        if signed < i128::from(min) {
            return Err(Fault::new(piece.span(), format!("{signed} is below the smallest value, {min}")));
        }
        if signed > i128::from(max) {
            return Err(Fault::new(piece.span(), format!("{signed} is above the largest value, {max}")));
        }
        Ok(signed as i64)
    }

    /// Bytes between `min` and `max`.
    pub(super) fn bytes(&mut self, piece: Piece<'_>, min: u64, max: u64) -> Result<u64, Fault> {
        let (negative, magnitude) = self.number(piece)?;
        if self.reading == Reading::Fio && min == 0 && negative && is_percentage(piece) {
            return Ok(max);
        }
        if negative && magnitude > 0 {
            return Err(Fault::new(piece.span(), "a negative number makes no sense here"));
        }
        if magnitude < min {
            return Err(Fault::new(piece.span(), format!("{magnitude} is below the smallest value, {min}")));
        }
        if magnitude > max {
            return Err(Fault::new(piece.span(), format!("{magnitude} is above the largest value, {max}")));
        }
        Ok(magnitude)
    }

    /// A time, in nanoseconds.
    pub(super) fn time(&mut self, piece: Piece<'_>, unit: TimeUnit) -> Result<u64, Fault> {
        let default_ns = default_unit(unit);
        if piece.text.trim_start().starts_with('(') {
            let (n, dimension) = arithmetic::evaluate(piece.trimmed(), self.kb_base, Dimension::Time)?;
            let factor = if dimension == Dimension::Time { 1 } else { i128::from(default_ns) };
            let ns = n.checked_mul(factor).and_then(|ns| u64::try_from(ns).ok());
            return ns.ok_or_else(|| overflow(piece));
        }
        if self.reading == Reading::Fio {
            return self.fio_time(piece, default_ns);
        }
        let parts = take_apart(piece)?;
        if parts.negative && parts.whole > 0 {
            return Err(Fault::new(piece.span(), "a negative time makes no sense here"));
        }
        let word = parts.suffix;
        let multiplier = match (word.text, time_suffix(word.text)) {
            ("", _) => default_ns,
            (_, Some(ns)) => ns,
            (text, None) => match plain_time_suffix(text) {
                Some(ns) => {
                    self.note(word.span(), "fio knows no such unit and takes microseconds");
                    ns
                }
                None => {
                    let fault = Fault::new(word.span(), format!("`{text}` is no unit of time"));
                    return Err(fault.help("units are us, ms, s, m, h and d; a sum is written `(1m+30s)`"));
                }
            },
        };
        if parts.blank {
            self.note(piece.span(), "fio passes over the unit after a blank");
        }
        if parts.fraction.is_some() {
            self.note(piece.span(), "fio stops reading at the decimal point");
        }
        scale(&parts, multiplier, piece)
    }

    /// fio's reading: a unit counts only directly after the digits; one that it does not know is a microsecond.
    fn fio_time(&self, piece: Piece<'_>, default_ns: u64) -> Result<u64, Fault> {
        let text = piece.text.trim_start();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let whole: u64 =
            text[..digits].parse().map_err(|_| Fault::new(piece.span(), format!("`{}` is no time", piece.text)))?;
        let rest = &text[digits..];
        let direct = text.len() == piece.text.len() && rest.starts_with(|c: char| c.is_ascii_alphabetic());
        let multiplier = if direct { time_suffix(rest).unwrap_or(1_000) } else { default_ns };
        whole.checked_mul(multiplier).ok_or_else(|| overflow(piece))
    }
}
