//! What a conversation holds already, and so need not be packed once more.
//!
//! There are two kinds of evidence. A block of ours names the lines and the blob of all that it holds. What a client's
//! tool returned names no blob, so its words are the evidence: a line has been read if a result of reading its file
//! holds it. Nothing has to be known then of how each tool counts, numbers and cuts lines, and a file that was edited
//! since tells so by itself, because its new lines were never read.

use std::collections::HashSet;

use muninn_repo_tools::RelPath;

use crate::render::{self, Source};

/// What a conversation holds of the worktree and its memory. Empty for one that has just begun.
#[derive(Debug, Default)]
pub struct PriorContext {
    blocks: Vec<String>,
    sources: Vec<Source>,
    reads: Vec<(Vec<RelPath>, String)>,
}

impl PriorContext {
    /// Adds a block that was packed for an earlier turn, as [`render::block`] wrote it.
    pub fn add_block(&mut self, block: &str) {
        self.sources.extend(render::sources(block));
        self.blocks.push(block.to_owned());
    }

    /// Adds what one of the client's tools returned of files: some or all of their lines, with or without their numbers.
    pub fn add_read(&mut self, paths: Vec<RelPath>, text: String) {
        self.reads.push((paths, text));
    }

    /// Whether an item as it would stand in a block stands in an earlier one: for memories, which have no blob.
    pub(crate) fn holds_entry(&self, entry: &str) -> bool {
        self.blocks.iter().any(|block| block.contains(entry))
    }

    /// What is held of one file, packed at this blob or read whenever.
    pub(crate) fn of(&self, path: &RelPath, blob: &str) -> Held<'_> {
        let packed = self
            .sources
            .iter()
            .filter(|source| source.path == path.as_str() && blob.starts_with(&source.blob));
        let read = self.reads.iter().filter(|(paths, _)| paths.contains(path));
        Held {
            spans: packed.map(|source| (source.first, source.last)).collect(),
            lines: read.flat_map(|(_, text)| text.lines().flat_map(readings)).collect(),
        }
    }
}

/// What is held of one file.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    /// First and last lines, counted from 1.
    spans: Vec<(u32, u32)>,
    /// Lines without the white space around them.
    lines: HashSet<&'a str>,
}

impl Held<'_> {
    /// Whether all of these lines are held, the first of which is line `first` of the file.
    pub(crate) fn all<'l>(&self, first: u32, lines: impl IntoIterator<Item = &'l str>) -> bool {
        if self.spans.is_empty() && self.lines.is_empty() {
            return false;
        }
        let is_held = |(at, line): (u32, &str)| {
            let line = line.trim();
            let packed = |(first, last): &(u32, u32)| (*first..=*last).contains(&at);
            line.is_empty() || self.lines.contains(line) || self.spans.iter().any(packed)
        };
        (first..).zip(lines).all(is_held)
    }
}

/// A line of a tool's result as lines of a file: as it is, and without the number that most tools put in front
/// (`  12→`, `  12⇥`, `00012| `, `12: `).
fn readings(line: &str) -> impl Iterator<Item = &str> {
    let line = line.trim();
    let behind = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = behind.strip_prefix(['→', '\t', '|', ':']).filter(|_| behind != line);
    [Some(line), numbered.map(str::trim)].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: [&str; 4] = ["fn a() {", "    1: one;", "", "}"];

    fn path(path: &str) -> RelPath {
        RelPath::new(path).unwrap()
    }

    fn read(text: &str) -> PriorContext {
        let mut already = PriorContext::default();
        already.add_read(vec![path("a.rs")], text.to_owned());
        already
    }

    #[test]
    fn lines_are_known_again_with_every_tools_numbers() {
        for text in [
            "fn a() {\n    1: one;\n\n}\n",
            "     1→fn a() {\n     2→    1: one;\n     3→\n     4→}\n",
            "     1\tfn a() {\r\n     2\t    1: one;\r\n     3\t\r\n     4\t}",
            "<file>\n00001| fn a() {\n00002|     1: one;\n00003| \n00004| }\n</file>",
            "1: fn a() {\n2:     1: one;\n3: \n4: }",
        ] {
            let already = read(text);
            assert!(already.of(&path("a.rs"), "ab").all(1, FILE), "{text}");
            assert!(!already.of(&path("b.rs"), "ab").all(1, FILE), "another file's");
            assert!(!already.of(&path("a.rs"), "ab").all(1, ["fn a() {", "two;"]), "{text}");
        }
    }

    #[test]
    fn two_reads_make_up_one_span() {
        let mut already = read("fn a() {\n");
        assert!(!already.of(&path("a.rs"), "ab").all(1, FILE));
        already.add_read(vec![path("a.rs")], "    1: one;\n}".to_owned());
        assert!(already.of(&path("a.rs"), "ab").all(1, FILE));
    }

    #[test]
    fn a_block_holds_its_lines_at_its_blob() {
        let mut already = PriorContext::default();
        already.add_block("<muninn-context>\n\n## a.rs:2-4 @0123456789\n```rust\nx\n```\n</muninn-context>\n");
        let held = already.of(&path("a.rs"), "0123456789abcdef");
        assert!(held.all(2, ["x", "y", "z"]) && held.all(3, ["y"]));
        assert!(!held.all(1, ["w", "x"]) && !held.all(4, ["z", "z2"]));
        assert!(!already.of(&path("a.rs"), "1123456789abcdef").all(2, ["x"]), "edited");
        assert!(already.holds_entry("## a.rs:2-4 @0123456789\n```rust\nx\n```\n"));
    }

    #[test]
    fn nothing_is_held_of_nothing() {
        assert!(!PriorContext::default().of(&path("a.rs"), "ab").all(1, [""]));
    }
}
