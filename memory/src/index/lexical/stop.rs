//! Stop words of questions.

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

/// Returns whether a lowercase word is a stop word.
pub fn is_stop_word(word: &str) -> bool {
    STOP.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(STOP.is_sorted());
        assert!(is_stop_word("how") && is_stop_word("a") && is_stop_word("yours"));
        assert!(!is_stop_word("ledger") && !is_stop_word("test"));
    }
}
