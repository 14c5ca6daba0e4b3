//! The notes that a new statement may replace or repeat.

use muninn_recall::{Memories, RecallOptions};
use muninn_team::memories::Memory;
use muninn_team::records::main_clause;

use super::Engine;
use crate::memory_selection::{is_derived, may_replace};

/// Number of recalled notes that are compared.
const COMPARED: usize = 20;

impl Engine {
    /// The notes of people that may be about the same subject as a statement, the most similar first. The statement's reason
    /// does not count. `except` is the id of its own record.
    pub fn related<'m>(&self, memories: &'m Memories, statement: &str, except: &str) -> Vec<&'m Memory> {
        let clause = main_clause(statement);
        let vector = memories.embed_question(clause);
        let options = RecallOptions { keep: COMPARED, ..RecallOptions::default() };
        let found = memories.recall_near(clause, vector.as_deref(), &options);
        let mut related: Vec<(f32, &Memory)> = Vec::new();
        for recalled in found {
            let Some(memory) = memories.get(recalled.doc).filter(|memory| memory.source != except) else { continue };
            let likeness = if vector.is_some() { recalled.cosine } else { recalled.coverage };
            if memory.is_statement() && !is_derived(memory) && may_replace(memories.embedder_id(), likeness) {
                related.push((likeness, memory));
            }
        }
        related.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        related.into_iter().map(|(_, memory)| memory).collect()
    }
}
