//! Turns that only carry a conversation on.
//!
//! "Yes, do it", "commit this", "the same for the other two", "erklär das nochmal": such a turn is short, points back
//! at what was said or tells the agent to go on, and has next to no word of its own. What it is about stands in the
//! conversation, not in the repository, so nothing is looked for. One that has a word of its own after all is a question
//! if that word is the name of something in the repository: "and now the same for the tokenizer".

mod words;

use std::sync::LazyLock;

use muninn_memory::lexical::{is_stop_word, words};
use regex::Regex;

use self::words::{FOREIGN_IDLE, FOREIGN_MARKS, FOREIGN_PROCESS, MARKS, NEUTRAL, PROCESS, UNSPACED};

/// A turn with more words says something.
const MOST_WORDS: usize = 20;
/// So many words of its own, and so large a part of all of them, may a turn have that points back.
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
    let mut own: Vec<String> = Vec::new();
    for (before, word) in words(text).enumerate() {
        if before >= MOST_WORDS {
            return false;
        }
        let lower = word.text.to_lowercase();
        let kind = kind(&lower);
        counts[kind as usize] += 1;
        if kind == Kind::Own {
            own.push(lower);
        }
    }
    if names_code(text) {
        return false;
    }
    let [_, marks, process, neutral, _] = counts;
    match (own.len(), neutral) {
        (0, 0) => true,
        (0, neutral) => neutral <= MOST_NEUTRAL && marks + process > 0,
        (owned, _) => {
            let little = owned <= MOST_OWN && owned * OWN_PART <= counts.iter().sum();
            marks > 0 && little && !own.iter().any(|word| defined(word))
        }
    }
}

fn names_code(text: &str) -> bool {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(CODE).ok());
    PATTERN.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

fn kind(word: &str) -> Kind {
    let among = |table: &[&str]| table.binary_search(&word).is_ok();
    if word.chars().any(is_unspaced) {
        return if carried(word) { Kind::Mark } else { Kind::Own };
    }
    // "b", "2", "10"
    let choice = word.len() <= 2 && !word.chars().any(char::is_alphabetic) || word.len() == 1;
    if among(MARKS) || among(FOREIGN_MARKS) {
        Kind::Mark
    } else if among(PROCESS) || among(FOREIGN_PROCESS) {
        Kind::Process
    } else if is_stop_word(word) || among(FOREIGN_IDLE) || choice {
        Kind::Idle
    } else if among(NEUTRAL) {
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
mod tests {
    use super::*;

    const CARRY_ON: &[&str] = &[
        "",
        "hi",
        "Thanks!",
        "yes, do it",
        "Commit and push.",
        "run the tests again",
        "2",
        "option 2 please",
        "no, the other one",
        "👍",
        "...",
        "make it shorter",
        "now fix the build",
        "do the same for the remaining two",
        "hm, that looks suspicious, can you check it again?",
        "great, now squash these commits",
        "please drop the last one and keep the rest",
        "what did you change?",
        "ja, mach das so",
        "erklär mir das bitte nochmal",
        "oui, continue comme ça",
        "merci, maintenant fais le commit",
        "sí, hazlo otra vez",
        "sim, pode continuar assim",
        "sì, vai avanti così",
        "nee, doe toch maar de andere",
        "tak, zrób to jeszcze raz",
        "да, продолжай",
        "нет, верни как было",
        "继续",
        "好的，提交吧",
        "はい、お願いします",
        "もう一度やり直して",
        "네, 계속 진행해 주세요",
    ];

    const ASK: &[&str] = &[
        "fix the ledger",
        "why does replay fail?",
        "commit `parse_header` only",
        "test the tokenizer",
        "yes, but look at src/ledger.rs first",
        "the same for retryBudget",
        "no, I meant booking::replay",
        "again: \"connection reset by peer\"",
        "explain the checkpoint checksum",
        "hide an argument from short help only",
        "wie wird das Konto gesperrt",
        "comment fonctionne le registre des comptes",
        "この台帳の再生方法",
        "账本如何重放",
        "원장 재생은 어디에 있나요",
        "where do we compute the balance",
    ];

    #[test]
    fn the_tables_are_sorted() {
        for table in [
            MARKS,
            PROCESS,
            NEUTRAL,
            FOREIGN_MARKS,
            FOREIGN_PROCESS,
            FOREIGN_IDLE,
            UNSPACED,
        ] {
            assert!(table.is_sorted_by(|a, b| a < b), "{:?}", table.first());
        }
        let longest = UNSPACED.iter().map(|phrase| phrase.chars().count()).max();
        assert_eq!(longest, Some(LONGEST_PHRASE));
    }

    #[test]
    fn carrying_on_is_no_question() {
        for text in CARRY_ON {
            assert!(is_follow_up(text, |_| false), "{text}");
        }
    }

    #[test]
    fn a_question_is_none_however_short() {
        for text in ASK {
            assert!(!is_follow_up(text, |_| false), "{text}");
        }
    }

    #[test]
    fn a_name_that_is_defined_makes_a_question() {
        let text = "and now do the same for the tokenizer";
        assert!(is_follow_up(text, |_| false));
        assert!(!is_follow_up(text, |word| word == "tokenizer"));
        assert!(
            is_follow_up("commit this", |_| true),
            "words of the conversation's own are not looked up"
        );
    }

    #[test]
    fn a_long_turn_says_something() {
        assert!(!is_follow_up(&"again and ".repeat(11), |_| false));
        assert!(is_follow_up(&"again and ".repeat(10), |_| false));
    }

    #[test]
    fn a_pattern_that_does_not_compile_would_let_all_code_pass() {
        assert!(names_code("a::b") && names_code("x_y") && names_code("pass --force") && !names_code("well - no"));
    }
}
