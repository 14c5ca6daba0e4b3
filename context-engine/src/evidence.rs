//! The evidence of a question's words: are they more common in this repository than in others?
//!
//! A word that many repositories contain, and this one as often, says nothing. A word that is much more common here than
//! elsewhere speaks for the question being about this repository. A word that many others contain and this one lacks
//! speaks against it.

use muninn_text::background::Background;

use crate::question::{Concept, Question};
use crate::rank::FileStatistics;

/// The share of files that a term has elsewhere if no other repository contains it.
const RAREST: f32 = 2e-5;
/// Number of imagined files with the share of elsewhere. In a repository of few files, a single one with a word is less
/// evidence.
const PRIOR: f32 = 12.0;
/// Limits of the evidence of a single word.
const MOST: f32 = 6.0;
const LEAST: f32 = -1.0;

/// The evidence of all words of a question, as features: the sum of the evidence of known words over the root of the
/// number of words; the highest and the second highest of one word; the mean, in code and in prose; what others have and
/// this repository lacks, per word; the share of words that nobody has. All are 0 without a background.
pub(crate) fn evidence(question: &Question, statistics: &impl FileStatistics) -> [f32; 7] {
    let Ok(background) = Background::shared() else {
        return [0.0; 7];
    };
    let concepts = question.concepts.iter().filter(|concept| !concept.is_number());
    let words: Vec<WordEvidence> = concepts.map(|concept| WordEvidence::of(concept, background, statistics)).collect();
    let mut best: Vec<f32> = words.iter().map(WordEvidence::best).collect();
    best.sort_by(|a, b| b.total_cmp(a));
    let sum: f32 = best.iter().sum();
    let count = words.len().max(1) as f32;
    let mean = |of: fn(&WordEvidence) -> f32| words.iter().map(of).sum::<f32>() / count;
    [
        sum / count.sqrt(),
        best.first().copied().unwrap_or(0.0),
        best.get(1).copied().unwrap_or(0.0),
        mean(|word| word.code),
        mean(|word| word.prose),
        mean(|word| word.lacking),
        mean(|word| f32::from(u8::from(word.is_nowhere))),
    ]
}

/// The evidence of a word. Positive numbers of `code` and `prose` speak for this repository.
#[derive(Debug, Clone, Copy, Default)]
struct WordEvidence {
    code: f32,
    prose: f32,
    /// How much it speaks against this repository that it lacks the word.
    lacking: f32,
    /// Whether neither this repository nor any other has the word.
    is_nowhere: bool,
}

impl WordEvidence {
    /// The evidence of a whole word. If the repository lacks it, the mean evidence of its parts.
    fn of(concept: &Concept, background: &Background, statistics: &impl FileStatistics) -> WordEvidence {
        let whole = Self::of_term(&concept.whole, background, statistics);
        if concept.parts.is_empty() || whole.is_here() {
            return whole;
        }
        let parts: Vec<WordEvidence> =
            concept.parts.iter().map(|part| Self::of_term(part, background, statistics)).collect();
        let count = parts.len() as f32;
        let mean = |of: fn(&WordEvidence) -> f32| parts.iter().map(of).sum::<f32>() / count;
        WordEvidence {
            code: mean(|part| part.code) / 2.0,
            prose: mean(|part| part.prose) / 2.0,
            lacking: mean(|part| part.lacking).max(whole.lacking),
            is_nowhere: whole.is_nowhere,
        }
    }

    fn of_term(term: &str, background: &Background, statistics: &impl FileStatistics) -> WordEvidence {
        let (here, elsewhere) = (statistics.files_with(term), background.of(term));
        if here.code + here.prose == 0 {
            return WordEvidence {
                lacking: -(1.0 - elsewhere.repositories.min(0.98)).ln(),
                is_nowhere: elsewhere.repositories == 0.0,
                ..WordEvidence::default()
            };
        }
        let files = statistics.files();
        WordEvidence {
            code: ratio(here.code, files.code, elsewhere.code),
            prose: ratio(here.prose, files.prose, elsewhere.prose),
            ..WordEvidence::default()
        }
    }

    fn is_here(&self) -> bool {
        self.code != 0.0 || self.prose != 0.0
    }

    fn best(&self) -> f32 {
        self.code.max(self.prose)
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
    use crate::rank::{FileCounts, Statistics};

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

    fn of(text: &str) -> [f32; 7] {
        let mut terms = HashMap::new();
        for (word, files) in [("ledger", 40), ("zyxwv", 3), ("file", 30)] {
            Tokenizer::new().each_term(word, |term| {
                terms.insert(term.to_owned(), files);
            });
        }
        evidence(&analyse(&mut Tokenizer::new(), text), &Counted(terms))
    }

    #[test]
    fn words_that_others_lack_speak_for_a_repository() {
        let [own, common, lacked, unknown] = ["ledger", "file", "request", "qqzzvvxx"].map(of);
        assert!(own[1] > 3.0, "common here, rare elsewhere: {own:?}");
        assert!(of("zyxwv")[1] > 3.0, "nobody else has it");
        assert!(common[1] < 1.0, "as common as elsewhere: {common:?}");
        assert!(lacked[5] > 0.5 && lacked[6] == 0.0, "most others have it: {lacked:?}");
        assert!(unknown[5] == 0.0 && unknown[6] == 1.0, "nobody has it: {unknown:?}");
    }

    #[test]
    fn question_without_words_has_no_evidence() {
        assert_eq!(of("42 1000"), [0.0; 7]);
    }
}
