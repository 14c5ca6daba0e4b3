//! Runs of lines, and the joining of small neighbours.

use std::ops::Range;

use super::{Chunk, MAX_LINES, number};

/// Neighbours with fewer lines are joined, up to `JOINED_LINES`: a constant alone says little.
const SMALL_LINES: u32 = 8;
const JOINED_LINES: u32 = 30;

/// Runs of at most `MAX_LINES` lines, ended at a blank line where there is one in the second half. Each is titled by
/// its first line with words.
pub(super) fn windows(lines: &[&str], range: Range<usize>) -> impl Iterator<Item = Chunk> {
    let mut start = range.start;
    std::iter::from_fn(move || {
        while start < range.end {
            let full = (start + MAX_LINES).min(range.end);
            let half = start + MAX_LINES / 2;
            let blank = (full < range.end)
                .then(|| (half..full).rev().find(|at| lines[*at].trim().is_empty()))
                .flatten();
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

/// A chunk without the blank lines around it; `None` if nothing but brackets is left.
fn trimmed(lines: &[&str], range: Range<usize>) -> Option<Chunk> {
    let says = |at: &usize| lines[*at].contains(|c: char| c.is_alphanumeric());
    let title = range.clone().find(says)?;
    let first = range.clone().find(|at| !lines[*at].trim().is_empty())?;
    let last = range.rev().find(|at| !lines[*at].trim().is_empty())?;
    let (first, last, title) = (number(first), number(last), number(title));
    Some(Chunk {
        first,
        last,
        title,
        parent: None,
        names: Vec::new(),
        test: false,
    })
}

/// Joins small neighbours. The joined chunk keeps the title of the first that defines something, and all names.
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

/// Whether a chunk is put to the one before it, which is a `group` if others were already.
fn joins(before: &Chunk, group: bool, chunk: &Chunk) -> bool {
    let small = |chunk: &Chunk| chunk.last - chunk.first < SMALL_LINES;
    let either_small = small(chunk) && before.last - before.first < JOINED_LINES - SMALL_LINES;
    let near = chunk.first - before.last <= 3;
    // A small definition follows a group of small ones; it is not glued to a large one.
    let follows = small(before) || group && before.names.len() > 1;
    either_small
        && near
        && follows
        && before.parent == chunk.parent
        && before.test == chunk.test
        && chunk.last - before.first < JOINED_LINES
}
