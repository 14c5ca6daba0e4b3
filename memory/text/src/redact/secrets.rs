use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use super::assignment::{NAME_PARTS, assigned, name_around};
use super::joined;
use super::prose::secret_after;
use super::scanner::{Candidate, LiteralSearch, Scanner};
use super::secret::Secret;
use super::shapes::Rule;
use crate::known::KnownTexts;

/// Redaction can join text into a new match; maximum number of passes.
const ROUNDS: usize = 4;

/// Replaces every secret with `[redacted:KIND]`.
///
/// Most texts have none, and are returned unchanged after one search for literals.
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..ROUNDS {
        let secrets = secrets(&text);
        if secrets.is_empty() {
            break;
        }
        text = Cow::Owned(cut(&text, &secrets, |secret| format!("[redacted:{}]", secret.kind)));
    }
    text
}

/// The same for the text of a file, which is redacted again and again: one without secrets is remembered.
pub fn redact_file(text: &str) -> Cow<'_, str> {
    static CLEAN: KnownTexts<()> = KnownTexts::new();
    let mut redacted = None;
    CLEAN.get(text, || match redact(text) {
        Cow::Borrowed(_) => Some(()),
        Cow::Owned(text) => {
            redacted = Some(text);
            None
        }
    });
    redacted.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The text with a blank for every secret, for what is only searched for: the words of `[redacted:KIND]` are not the user's.
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    match secrets(text) {
        found if found.is_empty() => Cow::Borrowed(text),
        found => Cow::Owned(cut(text, &found, |_| " ".to_owned())),
    }
}

fn cut(text: &str, secrets: &[Secret], mark: impl Fn(&Secret) -> String) -> String {
    let mut left = String::with_capacity(text.len());
    let mut from = 0;
    for secret in secrets {
        left.push_str(&text[from..secret.range.start]);
        left.push_str(&mark(secret));
        let lines = text[secret.range.clone()].matches('\n').count();
        left.extend(std::iter::repeat_n('\n', lines));
        from = secret.range.end;
    }
    left.push_str(&text[from..]);
    left
}

/// All secrets of a text, sorted, without overlaps.
pub fn secrets(text: &str) -> Vec<Secret> {
    let Some(scanner) = SCANNER.as_ref() else {
        return Vec::new();
    };
    merged(scanner.scan(text))
}

/// Merges overlapping secrets into one, with the kind of the narrower rule.
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

/// `None` only if a constant pattern is invalid, which a test excludes.
static SCANNER: LazyLock<Option<Scanner>> = LazyLock::new(Scanner::new);

impl Scanner {
    fn new() -> Option<Scanner> {
        let rules = Rule::all();
        let shaped = |any_case: bool| {
            let candidates = rules.iter().enumerate().filter(move |(_, rule)| rule.any_case() == any_case);
            candidates.flat_map(|(at, rule)| rule.literals().iter().map(move |literal| (*literal, Candidate::Rule(at))))
        };
        let named = NAME_PARTS.iter().map(|part| (*part, Candidate::Name));
        let searches =
            [LiteralSearch::new(shaped(false), false)?, LiteralSearch::new(named.chain(shaped(true)), true)?];
        Some(Scanner { searches, rules })
    }

    /// The secrets found, each with the rank of its rule.
    fn scan(&self, text: &str) -> Vec<(usize, Secret)> {
        let mut found = self.scan_whole(text);
        found.extend(joined::scan(self, text));
        found
    }

    /// The secrets that nothing divides.
    pub(crate) fn scan_whole(&self, text: &str) -> Vec<(usize, Secret)> {
        let mut found = Vec::new();
        // End of the text that each rule has examined: no rule examines text twice, which bounds the cost of a hostile
        // text.
        let mut examined = vec![0; self.rules.len()];
        let mut name_end = 0;
        for search in &self.searches {
            for literal in search.literals.find_overlapping_iter(text) {
                for candidate in &search.candidates[literal.pattern().as_usize()] {
                    found.extend(match *candidate {
                        Candidate::Rule(rank) => self.look(rank, text, literal.range(), &mut examined[rank]),
                        Candidate::Name => self.read_name(text, literal.start(), &mut name_end),
                    });
                }
            }
        }
        found
    }

    fn look(&self, rank: usize, text: &str, at: Range<usize>, examined: &mut usize) -> Option<(usize, Secret)> {
        if at.start < *examined {
            return None;
        }
        let rule = &self.rules[rank];
        let found = rule.look(text, at)?;
        *examined = found.end;
        let kind = rule.kind();
        found.secret.map(|range| (rank, Secret { kind, range }))
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

#[cfg(test)]
mod tests;
