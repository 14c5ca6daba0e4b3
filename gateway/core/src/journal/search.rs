//! Search of the journal by words and by meaning.

use muninn_notebooks::journal::{EntryRef, FoundEntry};
use muninn_team::memories::MemoryKind;

use super::{JournalUseError, SessionJournal};
use crate::Workspace;

/// The prefix of the sources of memories that come from the journal.
const SOURCE: &str = "journal:";

impl Workspace {
    /// The entries that match best: first those that possibly answer what is sought, then those
    /// of [`SessionJournal::search`]. With a `threshold`, only the latter.
    pub fn search_journal(
        &self,
        work_context: &str,
        content: &str,
        threshold: Option<f32>,
    ) -> Result<Vec<FoundEntry>, JournalUseError> {
        let journal = self.journal()?;
        let mut others = journal.search(work_context, content, threshold)?;
        if threshold.is_some() || content.trim().is_empty() {
            return Ok(others);
        }
        let mut found = Vec::new();
        for (memory, cosine) in self.possible(content, MemoryKind::Journal) {
            let Some(name) = memory.source.strip_prefix(SOURCE) else { continue };
            match others.iter().position(|other| other.id == name) {
                Some(at) => found.push(others.remove(at)),
                // The other memories of the journal are overviews.
                None => found.extend(entry(&journal, name, cosine)),
            }
        }
        found.extend(others);
        found.truncate(journal.search.max_results);
        Ok(found)
    }
}

fn entry(journal: &SessionJournal, name: &str, score: f32) -> Option<FoundEntry> {
    let name = EntryRef::parse(name).ok().filter(|name| name.commit.is_some())?;
    let entry = journal.journal.entry(&name).ok()?;
    Some(FoundEntry {
        id: entry.id,
        content: entry.content,
        work_context_score: 0.0,
        content_score: score,
        combined_score: score,
        timestamp: entry.timestamp,
    })
}
