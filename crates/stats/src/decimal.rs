//! `u128` in documents: always a string of decimal digits, because ordinary JSON readers keep 53 bits of a number.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serializer, de::Error};
use std::borrow::Cow;

/// For `#[serde(with = "decimal")]`.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(value: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// For `#[serde(with = "decimal")]`.
///
/// # Errors
/// When there is no string, or it is not a decimal number below 2^128.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
    let text = Cow::<'de, str>::deserialize(deserializer)?;
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Error::custom(format_args!("'{text}' is not a string of decimal digits")));
    }
    text.parse().map_err(|_| Error::custom(format_args!("'{text}' does not fit 128 bits")))
}

/// The schema of such a number, for `#[schemars(with = "Decimal")]`.
pub struct Decimal;

impl JsonSchema for Decimal {
    fn schema_name() -> Cow<'static, str> {
        "Decimal".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[0-9]{1,39}$",
            "description": "An unsigned 128-bit integer in decimal digits."
        })
    }
}
