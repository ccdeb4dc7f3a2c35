//! How the document is laid out: a field a line, and lists of numbers in one line.

use std::io::{self, Write};

use serde_json::ser::Formatter;

/// What is open where the writer stands.
enum Level {
    Object {
        /// It has a field already.
        filled: bool,
    },
    Array {
        /// An object stands in it, in lines of its own.
        broken: bool,
    },
}

/// Objects have a line for each field; an array is one line, but for the objects in it.
#[derive(Default)]
pub(crate) struct Layout {
    levels: Vec<Level>,
}

impl Layout {
    /// A new line, indented by the levels that have lines of their own.
    fn line(&self, writer: &mut (impl Write + ?Sized)) -> io::Result<()> {
        writer.write_all(b"\n")?;
        let indented = |level: &&Level| !matches!(level, Level::Array { broken: false });
        (0..self.levels.iter().filter(indented).count()).try_for_each(|_| writer.write_all(b"  "))
    }
}

impl Formatter for Layout {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.levels.push(Level::Array { broken: false });
        writer.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if let Some(Level::Array { broken: true }) = self.levels.pop() {
            self.line(writer)?;
        }
        writer.write_all(b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b",") }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if let Some(Level::Array { broken }) = self.levels.last_mut() {
            *broken = true;
            self.line(writer)?;
        }
        self.levels.push(Level::Object { filled: false });
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if let Some(Level::Object { filled: true }) = self.levels.pop() {
            self.line(writer)?;
        }
        writer.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if let Some(Level::Object { filled }) = self.levels.last_mut() {
            *filled = true;
        }
        if !first {
            writer.write_all(b",")?;
        }
        self.line(writer)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde_json::{Serializer, Value, json};

    use super::*;

    fn written(value: &Value) -> String {
        let mut text = Vec::new();
        value.serialize(&mut Serializer::with_formatter(&mut text, Layout::default())).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_field_a_line_and_numbers_in_one() {
        let value =
            json!({ "a": [1, 2, 3], "b": [[1, 2], [3, 4]], "c": [{ "x": 1 }, { "y": [{}] }], "d": {}, "e": [] });
        let wanted = r#"{
  "a": [1,2,3],
  "b": [[1,2],[3,4]],
  "c": [
    {
      "x": 1
    },
    {
      "y": [
        {}
      ]
    }
  ],
  "d": {},
  "e": []
}"#;
        assert_eq!(written(&value), wanted);
        assert_eq!(serde_json::from_str::<Value>(wanted).unwrap(), value);
    }
}
