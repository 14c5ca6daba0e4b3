use std::sync::LazyLock;

use muninn_text::lexical::{is_stop_word, words};
use regex::Regex;

use super::words::{
    FOREIGN_IDLE, FOREIGN_MARKS, FOREIGN_PROCESS, INTERROGATIVES, MARKS, NEUTRAL, OPENERS, PROCESS, TO_AGENT, UNSPACED,
    WAYS,
};

/// Maximum number of words of a follow-up.
const MAX_WORDS: usize = 20;

/// Maximum number of content words in a command that is a follow-up. At most one word in `CONTENT_PART` is a content
/// word.
const MAX_CONTENT: usize = 2;

const CONTENT_PART: usize = 3;

/// Maximum number of neutral words ("the comments", "a short title") in a follow-up.
const MAX_NEUTRAL: usize = 2;

/// Longest phrase of [`UNSPACED`], in characters.
const LONGEST_PHRASE: usize = 6;

/// A pattern for quotations and code: quotation marks, code symbols, paths, and identifiers of several words.
const CODE: &str = r##"[`"“„«{}<>=#$@/\\]|::|\w_\w|\p{Ll}\p{Lu}|\w\.\w|\w\(|\B--\w"##;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordKind {
    /// A function word.
    Idle,
    /// A word of [`MARKS`].
    Mark,
    /// A word of [`PROCESS`].
    Process,
    /// A word of [`NEUTRAL`].
    Neutral,
    /// A word that is in none of the lists.
    Content,
}

/// Returns whether a turn only continues the conversation. `defined` tells whether a lower-case word is a name in the
/// repository.
pub(crate) fn is_follow_up(text: &str, mut defined: impl FnMut(&str) -> bool) -> bool {
    let mut counts = [0usize; 5];
    let mut content: Vec<&str> = Vec::new();
    let lower: Vec<String> = words(text).take(MAX_WORDS + 1).map(|word| word.text.to_lowercase()).collect();
    if lower.len() > MAX_WORDS || names_code(text) {
        return false;
    }
    for word in &lower {
        let kind = kind(word);
        counts[kind as usize] += 1;
        if kind == WordKind::Content {
            content.push(word);
        }
    }
    let [_, marks, process, neutral, _] = counts;
    match (content.len(), neutral) {
        (0, _) if process > 0 && asks_for_way(&lower) => false,
        (0, 0) => true,
        (0, neutral) => neutral <= MAX_NEUTRAL && marks + process > 0,
        (count, _) => {
            let is_small = count <= MAX_CONTENT && count * CONTENT_PART <= lower.len();
            marks > 0 && is_small && !asks(text, &lower) && !content.iter().any(|word| defined(word))
        }
    }
}

/// Returns whether a short turn refers to the conversation, such as "and does that work for headers, too?".
pub(crate) fn refers_back(text: &str) -> bool {
    let lower: Vec<String> = words(text).take(MAX_WORDS + 1).map(|word| word.text.to_lowercase()).collect();
    lower.len() <= MAX_WORDS && lower.iter().any(|word| kind(word) == WordKind::Mark)
}

/// Returns whether a turn that refers to the conversation begins as its continuation, such as "and is that left alone?". An
/// article or a pronoun of one letter is no such beginning.
pub(crate) fn continues(text: &str) -> bool {
    let first = words(text).next().map(|word| word.text.to_lowercase());
    refers_back(text) && first.is_some_and(|first| first.len() > 1 && among(OPENERS, &first))
}

/// Returns whether a turn is a question that the conversation does not answer. "Can you check it?" is a command, and
/// "did you test it?" is a question about the agent. For both, the result is `false`.
fn asks(text: &str, words: &[String]) -> bool {
    let to_agent = |pair: &[String]| TO_AGENT.contains(&(&*pair[0], &*pair[1]));
    if words.windows(2).any(to_agent) {
        return false;
    }
    text.contains(['?', '\u{ff1f}', '\u{61f}']) || among(INTERROGATIVES, first(words))
}

/// Returns whether a turn asks how something is done or where it is. "How did it go?" asks about the past and does not
/// count.
fn asks_for_way(words: &[String]) -> bool {
    among(WAYS, first(words)) && !words.iter().any(|word| matches!(&**word, "did" | "went" | "about"))
}

/// Returns the first word that is not one of the [`OPENERS`].
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

fn kind(word: &str) -> WordKind {
    if word.chars().any(is_unspaced) {
        return if is_unspaced_follow_up(word) { WordKind::Mark } else { WordKind::Content };
    }
    // A choice such as "b", "2" or "10".
    let choice = word.len() <= 2 && !word.chars().any(char::is_alphabetic) || word.len() == 1;
    if among(MARKS, word) || among(FOREIGN_MARKS, word) {
        WordKind::Mark
    } else if among(PROCESS, word) || among(FOREIGN_PROCESS, word) {
        WordKind::Process
    } else if is_stop_word(word) || among(FOREIGN_IDLE, word) || choice {
        WordKind::Idle
    } else if among(NEUTRAL, word) {
        WordKind::Neutral
    } else {
        WordKind::Content
    }
}

/// Returns whether phrases of [`UNSPACED`] cover at least two thirds of a run of characters without spaces. At each
/// position, the longest phrase is matched first.
fn is_unspaced_follow_up(word: &str) -> bool {
    let ends: Vec<usize> = word.char_indices().map(|(at, _)| at).chain([word.len()]).collect();
    let letters = ends.len() - 1;
    let (mut at, mut covered) = (0, 0);
    while at < letters {
        let longest = LONGEST_PHRASE.min(letters - at);
        let phrase =
            (1..=longest).rev().find(|length| UNSPACED.binary_search(&&word[ends[at]..ends[at + length]]).is_ok());
        covered += phrase.unwrap_or(0);
        at += phrase.unwrap_or(1);
    }
    covered * 3 >= letters * 2
}

/// Returns whether a character is Chinese, Japanese or Korean. Korean is included although it has spaces, because its
/// endings are attached to words.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

#[cfg(test)]
mod tests;
