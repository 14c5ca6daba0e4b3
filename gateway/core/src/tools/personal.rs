//! The tools of personal memory, with the names, arguments and results of macrodata.

use std::sync::Arc;

use jiff::tz::TimeZone;
use muninn_context_engine::tools::Effect::{Reads, Writes};
use muninn_context_engine::tools::ToolError;
use muninn_notebooks::personal::{
    EntryMetadata, FoundItem, ItemType, JournalEntry, Personal, SearchOptions, SignalContext, time,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::tool::{NoArguments, failed, tool};
use super::{ClientTool, ToolSession, ToolSet};

/// The results if the caller names no number, and the most of one call.
const FOUND: u32 = 5;
const RECENT: u32 = 10;
const MOST: u32 = 100;

pub(super) fn personal(session: &ToolSession) -> Result<Arc<Personal>, ToolError> {
    let found = session.app.personal_of(&session.caller);
    found.ok_or_else(|| failed("personal memory is not enabled, or belongs to another access key"))
}

#[derive(Deserialize, JsonSchema)]
struct LogArguments {
    /// a category
    topic: String,
    /// the note
    content: String,
    /// where it came from, such as conversation
    source: Option<String>,
    /// what you were doing
    intent: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct RecentArguments {
    /// so many entries, 10 if absent
    count: Option<u32>,
    /// only entries with this topic
    topic: Option<String>,
}

/// Journal entries.
#[derive(Serialize, JsonSchema)]
struct Entries {
    entries: Vec<JournalEntry>,
}

#[derive(Deserialize, JsonSchema)]
struct SearchArguments {
    /// what is sought
    query: String,
    /// journal, person, project, another folder of entities, or all
    #[serde(rename = "type")]
    kind: Option<String>,
    /// only from this date or time on
    since: Option<String>,
    /// so many results, 5 if absent
    limit: Option<u32>,
}

/// Found texts.
#[derive(Serialize, JsonSchema)]
struct Found {
    results: Vec<FoundItem>,
}

pub(super) fn tools() -> [ClientTool; 4] {
    use ToolSet::Personal;
    [
        tool("get_context", Personal, Reads, "personal memory identity inbox today commitments")
            .about(
                "The user's own memory: who they are, their inbox, day and commitments, the newest journal entries, \
                 reminders, and the paths of the files, which you read and edit with your file tools.",
            )
            .answered_with_schema(|session, _: NoArguments| Ok(personal(session)?.context())),
        tool("log_journal", Personal, Writes, "personal journal note")
            .about("Add a note to the user's own journal, which no repository and no teammate sees.")
            .parameter("topic", &["category"])
            .document("content", &["text", "note"])
            .parameter("source", &[])
            .parameter("intent", &[])
            .answered_with_schema(|session, arguments: LogArguments| {
                let metadata = EntryMetadata { source: arguments.source, intent: arguments.intent };
                personal(session)?.log(&arguments.topic, &arguments.content, metadata).map_err(failed)
            }),
        tool("get_recent_journal", Personal, Reads, "personal journal newest notes")
            .about("The newest notes of the user's own journal.")
            .parameter("count", &["limit"])
            .parameter("topic", &["category"])
            .answered_with_schema(|session, arguments: RecentArguments| {
                let count = arguments.count.unwrap_or(RECENT).min(MOST) as usize;
                let entries = personal(session)?.recent(count, arguments.topic.as_deref());
                Ok(Entries { entries: entries.map_err(failed)? })
            }),
        tool("search_memory", Personal, Reads, "personal memory search people projects notes")
            .about("Search the user's own journal, people and projects by meaning.")
            .parameter("query", &["content", "text"])
            .parameter("type", &["kind"])
            .parameter("since", &["after"])
            .parameter("limit", &["count"])
            .answered_with_schema(|session, arguments: SearchArguments| {
                let since = arguments.since.as_deref().map(|since| time(since, &TimeZone::system()));
                let options = SearchOptions {
                    kind: arguments.kind.filter(|kind| kind != "all").map(ItemType::from),
                    since: since.transpose().map_err(failed)?,
                    limit: arguments.limit.unwrap_or(FOUND).min(MOST) as usize,
                };
                let results = personal(session)?.search(&arguments.query, &options);
                Ok(Found { results: results.map_err(failed)? })
            }),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct SignalArguments {
    /// the kind of event, such as file_edit
    #[serde(rename = "type")]
    kind: String,
    /// what it is about: file, query, trigger
    context: Option<SignalAbout>,
    /// any data
    raw: Option<Map<String, Value>>,
}

#[derive(Deserialize, JsonSchema)]
struct SignalAbout {
    /// a file
    file: Option<String>,
    /// the words of a search
    query: Option<String>,
    /// the cause
    trigger: Option<String>,
}

pub(super) fn log_signal_tool() -> ClientTool {
    tool("log_signal", ToolSet::Personal, Writes, "personal signal event")
        .about("Log an event that may matter to the user later. Signals are not searched.")
        .parameter("type", &["kind"])
        .parameter("context", &[])
        .parameter("raw", &["data"])
        .answered_with_schema(|session, arguments: SignalArguments| {
            let about = arguments.context.map(|about| SignalContext {
                file: about.file,
                query: about.query,
                trigger: about.trigger,
            });
            let days = session.app.settings().config.personal.signals_days;
            let raw = arguments.raw.map(Value::Object);
            personal(session)?.log_signal(&arguments.kind, about, raw, days).map_err(failed)
        })
}
