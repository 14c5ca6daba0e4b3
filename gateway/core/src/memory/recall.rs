//! Recall of what the team knows.

use std::sync::Arc;

use muninn_base::RelPath;
use muninn_base::ids::{self, IdError};
use muninn_context_engine::{Citations, Engine, Fit};
use muninn_ledger::rounded;
use muninn_recall::{Memories, RecallOptions, Recalled};
use muninn_team::citations::{Citation, CitationState};
use muninn_team::records::Moment;
use muninn_team::{HistoryEvent, LoggedDecision, Memory, MemoryKind, decisions, history};
use serde_json::{Value, json};

use super::MemoryError;
use crate::Workspace;

/// The least score of a memory that contains words of the question.
const LEAST_SCORE: f32 = 0.1;
/// Number of memories that are returned beside those that fit.
const NEAREST: usize = 3;
/// A shorter text is a question and never a part of an id.
const LEAST_ID: usize = 6;
/// The length of a whole id.
const WHOLE_ID: usize = 26;

/// The filters of a recall.
#[derive(Debug, Clone, Default)]
pub struct RecallQuery {
    /// A question, or a part of an id; without it, the newest memories are returned.
    pub question: Option<String>,
    /// Only those learned at the task that this part of an id names.
    pub task: Option<String>,
    /// Only records of these types; all if empty.
    pub types: Vec<String>,
    /// Only memories written then or later.
    pub since: Option<Moment>,
    /// Only memories about these files or folders; all if empty.
    pub files: Vec<RelPath>,
    /// Only memories written on this branch.
    pub branch: Option<String>,
    /// Only superseded memories.
    pub superseded: bool,
    /// Only memories of which all cited places are gone.
    pub stale: bool,
    /// Only records of statements that answer no stored question yet.
    pub unasked: bool,
    /// The most memories to return.
    pub limit: usize,
}

/// Number of memories that are judged for a search of the wiki or the journal.
const JUDGED: usize = 50;

#[derive(Debug, Clone)]
pub struct RecalledMemory {
    pub memory: Memory,
    /// The share of the question's terms that the memory contains, from 0 to 1.
    pub score: f32,
    /// How likely it is that it answers the question. Memories that were asked for by id or without a question fit.
    pub fit: Fit,
    /// The cited places, with what has become of them.
    pub cites: Vec<(Citation, CitationState)>,
}

/// Recalled memories.
struct Found {
    /// The current ones or, for the id of a superseded record, the superseded ones.
    memories: Arc<Memories>,
    /// Those of them that match, and how each fits.
    recalled: Vec<(Recalled, Fit)>,
}

impl Workspace {
    /// Recalls memories, best first.
    ///
    /// # Errors
    /// [`MemoryError::NoRepository`], [`MemoryError::Head`], and [`MemoryError::Id`] where several ids have the part that was given, or none has
    /// the whole id.
    pub fn recall(&self, query: &RecallQuery) -> Result<Vec<RecalledMemory>, MemoryError> {
        let problem = || MemoryError::NoRepository(self.problem.clone().unwrap_or_default());
        let engine = self.engine.as_ref().ok_or_else(problem)?;
        self.move_old_sessions();
        // A request goes on with main memory alone. Somebody who asks is told.
        engine.worktree().branch()?;
        let memories = match &self.memory {
            Some(store) if query.superseded => Arc::new(Memories::superseded(store.home(), &store.files()?)),
            _ => {
                self.use_embedder();
                let memories = engine.current_memories();
                if let Ok(embedder) = self.embedder().open()
                    && memories.embedder_id() != Some(embedder.id())
                {
                    let reason = embedder.problem().unwrap_or_default();
                    tracing::warn!("memory is recalled by words alone: {reason}");
                }
                if memories.unembedded() > 0 {
                    let left = memories.unembedded();
                    tracing::warn!(
                        "{left} texts of the memory are found by words alone until `muninn index` embeds them"
                    );
                }
                memories
            }
        };
        let task = query.task.as_deref().map(|part| task(&memories, part)).transpose()?;
        let types: Vec<&str> = query.types.iter().map(String::as_str).collect();
        // A question is judged with the files that it leads to. The content of a file that is gone may be in another one.
        let is_there = |citation: &Citation| engine.worktree().resolve(&citation.path).is_ok();
        let wants_files =
            || query.question.is_some() || memories.items().iter().any(|memory| !memory.cites.iter().all(is_there));
        if !engine.is_indexed() && wants_files() {
            self.load_stored();
        }
        engine.with_citations(|citations| {
            let is_stale = |citation: &Citation| citations.state(citation).is_stale();
            let options = RecallOptions {
                keep: if query.stale || query.unasked { usize::MAX } else { query.limit },
                types: &types,
                since: query.since.as_ref(),
                task,
                paths: &query.files,
                branch: query.branch.as_deref(),
                is_stale: Some(&is_stale),
                ..RecallOptions::default()
            };
            let Found { memories, recalled } = self.found(engine, (&memories, citations), query, &options)?;
            let of_memory = |(recalled, fit): &(Recalled, Fit)| {
                let memory = memories.get(recalled.doc)?.clone();
                let states = memory.cites.iter().map(|citation| (citation.clone(), citations.state(citation)));
                Some(RecalledMemory { score: recalled.score, fit: *fit, cites: states.collect(), memory })
            };
            Ok(recalled.iter().filter_map(of_memory).take(query.limit).collect())
        })
    }

    /// The memories that match.
    fn found(
        &self,
        engine: &Engine,
        (memories, citations): (&Arc<Memories>, &Citations<'_>),
        query: &RecallQuery,
        options: &RecallOptions<'_>,
    ) -> Result<Found, MemoryError> {
        let certain = |recalled: Recalled| (recalled, Fit::Likely);
        let question = query.question.as_deref().map(str::trim).filter(|question| !question.is_empty());
        let mut found: Vec<_> = match question {
            None => memories.newest(options).into_iter().map(certain).collect(),
            Some(text) => {
                if is_id(text)
                    && !query.superseded
                    && !matches!(named(memories, text, options), Ok(Some(_)) | Err(IdError::Ambiguous { .. }))
                    && let Some(store) = &self.memory
                    && let past = Memories::superseded(store.home(), &store.files()?)
                    && let Ok(Some(recalled)) = named(&past, text, options)
                {
                    return Ok(Found { memories: Arc::new(past), recalled: vec![certain(recalled)] });
                }
                match named(memories, text, options)? {
                    Some(named) => vec![certain(named)],
                    None => engine.recall(memories, text, options),
                }
            }
        };
        found.retain(|(recalled, _)| {
            let is_wanted = |memory: &Memory| {
                (!query.stale || citations.are_gone(memory))
                    && (!query.unasked || memory.is_statement() && memory.answers.is_empty())
            };
            memories.get(recalled.doc).is_some_and(is_wanted)
        });
        let fitting = found.iter().filter(|(_, fit)| *fit == Fit::Likely).count();
        found.truncate(fitting + NEAREST);
        Ok(Found { memories: Arc::clone(memories), recalled: found })
    }
}

impl Workspace {
    /// The memories of a kind that possibly answer a question, best first, with their cosine.
    pub(crate) fn possible(&self, question: &str, kind: MemoryKind) -> Vec<(Memory, f32)> {
        let Some(engine) = &self.engine else { return Vec::new() };
        self.use_embedder();
        let memories = engine.current_memories();
        let recalled = engine.recall(&memories, question, &RecallOptions { keep: JUDGED, ..RecallOptions::default() });
        let possible = recalled.into_iter().filter(|(_, fit)| *fit >= Fit::Possible);
        let found = possible.filter_map(|(one, _)| Some((memories.get(one.doc)?.clone(), one.cosine)));
        found.filter(|(memory, _)| memory.kind == kind).collect()
    }

    /// What people, agents and models decided about memories, the newest first.
    pub fn decisions(&self) -> Result<Vec<LoggedDecision>, MemoryError> {
        self.move_old_sessions();
        Ok(decisions(self.store()?)?)
    }

    /// The history of a record, given any unambiguous part of its id, the oldest event first.
    pub fn history(&self, part: &str) -> Result<Vec<HistoryEvent>, MemoryError> {
        self.move_old_sessions();
        Ok(history(self.store()?, part)?)
    }
}

impl RecalledMemory {
    /// Whether the memory possibly answers the question, or shares words with it.
    pub fn matches(&self) -> bool {
        self.fit >= Fit::Possible || self.score >= LEAST_SCORE
    }

    /// Whether a cited content has changed or is gone.
    pub fn is_stale(&self) -> bool {
        self.cites.iter().any(|(_, state)| state.is_stale())
    }

    /// The memory as JSON for programs.
    pub fn as_json(&self) -> Value {
        let memory = &self.memory;
        json!({
            "id": memory.source,
            "kind": match memory.kind {
                MemoryKind::Knowledge => "knowledge",
                MemoryKind::Record => "record",
                MemoryKind::Journal => "journal",
            },
            "type": memory.record_type,
            "title": memory.title,
            "text": memory.text,
            "date": memory.date,
            "author": memory.author,
            "confidence": memory.confidence.map(rounded),
            "session": memory.session,
            "branch": memory.branch,
            "task": memory.task,
            "in": memory.path,
            "files": memory.cites.iter().map(|cited| &cited.path).collect::<Vec<_>>(),
            "conflict": memory.contested.as_ref().map(|contested| &contested.conflict),
            "until": memory.superseded.as_ref().map(|superseded| &superseded.until),
            "decided_by": memory.superseded.as_ref().and_then(|superseded| superseded.author.as_ref()),
            "decided_because": memory.superseded.as_ref().and_then(|superseded| superseded.reason.as_ref()),
            "superseded_by": memory.superseded.as_ref().and_then(|superseded| superseded.by.as_ref()),
            "answers": memory.answers,
            "cites": self.cites.iter().map(cited_as_json).collect::<Vec<_>>(),
            "stale": self.is_stale(),
            "fits": self.fit == Fit::Likely,
            "uses": memory.uses,
            "score": rounded(self.score),
        })
    }
}

/// The task that an unambiguous part of its id names.
fn task<'m>(memories: &'m Memories, part: &str) -> Result<&'m str, IdError> {
    let newest = memories.newest(&RecallOptions { keep: usize::MAX, ..RecallOptions::default() });
    let tasks = newest.iter().filter_map(|recalled| memories.get(recalled.doc)?.task.as_deref());
    ids::find("task", part, tasks.map(|task| (task, task)))
}

/// Returns whether a text can be a part of an id.
fn is_id(text: &str) -> bool {
    let is_alphanumeric = text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    text.len() >= LEAST_ID && is_alphanumeric && text.bytes().any(|byte| byte.is_ascii_digit())
}

/// The record whose id `text` is, or an unambiguous part of it; `None` where `text` is a question.
fn named(memories: &Memories, text: &str, options: &RecallOptions<'_>) -> Result<Option<Recalled>, IdError> {
    if !is_id(text) {
        return Ok(None);
    }
    let newest = memories.newest(&RecallOptions { keep: usize::MAX, ..*options });
    let records = newest.into_iter().filter_map(|recalled| {
        let memory = memories.get(recalled.doc)?;
        (memory.kind == MemoryKind::Record).then_some((memory.source.as_str(), recalled))
    });
    match ids::find("record", text, records) {
        // A word such as `sha256` can look like a part of an id.
        Err(IdError::Unknown { .. }) if text.len() != WHOLE_ID => Ok(None),
        found => found.map(Some),
    }
}

/// A cited place and its state as JSON.
fn cited_as_json((citation, state): &(Citation, CitationState)) -> Value {
    let now = match state {
        CitationState::Moved(place) => Some(place),
        _ => None,
    };
    json!({"place": citation.place(), "state": state, "now": now})
}
