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

/// The nodes directly below a folder, with so many levels.
pub(super) fn below(folder: &str, sections: &[PagePath], counts: &Counts<'_>, depth: usize) -> Vec<TocNode> {
    if depth == 0 {
        return Vec::new();
    }
    let prefix = if folder.is_empty() {
        String::new()
    } else {
        format!("{folder}/")
    };
    let names = sections
        .iter()
        .filter_map(|section| section.as_str().strip_prefix(&prefix));
    let mut names: Vec<&str> = names.filter_map(|rest| rest.split('/').next()).collect();
    names.sort_unstable();
    names.dedup();
    let nodes = names.into_iter();
    nodes
        .filter_map(|name| node(&format!("{prefix}{name}"), sections, counts, depth))
        .collect()
}

/// A section or a folder; `None` if there is neither.
pub(super) fn node(id: &str, sections: &[PagePath], counts: &Counts<'_>, depth: usize) -> Option<TocNode> {
    let is_section = sections.iter().any(|section| section.as_str() == id);
    let is_folder = || {
        let prefix = format!("{id}/");
        sections.iter().any(|section| section.as_str().starts_with(&prefix))
    };
    if !is_section && !is_folder() {
        return None;
    }
    let (entry_count, last) = counts
        .get(id)
        .copied()
        .map_or((0, None), |(count, last)| (count, Some(last)));
    Some(TocNode {
        id: id.to_owned(),
        kind: if is_section { "section" } else { "folder" },
        last_updated: last.map(timestamp),
        entry_count,
        subsections: below(id, sections, counts, depth.saturating_sub(1)),
    })
}
