//! Computes the features of recalled memories; [`NAMES`](super::probability::NAMES) lists them.

use muninn_recall::{Memories, Recalled};
use muninn_team::Memory;
use muninn_text::embed::{StaticVectors, dot};
use muninn_text::lexical::idf;

use super::probability::{CosineScale, Features, Model, UNKNOWN_PLACES, crowd};
use crate::question::Question;
use crate::rank::{Query, Statistics};

/// Number of memories that are compared with each other, and whose texts are compared with the question by static vectors.
pub(super) const MEASURED: usize = 10;

/// Bound of a lead.
const LEAD: f32 = 0.3;

/// The part of the features that depends on the question alone.
pub(super) struct Measures<'a> {
    pub(super) model: &'static Model,
    query: &'a Query,
    /// The scale of the embedder's cosines; `None` for those of the static vectors, which are computed here.
    scale: Option<CosineScale>,
    statics: Option<(&'static StaticVectors, Vec<f32>)>,
    /// The question's identifiers, as bits.
    identifiers: u64,
    /// The idf of a term in one memory.
    singular: f32,
    /// The features that all memories share.
    places: f32,
    crowd: f32,
    code: f32,
    form: f32,
}

/// How similar a memory is to the question, by itself and among others.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Similarity {
    cosine: f32,
    asked: f32,
    lead: f32,
    above: f32,
}

impl Similarity {
    fn best(self) -> f32 {
        self.cosine.max(self.asked)
    }
}

impl<'a> Measures<'a> {
    /// `code`: the cosine similarity of the question to the best code.
    pub(super) fn new(
        (memories, found): (&Memories, &[Recalled]),
        (question, text): (&Question, &str),
        query: &'a Query,
        vector: Option<&[f32]>,
        (code, are_places_known): (f32, bool),
    ) -> Self {
        let embedder = memories.embedder_id().filter(|_| vector.is_some());
        let model = Model::of(embedder);
        let statics = StaticVectors::shared().map(|vectors| (vectors, vectors.embed_one(text)));
        let form = match (model.is_static(), vector, &statics) {
            (false, Some(vector), _) => model.form(vector),
            (true, _, Some((_, vector))) => model.form(vector),
            _ => 0.0,
        };
        let identifiers = question.concepts.iter().enumerate().filter(|(_, concept)| concept.identifier);
        Self {
            model,
            query,
            scale: CosineScale::of(embedder, found),
            statics,
            identifiers: identifiers.fold(0, |bits, (bit, _)| bits | 1 << bit),
            singular: idf(1, memories.documents()).max(0.1),
            places: if are_places_known { 0.0 } else { UNKNOWN_PLACES },
            crowd: crowd(memories.items().len()),
            code,
            form,
        }
    }

    /// The similarities of recalled memories. The first [`MEASURED`] are compared with each other.
    pub(super) fn similarities(&self, memories: &Memories, found: &[Recalled]) -> Vec<Similarity> {
        let similarity = |(at, recalled): (usize, &Recalled)| {
            let memory = memories.get(recalled.doc)?;
            let [cosine, asked] = match self.scale {
                Some(scale) => [recalled.cosine, recalled.asked].map(|cosine| scale.convert(cosine)),
                None => [
                    self.static_cosine(at, &memory.embedded_text()),
                    memory.answers.iter().map(|question| self.static_cosine(at, question)).fold(0.0, f32::max),
                ],
            };
            let asked = if memory.answers.is_empty() { 0.0 } else { asked };
            Some(Similarity { cosine, asked, ..Similarity::default() })
        };
        let all = found.iter().enumerate().map(|measured| similarity(measured).unwrap_or_default());
        let mut all: Vec<Similarity> = all.collect();
        let compared: Vec<(u32, f32)> =
            found.iter().zip(&all).take(MEASURED).map(|(recalled, one)| (recalled.doc.0, one.best())).collect();
        // Among few memories, one that shares a word leads by chance.
        let [usual_next, usual_median] = self.model.usual();
        let usual = std::iter::once(usual_next).chain(std::iter::repeat(usual_median));
        let missing: Vec<f32> = usual.take(MEASURED - compared.len()).collect();
        let mut ordered: Vec<f32> = compared.iter().map(|(_, best)| *best).chain(missing.iter().copied()).collect();
        ordered.sort_by(f32::total_cmp);
        let median = ordered.get(ordered.len() / 2).copied().unwrap_or(0.0);
        for (one, recalled) in all.iter_mut().zip(found) {
            // Both sides of a conflict match equally well.
            let opponent = memories.get(recalled.doc).and_then(|memory| memories.opponent(memory)).map(|doc| doc.0);
            let others = compared.iter().filter(|(doc, _)| *doc != recalled.doc.0 && Some(*doc) != opponent);
            let next = others.map(|(_, best)| *best).chain(missing.iter().copied()).fold(0.0, f32::max);
            one.lead = (one.best() - next).clamp(-LEAD, LEAD);
            one.above = one.best() - median;
        }
        all
    }

    /// The features of the memory at a rank, which contains these concepts of the question, and these as a whole.
    pub(super) fn features(
        &self,
        at: usize,
        memory: &Memory,
        (concepts, whole): (u64, u64),
        similarity: Similarity,
    ) -> Features {
        let known = (self.identifiers & whole).count_ones().min(2) as f32;
        let missing = (self.identifiers & !whole).count_ones().min(3) as f32;
        [
            (self.query.weigh(concepts) / self.singular).min(3.0),
            similarity.cosine,
            similarity.asked,
            f32::from(u8::from(!memory.answers.is_empty())),
            if self.model.is_static() { 0.0 } else { self.static_cosine(at, &memory.searched_text()) },
            similarity.lead,
            similarity.above,
            known - missing,
            self.places,
            self.crowd,
            self.code,
            self.form,
        ]
    }

    /// The cosine of the static vectors of the question and of a text; 0 beyond the first memories.
    fn static_cosine(&self, at: usize, text: &str) -> f32 {
        let statics = self.statics.as_ref().filter(|_| at < MEASURED);
        statics.map_or(0.0, |(vectors, question)| dot(question, &vectors.embed_one(text)).max(0.0))
    }
}
