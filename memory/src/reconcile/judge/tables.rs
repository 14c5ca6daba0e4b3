//! Lookup tables of the word lists in [`super::lexicon`], by written form and by stem.

use std::collections::{HashMap, HashSet};

use rust_stemmers::{Algorithm, Stemmer};

use super::lexicon;

/// A word list, as a bit.
#[derive(Debug, Clone, Copy)]
pub(super) enum WordList {
    Negators,
    Function,
    Prepositions,
    Weak,
    Auxiliaries,
    Conditions,
    Shifting,
    Verbs,
    Attributes,
    Functional,
    Giving,
    Owning,
}

/// A set of word lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct WordLists(u16);

impl WordLists {
    pub(super) fn has(self, list: WordList) -> bool {
        self.0 & (1 << list as u16) != 0
    }

    fn put(&mut self, list: WordList) {
        self.0 |= 1 << list as u16;
    }
}

/// The entry of a stem.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) lists: WordLists,
    /// Its number in the relation tables, if any.
    number: Option<u16>,
}

/// The relation of two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordRelation {
    Synonym,
    /// The first word is narrower than the second.
    Narrower,
    /// The first word is broader than the second.
    Broader,
    /// The words exclude each other.
    Exclusive,
    /// No known relation.
    None,
}

/// A phrase and its one-word synonym.
pub(super) struct Phrase {
    pub(super) words: Vec<&'static str>,
    pub(super) meaning: &'static str,
}

pub(super) struct Tables {
    stemmer: Stemmer,
    /// Phrases by their first word.
    phrases: HashMap<&'static str, Vec<Phrase>>,
    irregular: HashMap<&'static str, &'static str>,
    written: HashMap<&'static str, WordLists>,
    normal: HashMap<Box<str>, Entry>,
    /// Synonym lines of each word, by number.
    synonyms: Vec<Vec<u16>>,
    narrower: HashSet<(u16, u16)>,
    exclusive: HashSet<(u16, u16)>,
}

impl Tables {
    pub(super) fn new() -> Self {
        let pairs: Vec<&str> = lexicon::IRREGULAR.split_whitespace().collect();
        let mut made = Self {
            stemmer: Stemmer::create(Algorithm::English),
            phrases: HashMap::new(),
            irregular: pairs.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect(),
            written: HashMap::new(),
            normal: HashMap::new(),
            synonyms: Vec::new(),
            narrower: HashSet::new(),
            exclusive: HashSet::new(),
        };
        for (phrase, meaning) in lexicon::PHRASES {
            let words: Vec<&str> = phrase.split(' ').collect();
            made.phrases
                .entry(words[0])
                .or_default()
                .push(Phrase { words, meaning });
        }
        for (list, words) in [
            (WordList::Negators, lexicon::NEGATORS),
            (WordList::Function, lexicon::FUNCTION),
            (WordList::Prepositions, lexicon::PREPOSITIONS),
            (WordList::Weak, lexicon::WEAK),
            (WordList::Auxiliaries, lexicon::AUXILIARIES),
            (WordList::Conditions, lexicon::CONDITIONS),
        ] {
            for word in words.split_whitespace() {
                made.written.entry(word).or_default().put(list);
            }
        }
        for (list, words) in [
            (WordList::Conditions, lexicon::CONDITIONS),
            (WordList::Shifting, lexicon::SHIFTING),
            (WordList::Verbs, lexicon::VERBS),
            (WordList::Attributes, lexicon::ATTRIBUTES),
            (WordList::Functional, lexicon::FUNCTIONAL),
            (WordList::Giving, lexicon::GIVING),
            (WordList::Owning, lexicon::OWNING),
        ] {
            for word in words.split_whitespace() {
                let normal = made.normal(word);
                made.normal.entry(normal).or_default().lists.put(list);
            }
        }
        made.relations();
        made
    }

    fn relations(&mut self) {
        for (line, words) in (0u16..).zip(self.numbered(lexicon::SYNONYMS)) {
            words
                .into_iter()
                .for_each(|word| self.synonyms[usize::from(word)].push(line));
        }
        for words in self.numbered(lexicon::NARROWER) {
            if let Some((narrow, broad)) = words.split_first() {
                self.narrower.extend(broad.iter().map(|broad| (*narrow, *broad)));
            }
        }
        for words in self.numbered(lexicon::EXCLUSIVE) {
            let both = words.iter().flat_map(|a| words.iter().map(move |b| (*a, *b)));
            for (a, b) in both.filter(|(a, b)| a != b) {
                // A word that excludes another excludes its synonyms.
                let meant: Vec<(u16, u16)> = pairs_of(&self.alike(a), &self.alike(b));
                self.exclusive.extend(meant);
            }
        }
    }

    /// The words of each line of a list, as numbers.
    fn numbered(&mut self, list: &str) -> Vec<Vec<u16>> {
        let lines = list.split('|');
        lines
            .map(|line| line.split_whitespace().map(|word| self.number(word)).collect())
            .collect()
    }

    fn number(&mut self, word: &str) -> u16 {
        let normal = self.normal(word);
        let next = u16::try_from(self.synonyms.len()).unwrap_or(u16::MAX);
        let number = *self.normal.entry(normal).or_default().number.get_or_insert(next);
        if number == next {
            self.synonyms.push(Vec::new());
        }
        number
    }

    /// A word and its synonyms.
    fn alike(&self, word: u16) -> Vec<u16> {
        let of = |word: usize| self.synonyms.get(word).map_or(&[] as &[u16], Vec::as_slice);
        let lines = of(usize::from(word));
        let others = (0..self.synonyms.len()).filter(|other| of(*other).iter().any(|line| lines.contains(line)));
        let others = others.filter_map(|other| u16::try_from(other).ok());
        others.chain([word]).collect()
    }

    /// The phrases that begin with a word.
    pub(super) fn phrases_from(&self, word: &str) -> &[Phrase] {
        self.phrases.get(word).map_or(&[], Vec::as_slice)
    }

    /// The stem of a lowercase word.
    pub(super) fn normal(&self, word: &str) -> Box<str> {
        let word = word.strip_suffix("'s").unwrap_or(word).trim_end_matches('\'');
        let base = self.irregular.get(word).copied().unwrap_or(word);
        if self.irregular.get(base) == Some(&base) {
            return base.into();
        }
        let stem = self.stem(base);
        match self.irregular.get(&*stem) {
            Some(base) => self.stem(base),
            None => stem,
        }
    }

    fn stem(&self, word: &str) -> Box<str> {
        if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return word.into();
        }
        self.stemmer.stem(word).as_ref().into()
    }

    /// The word lists of a written lowercase word.
    pub(super) fn written(&self, word: &str) -> WordLists {
        let mut lists = self.written.get(word).copied().unwrap_or_default();
        if word.ends_with("n't") {
            lists.put(WordList::Negators);
        }
        lists
    }

    /// The entry of a stem.
    pub(super) fn entry(&self, normal: &str) -> Entry {
        self.normal.get(normal).copied().unwrap_or_default()
    }

    /// Returns whether a word is an irregular form.
    pub(super) fn is_irregular(&self, word: &str) -> bool {
        self.irregular.get(word).is_some_and(|base| *base != word)
    }

    /// The relation of two words.
    pub(super) fn relation_of(&self, a: Entry, b: Entry) -> WordRelation {
        let (Some(a), Some(b)) = (a.number, b.number) else {
            return WordRelation::None;
        };
        let lines = |word: u16| &self.synonyms[usize::from(word)];
        if self.exclusive.contains(&(a, b)) {
            WordRelation::Exclusive
        } else if lines(a).iter().any(|line| lines(b).contains(line)) {
            WordRelation::Synonym
        } else if self.narrower.contains(&(a, b)) {
            WordRelation::Narrower
        } else if self.narrower.contains(&(b, a)) {
            WordRelation::Broader
        } else {
            WordRelation::None
        }
    }
}

fn pairs_of(a: &[u16], b: &[u16]) -> Vec<(u16, u16)> {
    let both = a.iter().flat_map(|a| b.iter().map(move |b| (*a, *b)));
    both.filter(|(a, b)| a != b).collect()
}

/// Returns whether one word is the other with a negating prefix, such as `unprotected`.
pub(super) fn opposite_prefix(a: &str, b: &str) -> bool {
    let (longer, shorter) = if a.len() > b.len() { (a, b) } else { (b, a) };
    let turned = |(prefix, rest): (&str, &str)| {
        matches!(prefix, "un" | "in" | "im" | "non" | "dis" | "de" | "ir") && rest == shorter
    };
    shorter.len() >= 4
        && longer
            .split_at_checked(longer.len() - shorter.len())
            .is_some_and(turned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negating_prefix_makes_an_opposite() {
        for (a, b, turned) in [
            ("unprotected", "protected", true),
            ("protected", "unprotected", true),
            ("nonblocking", "blocking", true),
            ("protected", "protected", false),
            ("reprotected", "protected", false),
            ("unbound", "und", false),
            ("undo", "do", false),
            ("un\u{e9}tat", "\u{e9}tat", true),
            ("\u{e9}\u{e9}tats", "\u{20ac}tat", false),
        ] {
            assert_eq!(opposite_prefix(a, b), turned, "{a} {b}");
        }
    }
}
