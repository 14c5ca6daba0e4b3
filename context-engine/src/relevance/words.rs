//! The evidence of a question's words: are they more common in this repository than in others?
//!
//! A word that many repositories contain, and this one as often, says nothing. A word that is much more common here than
//! elsewhere speaks for the question being about this repository. A word that many others contain and this one lacks
//! speaks against it.

use muninn_text::background::Background;

use crate::question::{Concept, Question};
use crate::rank::{FileCounts, FileStatistics};

/// The share of files that a term has elsewhere if no other repository contains it.
const RAREST: f32 = 2e-5;
/// Number of imagined files with the share of elsewhere. In a repository of few files, a single one with a word is less
/// evidence.
const PRIOR: f32 = 12.0;
/// Limits of the evidence of a single word.
const MOST: f32 = 6.0;
const LEAST: f32 = -1.0;
/// The weight of a number, which occurs anywhere.
const NUMBER: f32 = 0.1;
/// Maximum number of unknown identifiers that count.
const UNKNOWN: usize = 2;
/// The share of repositories that contain a common word.
const COMMON: f32 = 0.1;

/// The evidence of a question's words, in the order of its concepts.
pub(super) struct Words(Vec<WordEvidence>);

/// The evidence of a word.
#[derive(Debug, Clone, Copy, Default)]
struct WordEvidence {
    /// How rare it is elsewhere: 0 for a word in all files, 1 for one that no other repository contains.
    weight: f32,
    /// How much more common it is here, as a natural logarithm. A positive number speaks for this repository.
    here: f32,
    /// Whether this repository has the whole word.
    is_here: bool,
    /// How much it speaks against this repository that it lacks the word.
    lacking: f32,
    /// Whether it counts: no number, and no plain word of a language that is not English.
    counts: bool,
}

impl Words {
    pub(super) fn of(question: &Question, background: &Background, statistics: &impl FileStatistics) -> Words {
        let is_foreign = is_foreign(question, background);
        let comparison = Comparison { background, statistics, files: statistics.files() };
        let evidence = |concept: &Concept| {
            if concept.is_number() {
                return WordEvidence { weight: NUMBER, ..WordEvidence::default() };
            }
            // Prose in such a language, a translated manual, contains all plain words of the question.
            if is_foreign && !concept.identifier && background.of(&concept.whole).code == 0.0 {
                return WordEvidence::default();
            }
            comparison.of(concept)
        };
        Words(question.concepts.iter().map(evidence).collect())
    }

    /// The highest evidence of one word for this repository.
    pub(super) fn strongest(&self) -> f32 {
        self.counted().map(|word| word.here).reduce(f32::max).unwrap_or(0.0)
    }

    /// The mean evidence of words that other repositories have and this one lacks.
    pub(super) fn lacking(&self) -> f32 {
        let lacking: f32 = self.counted().map(|word| word.lacking).sum();
        lacking / self.counted().count().max(1) as f32
    }

    /// The number of identifiers of several parts that this repository lacks, at most [`UNKNOWN`].
    pub(super) fn unknown_identifiers(&self, question: &Question) -> usize {
        let words = question.concepts.iter().zip(&self.0);
        let unknown = words.filter(|(concept, word)| concept.identifier && !concept.parts.is_empty() && !word.is_here);
        unknown.count().min(UNKNOWN)
    }

    /// The total weight of a set of concepts, as bits.
    pub(super) fn weigh(&self, concepts: u64) -> f32 {
        let words = self.0.iter().enumerate().filter(|(bit, _)| concepts >> bit & 1 == 1);
        words.map(|(_, word)| word.weight).sum()
    }

    /// The weight of a concept; see [`WordEvidence::weight`].
    pub(super) fn weight(&self, concept: usize) -> f32 {
        self.0.get(concept).map_or(0.0, |word| word.weight)
    }

    pub(super) fn total(&self) -> f32 {
        self.weigh(u64::MAX)
    }

    /// The concepts that speak for this repository, and those that speak against it, by descending evidence.
    pub(super) fn sides(&self) -> [Vec<usize>; 2] {
        let side = |evidence: fn(&WordEvidence) -> f32| {
            let mut side: Vec<(f32, usize)> = self.0.iter().map(evidence).zip(0..).collect();
            side.retain(|(evidence, _)| *evidence >= TELLING);
            side.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            side.into_iter().map(|(_, at)| at).collect()
        };
        [side(|word| word.here), side(|word| word.lacking)]
    }

    fn counted(&self) -> impl Iterator<Item = &WordEvidence> {
        self.0.iter().filter(|word| word.counts)
    }
}

/// The least evidence of a word that is named as a reason.
const TELLING: f32 = 0.7;

/// Whether few of the plain words are words that repositories usually contain, as in another language than English.
fn is_foreign(question: &Question, background: &Background) -> bool {
    let plain = || question.concepts.iter().filter(|concept| !concept.is_number() && !concept.identifier);
    let known = plain().filter(|concept| background.of(&concept.whole).repositories >= COMMON).count();
    let all = plain().count();
    question.is_sparse && all > 1 && known * 2 < all
}

/// This repository beside the others.
struct Comparison<'a, S> {
    background: &'a Background,
    statistics: &'a S,
    files: FileCounts,
}

impl<S: FileStatistics> Comparison<'_, S> {
    /// The evidence of a whole word. If the repository lacks it, half the mean evidence of its parts.
    fn of(&self, concept: &Concept) -> WordEvidence {
        let whole = self.of_term(&concept.whole);
        if concept.parts.is_empty() || whole.is_here {
            return whole;
        }
        let parts = || concept.parts.iter().map(|part| self.of_term(part));
        let mean = |of: fn(WordEvidence) -> f32| parts().map(of).sum::<f32>() / concept.parts.len() as f32;
        WordEvidence {
            here: mean(|part| part.here) / 2.0,
            lacking: mean(|part| part.lacking).max(whole.lacking),
            ..whole
        }
    }

    fn of_term(&self, term: &str) -> WordEvidence {
        let (here, elsewhere) = (self.statistics.files_with(term), self.background.of(term));
        let weight = elsewhere.code.max(elsewhere.prose).max(RAREST).ln() / RAREST.ln();
        if here.code + here.prose == 0 {
            let lacking = -(1.0 - elsewhere.repositories.min(0.98)).ln();
            return WordEvidence { weight, lacking, counts: true, ..WordEvidence::default() };
        }
        let files = self.files;
        let (code, prose) =
            (ratio(here.code, files.code, elsewhere.code), ratio(here.prose, files.prose, elsewhere.prose));
        WordEvidence { weight, here: code.max(prose), is_here: true, counts: true, ..WordEvidence::default() }
    }
}

/// The natural logarithm of how much more common a term is here than elsewhere.
fn ratio(with: u32, files: u32, elsewhere: f32) -> f32 {
    let expected = elsewhere.max(RAREST);
    let share = (with as f32 + PRIOR * expected) / (files as f32 + PRIOR);
    (share / expected).ln().clamp(LEAST, MOST)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use muninn_text::lexical::Tokenizer;

    use super::*;
    use crate::question::analyse;
    use crate::rank::Statistics;

    /// A repository of a hundred files of code with a term in so many of them.
    struct Counted(HashMap<String, u32>);

    impl Statistics for Counted {
        fn frequency(&self, term: &str) -> u32 {
            self.0.get(term).copied().unwrap_or(0)
        }

        fn documents(&self) -> usize {
            100
        }
    }

    impl FileStatistics for Counted {
        fn files_with(&self, term: &str) -> FileCounts {
            FileCounts { code: self.frequency(term), prose: 0 }
        }

        fn files(&self) -> FileCounts {
            FileCounts { code: 100, prose: 0 }
        }
    }

    fn of(text: &str) -> Words {
        let mut terms = HashMap::new();
        for (word, files) in [("ledger", 40), ("zyxwv", 3), ("file", 30), ("wird", 20)] {
            Tokenizer::new().each_term(word, |term| {
                terms.insert(term.to_owned(), files);
            });
        }
        let question = analyse(&mut Tokenizer::new(), text);
        Words::of(&question, Background::shared().unwrap(), &Counted(terms))
    }

    #[test]
    fn words_that_others_lack_speak_for_a_repository() {
        assert!(of("ledger").strongest() > 3.0, "common here, rare elsewhere");
        assert!(of("zyxwv").strongest() > 3.0, "nobody else has it");
        assert!(of("file").strongest() < 1.0, "as common as elsewhere");
        assert!(of("request").lacking() > 0.5, "most others have it");
        assert_eq!(of("qqzzvvxx").lacking(), 0.0, "nobody has it");
        assert_eq!(of("ledger file request").sides(), [vec![0], vec![2]]);
        assert!(of("zyxwv").weight(0) > 2.0 * of("file").weight(0));
    }

    #[test]
    fn numbers_are_no_evidence() {
        let words = of("42 1000");
        assert_eq!((words.strongest(), words.lacking()), (0.0, 0.0));
        assert!(words.total() <= 2.0 * NUMBER);
    }

    #[test]
    fn plain_words_of_another_language_are_no_evidence() {
        assert_eq!(of("wann wird zurückgesetzt oder gelöscht").strongest(), 0.0);
        let named = of("wann wird zyxwv_zyxwv zurückgesetzt oder gelöscht");
        assert!(named.strongest() > 1.0, "an identifier counts in any language");
    }
}
