//! The document: written, read back, refused.

use iostrata_result::{DocumentError, FORMAT_VERSION, from_json, schema, testing, to_json};
use serde_json::Value;

#[test]
fn every_result_comes_back_as_it_was() {
    let results = [
        testing::example(),
        testing::no_io(),
        testing::one_io(),
        testing::only_errors(),
        testing::largest_latency(),
        testing::many_jobs(),
        testing::odd_names(),
    ];
    for run in results {
        assert_eq!(from_json(&to_json(&run)).unwrap(), run);
    }
}

#[test]
fn unknown_fields_are_passed_over_and_later_ones_have_defaults() {
    let run = testing::one_io();
    let mut document: Value = serde_json::from_str(&to_json(&run)).unwrap();
    document["from_the_future"] = 1.into();
    let worker = document["workers"][0].as_object_mut().unwrap();
    let added = [
        "tolerated",
        "eta_s",
        "sync_ios",
        "latency_target",
        "steady_state",
        "block_lives",
        "started_clock_ms",
        "zone_resets",
    ];
    for added in added {
        worker.remove(added).unwrap();
    }
    let mut expected = run;
    expected.workers[0].eta_s = None;
    assert_eq!(from_json(&document.to_string()).unwrap(), expected);
}

#[test]
fn what_cannot_be_read_says_why() {
    let whole = to_json(&testing::example());
    assert!(matches!(from_json(&whole[..whole.len() / 2]), Err(DocumentError::NotJson(_))));
    for other in ["{}", "[1]", "3", r#"{"format_version":"1"}"#, r#"{"format_version":0}"#, r#"{"fio version":"x"}"#] {
        assert!(matches!(from_json(other), Err(DocumentError::NotAResult)), "{other}");
    }
    let mut newer: Value = serde_json::from_str(&whole).unwrap();
    let next = u64::from(FORMAT_VERSION) + 1;
    newer["format_version"] = next.into();
    let Err(DocumentError::TooNew { found, newest }) = from_json(&newer.to_string()) else {
        panic!("a newer format was read")
    };
    assert_eq!((found, newest), (next, FORMAT_VERSION));
    let damaged = whole.replacen("\"pid\": 4711", "\"pid\": -1", 1);
    let error = from_json(&damaged).unwrap_err().to_string();
    assert!(error.contains("damaged") && error.contains("line"), "{error}");
}

/// Every field of a document stands in the schema with its type, 128-bit sums as strings.
#[test]
fn the_schema_describes_the_document() {
    let schema = schema();
    let document = serde_json::to_value(testing::example()).unwrap();
    check(&document, &schema, &schema, "");
    let sum = &schema["$defs"]["Moments"]["properties"]["sum"]["$ref"];
    assert_eq!((sum, &schema["$defs"]["Decimal"]["type"]), (&"#/$defs/Decimal".into(), &"string".into()));
}

/// A small reader of the part of JSON Schema that is used here.
fn check(value: &Value, schema: &Value, root: &Value, path: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        return check(value, &root["$defs"][name.trim_start_matches("#/$defs/")], root, path);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let choice = choices.iter().find(|choice| (choice["type"] == "null") == value.is_null());
        return check(value, choice.unwrap_or(&Value::Null), root, path);
    }
    let alternatives = schema["oneOf"].is_array() || schema["enum"].is_array();
    assert!(alternatives || has_type(value, &schema["type"]), "{path}: {value} is not of {schema}");
    match value {
        Value::Object(fields) => fields.iter().for_each(|(field, value)| {
            let known = &schema["properties"][field];
            assert!(!known.is_null(), "{path}.{field} is not in the schema");
            check(value, known, root, &format!("{path}.{field}"));
        }),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, item)| {
            let fixed = &schema["prefixItems"][index];
            check(item, if fixed.is_null() { &schema["items"] } else { fixed }, root, &format!("{path}[{index}]"));
        }),
        _ => {}
    }
}

fn has_type(value: &Value, types: &Value) -> bool {
    let name = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is = |kind: &Value| kind == name || name == "integer" && kind == "number";
    is(types) || types.as_array().is_some_and(|types| types.iter().any(is))
}
