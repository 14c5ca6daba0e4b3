//! Splits a parsed file at its definitions.

use std::ops::Range;

use muninn_code::syntax::{Definition, DefinitionKind, Parsed};

use super::runs::{join, windows};
use super::{Chunk, MAX_LINES, number};

/// Maximum depth at which long definitions are split.
const MAX_DEPTH: usize = 6;
/// Maximum number of member names of a short definition.
const MAX_NAMES: usize = 24;

/// The chunks of a file of code.
pub(super) fn outline(lines: &[&str], parsed: &Parsed) -> Vec<Chunk> {
    let mut builder = ChunkBuilder { lines, definitions: &parsed.definitions, chunks: Vec::new() };
    builder.build(0..lines.len(), 0..parsed.definitions.len(), &Enclosing::default());
    join(builder.chunks)
}

struct ChunkBuilder<'a> {
    lines: &'a [&'a str],
    /// Outer definitions come before inner ones, so the members of a definition follow it.
    definitions: &'a [Definition],
    chunks: Vec<Chunk>,
}

/// The definitions around a position.
#[derive(Clone, Default)]
struct Enclosing<'a> {
    /// The line of the definition around it.
    parent: Option<u32>,
    /// The enclosing function: code between its inner definitions belongs to it.
    function: Option<&'a str>,
    depth: usize,
    test: bool,
}

impl<'a> ChunkBuilder<'a> {
    /// Splits the lines of `range`, which contain the definitions `within`.
    fn build(&mut self, range: Range<usize>, within: Range<usize>, inside: &Enclosing<'a>) {
        let (mut between, mut at) = (range.start, within.start);
        while at < within.end {
            let definition = &self.definitions[at];
            if !stands_alone(definition.kind, inside.function.is_some()) {
                at += 1;
                continue;
            }
            let end = self.end_of(at).min(within.end);
            let first = index(definition.lines.first).max(between);
            let last = (definition.lines.last as usize).min(range.end);
            if first < last {
                self.between(between..first, inside);
                self.define(first..last, at, end, inside);
                between = last;
            } else if let Some(chunk) = self.chunks.last_mut() {
                // It begins on the line where another one ends: `const a = 1, b = 2`.
                add_name(&mut chunk.names, &definition.name);
            }
            at = end;
        }
        self.between(between..range.end, inside);
    }

    fn between(&mut self, range: Range<usize>, inside: &Enclosing<'_>) {
        for chunk in windows(self.lines, range) {
            let (title, names) = match (inside.function, inside.parent) {
                (Some(name), Some(line)) => (line, vec![name.to_owned()]),
                _ => (chunk.title, Vec::new()),
            };
            let test = inside.test || self.lines[index(chunk.title)..].first().is_some_and(|line| opens_test(line));
            self.chunks.push(Chunk { title, names, parent: inside.parent, test, ..chunk });
        }
    }

    /// Splits one definition: whole if it is short, else its head and its inner definitions, else windows under its
    /// name.
    fn define(&mut self, range: Range<usize>, at: usize, end: usize, inside: &Enclosing<'a>) {
        let definition = &self.definitions[at];
        let title = index(definition.name_line).clamp(range.start, range.end - 1);
        let test = inside.test || is_test(&self.lines[range.start..=title], &definition.name);
        let callable = definition.kind.is_callable();
        let inner = at + 1..end;
        let nested = (range.len() > MAX_LINES && inside.depth < MAX_DEPTH)
            .then(|| {
                let mut nested = inner.clone();
                nested.find(|at| stands_alone(self.definitions[*at].kind, callable))
            })
            .flatten();
        let body =
            nested.map_or(range.end, |first| index(self.definitions[first].lines.first).clamp(range.start, range.end));
        let mut names = vec![definition.name.to_string()];
        if nested.is_none() && !callable {
            for member in inner.clone().map(|at| &self.definitions[at]) {
                if stands_alone(member.kind, false) && names.len() < MAX_NAMES {
                    add_name(&mut names, &member.name);
                }
            }
        }
        for chunk in windows(self.lines, range.start..body) {
            self.chunks.push(Chunk {
                title: number(title),
                names: names.clone(),
                parent: inside.parent,
                test,
                ..chunk
            });
        }
        if nested.is_some() {
            let within = Enclosing {
                parent: Some(number(title)),
                function: callable.then_some(&*definition.name),
                depth: inside.depth + 1,
                test,
            };
            self.build(body..range.end, inner, &within);
        }
    }

    /// The end of the definitions inside the one at `at`.
    fn end_of(&self, at: usize) -> usize {
        let inner = self.definitions[at + 1..].iter();
        at + 1 + inner.take_while(|of| of.parent.is_some_and(|parent| parent as usize >= at)).count()
    }
}

/// Returns whether a definition is a chunk; fields of a type and constants of a function belong to their parent.
fn stands_alone(kind: DefinitionKind, in_function: bool) -> bool {
    match kind {
        DefinitionKind::Field | DefinitionKind::Variant => false,
        _ if in_function => kind.is_callable() || kind.is_type(),
        _ => true,
    }
}

fn add_name(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

/// Returns whether a definition is a test, by its attributes and its name.
fn is_test(head: &[&str], name: &str) -> bool {
    const MARKS: &[&str] = &["#[cfg(test)]", "@Test", "@ParameterizedTest", "[Test", "[Fact", "[Theory"];
    let marked = |line: &&str| {
        let line = line.trim();
        MARKS.iter().any(|mark| line.starts_with(mark)) || line.starts_with("#[") && line.ends_with("test]")
    };
    name.starts_with("test_") || matches!(name, "tests" | "test") || head.iter().any(marked)
}

/// Returns whether a line opens a test block in languages where these are calls.
fn opens_test(line: &str) -> bool {
    let call = line.trim_start().split(['(', '.']).next().unwrap_or_default();
    matches!(call, "describe" | "it") && line.trim_start().len() > call.len()
}

/// The index of a line number.
fn index(number: u32) -> usize {
    (number as usize).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::super::cut;
    use super::super::cut::tests::spans;
    use muninn_base::RelPath;

    #[test]
    fn definition_includes_its_comment() {
        let body = "    step();\n".repeat(10);
        let text =
            format!("use a;\nuse b;\n\n/// Says.\n#[inline]\npub fn one() {{\n{body}}}\n\nfn two() {{\n{body}}}\n");
        let one = (4, 17, 6, "one".to_owned());
        let two = (19, 30, 19, "two".to_owned());
        assert_eq!(spans("a.rs", &text), [(1, 2, 1, String::new()), one, two]);
    }

    #[test]
    fn short_class_is_one_chunk_and_long_one_is_split() {
        let method = |name: &str, lines: usize| {
            format!("    @wrapped\n    def {name}(self):\n{}\n", "        go()\n".repeat(lines))
        };
        let short = format!("class A(B):\n    x = 1\n\n{}{}", method("größe", 8), method("b", 9));
        let whole = spans("a.py", &short);
        assert_eq!(whole, [(1, 25, 1, "A größe b".to_owned())]);
        let long = format!("class A(B):\n    x = 1\n\n{}{}", method("a", 30), method("b", 40));
        let parts = [(1, 2, 1, "A".to_owned()), (4, 35, 5, "a".to_owned()), (37, 78, 38, "b".to_owned())];
        assert_eq!(spans("a.py", &long), parts);
        let path = RelPath::new("a.py").unwrap();
        let chunks = cut(&path, &long).chunks;
        assert_eq!(chunks.iter().map(|chunk| chunk.parent).collect::<Vec<_>>(), [None, Some(1), Some(1)]);
    }

    #[test]
    fn long_function_is_split_into_windows() {
        let text = format!("def long():\n    def inner():\n        pass\n{}", "    step()\n".repeat(150));
        let spans = spans("a.py", &text);
        assert!(spans.len() >= 3);
        assert!(spans.iter().filter(|(.., name)| name.contains("long")).all(|(_, _, title, _)| *title == 1));
        assert_eq!(spans.iter().filter(|(.., name)| name == "long").count() + 1, spans.len(), "{spans:?}");
    }

    #[test]
    fn small_neighbours_are_joined() {
        let text = "const A: u8 = 1;\nconst B: u8 = 2;\n\nstruct C;\n\nstruct D {\n    x: u8,\n}\n";
        assert_eq!(spans("a.rs", text), [(1, 8, 1, "A B C D".to_owned())]);
        assert_eq!(spans("a.js", "const f = () => 1, g = () => 2;\n"), [(1, 1, 1, "f g".to_owned())]);
    }

    #[test]
    fn tests_are_recognised() {
        let marks = |path: &str, text: &str| -> Vec<(String, bool)> {
            let chunks = cut(&RelPath::new(path).unwrap(), text).chunks;
            chunks.into_iter().map(|chunk| (chunk.names.join(" "), chunk.test)).collect()
        };
        let step = "        step();\n".repeat(20);
        let rust = format!(
            "fn a() {{\n{step}}}\n\n#[cfg(test)]\nmod tests {{\n    fn helper() {{\n{step}    }}\n\n    #[test]\n    fn b() {{\n{step}{step}    }}\n}}\n"
        );
        let expected = [("a", false), ("tests", true), ("helper", true), ("b", true)];
        assert_eq!(marks("a.rs", &rust), expected.map(|(name, test)| (name.to_owned(), test)));
        let java = format!("class A {{\n  void a() {{\n{step}{step}  }}\n\n  @Test\n  void b() {{\n{step}  }}\n}}\n");
        let expected = [("A", false), ("a", false), ("b", true)];
        assert_eq!(marks("A.java", &java), expected.map(|(name, test)| (name.to_owned(), test)));
        let script = "describe('x', () => {\n  it('works', () => {\n    go();\n  });\n});\n";
        assert_eq!(marks("a.js", script), [(String::new(), true)]);
        assert_eq!(marks("a.js", "describe = go();\n"), [(String::new(), false)]);
    }

    #[test]
    fn broken_code_is_chunked_as_far_as_parsed() {
        let filler = "@@ ?? garbage ((\n".repeat(100);
        let spans = spans("a.go", &format!("package a\n\nfunc Ok() int {{\n\treturn 1\n}}\n\n{filler}"));
        assert!(spans.iter().any(|(first, _, _, names)| *first <= 3 && names.contains("Ok")), "{spans:?}");
        assert!(spans.windows(2).all(|pair| pair[0].1 < pair[1].0));
        assert!(spans.last().unwrap().1 >= 100);
    }
}
