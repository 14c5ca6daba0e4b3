//! The digest of a file's content: its chunks, their words, and its syntax. The cache stores it by blob.

use std::collections::HashMap;

use muninn_base::RelPath;
use muninn_code::syntax::{Language, Parsed};
use muninn_text::lexical::{Arena, Tokenizer, has_terms_of};
use serde::{Deserialize, Serialize};

use super::chunk::{self, Chunk, Cut};
use super::language::{Form, language};
use super::syntax::{Manifest, Syntax};

/// Increased whenever chunks, terms, syntax or the format of a digest change, so that a cache does not return old ones.
const VERSION: u32 = 6;
const _: () = assert!(has_terms_of(3), "raise the version of digests, too");
/// Bytes of a chunk that are tokenized; more is data.
const MAX_CHUNK_BYTES: usize = 32 << 10;
/// The share of comments above which a source file is documentation: 3 of 5 lines.
const COMMENTED: (usize, usize) = (3, 5);
/// Bytes of a generated file that are indexed, enough to find its topic.
const MAX_DATA_BYTES: usize = 16 << 10;

/// The chunks of a blob and the words in each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Digest {
    /// Chunks in line order.
    pub spans: Vec<Span>,
    /// The distinct terms of the blob.
    terms: Arena,
    /// Terms of each span, with counts.
    bags: PackedLists<(u32, u32)>,
    /// Terms of the names that each span defines.
    names: PackedLists<u32>,
    /// Whether the file is generated.
    pub data: bool,
    /// Whether most lines of the source file are comments, so that the file documents more than it does.
    pub commented: bool,
    /// Definitions, imports and calls.
    pub syntax: Syntax,
}

/// The lines of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The first line, counted from 1.
    pub first: u32,
    /// The last line, included.
    pub last: u32,
    /// The line that names it.
    pub title: u32,
    /// Whether it is a test.
    pub test: bool,
}

/// Lists of small values in one array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct PackedLists<T> {
    values: Vec<T>,
    ends: Vec<u32>,
}

impl<T> Default for PackedLists<T> {
    fn default() -> Self {
        Self { values: Vec::new(), ends: Vec::new() }
    }
}

impl<T> PackedLists<T> {
    fn push(&mut self, values: impl IntoIterator<Item = T>) {
        self.values.extend(values);
        self.ends.push(u32::try_from(self.values.len()).unwrap_or(u32::MAX));
    }

    fn get(&self, at: usize) -> &[T] {
        let start = at.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        let range = start.zip(self.ends.get(at)).map(|(start, end)| start as usize..*end as usize);
        range.and_then(|range| self.values.get(range)).unwrap_or_default()
    }
}

impl Digest {
    /// Terms of a span, with counts.
    pub fn bag(&self, span: usize) -> impl Iterator<Item = (&str, u32)> {
        let term = |(term, count): &(u32, u32)| Some((self.terms.get(*term as usize)?, *count));
        self.bags.get(span).iter().filter_map(term)
    }

    /// Terms of the names that a span defines, each whole.
    pub fn names(&self, span: usize) -> impl Iterator<Item = &str> {
        self.names.get(span).iter().filter_map(|term| self.terms.get(*term as usize))
    }

    /// The cache form of a file's digest: the same content has another digest in another language.
    pub fn form(path: &RelPath) -> &'static str {
        const { assert!(VERSION == 6) };
        if let Some(manifest) = Manifest::of(path) {
            return match manifest {
                Manifest::Cargo => "digest.6.manifest.cargo",
                Manifest::Go => "digest.6.manifest.go",
                Manifest::Npm => "digest.6.manifest.npm",
                Manifest::Script => "digest.6.manifest.script",
            };
        }
        match (Language::of_path(path), language(path).1) {
            (Some(Language::Rust), _) => "digest.6.rust",
            (Some(Language::Python), _) => "digest.6.python",
            (Some(Language::JavaScript), _) => "digest.6.javascript",
            (Some(Language::TypeScript), _) => "digest.6.typescript",
            (Some(Language::Tsx), _) => "digest.6.tsx",
            (Some(Language::Go), _) => "digest.6.go",
            (Some(Language::Java), _) => "digest.6.java",
            (Some(Language::C), _) => "digest.6.c",
            (Some(Language::Cpp), _) => "digest.6.cpp",
            (Some(Language::CSharp), _) => "digest.6.csharp",
            (Some(Language::Ruby), _) => "digest.6.ruby",
            (Some(Language::Php), _) => "digest.6.php",
            (Some(Language::Bash), _) => "digest.6.bash",
            (None, Form::Code) => "digest.6.code",
            (None, Form::Markdown) => "digest.6.markdown",
            // If the file has no extension, its first line can determine the language.
            (None, Form::Plain) if path.extension().is_empty() => "digest.6.bare",
            (None, Form::Plain) => "digest.6.plain",
        }
    }
}

/// Computes the digest of a redacted text.
pub fn digest(tokenizer: &mut Tokenizer, path: &RelPath, text: &str) -> Digest {
    let data = chunk::is_data(text);
    let text = if data { &text[..text.floor_char_boundary(MAX_DATA_BYTES)] } else { text };
    let lines: Vec<&str> = text.lines().collect();
    let mut digest = Digest { data, ..Digest::default() };
    let mut bags = TermCounter { tokenizer, terms: HashMap::new() };
    let Cut { chunks, parsed } = chunk::cut(path, text);
    digest.commented = parsed.as_ref().is_some_and(|(_, parsed)| is_commented(&lines, parsed));
    digest.syntax = Syntax::of(path, text, parsed.as_ref(), data);
    for chunk in chunks {
        let bag = bags.of(&lines, &chunk, &mut digest.terms);
        digest.bags.push(bag);
        let names = chunk.names.iter().map(|name| name_term(bags.tokenizer, name));
        let names: Vec<Box<str>> = names.filter(|name| !name.is_empty()).collect();
        let names = names.iter().map(|name| bags.number(name, &mut digest.terms));
        digest.names.push(names.collect::<Vec<_>>());
        digest.spans.push(Span { first: chunk.first, last: chunk.last, title: chunk.title, test: chunk.test });
    }
    digest
}

/// Returns whether more than [`COMMENTED`] of the lines with text are comments.
fn is_commented(lines: &[&str], parsed: &Parsed) -> bool {
    let with_text = lines.iter().filter(|line| !line.trim().is_empty()).count();
    let (share, of) = COMMENTED;
    parsed.comment_lines as usize * of > with_text * share
}

/// The term of a whole name.
pub(super) fn name_term(tokenizer: &mut Tokenizer, name: &str) -> Box<str> {
    let mut whole = String::new();
    tokenizer.word(name, &mut |term: &str| whole = term.to_owned());
    whole.into()
}

struct TermCounter<'a> {
    tokenizer: &'a mut Tokenizer,
    /// Term numbers in the digest.
    terms: HashMap<Box<str>, u32>,
}

impl TermCounter<'_> {
    /// Term counts of a chunk. Words of its title count twice, and words of the line of its parent once, because a
    /// method's body seldom names its class.
    fn of(&mut self, lines: &[&str], chunk: &Chunk, terms: &mut Arena) -> Vec<(u32, u32)> {
        let mut counts: HashMap<u32, u32> = HashMap::new();
        let line = |number: u32| lines.get(number as usize - 1).copied().unwrap_or_default();
        let title = line(chunk.title);
        let title = &title[..title.floor_char_boundary(MAX_CHUNK_BYTES)];
        let parent = chunk.parent.map(line).filter(|line| line.len() < 400).unwrap_or_default();
        let body = body(lines, chunk);
        for text in [&body, title, parent] {
            let numbers = &mut self.terms;
            self.tokenizer.each_term(text, |term| {
                *counts.entry(number(numbers, term, terms)).or_default() += 1;
            });
        }
        let mut bag: Vec<_> = counts.into_iter().collect();
        bag.sort_unstable();
        bag
    }

    fn number(&mut self, term: &str, terms: &mut Arena) -> u32 {
        number(&mut self.terms, term, terms)
    }
}

fn number(numbers: &mut HashMap<Box<str>, u32>, term: &str, terms: &mut Arena) -> u32 {
    match numbers.get(term) {
        Some(at) => *at,
        None => {
            let at = u32::try_from(terms.push(term)).unwrap_or(u32::MAX);
            numbers.insert(term.into(), at);
            at
        }
    }
}

fn body(lines: &[&str], chunk: &Chunk) -> String {
    let range = chunk.first as usize - 1..chunk.last as usize;
    let mut body = lines.get(range).unwrap_or_default().join("\n");
    body.truncate(body.floor_char_boundary(MAX_CHUNK_BYTES));
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, text: &str) -> Digest {
        digest(&mut Tokenizer::new(), &RelPath::new(path).unwrap(), text)
    }

    #[test]
    fn digest_keeps_words_and_names() {
        let digest = of("a.rs", "/// Replays the ledger.\nfn replay_turn() {}\n");
        assert_eq!(digest.spans.len(), 1);
        assert_eq!(digest.names(0).collect::<Vec<_>>(), ["replayturn"]);
        assert_eq!(digest.names(1).count() + digest.bag(1).count(), 0);
        let count = |term| digest.bag(0).find(|(seen, _)| *seen == term).map(|(_, count)| count);
        assert_eq!(count("replay"), Some(3), "once in the comment, once in the name, once more as the title");
        assert_eq!(count("absent"), None);
        let bytes = |digest: &Digest| serde_json::to_vec(digest).unwrap();
        assert_eq!(bytes(&digest), bytes(&of("a.rs", "/// Replays the ledger.\nfn replay_turn() {}\n")));
    }

    #[test]
    fn file_of_comments_is_commented() {
        let code = "/// One.\nfn one() {}\n\n/// Two.\nfn two() { three() }\n";
        let documentation = "//! One.\n//!\n//! Two.\n\n/* Three.\n   Four. */\nfn one() {} // five\n";
        assert!(!of("a.rs", code).commented);
        assert!(of("a.rs", documentation).commented);
        assert!(!of("a.md", documentation).commented, "no grammar");
    }

    #[test]
    fn generated_file_has_a_small_digest() {
        let digest = of("app.js", &"var a=function(){};".repeat(50_000));
        assert!(digest.data);
        assert_eq!(digest.spans.len(), 1);
        assert!(digest.bag(0).all(|(_, count)| count < 10_000));
    }
}
