//! A text cut into words, before anybody asks what they mean.

use super::lexicon::PHRASES;

/// A word between blanks, without the punctuation around it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    pub(super) text: String,
    /// It is code, or looks like it.
    pub(super) name: bool,
    /// What follows it ends a clause.
    pub(super) ends: bool,
}

/// The words of a text, of which phrases of several count as the one that says the same.
pub(super) fn in_pieces(text: &str) -> Vec<Piece> {
    merged(pieces(text))
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

/// Whether a word that is not quoted is nevertheless no English: `MAX_BATCH`, `src/main.rs`, `Store::open`, `--force`.
fn is_name(word: &str) -> bool {
    let inside = word.get(1..word.len().saturating_sub(1)).unwrap_or("");
    let camel = inside.chars().any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    let joined = inside.contains(['_', '=', '@', '#']) || inside.contains("::") || inside.contains("()");
    let dotted = inside.contains('.') && word.chars().any(char::is_alphabetic);
    let path = word.contains('/') && (word.starts_with(['/', '.']) || dotted);
    camel || joined || dotted || path || word.starts_with("--")
}

/// Replaces phrases of several words by the one that says the same.
fn merged(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut found: Vec<Piece> = Vec::with_capacity(pieces.len());
    let mut rest = pieces.as_slice();
    while let Some(first) = rest.first() {
        let phrase = PHRASES.iter().find_map(|(phrase, one)| {
            if !phrase.starts_with(first.text.as_str()) {
                return None;
            }
            let words = phrase.split(' ').count();
            let here = rest.get(..words)?;
            let same = here.iter().map(|piece| piece.text.as_str()).eq(phrase.split(' '));
            same.then_some((words, *one))
        });
        let (taken, piece) = match phrase {
            Some((words, one)) => {
                let ends = rest[words - 1].ends;
                (
                    words,
                    Piece {
                        text: one.to_owned(),
                        name: false,
                        ends,
                    },
                )
            }
            None => (1, first.clone()),
        };
        found.push(piece);
        rest = &rest[taken..];
    }
    found
}
