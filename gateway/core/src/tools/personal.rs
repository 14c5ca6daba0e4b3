//! The tools of personal memory, with the names, arguments and results of macrodata.

use std::sync::Arc;

use jiff::tz::TimeZone;
use muninn_context_engine::tools::{Effect, Output, Parameter, ToolError};
use muninn_notebooks::personal::{
    EntryMetadata, FoundItem, ItemType, JournalEntry, Logged, Personal, PersonalContext, SearchOptions, Signal,
    SignalContext, time,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ToolSession;
use super::personal_error::PersonalUseError;
use super::tool::{NoArguments, SessionTool, failed, json};

/// The results if the caller names no number, and the most of one call.
const FOUND: u32 = 5;
const RECENT: u32 = 10;
const MOST: u32 = 100;

pub(super) fn error(error: impl Into<PersonalUseError>) -> ToolError {
    failed(error.into())
}

pub(super) fn personal(session: &ToolSession) -> Result<Arc<Personal>, ToolError> {
    let found = session.app.personal_of(&session.caller);
    found.ok_or_else(|| error(PersonalUseError::NotYours))
}

/// The context of a session.
pub(super) struct GetContext;

impl SessionTool for GetContext {
    type Arguments = NoArguments;
    type Answer = PersonalContext;

    const NAME: &'static str = "get_context";
    const HINT: &'static str = "personal memory identity inbox today commitments";
    const DESCRIPTION: &'static str = "The user's own memory: who they are, their inbox, day and commitments, the newest journal \
        entries, reminders, and the paths of the files, which you read and edit with your file tools.";
    const ANYWHERE: bool = true;

    fn answer(session: &ToolSession, _: &NoArguments) -> Result<PersonalContext, ToolError> {
        Ok(personal(session)?.context())
    }
}

/// Appends a journal entry.
pub(super) struct LogJournal;

/// The arguments of [`LogJournal`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct LogArguments {
    /// a category
    topic: String,
    /// the note
    content: String,
    /// where it came from, such as conversation
    source: Option<String>,
    /// what you were doing
    intent: Option<String>,
}

impl SessionTool for LogJournal {
    type Arguments = LogArguments;
    type Answer = Logged;

    const NAME: &'static str = "log_journal";
    const HINT: &'static str = "personal journal note";
    const DESCRIPTION: &'static str = "Add a note to the user's own journal, which no repository and no teammate sees.";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::described("topic", &["category"]),
        Parameter::document("content", &["text", "note"]),
        Parameter::described("source", &[]),
        Parameter::described("intent", &[]),
    ];
    const EFFECT: Effect = Effect::Writes;
    const ANYWHERE: bool = true;

    fn answer(session: &ToolSession, arguments: &LogArguments) -> Result<Logged, ToolError> {
        let metadata = EntryMetadata { source: arguments.source.clone(), intent: arguments.intent.clone() };
        let logged = personal(session)?.log(&arguments.topic, &arguments.content, metadata);
        logged.map_err(error)
    }

    fn output(_: &LogArguments, logged: &Logged) -> Output {
        Output::from_text(if logged.redacted { "logged; a secret was removed" } else { "logged" })
    }
}

/// Lists the newest journal entries.
pub(super) struct GetRecentJournal;

/// The arguments of [`GetRecentJournal`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct RecentArguments {
    /// so many entries, 10 if absent
    count: Option<u32>,
    /// only entries with this topic
    topic: Option<String>,
}

/// Journal entries.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Entries {
    entries: Vec<JournalEntry>,
}

impl SessionTool for GetRecentJournal {
    type Arguments = RecentArguments;
    type Answer = Entries;

    const NAME: &'static str = "get_recent_journal";
    const HINT: &'static str = "personal journal newest notes";
    const DESCRIPTION: &'static str = "The newest notes of the user's own journal.";
    const PARAMETERS: &'static [Parameter] =
        &[Parameter::described("count", &["limit"]), Parameter::described("topic", &["category"])];
    const ANYWHERE: bool = true;

    fn answer(session: &ToolSession, arguments: &RecentArguments) -> Result<Entries, ToolError> {
        let count = arguments.count.unwrap_or(RECENT).min(MOST) as usize;
        let entries = personal(session)?.recent(count, arguments.topic.as_deref());
        Ok(Entries { entries: entries.map_err(error)? })
    }

    fn output(_: &RecentArguments, entries: &Entries) -> Output {
        json(&entries.entries)
    }
}

/// Searches journal entries and entities.
pub(super) struct SearchMemory;

/// The arguments of [`SearchMemory`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct SearchArguments {
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
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Found {
    results: Vec<FoundItem>,
}

impl SessionTool for SearchMemory {
    type Arguments = SearchArguments;
    type Answer = Found;

    const NAME: &'static str = "search_memory";
    const HINT: &'static str = "personal memory search people projects notes";
    const DESCRIPTION: &'static str = "Search the user's own journal, people and projects by meaning.";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::described("query", &["content", "text"]),
        Parameter::described("type", &["kind"]),
        Parameter::described("since", &["after"]),
        Parameter::described("limit", &["count"]),
    ];
    const ANYWHERE: bool = true;

    fn answer(session: &ToolSession, arguments: &SearchArguments) -> Result<Found, ToolError> {
        let kind = arguments.kind.clone().filter(|kind| kind != "all");
        let since = arguments.since.as_deref().map(|since| time(since, &TimeZone::system()));
        let options = SearchOptions {
            kind: kind.map(ItemType::from),
            since: since.transpose().map_err(error)?,
            limit: arguments.limit.unwrap_or(FOUND).min(MOST) as usize,
        };
        let results = personal(session)?.search(&arguments.query, &options);
        Ok(Found { results: results.map_err(error)? })
    }

    fn output(_: &SearchArguments, found: &Found) -> Output {
        match &*found.results {
            [] => Output::from_text("nothing matches"),
            results => json(&results),
        }
    }
}

/// Logs an event.
pub(super) struct LogSignal;

/// The arguments of [`LogSignal`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct SignalArguments {
    /// the kind of event, such as file_edit
    #[serde(rename = "type")]
    kind: String,
    /// what it is about: file, query, trigger
    context: Option<SignalAbout>,
    /// any data
    raw: Option<Map<String, Value>>,
}

/// What a signal is about.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct SignalAbout {
    /// a file
    file: Option<String>,
    /// the words of a search
    query: Option<String>,
    /// the cause
    trigger: Option<String>,
}

impl SessionTool for LogSignal {
    type Arguments = SignalArguments;
    type Answer = Signal;

    const NAME: &'static str = "log_signal";
    const HINT: &'static str = "personal signal event";
    const DESCRIPTION: &'static str = "Log an event that may matter to the user later. Signals are not searched.";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::described("type", &["kind"]),
        Parameter::described("context", &[]),
        Parameter::described("raw", &["data"]),
    ];
    const EFFECT: Effect = Effect::Writes;
    const ANYWHERE: bool = true;

    fn answer(session: &ToolSession, arguments: &SignalArguments) -> Result<Signal, ToolError> {
        let about = arguments.context.clone().map(|about| SignalContext {
            file: about.file,
            query: about.query,
            trigger: about.trigger,
        });
        let days = session.app.settings().config.personal.signals_days;
        let logged =
            personal(session)?.log_signal(&arguments.kind, about, arguments.raw.clone().map(Value::Object), days);
        logged.map_err(error)
    }

    fn output(_: &SignalArguments, _: &Signal) -> Output {
        Output::from_text("logged")
    }
}
