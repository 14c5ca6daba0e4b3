//! Looking into what a client sent.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::super::request::Dropped;
use crate::wire::{Members, Text};

/// The text of a member, where there is some.
pub(super) fn text<'a>(members: &Members<'a>, key: &str) -> Option<Cow<'a, str>> {
    members.text(key).map(Text::decode).filter(|text| !text.is_empty())
}

/// The object of a member, empty where there is none.
pub(super) fn object<'a>(members: &Members<'a>, key: &str) -> Members<'a> {
    members.get(key).and_then(Members::of).unwrap_or_default()
}

/// The cache marker on a block or a tool.
pub(super) fn marker<'a>(members: &Members<'a>) -> Option<&'a RawValue> {
    members
        .raw("cache_control")
        .filter(|marker| marker.get().starts_with('{'))
}

/// Counts the members that nobody reads, under `path`. What is empty would have said nothing.
pub(super) fn unread(members: &Members<'_>, read: &[&str], path: &str, dropped: &mut Dropped) {
    for (key, value) in members.iter() {
        if !read.contains(&key) && !matches!(value.get(), "null" | "[]" | "{}" | "\"\"" | "false") {
            dropped.add(format!("{path}{key}"));
        }
    }
}
