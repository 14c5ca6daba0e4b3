//! How a memory relates to an older one: as its author says, when it is written or later.

use muninn_reconcile::judge::{Claim, FittedJudge, Judgement, compare};
use muninn_team::memories::Memory;
use muninn_team::records::{Body, Record, kinds};
use serde::Serialize;

use super::{MemoryError, WritableMemory};
use crate::Workspace;

/// The most related memories that a caller is told.
const MOST_RELATED: usize = 3;

/// How one memory relates to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// It holds instead of the other one.
    Replaces,
    /// It says the same.
    SameAs,
    /// Both hold. Undoes another link between them.
    Apart,
}

/// A memory that may be about the same subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RelatedMemory {
    pub id: String,
    pub text: String,
    pub date: Option<String>,
    pub author: Option<String>,
}

impl From<Memory> for RelatedMemory {
    fn from(memory: Memory) -> RelatedMemory {
        RelatedMemory {
            id: memory.source,
            text: memory.text,
            date: memory.date.as_ref().map(ToString::to_string),
            author: memory.author,
        }
    }
}

impl Workspace {
    /// The memories that may be about the same subject as a statement that was just written, three at most. Its author knows
    /// whether it replaces or repeats one.
    pub fn related(&self, statement: &str, id: &str) -> Vec<RelatedMemory> {
        let Some((engine, judge)) = self.engine.as_ref().zip(FittedJudge::shipped().ok()) else { return Vec::new() };
        self.use_embedder();
        let parsed = judge.read(&Claim::of(statement));
        let judged = engine
            .similar(statement, id)
            .into_iter()
            .map(|memory| (compare(&judge.read(&Claim::of(memory.statement())), &parsed, &judge), memory));
        let mut related: Vec<(Judgement, Memory)> = judged.filter(|(judged, _)| judged.is_question()).collect();
        related.sort_by(|(one, _), (other, _)| other.related.total_cmp(&one.related));
        related.into_iter().take(MOST_RELATED).map(|(_, memory)| RelatedMemory::from(memory)).collect()
    }
}

impl WritableMemory<'_> {
    /// The whole id of the record that any unambiguous part of it names.
    pub fn id_of(&self, part: &str) -> Result<String, MemoryError> {
        Ok(self.store.named_memories()?.find(part)?.source.clone())
    }

    /// Records how a memory relates to another one, given any unambiguous parts of their ids. Returns the whole ids. The latest
    /// link between two memories holds.
    ///
    /// # Errors
    /// [`MemoryError`]; nothing is written then, except where [`MemoryError::Spool`] comes from the flush.
    pub fn link(
        &self,
        part: &str,
        (link, other): (Link, &str),
        session: Option<&str>,
    ) -> Result<(String, String), MemoryError> {
        let memories = self.store.named_memories()?;
        let [one, other] = [memories.find(part)?, memories.find(other)?];
        let (id, other_id) = (one.source.clone(), other.source.clone());
        if id == other_id {
            return Err(MemoryError::Itself(id));
        }
        let newest = one.date.clone().max(other.date.clone()).unwrap_or_else(|| "".into());
        // The id of the conflict that a reconciliation would find: whoever decides it later decides over this.
        let conflict = Record::derived(Body::Conflict(kinds::Conflict::default()), &[&id, &other_id], &newest).id;
        let author = self.author();
        let over = Some(memories.status.decisions_on(&conflict));
        let decided = |keep: &[&String], drop: &[&String], note: &str| {
            let note = Some(note.to_owned());
            kinds::Decision {
                conflict: conflict.clone(),
                keep: owned(keep),
                drop: owned(drop),
                note,
                author: author.clone(),
                over: over.clone(),
            }
        };
        let decision = match link {
            Link::Replaces => decided(&[&id], &[&other_id], "linked as replaced"),
            Link::SameAs => decided(&[], &[], "linked as the same"),
            Link::Apart => decided(&[&other_id, &id], &[], "linked as both true"),
        };
        let session = session.unwrap_or(super::remember::BY_HAND);
        self.keep(session, Body::Decision(decision), |origin| origin)?;
        if link == Link::SameAs {
            let same = kinds::Same {
                kept: id.clone(),
                folded: other_id.clone(),
                until: Some(newest),
                by: author.unwrap_or_else(|| "a person".to_owned()),
                reason: "linked as the same".to_owned(),
            };
            self.keep(session, Body::Same(same), |origin| origin)?;
        }
        self.flush()?;
        Ok((id, other_id))
    }
}

fn owned(ids: &[&String]) -> Vec<String> {
    ids.iter().map(|id| (*id).clone()).collect()
}
