//! The notes that a new statement may replace or repeat.

use muninn_recall::{KeptAndChanged, Memories, RecallOptions};
use muninn_team::memories::Memory;
use muninn_team::records::main_clause;

use super::Engine;
use crate::memory_selection::is_derived;

/// Number of recalled notes.
const RECALLED: usize = 20;

impl Engine {
    /// The notes of people that are most similar to a statement, whose reason does not count. `except` is the id of its own
    /// record.
    pub fn similar(&self, statement: &str, except: &str) -> Vec<Memory> {
        let is_other = |memory: &&Memory| memory.source != except;
        match self.kept_and_changed_memories() {
            None => most_similar(&self.current_memories(), statement).filter(is_other).cloned().collect(),
            Some(KeptAndChanged { parts, status }) => {
                let is_valid = |memory: &&Memory| !status.is_gone(&memory.source);
                let found = parts.iter().flat_map(|part| most_similar(part, statement));
                found.filter(is_other).filter(is_valid).cloned().collect()
            }
        }
    }
}

fn most_similar<'m>(memories: &'m Memories, statement: &str) -> impl Iterator<Item = &'m Memory> {
    let clause = main_clause(statement);
    let vector = memories.embed_question(clause);
    let options = RecallOptions { keep: RECALLED, ..RecallOptions::default() };
    let found = memories.recall_near(clause, vector.as_deref(), &options);
    let similar = found.into_iter().filter_map(|recalled| memories.get(recalled.doc));
    similar.filter(|memory| memory.is_statement() && !is_derived(memory))
}
