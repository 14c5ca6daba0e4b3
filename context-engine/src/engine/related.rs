//! The notes that a new statement may replace or repeat.

use muninn_recall::{Memories, RecallOptions};
use muninn_team::memories::Memory;
use muninn_team::records::main_clause;

use super::Engine;
use crate::memory_selection::is_derived;

/// Number of recalled notes.
const RECALLED: usize = 20;

impl Engine {
    /// The notes of people that are most similar to a statement, whose reason does not count. `except` is the id of its own
    /// record.
    pub fn similar<'m>(&self, memories: &'m Memories, statement: &str, except: &str) -> Vec<&'m Memory> {
        let clause = main_clause(statement);
        let vector = memories.embed_question(clause);
        let options = RecallOptions { keep: RECALLED, ..RecallOptions::default() };
        let found = memories.recall_near(clause, vector.as_deref(), &options);
        let similar = found.iter().filter_map(|recalled| memories.get(recalled.doc));
        similar.filter(|memory| memory.source != except && memory.is_statement() && !is_derived(memory)).collect()
    }
}
