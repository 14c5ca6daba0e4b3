//! The tools of the team's memory: recall, remember, forget, and the open conflicts.

use muninn_context_engine::tools::{Effect, Output, Parameter, ToolError};
use muninn_reconcile::{Keep, Resolution};
use muninn_repo_tools::Cuts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ToolSession;
use super::tool::{NoArguments, SessionTool, failed, failed_with_hint};
use crate::{ChoreError, ConflictView, Fact, FactKind, MemoryError, RecallQuery, RecalledMemory, SideView, conflicts};

/// Number of memories if the caller names none, and the most that one call shows.
const MEMORIES: usize = 6;
const MAX_MEMORIES: usize = 50;
/// Maximum length of a memory's text in the list, in bytes.
const MAX_MEMORY_BYTES: usize = 2_000;
/// The confidence in what an agent states without evidence. People's notes have 0.9.
const CONFIDENCE: f64 = 0.7;

fn memory_error(error: MemoryError) -> ToolError {
    let hint = error.hint();
    failed_with_hint(error, hint)
}

fn chore_error(error: ChoreError) -> ToolError {
    match error {
        ChoreError::Memory(error) => memory_error(error),
        error => failed(error),
    }
}

/// Recalls what the team knows.
pub(super) struct Recall;

/// The arguments of [`Recall`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct RecallArguments {
    /// what it is about, or a memory's id; without it, the newest
    query: Option<String>,
    /// how many memories; 6 if absent
    max: Option<usize>,
}

/// Recalled memories.
#[derive(Debug, Serialize)]
pub(super) struct Memories {
    memories: Vec<Value>,
    #[serde(skip)]
    found: Vec<RecalledMemory>,
}

impl SessionTool for Recall {
    type Arguments = RecallArguments;
    type Answer = Memories;

    const NAME: &'static str = "recall";
    const HINT: &'static str = "recall team memory knowledge decisions";
    const DESCRIPTION: &'static str = "Recall what the team has written down and what earlier sessions learned: decisions, \
        pitfalls, conventions.";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::described("query", &["question", "text", "about", "id"]),
        Parameter::described("max", &["limit", "n", "count"]),
    ];
    const PAGED: bool = true;

    fn answer(session: &ToolSession, arguments: &RecallArguments) -> Result<Memories, ToolError> {
        let query = RecallQuery {
            question: arguments.query.clone(),
            limit: arguments.max.unwrap_or(MEMORIES).min(MAX_MEMORIES),
            ..RecallQuery::default()
        };
        let found = session.workspace.recall(&query).map_err(memory_error)?;
        let memories = found.iter().map(RecalledMemory::as_json).collect();
        Ok(Memories { memories, found })
    }

    fn output(_: &RecallArguments, recalled: &Memories) -> Output {
        let lines = recalled.found.iter().map(|recalled| {
            let memory = &recalled.memory;
            let end = memory.text.floor_char_boundary(MAX_MEMORY_BYTES);
            let more = if end < memory.text.len() { " [cut]" } else { "" };
            let about: Vec<String> = [
                memory.date.as_deref().map(|date| date.chars().take(10).collect()),
                memory.author.as_ref().map(|author| format!("written by {author}")),
                memory.contested.as_ref().map(|contested| format!("contradicted by {}", contested.other)),
                recalled.stale.then(|| "its files have changed since".to_owned()),
            ]
            .into_iter()
            .flatten()
            .collect();
            format!("## {} ({})\n{}{more}\n", memory.source, about.join(", "), &memory.text[..end])
        });
        let summary = format!("{} memories", recalled.found.len());
        Output::listed(lines, &Cuts::default(), "nothing is remembered about it", summary)
    }
}

/// Remembers a fact.
pub(super) struct Remember;

/// The arguments of [`Remember`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct RememberArguments {
    /// the fact in one or two sentences that stand alone
    text: String,
    /// a file that it is about
    file: Option<String>,
    /// true for something that was tried and does not work
    #[serde(default)]
    failure: bool,
}

/// A remembered fact.
#[derive(Debug, Serialize)]
pub(super) struct Remembered {
    id: String,
    /// Whether a secret was removed from the text.
    redacted: bool,
    place: String,
}

impl SessionTool for Remember {
    type Arguments = RememberArguments;
    type Answer = Remembered;

    const NAME: &'static str = "remember";
    const HINT: &'static str = "remember note save fact decision";
    const DESCRIPTION: &'static str = "Write down a fact that the team should know in later sessions: a decision, a \
        convention, a pitfall. Not what the code itself says.";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::described("text", &["fact", "content", "note"]),
        Parameter::described("file", &["path", "file_path"]),
        Parameter::described("failure", &["failed"]),
    ];
    const EFFECT: Effect = Effect::Writes;

    fn answer(session: &ToolSession, arguments: &RememberArguments) -> Result<Remembered, ToolError> {
        let memory = session.workspace.writable_memory().map_err(memory_error)?;
        let kept = memory.remember(&Fact {
            text: arguments.text.clone(),
            kind: if arguments.failure { FactKind::Failure } else { FactKind::Learning },
            files: arguments.file.iter().cloned().collect(),
            task: None,
            confidence: CONFIDENCE,
            session: session.session.clone(),
        });
        let kept = kept.map_err(memory_error)?;
        Ok(Remembered { id: kept.id, redacted: kept.redacted, place: memory.place() })
    }

    fn output(_: &RememberArguments, kept: &Remembered) -> Output {
        let redacted = if kept.redacted { "; a secret was removed from it" } else { "" };
        Output::from_text(format!("remembered as {} in {}, not committed{redacted}", kept.id, kept.place))
    }
}

/// Forgets a memory.
pub(super) struct Forget;

/// The arguments of [`Forget`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct ForgetArguments {
    /// the memory's id, or any unambiguous part of it
    id: String,
}

/// A forgotten memory.
#[derive(Debug, Serialize)]
pub(super) struct Forgotten {
    id: String,
}

impl SessionTool for Forget {
    type Arguments = ForgetArguments;
    type Answer = Forgotten;

    const NAME: &'static str = "forget";
    const HINT: &'static str = "forget remove delete memory";
    const DESCRIPTION: &'static str = "Remove a wrong or outdated memory from recall; git keeps it in history.";
    const PARAMETERS: &'static [Parameter] = &[Parameter::described("id", &["memory", "record"])];
    const EFFECT: Effect = Effect::Replaces;

    fn answer(session: &ToolSession, arguments: &ForgetArguments) -> Result<Forgotten, ToolError> {
        let memory = session.workspace.writable_memory().map_err(memory_error)?;
        let id = memory.forget(&arguments.id).map_err(memory_error)?;
        Ok(Forgotten { id })
    }

    fn output(_: &ForgetArguments, forgotten: &Forgotten) -> Output {
        Output::from_text(format!("{} is forgotten", forgotten.id))
    }
}

/// Lists the open conflicts between memories.
pub(super) struct ListConflicts;

/// The open conflicts.
#[derive(Debug, Serialize)]
pub(super) struct Conflicts {
    conflicts: Vec<ConflictView>,
}

impl SessionTool for ListConflicts {
    type Arguments = NoArguments;
    type Answer = Conflicts;

    const NAME: &'static str = "list_conflicts";
    const HINT: &'static str = "conflicts contradicting memories";
    const DESCRIPTION: &'static str = "List memories that contradict each other and wait for a person's decision.";
    const PAGED: bool = true;

    fn answer(session: &ToolSession, _: &NoArguments) -> Result<Conflicts, ToolError> {
        let engine = session.workspace.engine.as_ref().ok_or(ToolError::NoWorktree)?;
        let open = conflicts(engine.worktree()).map_err(chore_error)?;
        let views = open.iter().map(|open| ConflictView::of(engine.worktree(), open));
        Ok(Conflicts { conflicts: views.collect() })
    }

    fn output(_: &NoArguments, open: &Conflicts) -> Output {
        let side = |(side, number): (&SideView, usize)| {
            let (date, author) = (side.date.get(..10).unwrap_or(&side.date), side.author.as_deref());
            let author = author.map(|author| format!(", {author}")).unwrap_or_default();
            format!("\n  {number} ({date}{author}): {}", side.text)
        };
        let lines = open.conflicts.iter().map(|conflict| {
            let sides: String = conflict.sides.iter().zip(1..).map(side).collect();
            let proposal =
                conflict.proposal.as_ref().map(|evidence| format!("\n  proposed: accept the newest; {evidence}"));
            let reason = conflict.reasons.first().map_or("", String::as_str);
            format!("{}: {reason}{sides}{}", conflict.id, proposal.unwrap_or_default())
        });
        let summary = format!("{} conflicts", open.conflicts.len());
        Output::listed(lines, &Cuts::default(), "there are no open conflicts", summary)
    }
}

/// Resolves a conflict.
pub(super) struct ResolveConflict;

/// The arguments of [`ResolveConflict`].
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct ResolveConflictArguments {
    /// the conflict's id, or any unambiguous part of it
    id: String,
    /// the memories to keep: left (the oldest), right (the newest), both, none, or their numbers such as 2,3
    keep: Option<String>,
    /// a text that replaces all sides
    write: Option<String>,
    /// accept the proposal that the newest memory replaces the others
    #[serde(default)]
    accept: bool,
    /// the reason, for the team
    note: Option<String>,
}

/// A resolved conflict.
#[derive(Debug, Serialize)]
pub(super) struct Resolved {
    decision: String,
}

/// No choice was given, or several.
#[derive(Debug, thiserror::Error)]
#[error("give one of `keep`, `write` and `accept`")]
struct OneChoice;

impl SessionTool for ResolveConflict {
    type Arguments = ResolveConflictArguments;
    type Answer = Resolved;

    const NAME: &'static str = "resolve_conflict";
    const HINT: &'static str = "resolve settle conflict decision";
    const DESCRIPTION: &'static str = "Settle a conflict between memories as the user decided it. Ask the user first.";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::described("id", &["conflict"]),
        Parameter::described("keep", &["side", "choice"]),
        Parameter::described("write", &["text"]),
        Parameter::described("accept", &["proposal"]),
        Parameter::described("note", &["reason"]),
    ];
    const EFFECT: Effect = Effect::Replaces;

    fn answer(session: &ToolSession, arguments: &ResolveConflictArguments) -> Result<Resolved, ToolError> {
        let resolution = match (&arguments.keep, &arguments.write, arguments.accept) {
            (Some(keep), None, false) => Resolution::Keep(keep.parse::<Keep>().map_err(failed)?),
            (None, Some(text), false) => Resolution::Write(text.clone()),
            (None, None, true) => Resolution::Accept,
            _ => return Err(failed(OneChoice)),
        };
        let resolved = session.workspace.resolve(&arguments.id, &resolution, arguments.note.as_deref());
        let decision = resolved.map_err(chore_error)?;
        Ok(Resolved { decision })
    }

    fn output(_: &ResolveConflictArguments, resolved: &Resolved) -> Output {
        Output::from_text(format!("resolved; the decision is {}", resolved.decision))
    }
}
