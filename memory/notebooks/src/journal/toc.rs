//! The table of contents: sections, and folders of sections.

use std::collections::HashMap;

use serde::Serialize;

use super::log::timestamp;
use crate::wiki::PagePath;

/// A section in the table of contents, or a folder of sections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TocNode {
    /// The section.
    pub id: String,
    /// `section`, or `folder` if only sections below it exist.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The time of the last entry, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<String>,
    /// The number of entries.
    pub entry_count: u64,
    /// The sections below, if they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subsections: Vec<TocNode>,
}

/// The number of entries and the time of the last one, by section.
type Counts<'l> = HashMap<&'l str, (u64, i64)>;

/// The table of contents of sections: all, or one section or folder with what is below it; empty if it does not exist.
pub(super) fn contents(
    sections: &[PagePath],
    counts: &Counts<'_>,
    from: Option<&PagePath>,
    depth: usize,
) -> Vec<TocNode> {
    let mut names: Vec<&str> = sections.iter().map(PagePath::as_str).collect();
    names.sort_by(|a, b| a.split('/').cmp(b.split('/')));
    let Some(from) = from.map(PagePath::as_str) else {
        return below(&names, 0, counts, depth);
    };
    names.retain(|name| {
        let rest = name.strip_prefix(from);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    let start = from.rfind('/').map_or(0, |at| at + 1);
    node(&names, start, counts, depth).into_iter().collect()
}

/// The nodes of sorted names, which agree up to `start`.
fn below(names: &[&str], start: usize, counts: &Counts<'_>, depth: usize) -> Vec<TocNode> {
    if depth == 0 {
        return Vec::new();
    }
    let groups = names.chunk_by(|a, b| part(a, start) == part(b, start));
    groups.filter_map(|group| node(group, start, counts, depth)).collect()
}

/// The node of names that agree in the part at `start`.
fn node(names: &[&str], start: usize, counts: &Counts<'_>, depth: usize) -> Option<TocNode> {
    let first = names.first()?;
    let end = start + part(first, start).len();
    let id = &first[..end];
    let is_section = first.len() == end;
    let rest = &names[usize::from(is_section)..];
    let (entry_count, last) = match counts.get(id) {
        Some((count, last)) => (*count, Some(*last)),
        None => (0, None),
    };
    Some(TocNode {
        id: id.to_owned(),
        kind: if is_section { "section" } else { "folder" },
        last_updated: last.map(timestamp),
        entry_count,
        subsections: below(rest, end + 1, counts, depth.saturating_sub(1)),
    })
}

/// The part of a name that begins at a byte.
fn part(name: &str, start: usize) -> &str {
    name.get(start..).and_then(|rest| rest.split('/').next()).unwrap_or_default()
}
