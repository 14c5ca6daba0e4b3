//! The decision: whether the candidates are shown.

use muninn_index::Snapshot;
use muninn_repo_tools::Worktree;
use muninn_text::background::Background;
use muninn_text::embed::StaticVectors;
use muninn_text::redact::redact;

use super::model::{Features, Model, NAMES};
use super::places::{BestPlace, trust};
use super::texts::Likeness;
use super::words::Words;
use crate::item::Relevance;
use crate::question::Question;
use crate::rank::{Candidate, FileStatistics, place_of};

/// The default threshold.
pub const DEFAULT: f32 = 0.5;

/// Maximum number of words that are named for, and against.
const NAMED: usize = 4;

/// The evidence for and against a question about this repository.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    pub(crate) relevance: Relevance,
    /// The highest cosine of the question and the start of a candidate, from 0 to 1.
    pub(crate) code_cosine: f32,
    features: Features,
    /// Whether the question names a path or an identifier of this repository.
    is_exact: bool,
    /// Whether the question is one plain word that names nothing here. Such a word matches anywhere.
    is_lone: bool,
    /// Whether the compiled-in tables are damaged. Then nothing is known.
    is_blind: bool,
}

/// Why the candidates are rejected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Rejection {
    /// The probability is below the threshold.
    Unlikely { probability: f32, threshold: f32 },
    /// The question is one plain word.
    Common,
    /// The turn continues the conversation, and names nothing here.
    Continues,
    /// The same of the first turn, which refers to something that is not there.
    Nameless,
    /// The compiled-in tables are damaged.
    Blind,
}

impl Evidence {
    /// Measures how well the best files fit a question.
    pub(crate) fn of(
        (worktree, snapshot): (&Worktree, &Snapshot),
        text: &str,
        question: &Question,
        candidates: &[Candidate],
        statistics: &impl FileStatistics,
    ) -> Evidence {
        let (Ok(background), Some(vectors)) = (Background::shared(), StaticVectors::shared()) else {
            return Evidence { is_blind: true, ..Evidence::default() };
        };
        let words = Words::of(question, background, statistics);
        let vector = vectors.embed_one(text);
        let place = BestPlace::of(snapshot, question, &words, candidates);
        let likeness = Likeness::of((worktree, snapshot), (question, &vector), &words, candidates, |doc| {
            trust(place_of(snapshot, doc), question)
        });
        let (model, count) = (Model::shared(), question.concepts.len().max(1) as f32);
        let (strongest, length, form) = (words.strongest(), count.ln_1p(), model.form(&vector));
        let features = [
            strongest,
            words.lacking(),
            count,
            // Half of a question of two words is one word, which matches anywhere.
            1.0 / count,
            (statistics.documents() as f32).ln_1p(),
            place.share,
            place.in_path,
            place.exact,
            words.unknown_identifiers(question) as f32,
            likeness.titles,
            likeness.texts,
            likeness.pairs,
            form,
            length,
            strongest * length,
            place.share * length,
            likeness.texts * length,
            form * length,
        ];
        let named = |side: Vec<usize>| {
            let words = side.into_iter().take(NAMED).map(|at| redact(&question.concepts[at].word).into_owned());
            words.collect::<Vec<_>>()
        };
        let [words_for, words_against] = words.sides().map(named);
        Evidence {
            relevance: Relevance { probability: model.probability(&features), words_for, words_against },
            code_cosine: likeness.texts,
            features,
            is_exact: place.exact > 0.0,
            is_lone: place.is_lone,
            is_blind: false,
        }
    }

    /// The features with their names, for fitting.
    pub(crate) fn named_features(&self) -> Vec<(&'static str, f32)> {
        NAMES.into_iter().zip(self.features).collect()
    }

    /// Accepts or rejects the candidates for a threshold from 0 (always accept) to 1 (never accept). A turn that continues the
    /// conversation must name something, because its topic is in the conversation.
    pub(crate) fn verdict(&self, threshold: f32, continues: bool) -> Result<(), Rejection> {
        let probability = self.relevance.probability;
        if threshold <= 0.0 {
            Ok(())
        } else if self.is_blind {
            Err(Rejection::Blind)
        } else if probability < threshold {
            Err(Rejection::Unlikely { probability, threshold })
        } else if self.is_lone {
            Err(Rejection::Common)
        } else if continues && !self.is_exact {
            Err(Rejection::Continues)
        } else {
            Ok(())
        }
    }
}

impl Rejection {
    /// Formats the reason for a person: the nearest files with what they match, the words that the repository lacks, and
    /// advice.
    pub(crate) fn reason(self, nearest: &[String], missing: &str) -> String {
        let (why, advice) = match self {
            Rejection::Unlikely { probability, threshold } => (
                format!("likelihood {probability:.2}, and `context.threshold` asks for {threshold:.2}"),
                ", or lower `threshold`",
            ),
            Rejection::Common => ("only a word that is common in this repository was found".to_owned(), ""),
            Rejection::Continues => ("the turn continues the conversation and names nothing here".to_owned(), ""),
            Rejection::Nameless => ("the message names nothing here".to_owned(), ""),
            Rejection::Blind => {
                return "the tables that tell this repository from others are damaged; install muninn again".to_owned();
            }
        };
        let nearest = match nearest {
            [] => String::new(),
            files => format!("; nearest: {}", files.join(", ")),
        };
        let missing = match missing {
            "" => String::new(),
            words => format!("; not in this repository: {words}"),
        };
        format!(
            "below the threshold: {why}{nearest}{missing}. Try naming a file or a symbol, have a model explore (end the model's \
             name in `:deep`){advice}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_higher_threshold_never_accepts_more() {
        for (probability, is_blind) in [(0.0, false), (0.45, false), (0.99, false), (0.9, true)] {
            let relevance = Relevance { probability, ..Relevance::default() };
            let evidence = Evidence { relevance, is_blind, ..Evidence::default() };
            let steps = (0..=10u8).map(|tenth| evidence.verdict(f32::from(tenth) / 10.0, false).is_ok());
            let shown = steps.collect::<Vec<_>>();
            assert!(shown[0], "0 is always");
            assert!(shown.is_sorted_by(|a, b| a >= b), "{shown:?}");
        }
        let blind = Evidence { is_blind: true, ..Evidence::default() };
        assert!(blind.verdict(0.5, false).unwrap_err().reason(&[], "").contains("damaged"));
    }

    #[test]
    fn reason_names_the_threshold_the_distance_and_what_to_try() {
        let relevance = Relevance { probability: 0.37, ..Relevance::default() };
        let reason = Evidence { relevance, ..Evidence::default() }
            .verdict(0.5, false)
            .unwrap_err()
            .reason(&["src/a.rs (matched: x)".to_owned(), "src/b.rs (path: b)".to_owned()], "poem, sea");
        for words in [
            "0.37",
            "0.50",
            "`context.threshold`",
            "nearest: src/a.rs (matched: x), src/b.rs (path: b)",
            "not in this repository: poem, sea",
            "symbol",
            "`:deep`",
        ] {
            assert!(reason.contains(words), "{words}: {reason}");
        }
    }
}
