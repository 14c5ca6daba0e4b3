//! Splits lines into runs, and joins small chunks.

use std::ops::Range;

use super::{Chunk, MAX_LINES, number};

/// Chunks with fewer lines are joined, up to `JOINED_LINES`: a single constant says little.
const SMALL_LINES: u32 = 8;
const JOINED_LINES: u32 = 30;

/// Splits lines into runs of at most `MAX_LINES`, ended at a blank line in the second half if there is one. The title
/// is the first line with words.
pub(super) fn windows(lines: &[&str], range: Range<usize>) -> impl Iterator<Item = Chunk> {
    let mut start = range.start;
    std::iter::from_fn(move || {
        while start < range.end {
            let full = (start + MAX_LINES).min(range.end);
            let half = start + MAX_LINES / 2;
            let blank =
                (full < range.end).then(|| (half..full).rev().find(|at| lines[*at].trim().is_empty())).flatten();
            let end = blank.map_or(full, |at| at + 1);
            let window = trimmed(lines, start..end);
            start = end;
            if window.is_some() {
                return window;
            }
        }
        None
    })
}

/// A chunk without surrounding blank lines; `None` if only brackets are left.
fn trimmed(lines: &[&str], range: Range<usize>) -> Option<Chunk> {
    let says = |at: &usize| lines[*at].contains(|c: char| c.is_alphanumeric());
    let title = range.clone().find(says)?;
    let first = range.clone().find(|at| !lines[*at].trim().is_empty())?;
    let last = range.rev().find(|at| !lines[*at].trim().is_empty())?;
    let (first, last, title) = (number(first), number(last), number(title));
    Some(Chunk { first, last, title, parent: None, names: Vec::new(), test: false })
}

/// Joins small adjacent chunks. The joined chunk has all names, and the title of the first chunk that defines one.
pub(super) fn join(chunks: Vec<Chunk>) -> Vec<Chunk> {
    let mut joined: Vec<Chunk> = Vec::with_capacity(chunks.len());
    let mut group = false;
    for chunk in chunks {
        match joined.last_mut() {
            Some(before) if joins(before, group, &chunk) => {
                before.last = chunk.last;
                if before.names.is_empty() && !chunk.names.is_empty() {
                    before.title = chunk.title;
                }
                for name in chunk.names {
                    if !before.names.contains(&name) {
                        before.names.push(name);
                    }
                }
                group = true;
            }
            _ => {
                joined.push(chunk);
                group = false;
            }
        }
    }
    joined
}

/// Returns whether a chunk is joined to the one before it, which is a `group` if it is already joined.
fn joins(before: &Chunk, group: bool, chunk: &Chunk) -> bool {
    let small = |chunk: &Chunk| chunk.last - chunk.first < SMALL_LINES;
    let either_small = small(chunk) && before.last - before.first < JOINED_LINES - SMALL_LINES;
    let near = chunk.first - before.last <= 3;
    // A small definition is joined to a group of small ones, never to a large one.
    let follows = small(before) || group && before.names.len() > 1;
    either_small
        && near
        && follows
        && before.parent == chunk.parent
        && before.test == chunk.test
        && chunk.last - before.first < JOINED_LINES
}
