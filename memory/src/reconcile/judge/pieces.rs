//! Splits a text into words.

use super::tables::{Phrase, Tables};

/// A word without the punctuation around it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    pub(super) text: String,
    /// Whether it is code, or looks like it.
    pub(super) name: bool,
    /// Whether punctuation after it ends a clause.
    pub(super) ends: bool,
}

/// The words of a text. Known phrases are replaced by their one-word synonym.
pub(super) fn in_pieces(text: &str, tables: &Tables) -> Vec<Piece> {
    merged(pieces(text), tables)
}

fn pieces(text: &str) -> Vec<Piece> {
    let mut found = Vec::new();
    for (at, part) in text.split('`').enumerate() {
        let quoted = at % 2 == 1;
        for raw in part.split_whitespace() {
            piece(raw, quoted, &mut found);
        }
    }
    found
}

fn piece(raw: &str, quoted: bool, found: &mut Vec<Piece>) {
    let ends = raw.ends_with([',', ';', ':', '.', '!', '?']);
    let trimmed = if quoted {
        raw
    } else {
        let raw = raw.trim_end_matches([',', ';', ':', '.', '!', '?', ')', '"', '\u{201d}', '\'']);
        raw.trim_start_matches(['(', '"', '\u{201c}', '\''])
    };
    if !trimmed.chars().any(char::is_alphanumeric) {
        if let Some(last) = found.last_mut() {
            last.ends = true;
        }
        return;
    }
    let straight = trimmed.replace('\u{2019}', "'");
    let inner = straight.strip_suffix("'s").unwrap_or(&straight);
    if quoted || is_name(inner) {
        found.push(Piece {
            text: inner.to_owned(),
            name: true,
            ends,
        });
        return;
    }
    let lower = straight.to_lowercase();
    let count = found.len();
    found.extend(
        lower
            .split(['-', '/'])
            .filter(|part| !part.is_empty())
            .map(|part| Piece {
                text: part.to_owned(),
                name: false,
                ends: false,
            }),
    );
    if let Some(last) = found[count..].last_mut() {
        last.ends = ends;
    }
}

/// Returns whether an unquoted word is a name in code: `MAX_BATCH`, `src/main.rs`, `Store::open`, `--force`.
fn is_name(word: &str) -> bool {
    let inside = word.get(1..word.len().saturating_sub(1)).unwrap_or("");
    let camel = inside.chars().any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    let joined = inside.contains(['_', '=', '@', '#']) || inside.contains("::") || inside.contains("()");
    let dotted = inside.contains('.') && word.chars().any(char::is_alphabetic);
    let path = word.contains('/') && (word.starts_with(['/', '.']) || dotted);
    camel || joined || dotted || path || word.starts_with("--")
}

/// Replaces phrases by their one-word synonym.
fn merged(pieces: Vec<Piece>, tables: &Tables) -> Vec<Piece> {
    let mut found: Vec<Piece> = Vec::with_capacity(pieces.len());
    let mut rest = pieces.as_slice();
    while let Some(first) = rest.first() {
        let stands_here = |phrase: &&Phrase| {
            let here = rest.iter().map(|piece| piece.text.as_str());
            here.take(phrase.words.len()).eq(phrase.words.iter().copied())
        };
        let phrase = tables.phrases_from(&first.text).iter().find(stands_here);
        let taken = phrase.map_or(1, |phrase| phrase.words.len());
        found.push(phrase.map_or_else(
            || first.clone(),
            |phrase| Piece {
                text: phrase.meaning.to_owned(),
                name: false,
                ends: rest[taken - 1].ends,
            },
        ));
        rest = &rest[taken..];
    }
    found
}
