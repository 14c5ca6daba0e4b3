//! Recall of what the team knows.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use muninn_base::RelPath;
use muninn_base::ids::{self, IdError};
use muninn_ledger::rounded;
use muninn_recall::{Memories, RecallOptions, Recalled, WordMatch};
use muninn_repo_tools::{Worktree, read_text};
use muninn_team::records::Moment;
use muninn_team::{HistoryEvent, Memory, MemoryKind, history};
use muninn_text::embed::StaticVectors;
use serde_json::{Value, json};

use super::MemoryError;
use crate::Workspace;

/// Larger files count as changed.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// Memories with a lower score are returned only with [`LEAST_MATCH`].
const LEAST_SCORE: f32 = 0.1;
/// The least share of the question's words that a memory matches by similar words. Unlike the score, it does not depend on
/// how many memories contain a word: in a store about one subject, all do.
const LEAST_MATCH: f32 = 0.3;
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
    /// The most memories to return.
    pub limit: usize,
}

#[derive(Debug, Clone)]
pub struct RecalledMemory {
    pub memory: Memory,
    /// The share of the question's terms that the memory contains, from 0 to 1.
    pub score: f32,
    /// Whether a cited file has changed since.
    pub stale: bool,
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
                memories
            }
        };
        let blobs = RefCell::new(HashMap::new());
        let blob_of = |path: &RelPath| blob(engine.worktree(), &blobs, path);
        let task = query.task.as_deref().map(|part| task(&memories, part)).transpose()?;
        let types: Vec<&str> = query.types.iter().map(String::as_str).collect();
        let options = RecallOptions {
            keep: query.limit,
            types: &types,
            since: query.since.as_ref(),
            task,
            paths: &query.files,
            branch: query.branch.as_deref(),
            blob_of: Some(&blob_of),
            ..RecallOptions::default()
        };
        let question = query.question.as_deref().map(str::trim);
        if let Some(text) = question.filter(|text| !query.superseded && is_id(text))
            && !matches!(named(&memories, text, &options), Ok(Some(_)) | Err(IdError::Ambiguous { .. }))
            && let Some(store) = &self.memory
            && let past = Memories::superseded(store.home(), &store.files()?)
            && let Ok(Some(recalled)) = named(&past, text, &options)
        {
            return Ok(RecalledMemory::of(&past, &recalled).into_iter().collect());
        }
        let found = match question.filter(|question| !question.is_empty()) {
            None => memories.newest(&options),
            Some(text) => match named(&memories, text, &options)? {
                Some(named) => vec![named],
                None => {
                    let words = StaticVectors::shared().map(|vectors| WordMatch::of_question(vectors, text));
                    let matches = |recalled: &Recalled| {
                        let memory = memories.get(recalled.doc)?;
                        Some(words.as_ref()?.share(&memory.searched_text()) >= LEAST_MATCH)
                    };
                    let mut found = memories.recall(text, &options);
                    found.retain(|recalled| recalled.score >= LEAST_SCORE || matches(recalled) == Some(true));
                    found
                }
            },
        };
        let with_memory = found.iter().filter_map(|recalled| RecalledMemory::of(&memories, recalled));
        Ok(with_memory.collect())
    }
}

impl Workspace {
    /// The history of a record, given any unambiguous part of its id, the oldest event first.
    pub fn history(&self, part: &str) -> Result<Vec<HistoryEvent>, MemoryError> {
        self.move_old_sessions();
        Ok(history(self.store()?, part)?)
    }
}

impl RecalledMemory {
    fn of(memories: &Memories, recalled: &Recalled) -> Option<Self> {
        Some(Self { memory: memories.get(recalled.doc)?.clone(), score: recalled.score, stale: recalled.stale })
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
            "stale": self.stale,
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

/// The blob id of a file's present content, read once per recall.
fn blob(worktree: &Worktree, known: &RefCell<HashMap<RelPath, Option<String>>>, path: &RelPath) -> Option<String> {
    let mut known = known.borrow_mut();
    let look = || Some(read_text(worktree, path, MAX_FILE_BYTES).ok()?.blob.to_string());
    known.entry(path.clone()).or_insert_with(look).clone()
}
