//! Arithmetic: `(2*1024)` as a value, and what stands around `$pagesize`, `$ncpus`, `$mb_memory`. Whole numbers only;
//! division drops the remainder.

use super::number::{size_suffix, time_suffix};
use super::{Fault, Piece};

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dimension {
    /// A plain number; size suffixes are understood.
    Number,
    /// Nanoseconds; time units are understood.
    Time,
}

/// Nesting beyond this is refused, so that no input exhausts the stack.
const DEEPEST: u32 = 64;

struct Calculator<'a> {
    whole: Piece<'a>,
    at: usize,
    depth: u32,
    kb_base: u32,
    /// Which suffixes are understood.
    wanted: Dimension,
}

type Number = (i128, Dimension);

/// The value of `text`, all of which must be one expression. A result of dimension `Number` although `Time` was wanted
/// means that no unit was written.
pub(super) fn evaluate(text: Piece<'_>, kb_base: u32, wanted: Dimension) -> Result<Number, Fault> {
    let mut calculator = Calculator { whole: text, at: 0, depth: 0, kb_base, wanted };
    let result = calculator.sum()?;
    calculator.blanks();
    if calculator.at < text.text.len() {
        return Err(calculator.fault("this does not belong to the expression"));
    }
    Ok(result)
}

/// The value of an expression of plain numbers (around `$pagesize` and its like); none if `text` is no such expression.
pub(crate) fn evaluate_plain(text: &str) -> Option<i128> {
    evaluate(Piece { text, at: 0 }, 1024, Dimension::Number).ok().map(|(n, _)| n)
}

impl Calculator<'_> {
    fn fault(&self, message: &str) -> Fault {
        let start = self.whole.at + self.at.min(self.whole.text.len());
        Fault::new(start..self.whole.span().end.max(start), message)
    }

    fn blanks(&mut self) {
        let rest = &self.whole.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn peek(&mut self) -> Option<char> {
        self.blanks();
        self.whole.text[self.at..].chars().next()
    }

    fn take(&mut self, wanted: &[char]) -> Option<char> {
        let next = self.peek().filter(|c| wanted.contains(c))?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.fault("the expression is nested too deeply"));
        }
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn sum(&mut self) -> Result<Number, Fault> {
        let mut left = self.product()?;
        while let Some(operator) = self.take(&['+', '-']) {
            let right = self.product()?;
            if left.1 != right.1 && left.0 != 0 && right.0 != 0 {
                return Err(self.fault("a time is added to a number without a unit"));
            }
            let dimension = if left.1 == Dimension::Time { left.1 } else { right.1 };
            let value = match operator {
                '+' => left.0.checked_add(right.0),
                _ => left.0.checked_sub(right.0),
            };
            left = (value.ok_or_else(|| self.fault("the result is too large"))?, dimension);
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Number, Fault> {
        let mut left = self.power()?;
        while let Some(operator) = self.take(&['*', '/', '%']) {
            let right = self.power()?;
            if right.0 == 0 && operator != '*' {
                return Err(self.fault("division by zero"));
            }
            let both_times = left.1 == Dimension::Time && right.1 == Dimension::Time;
            let (value, dimension) = match operator {
                '*' if both_times => return Err(self.fault("a time times a time is no time")),
                '*' if right.1 == Dimension::Time => (left.0.checked_mul(right.0), Dimension::Time),
                '*' => (left.0.checked_mul(right.0), left.1),
                _ if right.1 == Dimension::Time && !both_times => {
                    return Err(self.fault("a number divided by a time is no time"));
                }
                '/' if both_times => (left.0.checked_div(right.0), Dimension::Number),
                '/' => (left.0.checked_div(right.0), left.1),
                _ => (left.0.checked_rem(right.0), left.1),
            };
            left = (value.ok_or_else(|| self.fault("the result is too large"))?, dimension);
        }
        Ok(left)
    }

    /// `a^b`, which binds to the right.
    fn power(&mut self) -> Result<Number, Fault> {
        let base = self.unary()?;
        if self.take(&['^']).is_none() {
            return Ok(base);
        }
        let exponent = self.deeper(Self::power)?;
        let result = u32::try_from(exponent.0).ok().and_then(|e| base.0.checked_pow(e));
        match result {
            Some(value) if exponent.1 == Dimension::Number => Ok((value, base.1)),
            _ => Err(self.fault("this power cannot be taken")),
        }
    }

    fn unary(&mut self) -> Result<Number, Fault> {
        if self.take(&['-']).is_some() {
            let (value, dimension) = self.deeper(Self::unary)?;
            let negated = value.checked_neg().ok_or_else(|| self.fault("the result is too large"))?;
            return Ok((negated, dimension));
        }
        if self.take(&['(']).is_some() {
            let inner = self.deeper(Self::sum)?;
            if self.take(&[')']).is_none() {
                return Err(self.fault("a closing parenthesis is missing"));
            }
            return self.suffixed(inner);
        }
        self.literal()
    }

    fn literal(&mut self) -> Result<Number, Fault> {
        self.blanks();
        let rest = &self.whole.text[self.at..];
        let (skip, radix) = if rest.starts_with("0x") || rest.starts_with("0X") { (2, 16) } else { (0, 10) };
        let digits = rest[skip..].bytes().take_while(|b| (*b as char).is_digit(radix)).count();
        let Ok(value) = i64::from_str_radix(&rest[skip..skip + digits], radix) else {
            return Err(self.fault("a number is expected here"));
        };
        self.at += skip + digits;
        if self.whole.text[self.at..].starts_with('.') {
            return Err(self.fault("expressions take whole numbers only"));
        }
        self.suffixed((i128::from(value), Dimension::Number))
    }

    /// A unit directly after a number or a parenthesis.
    fn suffixed(&mut self, number: Number) -> Result<Number, Fault> {
        let rest = &self.whole.text[self.at..];
        let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        if letters == 0 {
            return Ok(number);
        }
        let word = &rest[..letters];
        let (factor, dimension) = match self.wanted {
            Dimension::Number => (size_suffix(word, self.kb_base), Dimension::Number),
            Dimension::Time => (time_suffix(word), Dimension::Time),
        };
        let Some(factor) = factor.filter(|_| number.1 == Dimension::Number) else {
            return Err(self.fault("this is no unit"));
        };
        self.at += letters;
        let value = number.0.checked_mul(i128::from(factor));
        Ok((value.ok_or_else(|| self.fault("the result is too large"))?, dimension))
    }
}
