//! The lists of [`super::lexicon`], looked up by normal form.

use std::collections::{HashMap, HashSet};

use rust_stemmers::{Algorithm, Stemmer};

use super::lexicon;

type Words = HashSet<Box<str>>;

/// How two words stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kinship {
    /// They mean the same.
    Synonym,
    /// What the first names is a kind of what the second names.
    Narrower,
    /// The other way round.
    Broader,
    /// Where one holds the other does not.
    Exclusive,
    /// Nothing is known.
    None,
}

/// All lists, made once.
pub(super) struct Tables {
    stemmer: Stemmer,
    irregular: HashMap<&'static str, &'static str>,
    negators: HashSet<&'static str>,
    function: HashSet<&'static str>,
    prepositions: HashSet<&'static str>,
    weak: HashSet<&'static str>,
    auxiliaries: HashSet<&'static str>,
    conditions: Words,
    shifting: Words,
    verbs: Words,
    attributes: Words,
    functional: Words,
    owning: Words,
    /// The lines of synonyms that a normal form is in.
    synonyms: HashMap<Box<str>, Vec<u16>>,
    narrower: HashSet<(Box<str>, Box<str>)>,
    exclusive: HashSet<(Box<str>, Box<str>)>,
}

impl Tables {
    pub(super) fn new() -> Self {
        let plain = |list: &'static str| list.split_whitespace().collect();
        let pairs: Vec<&str> = lexicon::IRREGULAR.split_whitespace().collect();
        let mut made = Self {
            stemmer: Stemmer::create(Algorithm::English),
            irregular: pairs.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect(),
            negators: plain(lexicon::NEGATORS),
            function: plain(lexicon::FUNCTION),
            prepositions: plain(lexicon::PREPOSITIONS),
            weak: plain(lexicon::WEAK),
            auxiliaries: plain(lexicon::AUXILIARIES),
            conditions: Words::new(),
            shifting: Words::new(),
            verbs: Words::new(),
            attributes: Words::new(),
            functional: Words::new(),
            owning: Words::new(),
            synonyms: HashMap::new(),
            narrower: HashSet::new(),
            exclusive: HashSet::new(),
        };
        made.conditions = made.normal_forms(lexicon::CONDITIONS);
        made.shifting = made.normal_forms(lexicon::SHIFTING);
        made.verbs = made.normal_forms(lexicon::VERBS);
        made.attributes = made.normal_forms(lexicon::ATTRIBUTES);
        made.functional = made.normal_forms(lexicon::FUNCTIONAL);
        made.owning = made.normal_forms(lexicon::OWNING);
        made.relations();
        made
    }

    fn normal_forms(&self, list: &str) -> Words {
        list.split_whitespace().map(|word| self.normal(word)).collect()
    }

    fn relations(&mut self) {
        for (number, line) in (0u16..).zip(lexicon::SYNONYMS.split('|')) {
            for word in line.split_whitespace() {
                let word = self.normal(word);
                self.synonyms.entry(word).or_default().push(number);
            }
        }
        for line in lexicon::NARROWER.split('|') {
            let words: Vec<Box<str>> = line.split_whitespace().map(|word| self.normal(word)).collect();
            if let Some((narrow, broad)) = words.split_first() {
                self.narrower
                    .extend(broad.iter().map(|broad| (narrow.clone(), broad.clone())));
            }
        }
        for line in lexicon::EXCLUSIVE.split('|') {
            let words: Vec<Box<str>> = line.split_whitespace().map(|word| self.normal(word)).collect();
            let both = words
                .iter()
                .flat_map(|a| words.iter().map(move |b| (a, b)))
                .filter(|(a, b)| a != b);
            // What excludes a word excludes what means the same.
            let meant: Vec<_> = both.flat_map(|(a, b)| pairs_of(self.alike(a), self.alike(b))).collect();
            self.exclusive.extend(meant);
        }
    }

    /// A normal form, and those that mean the same.
    fn alike(&self, word: &str) -> Vec<Box<str>> {
        let lines = self.synonyms.get(word).map_or(&[] as &[u16], Vec::as_slice);
        let alike = self
            .synonyms
            .iter()
            .filter(|(_, of)| of.iter().any(|line| lines.contains(line)));
        alike.map(|(word, _)| word.clone()).chain([word.into()]).collect()
    }

    /// The form under which the inflections of a lowercase word meet.
    pub(super) fn normal(&self, word: &str) -> Box<str> {
        let word = word.strip_suffix("'s").unwrap_or(word).trim_end_matches('\'');
        let base = self.irregular.get(word).copied();
        if let Some(base) = base.filter(|base| *base == word) {
            return base.into();
        }
        let base = base.unwrap_or(word);
        if base.len() < 4 || !base.bytes().all(|b| b.is_ascii_lowercase()) {
            return base.into();
        }
        let stem = self.stemmer.stem(base);
        self.irregular
            .get(stem.as_ref())
            .map_or_else(|| stem.as_ref().into(), |base| self.stemmer.stem(base).as_ref().into())
    }

    /// How two normal forms stand to each other.
    pub(super) fn kinship(&self, a: &str, b: &str) -> Kinship {
        let key = |a: &str, b: &str| (Box::from(a), Box::from(b));
        if self.exclusive.contains(&key(a, b)) || opposite_prefix(a, b) {
            return Kinship::Exclusive;
        }
        let lines = (self.synonyms.get(a), self.synonyms.get(b));
        if let (Some(a), Some(b)) = lines
            && a.iter().any(|line| b.contains(line))
        {
            return Kinship::Synonym;
        }
        if self.narrower.contains(&key(a, b)) {
            Kinship::Narrower
        } else if self.narrower.contains(&key(b, a)) {
            Kinship::Broader
        } else {
            Kinship::None
        }
    }

    pub(super) fn is_negator(&self, word: &str) -> bool {
        self.negators.contains(word) || word.ends_with("n't")
    }

    /// Whether a word is a form of another that no rule makes.
    pub(super) fn is_irregular(&self, word: &str) -> bool {
        self.irregular.get(word).is_some_and(|base| *base != word)
    }

    pub(super) fn is_function(&self, word: &str) -> bool {
        self.function.contains(word)
    }

    pub(super) fn is_preposition(&self, word: &str) -> bool {
        self.prepositions.contains(word)
    }

    pub(super) fn is_weak(&self, word: &str) -> bool {
        self.weak.contains(word)
    }

    pub(super) fn is_auxiliary(&self, word: &str) -> bool {
        self.auxiliaries.contains(word)
    }

    pub(super) fn is_condition(&self, normal: &str) -> bool {
        self.conditions.contains(normal)
    }

    pub(super) fn is_shifting(&self, normal: &str) -> bool {
        self.shifting.contains(normal)
    }

    pub(super) fn is_verb(&self, normal: &str) -> bool {
        self.verbs.contains(normal)
    }

    pub(super) fn is_attribute(&self, normal: &str) -> bool {
        self.attributes.contains(normal)
    }

    pub(super) fn is_functional(&self, normal: &str) -> bool {
        self.functional.contains(normal)
    }

    pub(super) fn is_owning(&self, normal: &str) -> bool {
        self.owning.contains(normal)
    }
}

fn pairs_of(a: Vec<Box<str>>, b: Vec<Box<str>>) -> Vec<(Box<str>, Box<str>)> {
    let both = a.iter().flat_map(|a| b.iter().map(move |b| (a.clone(), b.clone())));
    both.filter(|(a, b)| a != b).collect()
}

/// Whether one word is the other with a prefix that turns it round, such as `unprotected`.
fn opposite_prefix(a: &str, b: &str) -> bool {
    let (longer, shorter) = if a.len() > b.len() { (a, b) } else { (b, a) };
    let turned = |prefix: &str| longer.strip_prefix(prefix) == Some(shorter);
    shorter.len() >= 4 && ["un", "in", "im", "non", "dis", "de", "ir"].into_iter().any(turned)
}
