//! Tests of the readers and writers: a value that is written and read again stays the same.

mod answers;
mod requests;

use std::collections::BTreeMap;

use super::super::golden::sources;

/// The golden sources of one kind by name.
fn golden(kind: &str) -> BTreeMap<String, String> {
    sources("responses", kind).into_iter().collect()
}
