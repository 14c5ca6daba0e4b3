//! The lines of a definition, by its name.
//!
//! The outline is the benchmark's own, by indentation, so that a fault in the engine's chunks cannot hide itself.

use std::ops::RangeInclusive;

const KEYWORDS: &[&str] =
    &["def", "class", "fn", "struct", "enum", "trait", "impl", "mod", "type", "function", "func", "interface"];

/// The lines of every definition called `name` (`function`, `Class.method`), counted from 1. Empty if there is none,
/// and for names that mean no definition: `imports`, `impl`.
pub(super) fn lines_of(text: &str, name: &str) -> Vec<RangeInclusive<usize>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = vec![1..=lines.len()];
    for part in name.split('.') {
        found = found.into_iter().flat_map(|within| definitions(&lines, &within, part)).collect();
    }
    found
}

/// The outermost definitions called `name` that begin within some lines.
fn definitions(lines: &[&str], within: &RangeInclusive<usize>, name: &str) -> Vec<RangeInclusive<usize>> {
    let begins: Vec<usize> = within.clone().filter(|number| defines(lines[number - 1], name)).collect();
    let outermost = begins.iter().map(|first| indent(lines[first - 1])).min();
    let begins = begins.into_iter().filter(|first| Some(indent(lines[first - 1])) == outermost);
    begins.map(|first| first..=end(lines, first)).collect()
}

fn defines(line: &str, name: &str) -> bool {
    let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    // `pub(crate) async unsafe fn name` has the most words before the keyword.
    let keyword = words.by_ref().take(6).any(|word| KEYWORDS.contains(&word));
    keyword && words.next() == Some(name)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The last line of the block that begins at a line: what is indented deeper, and a bracket that closes it.
fn end(lines: &[&str], first: usize) -> usize {
    let own = indent(lines[first - 1]);
    let mut last = first;
    for (at, line) in lines.iter().enumerate().skip(first) {
        let text = line.trim_start();
        if text.is_empty() {
            continue;
        }
        if indent(line) > own {
            last = at + 1;
        } else if text.starts_with('}') {
            return at + 1;
        } else if indent(line) == own && (text.starts_with(')') || text.starts_with('{')) {
            // The end of a parameter list that was broken into lines.
            last = at + 1;
        } else {
            break;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    const PYTHON: &str = "\
import os

class A(Base):
    def run(
        self,
    ) -> None:
        '''Runs.'''

        return 1

    async def other(self): pass

class B:
    def run(self):
        return 2

def run():
    return 3
";

    #[test]
    fn methods_are_distinguished_by_class() {
        assert_eq!(lines_of(PYTHON, "A.run"), [4..=9]);
        assert_eq!(lines_of(PYTHON, "B"), [13..=15]);
        assert_eq!(lines_of(PYTHON, "run"), [17..=18]);
        assert!(lines_of(PYTHON, "imports").is_empty() && lines_of(PYTHON, "C.run").is_empty());
    }

    #[test]
    fn block_in_braces_ends_with_its_brace() {
        let rust = "impl Foo {\n    pub(crate) fn get(&self) -> u8 {\n        1\n    }\n}\n\nfn get() {}\n";
        assert_eq!(lines_of(rust, "Foo.get"), [2..=4]);
        assert_eq!(lines_of(rust, "Foo"), [1..=5]);
    }
}
