//! The text that a conversation already contains, and that must not be packed again.
//!
//! The text comes from two sources. An injected block names the lines and the blob of each item. The result of a
//! client's tool names no blob, so its text is compared with the file: a line of the file counts as read if the result
//! contains it. The comparison does not depend on how a tool numbers or truncates lines. If a file is edited, its
//! changed lines count as unread.

use std::collections::HashSet;

use muninn_base::RelPath;

use crate::item::{Item, ItemKind};
use crate::render::{self, SourceSpan};

/// The repository text and the memories that a conversation already contains. The value is empty for a new
/// conversation.
#[derive(Debug, Default)]
pub struct PriorContext {
    blocks: Vec<String>,
    sources: Vec<SourceSpan>,
    reads: Vec<(Vec<RelPath>, String)>,
    question: Option<String>,
    has_hints: bool,
}

impl PriorContext {
    /// Adds the block of an earlier turn, as written by [`render::block`].
    pub fn add_block(&mut self, block: &str) {
        self.sources.extend(render::sources(block));
        self.blocks.push(block.to_owned());
    }

    /// Adds the result of a client's tool that read files. The result contains some or all lines of these files, with
    /// or without line numbers.
    pub fn add_read(&mut self, paths: Vec<RelPath>, text: String) {
        self.reads.push((paths, text));
    }

    /// Allows items that only name a memory: the client can recall it.
    pub fn allow_hints(&mut self) {
        self.has_hints = true;
    }

    pub(crate) fn has_hints(&self) -> bool {
        self.has_hints
    }

    /// Sets the question of the turn before, which the newest turn may refer to.
    pub fn set_question(&mut self, question: String) {
        self.question = Some(question);
    }

    /// Returns the question of the turn before.
    pub(crate) fn question(&self) -> Option<&str> {
        self.question.as_deref()
    }

    /// Returns whether an earlier block contains an item as it is rendered, or a note among those about a call.
    pub fn contains_item(&self, item: &Item) -> bool {
        let is_noted = |block: &String| item.kind == ItemKind::Memory && render::is_in_note_block(block, item);
        self.contains_entry(&render::entry(item)) || self.blocks.iter().any(is_noted)
    }

    /// Returns whether an earlier block contains a rendered item. Used for items that have no blob.
    fn contains_entry(&self, entry: &str) -> bool {
        self.blocks.iter().any(|block| block.contains(entry))
    }

    /// Returns whether a tool has read a file, or a part of it.
    pub(crate) fn has_read(&self, path: &RelPath) -> bool {
        self.reads.iter().any(|(paths, _)| paths.contains(path))
    }

    /// Returns whether an earlier block names a file.
    pub(crate) fn mentions(&self, path: &str) -> bool {
        self.blocks.iter().any(|block| block.contains(path))
    }

    /// Returns the lines of one file that the conversation contains: lines that were packed at this blob, and lines
    /// that a tool has read at any time.
    pub(crate) fn of(&self, path: &RelPath, blob: &str) -> KnownLines<'_> {
        let packed =
            self.sources.iter().filter(|source| source.path == path.as_str() && blob.starts_with(&source.blob));
        let read = self.reads.iter().filter(|(paths, _)| paths.contains(path));
        KnownLines {
            spans: packed.map(|source| (source.first, source.last)).collect(),
            lines: read.flat_map(|(_, text)| text.lines().flat_map(file_lines)).collect(),
        }
    }
}

/// The lines of one file that the conversation contains.
#[derive(Debug)]
pub(crate) struct KnownLines<'a> {
    /// First and last lines, counted from 1.
    spans: Vec<(u32, u32)>,
    /// Lines without the white space around them.
    lines: HashSet<&'a str>,
}

impl KnownLines<'_> {
    /// Returns whether the conversation contains all of these lines, the first of which is line `first` of the file.
    pub(crate) fn contains<'l>(&self, first: u32, lines: impl IntoIterator<Item = &'l str>) -> bool {
        if self.spans.is_empty() && self.lines.is_empty() {
            return false;
        }
        let is_known = |(at, line): (u32, &str)| {
            let line = line.trim();
            let packed = |(first, last): &(u32, u32)| (*first..=*last).contains(&at);
            line.is_empty() || self.lines.contains(line) || self.spans.iter().any(packed)
        };
        (first..).zip(lines).all(is_known)
    }
}

/// Returns the file lines that a line of a tool's result can contain: the line itself, and the line without the line
/// number that most tools write before it (`  12→`, `  12⇥`, `00012| `, `12: `).
fn file_lines(line: &str) -> impl Iterator<Item = &str> {
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
        let mut prior = PriorContext::default();
        prior.add_read(vec![path("a.rs")], text.to_owned());
        prior
    }

    #[test]
    fn lines_are_recognised_with_every_tools_line_numbers() {
        for text in [
            "fn a() {\n    1: one;\n\n}\n",
            "     1→fn a() {\n     2→    1: one;\n     3→\n     4→}\n",
            "     1\tfn a() {\r\n     2\t    1: one;\r\n     3\t\r\n     4\t}",
            "<file>\n00001| fn a() {\n00002|     1: one;\n00003| \n00004| }\n</file>",
            "1: fn a() {\n2:     1: one;\n3: \n4: }",
        ] {
            let prior = read(text);
            assert!(prior.of(&path("a.rs"), "ab").contains(1, FILE), "{text}");
            assert!(!prior.of(&path("b.rs"), "ab").contains(1, FILE), "another file's");
            assert!(!prior.of(&path("a.rs"), "ab").contains(1, ["fn a() {", "two;"]), "{text}");
        }
    }

    #[test]
    fn two_reads_make_up_one_span() {
        let mut prior = read("fn a() {\n");
        assert!(!prior.of(&path("a.rs"), "ab").contains(1, FILE));
        prior.add_read(vec![path("a.rs")], "    1: one;\n}".to_owned());
        assert!(prior.of(&path("a.rs"), "ab").contains(1, FILE));
    }

    #[test]
    fn a_block_contains_its_lines_at_its_blob() {
        let mut prior = PriorContext::default();
        prior.add_block("<muninn-context>\n\n## a.rs:2-4 @0123456789\n```rust\nx\n```\n</muninn-context>\n");
        let known = prior.of(&path("a.rs"), "0123456789abcdef");
        assert!(known.contains(2, ["x", "y", "z"]) && known.contains(3, ["y"]));
        assert!(!known.contains(1, ["w", "x"]) && !known.contains(4, ["z", "z2"]));
        assert!(!prior.of(&path("a.rs"), "1123456789abcdef").contains(2, ["x"]), "edited");
        assert!(prior.contains_entry("## a.rs:2-4 @0123456789\n```rust\nx\n```\n"));
    }

    #[test]
    fn an_empty_conversation_contains_no_line() {
        assert!(!PriorContext::default().of(&path("a.rs"), "ab").contains(1, [""]));
    }
}
