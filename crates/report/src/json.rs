//! A JSON document in the layout of fio's: two blanks of indent, `"key" : value`, floats with six decimals.

use std::fmt::{self, Display, Write};

/// A JSON value that keeps the order of its keys.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// A truth.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// Written with six decimals; `null` when it is not finite, for JSON has no word for that.
    Float(f64),
    /// A string, escaped when written.
    Text(String),
    /// A list.
    Array(Vec<Value>),
    /// A map.
    Object(Object),
}

/// Keys and values in the order of the document.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Object(Vec<(String, Value)>);

impl Object {
    /// Adds a key at the end.
    pub(crate) fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.0.push((key.into(), value.into()));
        self
    }

    /// Adds a key at the end if there is a value for it.
    pub(crate) fn with_some(self, key: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Adds all keys of `other` at the end.
    pub(crate) fn with_all(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }
}

impl<K: Into<String>, V: Into<Value>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Int(number.into())
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Int(number.into())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number.into())
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Self {
        Self::Int(number.into())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl<V: Into<Value>> FromIterator<V> for Value {
    fn from_iter<I: IntoIterator<Item = V>>(items: I) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}

impl Display for Object {
    /// The whole document, without a newline at the end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_object(f, self, 0)
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_value(f, self, 0)
    }
}

fn write_value(f: &mut fmt::Formatter<'_>, value: &Value, depth: usize) -> fmt::Result {
    match value {
        Value::Bool(truth) => write!(f, "{truth}"),
        Value::Int(number) => write!(f, "{number}"),
        Value::Float(number) if number.is_finite() => write!(f, "{number:.6}"),
        Value::Float(_) => f.write_str("null"),
        Value::Text(text) => write_text(f, text),
        Value::Array(items) => {
            f.write_str("[\n")?;
            for (index, item) in items.iter().enumerate() {
                let end = if index + 1 < items.len() { ",\n" } else { "\n" };
                indent(f, depth + 1)?;
                write_value(f, item, depth + 1)?;
                f.write_str(end)?;
            }
            indent(f, depth)?;
            f.write_char(']')
        }
        Value::Object(object) => write_object(f, object, depth),
    }
}

fn write_object(f: &mut fmt::Formatter<'_>, object: &Object, depth: usize) -> fmt::Result {
    f.write_str("{\n")?;
    for (index, (key, value)) in object.0.iter().enumerate() {
        let end = if index + 1 < object.0.len() { ",\n" } else { "\n" };
        indent(f, depth + 1)?;
        write_text(f, key)?;
        f.write_str(" : ")?;
        write_value(f, value, depth + 1)?;
        f.write_str(end)?;
    }
    indent(f, depth)?;
    f.write_char('}')
}

fn indent(f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
    write!(f, "{:width$}", "", width = depth * 2)
}

/// Quotes and escapes as RFC 8259 wants: fio leaves control characters as they are and so can write invalid JSON.
fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for character in text.chars() {
        match character {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            control if control < ' ' => write!(f, "\\u{:04x}", u32::from(control))?,
            other => f.write_char(other)?,
        }
    }
    f.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_fio_s() {
        let document = Object::default()
            .with("fio version", "fio-3.42")
            .with("iops", 51418.790605)
            .with(
                "jobs",
                [Object::default().with("error", 0).with("empty", Object::default())].into_iter().collect::<Value>(),
            )
            .with("none", Vec::<Object>::new().into_iter().collect::<Value>());
        let expected = "{\n  \"fio version\" : \"fio-3.42\",\n  \"iops\" : 51418.790605,\n  \"jobs\" : [\n    {\n      \
                        \"error\" : 0,\n      \"empty\" : {\n      }\n    }\n  ],\n  \"none\" : [\n  ]\n}";
        assert_eq!(document.to_string(), expected);
    }

    /// Any text comes back from a JSON parser as it went in; numbers stay numbers.
    #[test]
    fn every_document_can_be_read_back() {
        let every_character: String = (0..0x250).chain(0x1f600..0x1f610).filter_map(char::from_u32).collect();
        let document = Object::default()
            .with(every_character.clone(), every_character.as_str())
            .with("largest", u64::MAX)
            .with("bad", [f64::NAN, f64::INFINITY, -f64::INFINITY].into_iter().collect::<Value>());
        let read: serde_json::Value = serde_json::from_str(&document.to_string()).unwrap();
        assert_eq!(read[&every_character], every_character.as_str());
        assert_eq!(read["largest"], u64::MAX);
        assert_eq!(read["bad"], serde_json::json!([null, null, null]));
    }
}
