//! The texts of the best places beside the question.
//!
//! The static vector of the question is compared with the vectors of titles and of the first lines of chunks, and words
//! that follow each other in the question are searched beside each other in the chunks. The comparison takes a few dozen
//! embeddings of microseconds each. It reads a few files, which packing reads anyway.

use std::collections::HashMap;

use muninn_index::Snapshot;
use muninn_repo_tools::{Worktree, read_text};
use muninn_text::embed::{StaticVectors, dot};
use muninn_text::lexical::{DocId, Tokenizer};

use super::words::Words;
use crate::question::Question;
use crate::rank::Candidate;

/// Number of compared files, and of compared chunks of each.
const FILES: usize = 4;
const CHUNKS: usize = 2;
/// Number of characters at the start of a chunk that are embedded. A chunk usually begins with its description.
const HEAD_CHARS: usize = 400;
/// Number of characters of a chunk that are searched for pairs of words.
const PAIR_CHARS: usize = 4_000;
/// Maximum number of terms from one word of a pair to the other.
const BESIDE: usize = 2;
/// Maximum size of a file whose text is compared, in bytes. For a larger file, only the titles are compared.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The likeness of the question and the texts of the best places.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Likeness {
    /// The highest cosine among titles, from 0 to 1: paths with the names that chunks define.
    pub(super) titles: f32,
    /// The highest cosine among the starts of chunks.
    pub(super) texts: f32,
    /// The weight of the pairs of neighbouring words of the question that are neighbours in a chunk, too.
    pub(super) pairs: f32,
}

impl Likeness {
    /// Compares a question with its candidates. `vector` is that of the question, `trust` the weight of a chunk from 0 to 1.
    pub(super) fn of(
        (worktree, snapshot): (&Worktree, &Snapshot),
        (question, vector): (&Question, &[f32]),
        words: &Words,
        candidates: &[Candidate],
        trust: impl Fn(DocId) -> f32,
    ) -> Likeness {
        let mut best = Likeness::default();
        let mut pairs = Pairs::of(question);
        let vectors = StaticVectors::shared();
        let cosine = |text: &str| vectors.map_or(0.0, |vectors| dot(&vectors.embed_one(text), vector));
        for candidate in candidates.iter().take(FILES) {
            let path = &snapshot.file(candidate.file).facts.path;
            let text = read_text(worktree, path, MAX_FILE_BYTES).map_or_else(|_| String::new(), |file| file.text);
            for chunk in candidate.chunks.iter().take(CHUNKS) {
                let (span, trust) = (snapshot.span(chunk.doc), trust(chunk.doc));
                let names: Vec<&str> = snapshot.symbols_of(chunk.doc).map(|symbol| symbol.name).collect();
                let title = format!("{} {}", path.as_str().replace(['/', '.', '_', '-'], " "), names.join(" "));
                best.titles = best.titles.max(trust * cosine(&title));
                let lines = lines_of(&text, (span.first, span.last));
                best.texts = best.texts.max(trust * cosine(&head(lines, HEAD_CHARS)));
                pairs.find(&head(lines, PAIR_CHARS), trust);
            }
        }
        best.pairs = pairs.weight(words);
        best
    }
}

/// Pairs of neighbouring words of a question.
struct Pairs<'a> {
    tokenizer: Tokenizer,
    /// The concepts by their terms. Numbers are left out.
    concepts: HashMap<&'a str, usize>,
    /// How much each concept and the one before it are trusted to be neighbours, from 0 to 1.
    found: Vec<f32>,
}

impl<'a> Pairs<'a> {
    fn of(question: &'a Question) -> Pairs<'a> {
        let concepts = question.concepts.iter().enumerate().filter(|(_, concept)| !concept.is_number());
        Pairs {
            tokenizer: Tokenizer::new(),
            concepts: concepts.map(|(at, concept)| (concept.whole.as_str(), at)).collect(),
            found: vec![0.0; question.concepts.len()],
        }
    }

    fn find(&mut self, text: &str, trust: f32) {
        let Pairs { tokenizer, concepts, found } = self;
        let mut last: Vec<Option<usize>> = vec![None; found.len()];
        let mut position = 0;
        tokenizer.each_term(text, |term| {
            position += 1;
            let Some(&at) = concepts.get(term) else { return };
            last[at] = Some(position);
            let is_beside = |other: usize| last[other].is_some_and(|other| position - other <= BESIDE);
            // A pair is noted at its second word.
            if at > 0 && is_beside(at - 1) {
                found[at] = found[at].max(trust);
            }
            if at + 1 < last.len() && is_beside(at + 1) {
                found[at + 1] = found[at + 1].max(trust);
            }
        });
    }

    fn weight(&self, words: &Words) -> f32 {
        let pairs = self.found.iter().enumerate().skip(1);
        pairs.map(|(at, trust)| trust * words.weight(at).min(words.weight(at - 1))).sum()
    }
}

/// Returns a range of lines, counted from 1.
fn lines_of(text: &str, (first, last): (u32, u32)) -> &str {
    let (skipped, kept) = (first.saturating_sub(1) as usize, last.saturating_sub(first) as usize + 1);
    // A file can have many thousand lines before the chunk.
    let mut ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
    let start = match skipped.checked_sub(1) {
        None => 0,
        Some(before) => ends.nth(before).unwrap_or(text.len()),
    };
    let end = ends.nth(kept - 1).unwrap_or(text.len());
    &text[start..end]
}

/// Returns the first characters of some lines, each with a line end.
fn head(lines: &str, chars: usize) -> String {
    let (mut head, mut left) = (String::new(), chars);
    for line in lines.lines() {
        let length = line.chars().count();
        if length >= left {
            let end = line.char_indices().nth(left).map_or(line.len(), |(at, _)| at);
            head.push_str(&line[..end]);
            break;
        }
        head.push_str(line);
        head.push('\n');
        left -= length + 1;
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::analyse;

    #[test]
    fn a_head_is_cut_from_the_lines_of_its_chunk() {
        let text = "a\nb\r\nc\nd";
        for (lines, expected) in [
            ((1, 1), "a\n"),
            ((2, 3), "b\nc\n"),
            ((3, 9), "c\nd\n"),
            ((4, 4), "d\n"),
            ((5, 9), ""),
            ((1, 4), "a\nb\nc\nd\n"),
        ] {
            assert_eq!(head(lines_of(text, lines), HEAD_CHARS), expected, "{lines:?}");
        }
        assert_eq!(head(lines_of("", (1, 1)), HEAD_CHARS), "");
        for (chars, expected) in
            [(0, ""), (1, "ä"), (2, "äb"), (3, "äb\n"), (4, "äb\n\n"), (6, "äb\n\ncd"), (9, "äb\n\ncd\n")]
        {
            assert_eq!(head("äb\r\n\ncd", chars), expected, "{chars}");
        }
        assert_eq!(head(lines_of(&"x".repeat(1_000), (1, 1)), HEAD_CHARS).len(), HEAD_CHARS);
    }

    #[test]
    fn neighbours_of_a_question_are_found_as_neighbours() {
        let question = analyse(&mut Tokenizer::new(), "where does the token bucket refill");
        let found = |text: &str| {
            let mut pairs = Pairs::of(&question);
            pairs.find(text, 1.0);
            pairs.found
        };
        assert_eq!(found("a bucket of tokens"), [0.0, 1.0, 0.0]);
        assert_eq!(found("tokens are counted; every minute the bucket is emptied"), [0.0; 3]);
        assert_eq!(found("struct TokenBucket; refill_bucket()"), [0.0, 1.0, 1.0]);
        assert_eq!(found(""), [0.0; 3]);
    }
}
