use muninn_base::RelPath;
use muninn_base::stamp::Stamp;
use muninn_repo_tools::{Worktree, read_text};
use muninn_text::redact::redact;

use super::front::front;
use super::limits::{MAX_FILE_BYTES, MAX_TOTAL_BYTES};
use super::listing::Listing;
use super::section::items;
use super::{conflict, metis};
use crate::memories::LoadedMemories;

/// The file that `muninn init` creates, so that git keeps the folder. Unchanged, it is not loaded as knowledge.
pub const PLACEHOLDER: &str = "---\ntype: convention\ndomain: muninn\nconfidence: high\nsource: muninn init\n---\n\
# What goes into this folder\n\n\
One Markdown file for each thing that the code does not say by itself: conventions, decisions, words of the domain.\n\
Muninn adds the sections that match a question to the prompt.\n";

/// Returns whether a text is that of the file which `muninn init` creates.
pub fn is_placeholder(text: &str) -> bool {
    text.trim_end().lines().eq(PLACEHOLDER.lines())
}

/// Loads all knowledge, with the pages of a wiki in another folder of the worktree.
pub fn load(worktree: &Worktree, wiki: Option<&RelPath>) -> LoadedMemories {
    let listing = Listing::of_worktree(worktree, wiki);
    let mut loaded = LoadedMemories {
        notes: listing.skipped.iter().map(ToString::to_string).collect(),
        ..LoadedMemories::default()
    };
    for listed in &listing.files {
        match read_text(worktree, &listed.path, MAX_FILE_BYTES) {
            Ok(file) => take(&mut loaded, &listed.path, &file.text),
            Err(error) => loaded.notes.push(format!("knowledge skipped: {error}")),
        }
    }
    let metis = metis::load(worktree, MAX_TOTAL_BYTES.saturating_sub(listing.bytes));
    loaded.items.extend(metis.items);
    loaded.notes.extend(metis.notes);
    loaded.stamps = listing.files.iter().map(Stamp::from).collect();
    loaded.stamps.extend(metis.stamps);
    loaded
}

fn take(loaded: &mut LoadedMemories, path: &RelPath, text: &str) {
    if is_placeholder(text) {
        return;
    }
    let text = redact(text);
    let read = front(&text);
    if !read.understood {
        loaded.notes.push(format!("{path}: invalid front matter, read as plain Markdown"));
    }
    if let Some(line) = conflict::first_marker(&text) {
        loaded.notes.push(format!("{path}:{line}: git conflict markers, read as text"));
    }
    loaded.items.extend(items(path, &read));
}

/// Stamps of the files, in loading order.
pub fn stamps(worktree: &Worktree, wiki: Option<&RelPath>) -> Vec<Stamp> {
    let listing = Listing::of_worktree(worktree, wiki);
    let mut stamps: Vec<Stamp> = listing.files.iter().map(Stamp::from).collect();
    stamps.extend(metis::stamps(worktree));
    stamps
}

#[cfg(test)]
mod tests;
