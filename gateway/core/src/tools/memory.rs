//! The tools of the team's memory: recall, remember, forget, and the open conflicts.

use muninn_context_engine::tools::Effect::{Reads, Replaces, Writes};
use muninn_context_engine::tools::ToolError;
use muninn_reconcile::{Keep, Resolution};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ClientTool;
use super::ToolSet::Memory;
use super::tool::{failed, failed_with_hint, named, tool};
use crate::{ChoreError, ConflictView, Fact, FactKind, Link, MemoryError, RecallQuery, RecalledMemory, conflicts};

/// Number of memories if the caller names none, and the most that one call shows.
const MEMORIES: usize = 6;
const MAX_MEMORIES: usize = 50;
/// The confidence in what an agent states without evidence. People's notes have 0.9.
const CONFIDENCE: f64 = 0.7;

/// The instruction to an agent about related memories.
const LINK: &str = "If the new memory changes or repeats one of `related`, call `link_memory` with `replaces` or `same_as`, or \
                    run `muninn link ID --replaces OTHER` or `--same-as OTHER`. If both hold, do nothing.";

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

#[derive(Deserialize, JsonSchema)]
struct RecallArguments {
    /// what it is about, or a memory's id; without it, the newest
    query: Option<String>,
    /// how many memories; 6 if absent
    max: Option<usize>,
    /// only facts without a stored question
    #[serde(default)]
    unasked: bool,
}

#[derive(Deserialize, JsonSchema)]
struct RememberArguments {
    /// the fact in one or two sentences that stand alone
    text: String,
    /// two or three short questions that it answers, in other words than its own
    #[serde(default)]
    answers: Vec<String>,
    /// places that show it: `src/a.rs:10-20`, or a whole file
    #[serde(default)]
    cites: Vec<String>,
    /// why it is so
    reason: Option<String>,
    /// true for something that was tried and does not work
    #[serde(default)]
    failure: bool,
}

pub(super) fn tools() -> [ClientTool; 2] {
    [
        tool("recall", Memory, Reads, "recall team memory knowledge decisions")
            .about(
                "Recall what the team has written down and what earlier sessions learned: decisions, pitfalls, \
                 conventions.",
            )
            .parameter("query", &["question", "text", "about", "id"])
            .parameter("max", &["limit", "n", "count"])
            .parameter("unasked", &[])
            .paged()
            .answered(|session, arguments: RecallArguments| {
                let query = RecallQuery {
                    question: arguments.query,
                    unasked: arguments.unasked,
                    limit: arguments.max.unwrap_or(MEMORIES).min(MAX_MEMORIES),
                    ..RecallQuery::default()
                };
                let found = session.workspace.recall(&query).map_err(memory_error)?;
                let memories: Vec<Value> = found.iter().map(RecalledMemory::as_json).collect();
                Ok(named("memories", memories))
            }),
        tool("remember", Memory, Writes, "remember note save fact decision")
            .about(
                "Write down a fact that the team should know in later sessions: a decision, a convention, a pitfall. Not \
                 what the code itself says.",
            )
            .parameter("text", &["fact", "content", "note"])
            .parameter("answers", &["questions"])
            .parameter("cites", &["file", "path", "file_path", "files", "sources"])
            .parameter("reason", &["because", "why"])
            .parameter("failure", &["failed"])
            .answered(|session, arguments: RememberArguments| {
                let memory = session.workspace.writable_memory().map_err(memory_error)?;
                let text = arguments.text;
                let kept = memory.remember(&Fact {
                    text: text.clone(),
                    answers: arguments.answers,
                    kind: if arguments.failure { FactKind::Failure } else { FactKind::Learning },
                    cites: arguments.cites,
                    reason: arguments.reason,
                    task: None,
                    confidence: CONFIDENCE,
                    session: session.session.clone(),
                });
                let kept = kept.map_err(memory_error)?;
                let related = session.workspace.related(&text, &kept.id);
                let mut told = json!({"id": kept.id, "redacted": kept.redacted, "place": memory.place()});
                if !related.is_empty() {
                    told["related"] = json!(related);
                    told["next"] = json!(LINK);
                }
                Ok(told)
            }),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct LinkArguments {
    /// the memory's id, or any unambiguous part of it
    id: String,
    /// the older memory that no longer holds
    replaces: Option<String>,
    /// another memory that says the same
    same_as: Option<String>,
    /// another memory that holds, too; undoes a link
    apart: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct ForgetArguments {
    /// the memory's id, or any unambiguous part of it
    id: String,
}

#[derive(Deserialize, JsonSchema)]
struct ListConflictsArguments {
    /// the next pairs that nobody has decided, for you to answer
    #[serde(default)]
    undecided: bool,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct PairDecision {
    pair: u32,
    relation: String,
    reason: String,
}

#[derive(Deserialize, JsonSchema)]
struct ResolveConflictArguments {
    /// the conflict's id, or any unambiguous part of it
    id: Option<String>,
    /// the id of a batch of undecided pairs
    batch: Option<String>,
    /// your decision on each pair of the batch
    #[serde(default)]
    decisions: Vec<PairDecision>,
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

#[derive(Deserialize, JsonSchema)]
struct AddQuestionsArguments {
    /// the memory's id, or any unambiguous part of it
    id: String,
    /// two or three short questions that it answers, in other words than its own
    questions: Vec<String>,
}

/// The tools that keep the memory in order.
pub(super) fn chores() -> [ClientTool; 5] {
    [
        tool("link_memory", Memory, Replaces, "link replaces same duplicate memory")
            .about("Say that a memory replaces or repeats an older one, or that both hold. Name exactly one of them.")
            .parameter("id", &["memory", "record"])
            .parameter("replaces", &["supersedes", "older"])
            .parameter("same_as", &["same", "duplicate_of"])
            .parameter("apart", &["distinct"])
            .answered(|session, arguments: LinkArguments| {
                let links = [
                    (Link::Replaces, arguments.replaces),
                    (Link::SameAs, arguments.same_as),
                    (Link::Apart, arguments.apart),
                ];
                let mut links = links.into_iter().filter_map(|(link, other)| Some((link, other?)));
                let (Some((link, other)), None) = (links.next(), links.next()) else {
                    return Err(failed("name one of `replaces`, `same_as` and `apart`"));
                };
                let memory = session.workspace.writable_memory().map_err(memory_error)?;
                let linked = memory.link(&arguments.id, (link, &other), session.session.as_deref());
                let (id, other) = linked.map_err(memory_error)?;
                Ok(json!({"id": id, "other": other}))
            }),
        tool("add_questions", Memory, Writes, "questions answered by memory")
            .about("Store questions that an older memory answers, so that recall finds it by other words.")
            .parameter("id", &["memory", "record"])
            .parameter("questions", &["answers"])
            .answered(|session, arguments: AddQuestionsArguments| {
                let memory = session.workspace.writable_memory().map_err(memory_error)?;
                let added = memory.add_questions(&arguments.id, &arguments.questions, session.session.as_deref());
                let kept = added.map_err(memory_error)?;
                Ok(json!({"id": kept.id, "redacted": kept.redacted, "place": memory.place()}))
            }),
        tool("forget", Memory, Replaces, "forget remove delete memory")
            .about("Remove a wrong or outdated memory from recall; git keeps it in history.")
            .parameter("id", &["memory", "record"])
            .answered(|session, arguments: ForgetArguments| {
                let memory = session.workspace.writable_memory().map_err(memory_error)?;
                Ok(named("id", memory.forget(&arguments.id).map_err(memory_error)?))
            }),
        tool("list_conflicts", Memory, Reads, "conflicts contradicting undecided memories")
            .about("List memories that contradict each other, or may: they wait for a person's decision. With `undecided`, a batch of pairs for you to decide.")
            .parameter("undecided", &[])
            .paged()
            .answered(|session, arguments: ListConflictsArguments| {
                let engine = session.workspace.engine.as_ref().ok_or(ToolError::NoWorktree)?;
                if arguments.undecided {
                    let batch = session.workspace.undecided().map_err(chore_error)?;
                    return Ok(json!({"batch": batch}));
                }
                let open = conflicts(engine.worktree()).map_err(chore_error)?;
                let views: Vec<_> = open.iter().map(|open| ConflictView::of(engine.worktree(), open)).collect();
                Ok(json!({"conflicts": views}))
            }),
        tool("resolve_conflict", Memory, Replaces, "resolve settle conflict decision")
            .about("Settle a conflict between memories as the user decided it; ask the user first. Or give `batch` and `decisions`.")
            .parameter("batch", &[])
            .parameter("decisions", &[])
            .parameter("id", &["conflict"])
            .parameter("keep", &["side", "choice"])
            .parameter("write", &["text"])
            .parameter("accept", &["proposal"])
            .parameter("note", &["reason"])
            .answered(|session, arguments: ResolveConflictArguments| {
                if let Some(batch) = &arguments.batch {
                    let answer = json!({"decisions": arguments.decisions}).to_string();
                    let decided = session.workspace.settle(&session.client, batch, &answer);
                    return Ok(json!(decided.map_err(chore_error)?));
                }
                let id = arguments.id.as_deref().ok_or_else(|| failed("give `id`, or `batch` and `decisions`"))?;
                let resolution = match (arguments.keep, arguments.write, arguments.accept) {
                    (Some(keep), None, false) => Resolution::Keep(keep.parse::<Keep>().map_err(failed)?),
                    (None, Some(text), false) => Resolution::Write(text),
                    (None, None, true) => Resolution::Accept,
                    _ => return Err(failed("give one of `keep`, `write` and `accept`")),
                };
                let resolved = session.workspace.resolve(id, &resolution, arguments.note.as_deref());
                Ok(json!({"decision": resolved.map_err(chore_error)?}))
            }),
    ]
}
