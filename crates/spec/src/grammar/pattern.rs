//! Patterns: `"text"`, `'file'`, numbers and `%o`, one after the other, blanks between them or none.

use std::path::Path;

use super::{Fault, Grammar, Piece};
use crate::job::Pattern;

impl Grammar<'_> {
    /// The pattern of all pieces. `%o` is understood if `with_offsets`.
    pub(super) fn pattern(&mut self, whole: Piece<'_>, with_offsets: bool) -> Result<Pattern, Fault> {
        let mut pattern = Pattern::default();
        let mut rest = whole;
        while !rest.text.trim_start().is_empty() {
            rest = rest.from(rest.text.len() - rest.text.trim_start().len());
            rest = match rest.text.as_bytes()[0] {
                quote @ (b'"' | b'\'') => self.quoted(rest, quote, &mut pattern)?,
                b'%' => offset(rest, with_offsets, &mut pattern)?,
                _ => number(rest, &mut pattern.bytes)?,
            };
            if pattern.bytes.len() > Pattern::MOST_BYTES {
                let message = format!("a pattern has {} bytes at most", Pattern::MOST_BYTES);
                return Err(Fault::new(whole.span(), message));
            }
        }
        if pattern.bytes.is_empty() {
            return Err(Fault::new(whole.span(), "the pattern is empty"));
        }
        Ok(pattern)
    }

    /// Takes what stands between two quotes, and hands on what follows.
    fn quoted<'a>(&self, piece: Piece<'a>, quote: u8, pattern: &mut Pattern) -> Result<Piece<'a>, Fault> {
        let Some(length) = piece.text[1..].bytes().position(|b| b == quote) else {
            return Err(Fault::new(piece.span(), "the closing quote is missing"));
        };
        let inner = piece.from(1).to(length);
        if quote == b'"' {
            pattern.bytes.extend_from_slice(inner.text.as_bytes());
        } else {
            pattern.bytes.extend(self.file(inner, Pattern::MOST_BYTES.saturating_sub(pattern.bytes.len()))?);
        }
        Ok(piece.from(length + 2))
    }

    /// The beginning of a file, as much as has room.
    fn file(&self, name: Piece<'_>, room: usize) -> Result<Vec<u8>, Fault> {
        let read = self.source.map(|source| source.head(Path::new(name.text), room));
        match read {
            Some(Ok(bytes)) => Ok(bytes),
            Some(Err(error)) => Err(Fault::new(name.span(), format!("unable to read `{}`: {error}", name.text))),
            None => Err(Fault::new(name.span(), "no file can be read here")),
        }
    }
}

/// Takes `%o`.
fn offset<'a>(piece: Piece<'a>, allowed: bool, pattern: &mut Pattern) -> Result<Piece<'a>, Fault> {
    if !allowed {
        return Err(Fault::new(
            piece.span(),
            "this pattern holds no `%o`: blocks are filled before their offset is known",
        ));
    }
    if !piece.text.starts_with("%o") {
        return Err(Fault::new(piece.span(), "only `%o`, the offset of the block, may follow a percent sign"));
    }
    pattern.offsets.push(pattern.bytes.len());
    pattern.bytes.extend([0; Pattern::OFFSET_BYTES]);
    Ok(piece.from(2))
}

/// Takes a number. Hexadecimal digits are bytes as written; a decimal number of 32 bits is little-endian, without its
/// upper zero bytes.
fn number<'a>(piece: Piece<'a>, bytes: &mut Vec<u8>) -> Result<Piece<'a>, Fault> {
    let text = piece.text;
    if text.starts_with("0x") || text.starts_with("0X") {
        let digits = text[2..].bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits == 0 {
            return Err(Fault::new(piece.span(), "hexadecimal digits are missing"));
        }
        // An odd number of digits has a zero before it.
        let padded = format!("{}{}", if digits % 2 == 1 { "0" } else { "" }, &text[2..2 + digits]);
        let pairs = padded.as_bytes().chunks_exact(2);
        bytes.extend(pairs.map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | hex(*digit))));
        return Ok(piece.from(2 + digits));
    }
    let sign = usize::from(text.starts_with(['-', '+']));
    let end = sign + text[sign..].bytes().take_while(u8::is_ascii_digit).count();
    if end == sign {
        let fault = Fault::new(piece.span(), format!("`{text}` is no pattern"));
        return Err(
            fault.help("text stands in double quotes, the name of a file in single quotes, hexadecimal after 0x")
        );
    }
    let Ok(value) = text[..end].parse::<i32>() else {
        let fault = Fault::new(piece.to(end).span(), "a decimal number of a pattern has 32 bits");
        return Err(fault.help("write it in hexadecimal, byte by byte: 0x0102030405"));
    };
    let all = value.to_le_bytes();
    let length = all.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1);
    bytes.extend_from_slice(&all[..length]);
    Ok(piece.from(end))
}

fn hex(digit: u8) -> u8 {
    (digit as char).to_digit(16).map_or(0, |value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::super::{Reading, parse, parse_with_files};
    use super::*;
    use crate::api::Source;
    use crate::value::{Kind, Value};

    struct OneFile;

    impl Source for OneFile {
        fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
            match path.to_str() {
                Some("pat.bin") => Ok(b"FILE\0DATA".to_vec()),
                Some("big.bin") => Ok(vec![7; 600]),
                _ => Err(std::io::ErrorKind::NotFound.into()),
            }
        }

        fn env(&self, _: &str) -> Option<String> {
            None
        }

        fn exists(&self, _: &Path) -> bool {
            false
        }
    }

    fn read(text: &str, offsets: bool) -> Result<Pattern, String> {
        match parse_with_files(&Kind::Pattern { offsets }, text, 1024, Reading::Plain, &OneFile) {
            Ok((Value::Pattern(pattern), notes)) if notes.is_empty() => Ok(pattern),
            Ok(other) => panic!("{text}: {other:?}"),
            Err(fault) => Err(fault.message),
        }
    }

    /// What fio 3.33 wrote with each of these.
    #[test]
    fn bytes_are_those_that_fio_writes() {
        for (text, bytes) in [
            ("\"abc\"", &b"abc"[..]),
            ("'pat.bin'", b"FILE\0DATA"),
            ("'pat.bin'\"x\"", b"FILE\0DATAx"),
            ("0xabcdef", b"\xab\xcd\xef"),
            ("0XABC", b"\x0a\xbc"),
            ("0x00ff", b"\x00\xff"),
            ("123", b"\x7b"),
            ("0", b"\0"),
            ("+5", b"\x05"),
            ("256", b"\x00\x01"),
            ("70000\"x\"", b"\x70\x11\x01x"),
            ("-123", b"\x85\xff\xff\xff"),
            ("12-3", b"\x0c\xfd\xff\xff\xff"),
            ("\"ab\"0x12\"cd\"", b"ab\x12cd"),
            ("\"ab\" 12", b"ab\x0c"),
            ("\"é\"", "é".as_bytes()),
        ] {
            let expected = Pattern { bytes: bytes.to_vec(), offsets: Vec::new() };
            assert_eq!(read(text, false), Ok(expected), "{text}");
        }
        assert_eq!(read("'big.bin'", false).map(|p| p.bytes.len()), Ok(Pattern::MOST_BYTES), "as much as has room");
    }

    #[test]
    fn offsets_keep_eight_bytes_free() {
        let pattern = read("0xff%o\"x\"%o", true).unwrap();
        assert_eq!(pattern.offsets, [1, 10]);
        assert_eq!(pattern.bytes.len(), 18);
        assert!(read("0xff%o", false).unwrap_err().contains("no `%o`"));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        let long = format!("0x{}", "ab".repeat(513));
        for text in
            ["abc", "\"abc", "'nofile'", "0x", "0xabg", "%d", "%", "\"\"", "1k", "4294967296", "0xFF,0x12", &long]
        {
            assert!(read(text, true).is_err(), "{text}");
        }
        assert!(parse(&Kind::Pattern { offsets: true }, "'pat.bin'", 1024, Reading::Plain).is_err());
    }
}
