//! Whether an agent used the notes that a prompt carried.

use std::collections::HashSet;

use muninn_text::lexical::{Tokenizer, question_terms};

/// The share of a note's own words that an agent repeats if it uses the note, and their least number.
const REPEATED: (usize, usize) = (1, 3);
const LEAST_REPEATED: usize = 2;
/// The length of the end of an id by which a note is named.
const SHORT_ID: usize = 8;

/// A note that a prompt carried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownNote {
    /// The record's id.
    pub id: String,
    /// Whether the agent used it in the turn.
    pub used: bool,
    /// Whether a decision of the turn contradicts it.
    pub contradicted: bool,
}

/// Whether the calls and the answer of a turn use a note: they name it, or repeat a third of its words, without those of the
/// question.
pub fn is_used(id: &str, note: &str, question: &str, doings: &str) -> bool {
    let short = id.get(id.len().saturating_sub(SHORT_ID)..).unwrap_or(id);
    if short.len() == SHORT_ID && doings.to_lowercase().contains(&short.to_lowercase()) {
        return true;
    }
    let mut tokenizer = Tokenizer::new();
    let mut terms = |text: &str| -> HashSet<String> { question_terms(&mut tokenizer, text).into_iter().collect() };
    let asked = terms(question);
    let own: HashSet<String> = terms(note).difference(&asked).cloned().collect();
    let repeated = terms(doings).intersection(&own).count();
    let (share, of) = REPEATED;
    repeated * of >= own.len() * share && repeated >= LEAST_REPEATED.min(own.len()) && repeated > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_used_where_its_own_words_or_its_id_come_back() {
        let note = "We chose pino over winston because it writes JSON lines without a formatter";
        let question = "which logger do we use and why?";
        for (doings, used) in [
            ("You use pino; winston was dropped because its formatter was slow for JSON lines.", true),
            ("{\"command\":\"muninn recall 00000001\"}", true),
            ("I read the configuration of the logger.", false),
            ("We use JSON.", false),
            ("", false),
        ] {
            assert_eq!(is_used("01JH0000000000000000000001", note, question, doings), used, "{doings}");
        }
        assert!(!is_used("1", "Which logger?", "which logger", "the logger"), "the question's words tell nothing");
    }
}
