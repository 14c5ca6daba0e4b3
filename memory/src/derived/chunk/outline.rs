//! The definitions of a file of code, and what lies between them.

use std::ops::Range;

use super::definition::defined_name;
use super::extent::{last_line, with_preamble};
use super::{Chunk, MAX_LINES, number};

/// Neighbours with fewer lines are joined, up to `JOINED_LINES`: a constant alone says little.
const SMALL_LINES: u32 = 8;
const JOINED_LINES: u32 = 30;
/// How deep definitions are looked for in definitions that are too long.
const MAX_DEPTH: usize = 6;

/// The chunks of a file of code.
pub(super) fn outline(lines: &[&str]) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    carve(lines, 0..lines.len(), Inside::default(), &mut chunks);
    join(chunks)
}

/// Runs of at most `MAX_LINES` lines, ended at a blank line where there is one in the second half. Each is titled by
/// its first line with words.
pub(super) fn windows(lines: &[&str], range: Range<usize>) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut start = range.start;
    while start < range.end {
        let full = (start + MAX_LINES).min(range.end);
        let half = start + MAX_LINES / 2;
        let blank = (full < range.end)
            .then(|| (half..full).rev().find(|at| lines[*at].trim().is_empty()))
            .flatten();
        let end = blank.map_or(full, |at| at + 1);
        chunks.extend(trimmed(lines, start..end));
        start = end;
    }
    chunks
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

/// Where in the file a definition stands.
#[derive(Clone, Copy, Default)]
struct Inside {
    /// The line of the definition around it.
    parent: Option<u32>,
    depth: usize,
    test: bool,
}

impl Inside {
    fn mark(self, chunk: Chunk) -> Chunk {
        Chunk {
            parent: self.parent,
            test: self.test,
            ..chunk
        }
    }
}

fn carve(lines: &[&str], range: Range<usize>, inside: Inside, chunks: &mut Vec<Chunk>) {
    let push = |range: Range<usize>, chunks: &mut Vec<Chunk>| {
        chunks.extend(windows(lines, range).into_iter().map(|chunk| inside.mark(chunk)));
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

/// One definition: whole if it is short enough, else its head and what is defined in it, else windows under its name.
fn define(lines: &[&str], range: Range<usize>, title: usize, name: &str, inside: Inside, chunks: &mut Vec<Chunk>) {
    let test = inside.test || is_test(&lines[range.start..=title], name);
    let inside = Inside { test, ..inside };
    let named = |chunk: Chunk| Chunk {
        title: number(title),
        names: vec![name.to_owned()],
        ..inside.mark(chunk)
    };
    let inner = title + 1..range.end;
    let nested = inner.clone().find(|at| defined_name(lines[*at]).is_some());
    match nested {
        Some(first) if range.len() > MAX_LINES && inside.depth < MAX_DEPTH => {
            let body = with_preamble(lines, first, inner.start);
            chunks.extend(windows(lines, range.start..body).into_iter().map(named));
            let within = Inside {
                parent: Some(number(title)),
                depth: inside.depth + 1,
                test,
            };
            carve(lines, body..range.end, within, chunks);
        }
        _ => chunks.extend(windows(lines, range).into_iter().map(named)),
    }
}

/// Whether a definition is a test, from what stands above it and from its name.
fn is_test(head: &[&str], name: &str) -> bool {
    let marked = |line: &&str| {
        let line = line.trim();
        line.starts_with("#[cfg(test)]")
            || line.starts_with("@Test")
            || (line.starts_with("#[") && line.ends_with("test]"))
    };
    head.iter().any(marked) || name.starts_with("test_") || matches!(name, "tests" | "test")
}

/// Joins small neighbours. The joined chunk keeps the title of the first that defines something, and all names.
fn join(chunks: Vec<Chunk>) -> Vec<Chunk> {
    let mut joined: Vec<Chunk> = Vec::new();
    for chunk in chunks {
        match joined.last_mut() {
            Some(before) if joins(before, &chunk) => {
                before.last = chunk.last;
                if before.names.is_empty() && !chunk.names.is_empty() {
                    before.title = chunk.title;
                }
                before.names.extend(chunk.names);
            }
            _ => joined.push(chunk),
        }
    }
    joined
}

fn joins(before: &Chunk, chunk: &Chunk) -> bool {
    let small = |chunk: &Chunk| chunk.last - chunk.first < SMALL_LINES;
    let either_small = small(chunk) && before.last - before.first < JOINED_LINES - SMALL_LINES;
    let near = chunk.first - before.last <= 3;
    // A small definition follows a group of small ones; it is not glued to a large one.
    let group = small(before) || before.names.len() > 1;
    either_small
        && near
        && group
        && before.parent == chunk.parent
        && before.test == chunk.test
        && chunk.last - before.first < JOINED_LINES
}

#[cfg(test)]
mod tests {
    use super::super::tests::spans;
    use super::*;

    #[test]
    fn a_definition_comes_whole_with_its_comment() {
        let body = "    step();\n".repeat(10);
        let text =
            format!("use a;\nuse b;\n\n/// Says.\n#[inline]\npub fn one() {{\n{body}}}\n\nfn two() {{\n{body}}}\n");
        let one = (4, 17, 6, "one".to_owned());
        let two = (19, 30, 19, "two".to_owned());
        assert_eq!(spans("a.rs", &text), [(1, 2, 1, String::new()), one, two]);
    }

    #[test]
    fn a_long_class_falls_into_its_methods() {
        let method = |name: &str| format!("    def {name}(self):\n{}\n", "        step()\n".repeat(20));
        let text = format!(
            "class Big:\n    \"\"\"Doc.\"\"\"\n\n{}{}{}",
            method("a"),
            method("b"),
            method("c")
        );
        let chunks = outline(&text.lines().collect::<Vec<_>>());
        let names: Vec<_> = chunks.iter().map(|chunk| chunk.names.join(" ")).collect();
        assert_eq!(names, ["Big", "a", "b", "c"]);
        assert_eq!(chunks[2].parent, Some(1));
        assert_eq!((chunks[2].first, chunks[2].last), (26, 46));
    }

    #[test]
    fn a_long_function_falls_into_windows_under_its_name() {
        let text = format!("def long():\n{}", "    step()\n".repeat(150));
        let spans = spans("a.py", &text);
        assert!(spans.len() >= 3);
        assert!(spans.iter().all(|(_, _, title, name)| *title == 1 && name == "long"));
    }

    #[test]
    fn small_neighbours_are_joined() {
        let text = "const A: u8 = 1;\nconst B: u8 = 2;\n\nstruct C;\n\nstruct D {\n    x: u8,\n}\n";
        assert_eq!(spans("a.rs", text), [(1, 8, 1, "A B C D".to_owned())]);
    }

    #[test]
    fn tests_are_known_wherever_they_stand() {
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
