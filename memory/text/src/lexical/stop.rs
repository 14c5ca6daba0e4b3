//! Stop words of questions.

use super::word::{Word, words};

/// English function words, question words and verbs of requests. Sorted, for binary search.
#[rustfmt::skip]
const STOP: &[&str] = &[
    "a", "able", "about", "above", "actually", "after", "again", "ahead", "all", "already", "also", "always", "am",
    "an", "and", "another", "any", "anything", "are", "aren", "around", "as", "ask", "at", "be", "because", "been",
    "before", "being", "best", "better", "between", "both", "but", "by", "can", "cannot", "could", "couldn",
    "currently", "did", "didn", "different", "do", "does", "doesn", "doing", "don", "done", "down", "each", "either",
    "else", "etc", "even", "every", "everything", "exactly", "explain", "few", "find", "first", "for", "from",
    "further", "get", "gets", "getting", "give", "given", "go", "goes", "going", "good", "got", "had", "happen",
    "happens", "has", "have", "haven", "having", "he", "hello", "help", "her", "here", "hers", "hey", "hi", "him",
    "his", "how", "i", "if", "in", "instead", "into", "is", "isn", "it", "its", "itself", "just", "kind", "know",
    "let", "like", "ll", "look", "looks", "lot", "make", "makes", "making", "many", "may", "maybe", "me", "mean",
    "meaning", "means", "might", "more", "most", "much", "must", "my", "need", "needs", "never", "no", "nor", "not",
    "now", "of", "off", "ok", "okay", "on", "once", "one", "only", "or", "other", "our", "ours", "out", "over", "own",
    "perhaps", "please", "point", "pretty", "really", "right", "same", "say", "see", "seem", "seems", "shall", "she",
    "should", "shouldn", "show", "so", "some", "somehow", "someone", "something", "sounds", "still", "such", "sure",
    "take", "tell", "than", "thank", "thanks", "that", "the", "their", "them", "then", "there", "these", "they",
    "thing", "things", "think", "this", "those", "through", "to", "today", "tomorrow", "tonight", "too", "try",
    "trying", "two", "under", "until", "up", "us", "use", "used", "uses", "using", "various", "ve", "very", "want",
    "wants", "was", "wasn", "way", "ways", "we", "well", "were", "what", "when", "where", "whether", "which", "while",
    "who", "whole", "whom", "whose", "why", "will", "with", "within", "without", "won", "work", "working", "works",
    "would", "wouldn", "yes", "yesterday", "yet", "you", "your", "yours",
];

/// The words after which `Go` is a verb, and not the language.
const GO_VERB: &[&str] = &["ahead", "and", "back", "for", "into", "on", "over", "the", "through", "to", "with"];

/// Returns whether a lowercase word is a stop word.
pub fn is_stop_word(word: &str) -> bool {
    STOP.binary_search(&word).is_ok()
}

/// Returns whether a word of a text is a stop word, in any case. The language `Go` is none.
pub fn is_stop_word_of(text: &str, word: &Word<'_>) -> bool {
    if word.text == "Go" {
        let next = words(&text[word.start + word.text.len()..]).next();
        return next.is_some_and(|next| GO_VERB.contains(&next.text));
    }
    is_stop_word(&word.text.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(STOP.is_sorted());
        assert!(is_stop_word("how") && is_stop_word("a") && is_stop_word("yours"));
        assert!(!is_stop_word("ledger") && !is_stop_word("test"));
        assert!(GO_VERB.is_sorted());
    }

    #[test]
    fn the_language_go_is_no_stop_word() {
        let of = |text| -> Vec<&str> {
            let kept = words(text).filter(|word| !is_stop_word_of(text, word));
            kept.map(|word| word.text).collect()
        };
        assert_eq!(of("Which Go do I need? Go 1.25."), ["Go", "Go", "1", "25"]);
        assert_eq!(of("Go through it, where does it go? GO!"), [""; 0]);
    }
}
