//! Turns that only carry a conversation on.
//!
//! "Yes, do it", "commit this", "the same for the other two", "erklär das nochmal": such a turn is short, points back
//! at what was said or tells the agent to go on, and has next to no word of its own. What it is about stands in the
//! conversation, not in the repository, so nothing is looked for.
//!
//! A turn that asks is told apart by its form. "So are these still two stacks?" points back and has one word of its own,
//! like "please drop the dots again", but it asks about stacks. So what an order may have, a question may not: any word
//! of its own makes it one, and so does asking for a way or a place ("how do I undo the last commit?"), which nothing in
//! the conversation answers. Whether it is about the repository is for the threshold to say. An order that has a word of
//! its own is a question if that word is the name of something in the repository: "and now the same for the tokenizer".

mod words;

use std::sync::LazyLock;

use muninn_memory::index::lexical::{is_stop_word, words};
use regex::Regex;

use self::words::{
    FOREIGN_IDLE, FOREIGN_MARKS, FOREIGN_PROCESS, INTERROGATIVES, MARKS, NEUTRAL, OPENERS, PROCESS, TO_AGENT, UNSPACED,
    WAYS,
};

/// A turn with more words says something.
const MOST_WORDS: usize = 20;
/// So many words of its own, and so large a part of all of them, may an order have that points back.
const MOST_OWN: usize = 2;
const OWN_PART: usize = 3;
/// So many parts of an answer ("the comments", "a short title") may it name.
const MOST_NEUTRAL: usize = 2;
/// Longest phrase of [`UNSPACED`], in characters.
const LONGEST_PHRASE: usize = 6;

/// What somebody writes who quotes, or who names code: marks of quotation and of code, paths, several words in one.
const CODE: &str = r##"[`"“„«{}<>=#$@/\\]|::|\w_\w|\p{Ll}\p{Lu}|\w\.\w|\w\(|\B--\w"##;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It is in every sentence.
    Idle,
    Mark,
    Process,
    Neutral,
    /// Any other word.
    Own,
}

/// Whether a turn only carries the conversation on. `defined` tells whether a word, in lower case, is the name of
/// something in the repository.
pub(crate) fn is_follow_up(text: &str, mut defined: impl FnMut(&str) -> bool) -> bool {
    let mut counts = [0usize; 5];
    let mut own: Vec<&str> = Vec::new();
    let lower: Vec<String> = words(text)
        .take(MOST_WORDS + 1)
        .map(|word| word.text.to_lowercase())
        .collect();
    if lower.len() > MOST_WORDS || names_code(text) {
        return false;
    }
    for word in &lower {
        let kind = kind(word);
        counts[kind as usize] += 1;
        if kind == Kind::Own {
            own.push(word);
        }
    }
    let [_, marks, process, neutral, _] = counts;
    match (own.len(), neutral) {
        (0, _) if process > 0 && asks_for_way(&lower) => false,
        (0, 0) => true,
        (0, neutral) => neutral <= MOST_NEUTRAL && marks + process > 0,
        (owned, _) => {
            let little = owned <= MOST_OWN && owned * OWN_PART <= lower.len();
            marks > 0 && little && !asks(text, &lower) && !own.iter().any(|word| defined(word))
        }
    }
}

/// Whether a turn asks for something to be told that the conversation does not tell: "can you check it?" is an order, and
/// "did you test it?" about the agent.
fn asks(text: &str, words: &[String]) -> bool {
    let to_agent = |pair: &[String]| TO_AGENT.contains(&(&*pair[0], &*pair[1]));
    if words.windows(2).any(to_agent) {
        return false;
    }
    text.contains(['?', '\u{ff1f}', '\u{61f}']) || among(INTERROGATIVES, first(words))
}

/// Whether a turn asks how something is done or where it is, and not how it went.
fn asks_for_way(words: &[String]) -> bool {
    among(WAYS, first(words)) && !words.iter().any(|word| matches!(&**word, "did" | "went" | "about"))
}

/// The first word behind those that only open a sentence.
fn first(words: &[String]) -> &str {
    let mut words = words.iter().map(String::as_str);
    words.find(|word| !among(OPENERS, word)).unwrap_or_default()
}

fn among(table: &[&str], word: &str) -> bool {
    table.binary_search(&word).is_ok()
}

fn names_code(text: &str) -> bool {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(CODE).ok());
    PATTERN.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

fn kind(word: &str) -> Kind {
    if word.chars().any(is_unspaced) {
        return if carried(word) { Kind::Mark } else { Kind::Own };
    }
    // "b", "2", "10"
    let choice = word.len() <= 2 && !word.chars().any(char::is_alphabetic) || word.len() == 1;
    if among(MARKS, word) || among(FOREIGN_MARKS, word) {
        Kind::Mark
    } else if among(PROCESS, word) || among(FOREIGN_PROCESS, word) {
        Kind::Process
    } else if is_stop_word(word) || among(FOREIGN_IDLE, word) || choice {
        Kind::Idle
    } else if among(NEUTRAL, word) {
        Kind::Neutral
    } else {
        Kind::Own
    }
}

/// Whether phrases that carry on make up two thirds of a run without spaces, the longest first.
fn carried(word: &str) -> bool {
    let ends: Vec<usize> = word.char_indices().map(|(at, _)| at).chain([word.len()]).collect();
    let letters = ends.len() - 1;
    let (mut at, mut covered) = (0, 0);
    while at < letters {
        let longest = LONGEST_PHRASE.min(letters - at);
        let phrase = (1..=longest)
            .rev()
            .find(|length| UNSPACED.binary_search(&&word[ends[at]..ends[at + length]]).is_ok());
        covered += phrase.unwrap_or(0);
        at += phrase.unwrap_or(1);
    }
    covered * 3 >= letters * 2
}

/// Chinese and Japanese; and Korean, whose endings hang on its words.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

#[cfg(test)]
mod tests;
