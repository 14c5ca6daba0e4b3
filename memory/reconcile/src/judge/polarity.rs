//! The polarity of tokens: whether a statement is for or against what they name.
//!
//! The polarity of a clause is negative if it has an odd number of negations. Tokens after `without`, `instead of` or
//! `rather than`, after `over` if the text has `prefer`, and after `replace` or `change from` have the opposite polarity.

use super::kind::{Kind, Token};

/// Sets the polarity of each token.
pub(super) fn assign(tokens: &mut [Token]) {
    let prefers = tokens.iter().any(|token| token.normal.starts_with("prefer"));
    let mut start = 0;
    while start < tokens.len() {
        let clause = tokens[start].clause;
        let length = tokens[start..].iter().take_while(|token| token.clause == clause).count();
        // `Revert the change, which added the flag` is against the flag.
        let continues = matches!(&*tokens[start].surface, "which" | "that") && tokens[0].kind == Kind::Negation;
        assign_clause(&mut tokens[start..start + length], prefers, continues);
        start += length;
    }
}

fn assign_clause(clause: &mut [Token], prefers: bool, is_continued: bool) {
    let negates = |token: &&Token| token.kind == Kind::Negation && !matches!(&*token.normal, "instead" | "without");
    let mut is_against = clause.iter().filter(negates).count() % 2 == 1;
    is_against ^= is_continued;
    let is_base = is_against;
    let mut changes = false;
    for at in 0..clause.len() {
        let word = clause[at].surface.to_lowercase();
        match word.as_str() {
            "without" => is_against = !is_base,
            "instead" if at + 1 < clause.len() => is_against = !is_base,
            "than" | "over" if prefers || at > 0 && &*clause[at - 1].normal == "rather" => is_against = !is_base,
            "from" if changes => is_against = !is_base,
            "to" | "with" | "by" if changes => is_against = is_base,
            _ if word.starts_with("replac") => {
                changes = true;
                is_against = !is_base;
            }
            _ if clause[at].kind == Kind::Cue => changes = true,
            _ => {}
        }
        clause[at].is_against = is_against;
    }
}
