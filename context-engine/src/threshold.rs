//! The threshold: deciding whether the candidates are relevant to the question.
//!
//! BM25 always finds candidates, and its scores are not comparable between questions. So the decision uses these
//! features:
//!
//! - the share of the question that one place contains. The weight of each concept is its idf. A concept that the
//!   repository lacks has the weight of a concept that occurs once. For example, a request for a poem matches only
//!   `write`, in many places. Its share is small even if the score of `write` is high;
//! - the rarity of the question's words here: a question about a repository uses its vocabulary;
//! - the similarity of the question to the candidates, computed with an embedder. It distinguishes a `bond` of atoms
//!   from a financial bond;
//! - the number of the question's identifiers that the repository contains.
//!
//! A logistic model computes a probability from the features. The probability must reach the threshold. In addition, a
//! rare word, a name, or several words together must match, because a single common word matches anywhere.

use muninn_index::{FileRole, Snapshot};
use muninn_repo_tools::Worktree;
use muninn_text::lexical::idf;

use crate::question::Question;
use crate::rank::{Candidate, Query, Statistics, place_of};
use crate::similarity::{Similarity, similarity};

/// The default threshold.
pub const DEFAULT: f32 = 0.5;
/// The expected share of a question with four to eight concepts.
const SHARE: f32 = 0.5;
/// Factors on [`SHARE`] for one, two and three concepts. In a question of two words, half of the words is one word,
/// which matches anywhere.
const FEW: [f32; 3] = [1.8, 1.5, 1.2];
/// Number of concepts above which the expected share decreases, because long questions contain unrelated text.
const MANY: f32 = 8.0;
/// Weights of a concept that is not in the best chunk: in another good chunk of the file, and elsewhere in the file.
/// The weight in the best chunk is 1.
const NEAR: f32 = 0.75;
const FAR: f32 = 0.45;
/// Weight of tests and generated files, which contain words about many topics.
const WEAK: f32 = 0.45;
/// Weight of documentation and settings. A large manual mentions most topics.
const PROSE: f32 = 0.8;
/// Number of considered files, and of considered chunks of each.
const FILES: usize = 8;
const CHUNKS: usize = 3;
/// Maximum number of definitions of an identifier of a single part that is exact evidence. `open` or `get` has more.
const NAMESAKES: usize = 3;
/// Minimum weight of the concepts in the best chunk, in units of the idf of a term in one document.
const EVIDENCE: f32 = 0.6;

/// Weights of the [`Features`], and the sum that the weighted features must exceed at the default threshold. The
/// weights are a ridge regression over `benches/abstain/tune.jsonl`. `benches/abstain/fit.py` prints them, and measures
/// them on other repositories and prompts. The result is not sensitive to the required sum: from threshold 0.45 to 0.6,
/// packed off-topic prompts fall from 3.1% to 2.4%, and answered questions from 94% to 91%.
const WEIGHTS: [f32; 6] = [3.8, -2.7, 7.4, 7.3, 2.0, -1.2];
const REQUIRED: f32 = 2.55;
/// Increase of the required sum for each e-fold of chunks above `CROWDED`, and decrease for each e-fold below. A large
/// repository matches any few words. In a million lines of unrelated packages, the increase halves the packed off-topic
/// prompts to 9%.
const CROWD: f32 = 0.4;
const CROWDED: f32 = 6_000.0;
/// Maximum number of e-folds below `CROWDED` that count.
const SMALL: f32 = -2.5;
/// Maximum difference between the found and the expected share that counts.
const MARGIN: f32 = 0.4;
/// Maximum number of identifiers that count.
const IDENTIFIERS: usize = 2;

/// The features of the model, in the order of [`WEIGHTS`]: the found share minus the expected one, within [`MARGIN`];
/// the mean idf of the question's words, in units of the idf of a term in one document; the highest cosines of titles
/// and of texts; the number of the question's identifiers that exist, and of those that do not.
pub(crate) type Features = [f32; WEIGHTS.len()];

/// The measures of how well the candidates fit the question.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fit {
    pub(crate) features: Features,
    /// The share of the question's weight in the best place, from 0 to 1.
    pub(crate) share: f32,
    /// The expected share.
    pub(crate) expected: f32,
    /// The probability that the candidates are relevant, from 0 to 1.
    pub(crate) probability: f32,
    /// The weight of the concepts in one chunk, in units of the idf of a term in one document.
    pub(crate) evidence: f32,
    /// Whether the question has only one plain word, and no definition or path has this word as its name.
    pub(crate) lone: bool,
    /// The share of a short question without the words that the repository lacks, such as those of another language; the
    /// plain share of a long text.
    pub(crate) known_share: f32,
    /// Whether the question names an existing path, or an identifier of several parts that is defined here. In another
    /// language than English, an identifier of a single part with few definitions counts, too.
    pub(crate) certain: bool,
}

/// Why the candidates are rejected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Rejection {
    /// The probability is below the threshold.
    Unlikely { probability: f32, threshold: f32 },
    /// Only common words match.
    Common,
}

impl Fit {
    /// Measures how well the best files fit a question.
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
        let Similarity { titles, texts } = similarity((worktree, snapshot), text, candidates, |doc| {
            if place_of(snapshot, doc) == FileRole::Source { 1.0 } else { PROSE }
        });
        let size = documents(statistics);
        let [known, unknown] = identifiers(question, query);
        fit.features = [
            (fit.share - fit.expected).clamp(-MARGIN, MARGIN),
            // In a small repository, every word is rare.
            rarity(question, query) / singular * (size.ln() / CROWDED.ln()).min(1.0),
            titles,
            texts,
            known,
            unknown,
        ];
        let sum: f32 = fit.features.iter().zip(WEIGHTS).map(|(feature, weight)| feature * weight).sum();
        let required = REQUIRED + CROWD * (size / CROWDED).ln().max(SMALL);
        fit.probability = 1.0 / (1.0 + (required - sum).exp());
        fit
    }

    /// The highest cosine similarity of the question to the text of a candidate.
    pub(crate) fn code_cosine(&self) -> f32 {
        let [_, _, _, texts, ..] = self.features;
        texts
    }

    fn by_words(
        snapshot: &Snapshot,
        question: &Question,
        query: &Query,
        candidates: &[Candidate],
        singular: f32,
    ) -> Self {
        let total: f32 = query.weights.iter().sum();
        let known = match question.headline {
            Some(_) => total,
            None => query.weigh(query.known),
        };
        let telling = question.concepts.iter().filter(|concept| !concept.is_number()).count();
        let identifier = question.concepts.iter().any(|concept| concept.identifier);
        let mut fit = Self { expected: expected(telling), lone: telling <= 1 && !identifier, ..Self::default() };
        for candidate in candidates.iter().take(FILES) {
            let chunks = candidate.chunks.iter().take(CHUNKS);
            let near = chunks.clone().fold(candidate.path_concepts, |all, chunk| all | chunk.concepts);
            for chunk in chunks {
                // If the question names a test, chunks of this test have full weight.
                let trust = if question.contains_identifier(chunk.defines) {
                    1.0
                } else {
                    trust(place_of(snapshot, chunk.doc), question)
                };
                let here = chunk.concepts | candidate.path_concepts;
                let found = query.weigh(here)
                    + NEAR * query.weigh(near & !here)
                    + FAR * query.weigh(candidate.concepts & !near);
                fit.share = fit.share.max(trust * found / total.max(f32::MIN_POSITIVE));
                fit.known_share = fit.known_share.max(trust * found / known.max(f32::MIN_POSITIVE));
                fit.evidence = fit.evidence.max(trust * query.weigh(here) / singular);
                fit.lone &= chunk.defines | candidate.path_concepts == 0;
            }
            let defined = candidate.chunks.iter().fold(0, |all, chunk| all | chunk.defines);
            fit.certain |= candidate.named || question.contains_identifier(defined);
        }
        if question.is_sparse && question.headline.is_none() {
            fit.certain |= defines_few(snapshot, candidates, question.identifiers());
        }
        fit
    }

    /// Accepts or rejects the candidates for a threshold from 0 (always accept) to 1 (never accept).
    pub(crate) fn verdict(&self, threshold: f32) -> Result<(), Rejection> {
        if threshold <= 0.0 || (self.certain && self.known_share >= self.expected * threshold) {
            return Ok(());
        }
        if self.probability < threshold {
            let probability = self.probability;
            return Err(Rejection::Unlikely { probability, threshold });
        }
        if self.evidence < EVIDENCE || self.lone {
            return Err(Rejection::Common);
        }
        Ok(())
    }
}

impl Rejection {
    /// Formats the reason for a person: the nearest files with what they match, the words that the repository lacks, and
    /// advice.
    pub(crate) fn reason(self, nearest: &[String], missing: &str) -> String {
        let (why, advice) = match self {
            Rejection::Unlikely { probability, threshold } => (
                format!("likelihood {probability:.2}, and `threshold` in [context] asks for {threshold:.2}"),
                ", or lower `threshold`",
            ),
            Rejection::Common => ("only words that are common in this repository were found".to_owned(), ""),
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

/// Returns whether the source code among the candidates has a few definitions of one of these concepts.
fn defines_few(snapshot: &Snapshot, candidates: &[Candidate], concepts: u64) -> bool {
    let chunks = || candidates.iter().flat_map(|candidate| &candidate.chunks);
    let defining = |bit: u32| {
        let defining = chunks().filter(|chunk| chunk.defines >> bit & 1 == 1);
        let sources = defining.filter(|chunk| place_of(snapshot, chunk.doc) == FileRole::Source);
        sources.take(NAMESAKES + 1).count()
    };
    let mut bits = (0..u64::BITS).filter(|bit| concepts >> bit & 1 == 1);
    bits.any(|bit| (1..=NAMESAKES).contains(&defining(bit)))
}

fn trust(place: FileRole, question: &Question) -> f32 {
    match place {
        FileRole::Source => 1.0,
        FileRole::Test if question.about_tests => 1.0,
        FileRole::Docs if question.about_docs => 1.0,
        FileRole::Docs | FileRole::Settings => PROSE,
        FileRole::Test | FileRole::Generated | FileRole::Template => WEAK,
    }
}

/// Returns the mean idf of the question's concepts. Numbers are ignored if the question has other concepts.
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

/// Counts the identifiers of the question that occur in the repository as written, and the identifiers of several parts
/// that do not occur. A match of a part alone does not count, because any repository contains such parts.
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

/// Returns the expected share for a number of concepts.
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
    fn the_expected_share_falls_with_the_number_of_concepts() {
        assert!((expected(5) - 0.5).abs() < 1e-6);
        assert!((1..4).all(|few| expected(few) > expected(few + 1)));
        assert!(expected(20) < 0.5);
        assert!(expected(64) >= 0.25);
    }

    #[test]
    fn a_higher_threshold_never_accepts_more() {
        let shown = |fit: &Fit| {
            let steps = (0..=10u8).map(|tenth| fit.verdict(f32::from(tenth) / 10.0).is_ok());
            steps.collect::<Vec<_>>()
        };
        for (probability, certain) in [(0.0, false), (0.45, false), (0.99, false), (0.2, true)] {
            let fit = Fit { probability, certain, share: 0.4, expected: 0.5, evidence: 1.0, ..Fit::default() };
            let shown = shown(&fit);
            assert!(shown[0], "0 is always");
            assert!(shown.is_sorted_by(|a, b| a >= b), "{shown:?}");
        }
    }

    #[test]
    fn reason_names_the_threshold_the_distance_and_what_to_try() {
        let fit = Fit { probability: 0.37, evidence: 1.0, ..Fit::default() };
        let reason = fit
            .verdict(0.5)
            .unwrap_err()
            .reason(&["src/a.rs (matched: x)".to_owned(), "src/b.rs (path: b)".to_owned()], "poem, sea");
        for words in [
            "0.37",
            "0.50",
            "`threshold` in [context]",
            "nearest: src/a.rs (matched: x), src/b.rs (path: b)",
            "not in this repository: poem, sea",
            "symbol",
            "`:deep`",
        ] {
            assert!(reason.contains(words), "{words}: {reason}");
        }
        let common = Rejection::Common.reason(&[], "");
        assert!(common.contains("common in this repository") && !common.contains("not in"), "{common}");
    }

    #[test]
    fn a_lone_common_word_is_no_evidence() {
        let likely = Fit { probability: 0.9, evidence: 1.0, ..Fit::default() };
        assert!(likely.verdict(DEFAULT).is_ok());
        assert!(Fit { lone: true, ..likely }.verdict(DEFAULT).is_err());
        assert!(Fit { evidence: 0.5, ..likely }.verdict(DEFAULT).is_err());
    }
}
