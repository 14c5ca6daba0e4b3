//! Splits a file of code without a grammar, or that was not parsed, at its definitions.
//!
//! The rules are independent of the language: they use indentation and the keywords of definitions, and cost one pass
//! over the lines. Where they fail, the file is split into runs of lines.

use std::ops::Range;

use super::definition::defined_name;
use super::extent::{last_line, with_preamble};
use super::runs::{join, windows};
use super::{Chunk, MAX_LINES, number};

/// Maximum depth at which long definitions are split.
const MAX_DEPTH: usize = 6;

/// The chunks of a file of code.
pub(super) fn outline(lines: &[&str]) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    build(lines, 0..lines.len(), Enclosing::default(), &mut chunks);
    join(chunks)
}

/// The definitions around a position.
#[derive(Clone, Copy, Default)]
struct Enclosing {
    /// The line of the definition around it.
    parent: Option<u32>,
    depth: usize,
    test: bool,
}

impl Enclosing {
    fn mark(self, chunk: Chunk) -> Chunk {
        Chunk { parent: self.parent, test: self.test, ..chunk }
    }
}

fn build(lines: &[&str], range: Range<usize>, inside: Enclosing, chunks: &mut Vec<Chunk>) {
    let push = |range: Range<usize>, chunks: &mut Vec<Chunk>| {
        chunks.extend(windows(lines, range).map(|chunk| inside.mark(chunk)));
    };
    let mut between = range.start;
    let mut at = range.start;
    while at < range.end {
        let Some(name) = defined_name(lines[at]) else {
            at += 1;
            continue;
        };
        let start = with_preamble(lines, at, between);
        let last = last_line(lines, at, range.end);
        push(between..start, chunks);
        define(lines, start..last + 1, at, name, inside, chunks);
        at = last + 1;
        between = at;
    }
    push(between..range.end, chunks);
}

/// Splits one definition: whole if it is short, else its head and its inner definitions, else windows under its name.
fn define(lines: &[&str], range: Range<usize>, title: usize, name: &str, inside: Enclosing, chunks: &mut Vec<Chunk>) {
    let test = inside.test || is_test(&lines[range.start..=title], name);
    let inside = Enclosing { test, ..inside };
    let named = |chunk: Chunk| Chunk { title: number(title), names: vec![name.to_owned()], ..inside.mark(chunk) };
    let inner = title + 1..range.end;
    let nested = inner.clone().find(|at| defined_name(lines[*at]).is_some());
    match nested {
        Some(first) if range.len() > MAX_LINES && inside.depth < MAX_DEPTH => {
            let body = with_preamble(lines, first, inner.start);
            chunks.extend(windows(lines, range.start..body).map(named));
            let within = Enclosing { parent: Some(number(title)), depth: inside.depth + 1, test };
            build(lines, body..range.end, within, chunks);
        }
        _ => chunks.extend(windows(lines, range).map(named)),
    }
}

/// Returns whether a definition is a test, by its attributes and its name.
fn is_test(head: &[&str], name: &str) -> bool {
    let marked = |line: &&str| {
        let line = line.trim();
        line.starts_with("#[cfg(test)]")
            || line.starts_with("@Test")
            || (line.starts_with("#[") && line.ends_with("test]"))
    };
    head.iter().any(marked) || name.starts_with("test_") || matches!(name, "tests" | "test")
}

#[cfg(test)]
mod tests {
    use super::super::cut::tests::spans;
    use super::*;

    #[test]
    fn definition_includes_its_comment() {
        let body = "    step();\n".repeat(10);
        let text =
            format!("use a;\nuse b;\n\n/// Says.\n#[inline]\npub fn one() {{\n{body}}}\n\nfn two() {{\n{body}}}\n");
        let one = (4, 17, 6, "one".to_owned());
        let two = (19, 30, 19, "two".to_owned());
        assert_eq!(spans("a.zig", &text), [(1, 2, 1, String::new()), one, two]);
    }

    #[test]
    fn long_class_is_split_into_methods() {
        let method = |name: &str| format!("    def {name}(self):\n{}\n", "        step()\n".repeat(20));
        let text = format!("class Big:\n    \"\"\"Doc.\"\"\"\n\n{}{}{}", method("a"), method("b"), method("c"));
        let chunks = outline(&text.lines().collect::<Vec<_>>());
        let names: Vec<_> = chunks.iter().map(|chunk| chunk.names.join(" ")).collect();
        assert_eq!(names, ["Big", "a", "b", "c"]);
        assert_eq!(chunks[2].parent, Some(1));
        assert_eq!((chunks[2].first, chunks[2].last), (26, 46));
    }

    #[test]
    fn long_function_is_split_into_windows() {
        let text = format!("def long():\n{}", "    step()\n".repeat(150));
        let spans = spans("a.lua", &text);
        assert!(spans.len() >= 3);
        assert!(spans.iter().all(|(_, _, title, name)| *title == 1 && name == "long"));
    }

    #[test]
    fn small_neighbours_are_joined() {
        let text = "const A: u8 = 1;\nconst B: u8 = 2;\n\nstruct C;\n\nstruct D {\n    x: u8,\n}\n";
        assert_eq!(spans("a.zig", text), [(1, 8, 1, "A B C D".to_owned())]);
    }

    #[test]
    fn tests_are_recognised() {
        let step = "        step();\n".repeat(20);
        let text = format!(
            "fn a() {{\n{step}}}\n\n#[cfg(test)]\nmod tests {{\n    fn helper() {{\n{step}    }}\n\n    #[test]\n    fn b() {{\n{step}{step}    }}\n}}\n"
        );
        let chunks = outline(&text.lines().collect::<Vec<_>>());
        let found: Vec<_> = chunks.iter().map(|chunk| (chunk.names.join(" "), chunk.test)).collect();
        let expected = [("a", false), ("tests", true), ("helper", true), ("b", true)];
        assert_eq!(found, expected.map(|(name, test)| (name.to_owned(), test)));
    }
}
