//! The best place for a question: how much of it one chunk contains.

use muninn_index::{FileRole, Snapshot};

use super::words::Words;
use crate::question::Question;
use crate::rank::{Candidate, place_of};

/// Weights of a concept that is not in the chunk: in another good chunk of the file, and elsewhere in the file.
const NEAR: f32 = 0.75;
const FAR: f32 = 0.45;
/// Weight of tests and generated files, which contain words about many topics.
const WEAK: f32 = 0.45;
/// Weight of documentation and settings. A large manual mentions most topics.
const PROSE: f32 = 0.8;
/// Number of considered files, and of considered chunks of each.
const FILES: usize = 8;
const CHUNKS: usize = 3;
/// Maximum number of names that count as exact evidence.
const NAMES: usize = 2;

/// Maximum number of definitions of a name of a single part that is exact evidence. `open` or `get` has more.
const NAMESAKES: usize = 3;

/// The measures of the best places.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BestPlace {
    /// The share of the question's weight in the best place, from 0 to 1.
    pub(super) share: f32,
    /// The highest weight of concepts in one path.
    pub(super) in_path: f32,
    /// The number of existing paths that the question names, and of identifiers of several parts that are defined here, at
    /// most [`NAMES`].
    pub(super) exact: f32,
    /// Whether the question is one plain word that names nothing here.
    pub(super) is_lone: bool,
}

impl BestPlace {
    pub(super) fn of(snapshot: &Snapshot, question: &Question, words: &Words, candidates: &[Candidate]) -> BestPlace {
        let mut best = BestPlace::default();
        let (mut named, mut defined) = (0, 0);
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
                let found = words.weigh(here)
                    + NEAR * words.weigh(near & !here)
                    + FAR * words.weigh(candidate.concepts & !near);
                best.share = best.share.max(trust * found / words.total().max(f32::MIN_POSITIVE));
            }
            best.in_path = best.in_path.max(words.weigh(candidate.path_concepts));
            named += usize::from(candidate.named);
            defined |= candidate.chunks.iter().fold(0, |all, chunk| all | chunk.defines);
        }
        let is_exact = |bit: &u32| {
            let concept = defined & 1 << bit;
            question.contains_identifier(concept) || defines_few(snapshot, question, candidates, concept)
        };
        best.exact = (named + (0..u64::BITS).filter(is_exact).count()).min(NAMES) as f32;
        best.is_lone = question.concepts.len() == 1
            && !question.concepts[0].identifier
            && best.exact == 0.0
            && defined == 0
            && best.in_path == 0.0;
        best
    }
}

/// Returns whether source code has few definitions of a name of a single part. In a sentence of another language than
/// English, such a name is a name, too.
fn defines_few(snapshot: &Snapshot, question: &Question, candidates: &[Candidate], concept: u64) -> bool {
    let is_name = |bit: usize| concept >> bit & 1 == 1 && question.concepts[bit].identifier;
    if !question.is_sparse || question.headline.is_some() || !(0..question.concepts.len()).any(is_name) {
        return false;
    }
    let chunks = candidates.iter().flat_map(|candidate| &candidate.chunks);
    let defining = chunks.filter(|chunk| chunk.defines & concept != 0);
    let sources = defining.filter(|chunk| place_of(snapshot, chunk.doc) == FileRole::Source);
    (1..=NAMESAKES).contains(&sources.take(NAMESAKES + 1).count())
}

/// The weight of a chunk by what kind of file it is in.
pub(super) fn trust(place: FileRole, question: &Question) -> f32 {
    match place {
        FileRole::Source => 1.0,
        FileRole::Test if question.about_tests => 1.0,
        FileRole::Docs if question.about_docs => 1.0,
        FileRole::Docs | FileRole::Settings => PROSE,
        FileRole::Test | FileRole::Generated | FileRole::Template => WEAK,
    }
}
