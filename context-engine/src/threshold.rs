//! Whether what was found is about what was asked.
//!
//! BM25 always finds something, and its scores mean nothing from one question to the next. What does mean something:
//!
//! - the share of the question that one place accounts for. Each thing that the question names weighs its idf, and one
//!   that the repository never mentions weighs as much as one that it mentions once. A wish for a poem meets `write`
//!   everywhere and the rest nowhere; its share is small however well `write` scores;
//! - how rare the question's words are here: who asks about a repository speaks its language;
//! - how alike question and places are to an embedder, for which a `bond` between atoms is not one between prices;
//! - whether it writes identifiers that exist.
//!
//! A logistic model adds them up, and the threshold is the probability that it must reach. Besides there must be
//! evidence: a rare word, a name, or several words together, since a lone common word is found anywhere.

use muninn_memory::index::lexical::idf;
use muninn_memory::index::{Place, Snapshot};
use muninn_repo_tools::Worktree;

use crate::likeness::{Likeness, likeness};
use crate::question::Question;
use crate::rank::{Candidate, Query, Statistics, place_of};

/// The probability that is required.
pub(crate) const DEFAULT: f32 = 0.5;
/// The share that is expected of a question of four to eight things.
const SHARE: f32 = 0.5;
/// Of a question of one, two or three things so much of [`SHARE`] more is expected: half of two words is one word, and
/// one word is found anywhere.
const FEW: [f32; 3] = [1.8, 1.5, 1.2];
/// Longer questions tell a story around what they ask; beyond so many concepts less of it need be found.
const MANY: f32 = 8.0;
/// What finding a concept counts: in the best chunk, in another good chunk of the file, elsewhere in it.
const NEAR: f32 = 0.75;
const FAR: f32 = 0.45;
/// What a test, or a file that a program wrote, counts for: they hold words about anything.
const WEAK: f32 = 0.45;
/// What documentation and settings count for: a large manual has a word about most things.
const PROSE: f32 = 0.8;
/// So many of the best files are considered, and so many chunks of each.
const FILES: usize = 8;
const CHUNKS: usize = 3;
/// The sum of idf that the best chunk must hold, in units of the idf of a term that one document holds.
const EVIDENCE: f32 = 0.6;

/// The weights of the [`Features`], and what their sum must exceed at the default threshold: a ridge regression over
/// `benches/abstain/tune.jsonl`, printed by `benches/abstain/fit.py`, which also says what they reach in repositories
/// and for prompts that they were not fitted to. The sum required lies where it makes little difference: at thresholds
/// from 0.45 to 0.6 off-topic prompts go from 3.1% to 2.4%, and questions from 94% to 91%.
const WEIGHTS: [f32; 6] = [3.8, -2.7, 7.4, 7.3, 2.0, -1.2];
const REQUIRED: f32 = 2.55;
/// What every e-fold of chunks beyond so many adds to what is required, or takes off it below: a large repository has a
/// place for any few words. In a million lines of unrelated packages it halves the off-topic prompts that meet
/// something, to 9%.
const CROWD: f32 = 0.4;
const CROWDED: f32 = 6_000.0;
/// Nor does a small one ask for ever less: e-folds below that count.
const SMALL: f32 = -2.5;
/// A better share than expected tells no more beyond this.
const MARGIN: f32 = 0.4;
/// Nor do more identifiers.
const IDENTIFIERS: usize = 2;

/// What the model goes by, in the order of [`WEIGHTS`]: the share found, less what is expected, within [`MARGIN`]; the
/// mean idf of the question's words in units of a singular term's; how like the question the best titles and the best
/// texts are, as cosines; how many identifiers of the question exist, and how many do not.
pub(crate) type Features = [f32; WEIGHTS.len()];

/// How well the question is accounted for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fit {
    pub(crate) features: Features,
    /// The share of the question's weight that the best place accounts for, from 0 to 1.
    pub(crate) share: f32,
    /// What is expected of it.
    pub(crate) expected: f32,
    /// How probable it is that what was found is about what was asked, from 0 to 1.
    pub(crate) probability: f32,
    /// Weight of what was found in one chunk, in units of a singular term's.
    pub(crate) evidence: f32,
    /// The question has one plain word to go by, and nothing here is called by it.
    pub(crate) lone: bool,
    /// The question spells out a path that exists, or writes out a name of several parts that is defined here.
    pub(crate) certain: bool,
}

/// Why nothing is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Doubt {
    /// What was found is not likely enough to be meant.
    Unlikely { probability: f32, threshold: f32 },
    /// It is no evidence.
    Common,
}

impl Fit {
    /// Measures a question against the best files.
    pub(crate) fn of(
        (worktree, snapshot): (&Worktree, &Snapshot),
        text: &str,
        question: &Question,
        query: &Query,
        candidates: &[Candidate],
        statistics: &impl Statistics,
    ) -> Self {
        let singular = idf(1, statistics.documents()).max(0.1);
        let mut fit = Self::by_words(snapshot, question, query, candidates, singular);
        let Likeness { titles, texts } = likeness((worktree, snapshot), text, candidates, |doc| {
            if place_of(snapshot, doc) == Place::Source {
                1.0
            } else {
                PROSE
            }
        });
        let size = documents(statistics);
        let [known, unknown] = identifiers(question, query);
        fit.features = [
            (fit.share - fit.expected).clamp(-MARGIN, MARGIN),
            // In a small repository every word is rare.
            rarity(question, query) / singular * (size.ln() / CROWDED.ln()).min(1.0),
            titles,
            texts,
            known,
            unknown,
        ];
        let sum: f32 = fit
            .features
            .iter()
            .zip(WEIGHTS)
            .map(|(feature, weight)| feature * weight)
            .sum();
        let required = REQUIRED + CROWD * (size / CROWDED).ln().max(SMALL);
        fit.probability = 1.0 / (1.0 + (required - sum).exp());
        fit
    }

    fn by_words(
        snapshot: &Snapshot,
        question: &Question,
        query: &Query,
        candidates: &[Candidate],
        singular: f32,
    ) -> Self {
        let total: f32 = query.weights.iter().sum();
        let telling = question.concepts.iter().filter(|concept| !concept.is_number()).count();
        let identifier = question.concepts.iter().any(|concept| concept.identifier);
        let mut fit = Self {
            expected: expected(telling),
            lone: telling <= 1 && !identifier,
            ..Self::default()
        };
        for candidate in candidates.iter().take(FILES) {
            let chunks = candidate.chunks.iter().take(CHUNKS);
            let near = chunks
                .clone()
                .fold(candidate.path_concepts, |all, chunk| all | chunk.concepts);
            for chunk in chunks {
                // Who writes out the name of a test means the test.
                let trust = if question.writes_out(chunk.defines) {
                    1.0
                } else {
                    trust(place_of(snapshot, chunk.doc), question)
                };
                let here = chunk.concepts | candidate.path_concepts;
                let found = query.weigh(here)
                    + NEAR * query.weigh(near & !here)
                    + FAR * query.weigh(candidate.concepts & !near);
                fit.share = fit.share.max(trust * found / total.max(f32::MIN_POSITIVE));
                fit.evidence = fit.evidence.max(trust * query.weigh(here) / singular);
                fit.lone &= chunk.defines | candidate.path_concepts == 0;
            }
            let defined = candidate.chunks.iter().fold(0, |all, chunk| all | chunk.defines);
            fit.certain |= candidate.named || question.writes_out(defined);
        }
        fit
    }

    /// Whether to show what was found, the threshold being from 0 (always) to 1 (never); if not, why.
    pub(crate) fn verdict(&self, threshold: f32) -> Result<(), Doubt> {
        if threshold <= 0.0 || (self.certain && self.share >= self.expected * threshold) {
            return Ok(());
        }
        if self.probability < threshold {
            let probability = self.probability;
            return Err(Doubt::Unlikely { probability, threshold });
        }
        if self.evidence < EVIDENCE || self.lone {
            return Err(Doubt::Common);
        }
        Ok(())
    }
}

impl Doubt {
    /// The reason for a person, with the files that were nearest and what to try.
    pub(crate) fn reason(self, nearest: &[String]) -> String {
        let (why, lower) = match self {
            Doubt::Unlikely { probability, threshold } => (
                format!("likelihood {probability:.2}, and `threshold` in [context] asks for {threshold:.2}"),
                ", or lower `threshold`",
            ),
            Doubt::Common => (
                "only words that are common in this repository were found".to_owned(),
                "",
            ),
        };
        let nearest = match nearest {
            [] => String::new(),
            files => format!("; nearest: {}", files.join(", ")),
        };
        format!(
            "below the threshold: {why}{nearest}. Try naming a file or a symbol, have a model explore (end the model's \
             name in `:deep`){lower}"
        )
    }
}

fn trust(place: Place, question: &Question) -> f32 {
    match place {
        Place::Source => 1.0,
        Place::Test if question.about_tests => 1.0,
        Place::Docs if question.about_docs => 1.0,
        Place::Docs | Place::Settings => PROSE,
        Place::Test | Place::Generated | Place::Template => WEAK,
    }
}

/// The mean idf of what the question names, numbers aside.
#[expect(clippy::cast_precision_loss, reason = "at most 64 concepts")]
fn rarity(question: &Question, query: &Query) -> f32 {
    let of = |numbers: bool| {
        let concepts = question.concepts.iter().zip(&query.weights);
        let idfs: Vec<f32> = concepts
            .filter(|(concept, _)| numbers || !concept.is_number())
            .map(|(concept, weight)| weight / concept.weight)
            .collect();
        (!idfs.is_empty()).then(|| idfs.iter().sum::<f32>() / idfs.len() as f32)
    };
    of(false).or_else(|| of(true)).unwrap_or(0.0)
}

/// How many identifiers of the question are in the repository as they are written, and how many of several parts are not:
/// the parts of one are in any.
#[expect(clippy::cast_precision_loss, reason = "at most two")]
fn identifiers(question: &Question, query: &Query) -> [f32; 2] {
    let known = |bit: usize, whole: &str| {
        let mut probes = query.probes.iter();
        probes.any(|probe| probe.concept == bit && probe.term == whole)
    };
    let mut counts = [0; 2];
    for (bit, concept) in question.concepts.iter().enumerate() {
        if concept.identifier {
            let known = known(bit, &concept.whole);
            counts[0] += usize::from(known);
            counts[1] += usize::from(!known && !concept.parts.is_empty());
        }
    }
    counts.map(|count| count.min(IDENTIFIERS) as f32)
}

#[expect(clippy::cast_precision_loss, reason = "chunks are far below 2^24")]
fn documents(statistics: &impl Statistics) -> f32 {
    statistics.documents().max(2) as f32
}

/// The share that is expected to be found of a question of so many things.
#[expect(clippy::cast_precision_loss, reason = "at most 64 concepts")]
fn expected(concepts: usize) -> f32 {
    match concepts.checked_sub(1).and_then(|at| FEW.get(at)) {
        Some(factor) => (SHARE * factor).min(0.95),
        None => SHARE * (MANY / concepts.max(1) as f32).min(1.0).sqrt().max(0.5),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_words_must_all_be_found_and_many_need_not() {
        assert!((expected(5) - 0.5).abs() < 1e-6);
        assert!((1..4).all(|few| expected(few) > expected(few + 1)));
        assert!(expected(20) < 0.5);
        assert!(expected(64) >= 0.25);
    }

    #[test]
    fn a_higher_threshold_never_shows_more() {
        let shown = |fit: &Fit| {
            let steps = (0..=10u8).map(|tenth| fit.verdict(f32::from(tenth) / 10.0).is_ok());
            steps.collect::<Vec<_>>()
        };
        for (probability, certain) in [(0.0, false), (0.45, false), (0.99, false), (0.2, true)] {
            let fit = Fit {
                probability,
                certain,
                share: 0.4,
                expected: 0.5,
                evidence: 1.0,
                ..Fit::default()
            };
            let shown = shown(&fit);
            assert!(shown[0], "0 is always");
            assert!(shown.is_sorted_by(|a, b| a >= b), "{shown:?}");
        }
    }

    #[test]
    fn reason_names_the_threshold_the_distance_and_what_to_try() {
        let fit = Fit {
            probability: 0.37,
            evidence: 1.0,
            ..Fit::default()
        };
        let reason = fit
            .verdict(0.5)
            .unwrap_err()
            .reason(&["src/a.rs".to_owned(), "src/b.rs".to_owned()]);
        for words in [
            "0.37",
            "0.50",
            "`threshold` in [context]",
            "src/a.rs, src/b.rs",
            "symbol",
            "`:deep`",
        ] {
            assert!(reason.contains(words), "{words}: {reason}");
        }
        assert!(Doubt::Common.reason(&[]).contains("common in this repository"));
    }

    #[test]
    fn a_lone_common_word_is_no_evidence() {
        let likely = Fit {
            probability: 0.9,
            evidence: 1.0,
            ..Fit::default()
        };
        assert!(likely.verdict(DEFAULT).is_ok());
        assert!(Fit { lone: true, ..likely }.verdict(DEFAULT).is_err());
        assert!(
            Fit {
                evidence: 0.5,
                ..likely
            }
            .verdict(DEFAULT)
            .is_err()
        );
    }
}
