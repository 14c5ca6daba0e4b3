//! The one way of foreign text into what a model reads.
//!
//! Whatever comes from files, commits, records or other programs passes [`neutralize`] here, for every door: items of a
//! block, the preamble, the reasons of hooks and the results of tools. [`quoted`] also puts it into a code block of its
//! own, so that its headings cannot pass for ours.

use muninn_text::neutral::{Ground, neutralize};

use super::fenced;
use crate::item::{Item, ItemKind};

/// The kind of an item's text.
pub(super) fn ground(item: &Item) -> Ground {
    match item.kind {
        ItemKind::Code | ItemKind::Place => Ground::of_file(item.file()),
        ItemKind::Memory | ItemKind::Hint | ItemKind::Knowledge | ItemKind::Personal => Ground::Prose,
    }
}

/// Renders a name of others inside a line of ours: on one line, without markers.
pub fn heading(text: &str) -> String {
    neutralize(&text.replace(['\n', '\r'], " "), Ground::Prose).into_owned()
}

/// Renders prose of others behind a line of ours that names its source: neutralised, in a code block that it cannot end.
pub fn quoted(source: &str, text: &str) -> String {
    format!("{}\n{}", heading(source), fenced(&neutralize(text, Ground::Prose), "markdown"))
}

#[cfg(test)]
mod tests;
