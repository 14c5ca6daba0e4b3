//! Splitting text into words, and the stop words of four languages.

use std::collections::HashSet;
use std::sync::LazyLock;

use muninn_text::lexical::{is_mark, is_unspaced, normalised, runs};

/// The share of all words that are stop words of a language and no English ones, from which the language is taken to be
/// spoken. In a text of the language it is a third and more; in an English text, less than a hundredth.
const SPOKEN: f64 = 0.1;

/// The stop words of a language, one on each line.
static LISTS: LazyLock<[HashSet<&'static str>; 4]> = LazyLock::new(|| {
    [
        include_str!("stopwords/english.txt"),
        include_str!("stopwords/german.txt"),
        include_str!("stopwords/french.txt"),
        include_str!("stopwords/spanish.txt"),
    ]
    .map(|list| list.lines().collect())
});

/// Calls `take` for each word of a text, in order, in NFKC and lower case; `None` stands between words that do not follow
/// each other. Words are runs of letters and digits; `-` and `_` between them belong to the word. So link brackets never
/// do. In a script without spaces, each pair of adjacent characters counts as a word.
pub(super) fn each_word(text: &str, take: &mut impl FnMut(Option<&str>)) {
    let lower = normalised(text).to_lowercase();
    let mut rest = lower.as_str();
    while let Some(start) = rest.find(char::is_alphanumeric) {
        rest = &rest[start..];
        let end = length_of_word(rest);
        for run in runs(&rest[..end]) {
            if run.starts_with(is_unspaced) {
                each_pair(run, take);
            } else {
                take(Some(run.trim_matches(['-', '_'])));
            }
        }
        rest = &rest[end..];
    }
}

fn each_pair(run: &str, take: &mut impl FnMut(Option<&str>)) {
    let mut before = None;
    for (at, letter) in run.char_indices() {
        if let Some(start) = before {
            take(None);
            take(Some(&run[start..at + letter.len_utf8()]));
        }
        before = Some(at);
    }
    take(None);
}

/// The length of the word at the beginning of a text.
fn length_of_word(text: &str) -> usize {
    let mut end = 0;
    for (at, letter) in text.char_indices() {
        if letter.is_alphanumeric() || is_mark(letter) {
            end = at + letter.len_utf8();
        } else if !matches!(letter, '-' | '_') {
            break;
        }
    }
    end
}

/// Whether a word says too little by itself: one letter, or digits only.
pub(super) fn is_short(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_none() || letters.next().is_none() || word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The words that are left out of a cloud.
pub(super) struct StopWords<'a> {
    lists: Vec<&'static HashSet<&'static str>>,
    extra: HashSet<&'a str>,
}

impl<'a> StopWords<'a> {
    /// English, and the languages that the words are in. `counts` are the words with their numbers.
    pub(super) fn of<'w>(
        counts: impl Iterator<Item = (&'w str, u64)>,
        extra: impl IntoIterator<Item = &'a str>,
    ) -> StopWords<'a> {
        let [english, others @ ..] = &*LISTS;
        let (mut all, mut found) = (0u64, [0u64; 3]);
        for (word, count) in counts {
            all += count;
            if english.contains(word) {
                continue;
            }
            for (found, list) in found.iter_mut().zip(others) {
                *found += if list.contains(word) { count } else { 0 };
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a share of counts needs no last digit")]
        let is_spoken = |found: u64| found as f64 >= SPOKEN * all as f64;
        let spoken = others.iter().zip(found).filter(|(_, found)| is_spoken(*found));
        StopWords {
            lists: std::iter::once(english).chain(spoken.map(|(list, _)| list)).collect(),
            extra: extra.into_iter().collect(),
        }
    }

    /// Whether a word is left out.
    pub(super) fn contains(&self, word: &str) -> bool {
        is_short(word) || self.extra.contains(word) || self.lists.iter().any(|list| list.contains(word))
    }
}
