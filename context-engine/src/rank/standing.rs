//! How far what is not source stands back.
//!
//! Tests and documentation have every word, and are seldom what has to be changed. So they stand back both where chunks
//! are compared and where files are; unless the question is about them, or writes out a name that is defined in tests
//! or generated code alone.

use std::collections::HashSet;

use muninn_memory::index::lexical::DocId;
use muninn_memory::index::{FileRole, Snapshot};

use super::Terms;
use crate::question::Question;
use crate::tuning::Lists;

const TEST: f32 = 0.35;
const DOCS: f32 = 0.4;
const SETTINGS: f32 = 0.5;
const GENERATED: f32 = 0.2;
const TEMPLATE: f32 = 0.05;

/// What scores are multiplied by, for one question.
pub(super) struct Standing<'a> {
    snapshot: &'a Snapshot,
    question: &'a Question,
    counts: bool,
    /// Chunks that alone define a name that the question writes out, and their files.
    chunks: HashSet<DocId>,
    files: HashSet<usize>,
}

impl<'a> Standing<'a> {
    pub(super) fn of(terms: &mut Terms<'a>, question: &'a Question, lists: Lists) -> Self {
        let snapshot = terms.snapshot;
        let mut standing = Self {
            snapshot,
            question,
            counts: lists.has(Lists::PLACES),
            chunks: HashSet::new(),
            files: HashSet::new(),
        };
        // A long text quotes tests; what it is about, its headline says.
        let asked = question.headline.as_deref().unwrap_or(question);
        for (bit, concept) in asked.concepts.iter().enumerate() {
            if !asked.writes_out(1 << bit) {
                continue;
            }
            let holders = terms.get(&concept.whole);
            let defining = holders.names.iter().map(|posting| DocId(posting.number));
            // What is written in a test or by a generator is written there alone if nothing else defines it.
            let in_code = |doc: DocId| matches!(place_of(snapshot, doc), FileRole::Test | FileRole::Generated);
            if defining.clone().all(in_code) {
                standing.files.extend(defining.clone().map(|doc| snapshot.file_of(doc)));
                standing.chunks.extend(defining);
            }
        }
        standing
    }

    pub(super) fn of_file(&self, number: usize) -> f32 {
        match self.files.contains(&number) {
            true => 1.0,
            false => self.of_place(self.snapshot.file(number).role),
        }
    }

    pub(super) fn of_chunk(&self, doc: DocId) -> f32 {
        match self.chunks.contains(&doc) {
            true => 1.0,
            false => self.of_place(place_of(self.snapshot, doc)),
        }
    }

    fn of_place(&self, place: FileRole) -> f32 {
        match place {
            _ if !self.counts => 1.0,
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

/// What part a chunk plays: a test in a source file is a test.
pub(crate) fn place_of(snapshot: &Snapshot, doc: DocId) -> FileRole {
    match snapshot.file(snapshot.file_of(doc)).role {
        FileRole::Source if snapshot.span(doc).test => FileRole::Test,
        place => place,
    }
}
