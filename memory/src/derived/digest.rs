//! What is kept of one file's content: its chunks and their words. This is what the cache stores, by blob.

use std::collections::HashMap;

use crate::lexical::Tokenizer;
use muninn_repo_tools::RelPath;
use muninn_repo_tools::syntax::Language;
use serde::{Deserialize, Serialize};

use super::chunk::{self, Chunk, Cut};
use super::language::{Form, language};
use super::syntax::{Manifest, Syntax};
use crate::tokens;

/// Raised whenever chunks, terms, syntax or the shape of a digest change, so that a cache does not serve the old ones.
const VERSION: u32 = 2;
/// Words are taken from so much of a chunk; more is data.
const MAX_CHUNK_BYTES: usize = 32 << 10;
/// So much of a file that a program wrote is indexed: enough to find it by what it is about.
const MAX_DATA_BYTES: usize = 16 << 10;

/// The chunks of a blob and the words in each.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Digest {
    /// In the order of their lines.
    pub spans: Vec<Span>,
    /// The distinct terms of the blob.
    terms: Vec<String>,
    /// For each span, indexes into `terms` with counts.
    bags: Vec<Vec<(u32, u32)>>,
    /// Whether a program wrote it.
    pub data: bool,
    /// What it defines, imports and calls.
    pub syntax: Box<Syntax>,
}

/// A chunk as the index keeps it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Span {
    /// The first line, counted from 1.
    pub first: u32,
    /// The last line, included.
    pub last: u32,
    /// The line that says what it is.
    pub title: u32,
    /// What its text costs.
    pub tokens: u32,
    /// The terms of the names that it defines.
    pub names: Box<[Box<str>]>,
    /// It is a test.
    pub test: bool,
}

impl Digest {
    /// The terms of a span, with their counts.
    pub fn bag(&self, span: usize) -> impl Iterator<Item = (&str, u32)> {
        let bag = self.bags.get(span).map_or(&[] as &[_], Vec::as_slice);
        bag.iter()
            .filter_map(|(term, count)| Some((self.terms.get(*term as usize)?.as_str(), *count)))
    }

    /// The name under which a cache keeps digests of such a file: the same content is taken apart differently as another
    /// language.
    pub fn form(path: &RelPath) -> &'static str {
        const { assert!(VERSION == 2) };
        if let Some(manifest) = Manifest::of(path) {
            return match manifest {
                Manifest::Cargo => "digest.2.manifest.cargo",
                Manifest::Go => "digest.2.manifest.go",
                Manifest::Npm => "digest.2.manifest.npm",
                Manifest::Script => "digest.2.manifest.script",
            };
        }
        match (Language::of_path(path), language(path).1) {
            (Some(Language::Rust), _) => "digest.2.rust",
            (Some(Language::Python), _) => "digest.2.python",
            (Some(Language::JavaScript), _) => "digest.2.javascript",
            (Some(Language::TypeScript), _) => "digest.2.typescript",
            (Some(Language::Tsx), _) => "digest.2.tsx",
            (Some(Language::Go), _) => "digest.2.go",
            (Some(Language::Java), _) => "digest.2.java",
            (Some(Language::C), _) => "digest.2.c",
            (Some(Language::Cpp), _) => "digest.2.cpp",
            (Some(Language::CSharp), _) => "digest.2.csharp",
            (Some(Language::Ruby), _) => "digest.2.ruby",
            (Some(Language::Php), _) => "digest.2.php",
            (Some(Language::Bash), _) => "digest.2.bash",
            (None, Form::Code) => "digest.2.code",
            (None, Form::Markdown) => "digest.2.markdown",
            // Without an ending, the first line may say what it is.
            (None, Form::Plain) if path.extension().is_empty() => "digest.2.bare",
            (None, Form::Plain) => "digest.2.plain",
        }
    }
}

/// Takes a redacted text apart.
pub fn digest(tokenizer: &mut Tokenizer, path: &RelPath, text: &str) -> Digest {
    let data = chunk::is_data(text);
    let text = if data {
        &text[..text.floor_char_boundary(MAX_DATA_BYTES)]
    } else {
        text
    };
    let lines: Vec<&str> = text.lines().collect();
    let mut bags = Bags {
        tokenizer,
        terms: HashMap::new(),
        bags: Vec::new(),
    };
    let Cut { chunks, parsed } = chunk::cut(path, text);
    let syntax = Syntax::of(path, text, parsed.as_ref(), data);
    let spans = chunks
        .into_iter()
        .map(|chunk| {
            let body = body(&lines, &chunk);
            bags.add(&lines, &chunk, &body);
            let names = chunk.names.iter().map(|name| name_term(bags.tokenizer, name)).collect();
            let (first, last, title, test) = (chunk.first, chunk.last, chunk.title, chunk.test);
            Span {
                first,
                last,
                title,
                tokens: tokens::count(&body),
                names,
                test,
            }
        })
        .collect();
    let mut terms = vec![String::new(); bags.terms.len()];
    for (term, at) in bags.terms {
        terms[at as usize] = term;
    }
    Digest {
        spans,
        terms,
        bags: bags.bags,
        data,
        syntax: Box::new(syntax),
    }
}

/// The term by which a name is found whole.
pub(super) fn name_term(tokenizer: &mut Tokenizer, name: &str) -> Box<str> {
    let mut whole = String::new();
    tokenizer.word(name, &mut |term: &str| whole = term.to_owned());
    whole.into()
}

fn body(lines: &[&str], chunk: &Chunk) -> String {
    let range = chunk.first as usize - 1..chunk.last as usize;
    let mut body = lines.get(range).unwrap_or_default().join("\n");
    body.truncate(body.floor_char_boundary(MAX_CHUNK_BYTES));
    body
}

struct Bags<'a> {
    tokenizer: &'a mut Tokenizer,
    terms: HashMap<String, u32>,
    bags: Vec<Vec<(u32, u32)>>,
}

impl Bags<'_> {
    /// The words of a chunk; those of its title count twice, and those of what it is part of once, because a method's
    /// body seldom names its class.
    fn add(&mut self, lines: &[&str], chunk: &Chunk, body: &str) {
        let mut counts: HashMap<u32, u32> = HashMap::new();
        let line = |number: u32| lines.get(number as usize - 1).copied().unwrap_or_default();
        let title = line(chunk.title);
        let title = &title[..title.floor_char_boundary(MAX_CHUNK_BYTES)];
        let parent = chunk
            .parent
            .map(line)
            .filter(|line| line.len() < 400)
            .unwrap_or_default();
        for text in [body, title, parent] {
            self.tokenizer.each_term(text, |term| {
                let next = u32::try_from(self.terms.len()).unwrap_or(u32::MAX);
                let at = match self.terms.get(term) {
                    Some(at) => *at,
                    None => *self.terms.entry(term.to_owned()).or_insert(next),
                };
                *counts.entry(at).or_default() += 1;
            });
        }
        let mut bag: Vec<_> = counts.into_iter().collect();
        bag.sort_unstable();
        self.bags.push(bag);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, text: &str) -> Digest {
        digest(&mut Tokenizer::new(), &RelPath::new(path).unwrap(), text)
    }

    #[test]
    fn keeps_words_names_and_costs() {
        let digest = of("a.rs", "/// Replays the ledger.\nfn replay_turn() {}\n");
        assert_eq!(digest.spans.len(), 1);
        assert_eq!(&*digest.spans[0].names[0], "replayturn");
        assert!(digest.spans[0].tokens > 5);
        let count = |term| digest.bag(0).find(|(seen, _)| *seen == term).map(|(_, count)| count);
        assert_eq!(
            count("replay"),
            Some(3),
            "once in the comment, once in the name, once more as the title"
        );
        assert_eq!(count("absent"), None);
        let bytes = |digest: &Digest| serde_json::to_vec(digest).unwrap();
        assert_eq!(
            bytes(&digest),
            bytes(&of("a.rs", "/// Replays the ledger.\nfn replay_turn() {}\n"))
        );
    }

    #[test]
    fn a_generated_file_costs_little() {
        let digest = of("app.js", &"var a=function(){};".repeat(50_000));
        assert!(digest.data);
        assert_eq!(digest.spans.len(), 1);
        assert!(digest.spans[0].tokens < 10_000);
    }
}
