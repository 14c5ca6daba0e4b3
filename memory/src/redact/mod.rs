//! Cutting secrets out of a text before it goes into a prompt, a record, a receipt or a log.
//!
//! Two things are cut: shapes that are unmistakable, and values that were drawn at random under a name that says
//! secret. A guess from entropy alone would eat git hashes, UUIDs and test vectors, and a reader who finds those missing
//! turns redaction off. There is one depth, for source code and for records alike. The number of lines is kept, so that
//! line numbers taken after redaction are those of the file.

mod assignment;
mod name;
mod prose;
mod shapes;
mod text;
mod value;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use assignment::{NAME_PARTS, assigned, name_around};
use prose::secret_after;
use shapes::Rule;

/// Cutting can bring together what stood apart; so often it is looked again at most.
const ROUNDS: usize = 4;

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// What it is: a vendor's token, a private key, a password.
    pub kind: &'static str,
    /// Where it is, in bytes.
    pub range: Range<usize>,
}

/// The text with every secret replaced by `[redacted:KIND]`.
///
/// Most texts hold none and come back as they are, after one search for literals.
#[must_use]
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..ROUNDS {
        let secrets = secrets(&text);
        if secrets.is_empty() {
            break;
        }
        text = Cow::Owned(cut(&text, &secrets));
    }
    text
}

fn cut(text: &str, secrets: &[Secret]) -> String {
    let mut left = String::with_capacity(text.len());
    let mut from = 0;
    for secret in secrets {
        left.push_str(&text[from..secret.range.start]);
        left.push_str(&format!("[redacted:{}]", secret.kind));
        let lines = text[secret.range.clone()].matches('\n').count();
        left.extend(std::iter::repeat_n('\n', lines));
        from = secret.range.end;
    }
    left.push_str(&text[from..]);
    left
}

/// All secrets of a text in order, none overlapping another.
#[must_use]
pub fn secrets(text: &str) -> Vec<Secret> {
    let Some(scanner) = SCANNER.as_ref() else {
        return Vec::new();
    };
    merged(scanner.scan(text))
}

/// Overlapping ones become one that covers both, with the kind of the narrower rule.
fn merged(mut found: Vec<(usize, Secret)>) -> Vec<Secret> {
    found.sort_by_key(|(rank, secret)| (secret.range.start, *rank));
    let mut merged: Vec<(usize, Secret)> = Vec::with_capacity(found.len());
    for (rank, secret) in found {
        match merged.last_mut() {
            Some((last_rank, last)) if secret.range.start < last.range.end => {
                last.range.end = last.range.end.max(secret.range.end);
                if rank < *last_rank {
                    (*last_rank, last.kind) = (rank, secret.kind);
                }
            }
            _ => merged.push((rank, secret)),
        }
    }
    merged.into_iter().map(|(_, secret)| secret).collect()
}

/// What is checked where a literal stands.
#[derive(Clone, Copy)]
enum Candidate {
    Rule(usize),
    Name,
}

/// One search for many literals at once.
struct LiteralSearch {
    literals: AhoCorasick,
    /// For each literal.
    candidates: Vec<Vec<Candidate>>,
}

impl LiteralSearch {
    fn new<'a>(wanted: impl Iterator<Item = (&'a str, Candidate)>, any_case: bool) -> Option<LiteralSearch> {
        let mut literals: Vec<&str> = Vec::new();
        let mut candidates: Vec<Vec<Candidate>> = Vec::new();
        for (literal, candidate) in wanted {
            match literals.iter().position(|known| *known == literal) {
                Some(at) => candidates[at].push(candidate),
                None => {
                    literals.push(literal);
                    candidates.push(vec![candidate]);
                }
            }
        }
        let literals = AhoCorasick::builder()
            .ascii_case_insensitive(any_case)
            .kind(Some(AhoCorasickKind::DFA))
            .build(&literals)
            .ok()?;
        Some(LiteralSearch { literals, candidates })
    }
}

struct Scanner {
    /// Short literals in capitals are rare, and frequent in any case: so these are two.
    searches: [LiteralSearch; 2],
    rules: Vec<Rule>,
}

/// The patterns are constants, and a test makes it.
static SCANNER: LazyLock<Option<Scanner>> = LazyLock::new(Scanner::new);

impl Scanner {
    fn new() -> Option<Scanner> {
        let rules = Rule::all();
        let shaped = |any_case: bool| {
            let candidates = rules
                .iter()
                .enumerate()
                .filter(move |(_, rule)| rule.any_case() == any_case);
            candidates.flat_map(|(at, rule)| {
                rule.literals()
                    .iter()
                    .map(move |literal| (*literal, Candidate::Rule(at)))
            })
        };
        let named = NAME_PARTS.iter().map(|part| (*part, Candidate::Name));
        let searches = [
            LiteralSearch::new(shaped(false), false)?,
            LiteralSearch::new(named.chain(shaped(true)), true)?,
        ];
        Some(Scanner { searches, rules })
    }

    /// What was found, with the rank of the rule that found it.
    fn scan(&self, text: &str) -> Vec<(usize, Secret)> {
        let mut found = Vec::new();
        // A rule has nothing more to say about what it has looked at: that bounds what a hostile text costs.
        let mut looked = vec![0; self.rules.len()];
        let mut name_end = 0;
        for search in &self.searches {
            for literal in search.literals.find_overlapping_iter(text) {
                for candidate in &search.candidates[literal.pattern().as_usize()] {
                    found.extend(match *candidate {
                        Candidate::Rule(rank) => self.look(rank, text, literal.range(), &mut looked[rank]),
                        Candidate::Name => self.read_name(text, literal.start(), &mut name_end),
                    });
                }
            }
        }
        found
    }

    fn look(&self, rank: usize, text: &str, at: Range<usize>, looked: &mut usize) -> Option<(usize, Secret)> {
        if at.start < *looked {
            return None;
        }
        let rule = &self.rules[rank];
        let there = rule.look(text, at)?;
        *looked = there.end;
        let kind = rule.kind();
        there.secret.map(|range| (rank, Secret { kind, range }))
    }

    fn read_name(&self, text: &str, at: usize, name_end: &mut usize) -> Option<(usize, Secret)> {
        if at < *name_end {
            return None;
        }
        let name = name_around(text, at);
        *name_end = name.end;
        let read = assigned(text, name.clone());
        if let Some(read) = &read {
            *name_end = read.end;
        }
        let secret = read.and_then(|read| read.secret).or_else(|| secret_after(text, &name));
        secret.map(|secret| (self.rules.len(), secret))
    }
}
