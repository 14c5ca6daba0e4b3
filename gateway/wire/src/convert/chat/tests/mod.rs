//! Tests of the readers and writers: a value that is written and read again stays the same.

mod answers;
mod requests;

use serde_json::Value;

use super::super::golden::sources;

/// The golden sources of one kind, ordered by name.
fn golden(kind: &str) -> Vec<(String, String)> {
    sources("chat", kind)
}

fn case(kind: &str, name: &str) -> String {
    golden(kind).into_iter().find(|(found, _)| found == name).unwrap().1
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}
