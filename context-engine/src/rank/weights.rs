//! Weights by the kind of file: source, test, documentation, settings, generated code.
//!
//! Tests and documentation contain every word, but are seldom the place to change. So their chunks and files weigh
//! less, unless the question is about them, or names an identifier that only tests or generated code define.

use std::collections::HashSet;

use muninn_index::{FileRole, Snapshot};
use muninn_text::lexical::DocId;

use super::PostingsCache;
use crate::question::Question;
use crate::tuning::Lists;

const TEST: f32 = 0.35;
const DOCS: f32 = 0.4;
const SETTINGS: f32 = 0.5;
/// Factor on a source file of which most lines are comments. Its text repeats the words of the code that it describes.
const COMMENTED: f32 = 0.8;
const GENERATED: f32 = 0.2;
const TEMPLATE: f32 = 0.05;

/// The factors on scores for one question.
pub(super) struct RankWeights<'a> {
    snapshot: &'a Snapshot,
    question: &'a Question,
    /// Whether weights are applied; measurements can switch them off.
    is_enabled: bool,
    /// The chunks that alone define an identifier of the question, and their files. They have full weight.
    chunks: HashSet<DocId>,
    files: HashSet<usize>,
}

impl<'a> RankWeights<'a> {
    pub(super) fn of(terms: &PostingsCache<'a>, question: &'a Question, lists: Lists) -> Self {
        let snapshot = terms.snapshot;
        let mut weights = Self {
            snapshot,
            question,
            is_enabled: lists.has(Lists::PLACES),
            chunks: HashSet::new(),
            files: HashSet::new(),
        };
        // A long text quotes tests. The headline names its topic.
        let topic = question.headline.as_deref().unwrap_or(question);
        for (bit, concept) in topic.concepts.iter().enumerate() {
            if !topic.contains_identifier(1 << bit) {
                continue;
            }
            let postings = terms.get(&concept.whole);
            let defining = postings.names.iter().map(|posting| DocId(posting.number));
            // Only tests or generated code define the identifier.
            let in_code = |doc: DocId| matches!(place_of(snapshot, doc), FileRole::Test | FileRole::Generated);
            if defining.clone().all(in_code) {
                weights.files.extend(defining.clone().map(|doc| snapshot.file_of(doc)));
                weights.chunks.extend(defining);
            }
        }
        weights
    }

    pub(super) fn of_file(&self, number: usize) -> f32 {
        let file = self.snapshot.file(number);
        if self.files.contains(&number) {
            1.0
        } else if file.commented && self.is_enabled && !self.question.about_docs {
            COMMENTED * self.of_place(file.role)
        } else {
            self.of_place(file.role)
        }
    }

    pub(super) fn of_chunk(&self, doc: DocId) -> f32 {
        if self.chunks.contains(&doc) { 1.0 } else { self.of_place(place_of(self.snapshot, doc)) }
    }

    fn of_place(&self, place: FileRole) -> f32 {
        match place {
            _ if !self.is_enabled => 1.0,
            FileRole::Source => 1.0,
            FileRole::Test if self.question.about_tests => 1.0,
            FileRole::Docs if self.question.about_docs => 1.0,
            FileRole::Test => TEST,
            FileRole::Docs => DOCS,
            FileRole::Settings => SETTINGS,
            FileRole::Generated => GENERATED,
            FileRole::Template => TEMPLATE,
        }
    }
}

/// Returns the kind of a chunk. A test inside a source file is a test.
pub(crate) fn place_of(snapshot: &Snapshot, doc: DocId) -> FileRole {
    match snapshot.file(snapshot.file_of(doc)).role {
        FileRole::Source if snapshot.span(doc).test => FileRole::Test,
        place => place,
    }
}
