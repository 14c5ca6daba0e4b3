//! The tools of the git journal: sections, entries, and writing to a section that was read.

use std::sync::Arc;

use muninn_context_engine::tools::Effect::{Reads, Writes};
use muninn_context_engine::tools::ToolError;
use muninn_notebooks::journal::{Draft, JournalError};
use muninn_text::model::block_on;
use schemars::JsonSchema;
use serde::Deserialize;

use super::tool::{failed_with_hint, named, tool};
use super::{ClientTool, ModelUse, ToolSession, ToolSet};
use crate::{JournalUseError, SessionJournal, SynthesisRequest, Synthesized};

/// The number of listed entries if the caller names none, and the most that one call lists.
const LISTED: u32 = 10;
const MOST_LISTED: u32 = 200;
/// The levels of the table of contents if the caller names none.
const DEPTH: u32 = 1;

fn journal(session: &ToolSession) -> Result<Arc<SessionJournal>, ToolError> {
    session.workspace.journal().map_err(error)
}

fn error(error: JournalUseError) -> ToolError {
    let hint = match &error {
        JournalUseError::Journal(JournalError::NotRead(_)) => {
            Some("call `journal_read`; if the client names no session, pass the `version` that it returns")
        }
        JournalUseError::Journal(JournalError::Changed { .. }) => Some("then write with the new version"),
        JournalUseError::Journal(JournalError::NoSection(_) | JournalError::NoEntry(_)) => {
            Some("`journal_toc` names the sections, `journal_list_entries` the entries")
        }
        _ => None,
    };
    failed_with_hint(error, hint)
}

#[derive(Deserialize, JsonSchema)]
struct SearchArguments {
    /// the kind of work
    work_context: Option<String>,
    /// what is sought
    content: String,
    /// the score that a new entry needs, 0 to 1
    salience_threshold: Option<f32>,
}

#[derive(Deserialize, JsonSchema)]
struct ReadArguments {
    /// a section such as project/area, or an entry such as project/area#1a2b3c4
    id: String,
}

#[derive(Deserialize, JsonSchema)]
struct TocArguments {
    /// the section to begin with
    id: Option<String>,
    /// levels, 1 if absent
    depth: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
struct ListArguments {
    /// the section
    path: String,
    /// entries to leave out, 0 is the newest
    start: Option<u32>,
    /// at most so many, 10 if absent
    length: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
struct WriteArguments {
    /// the section
    path: String,
    /// what changed or was learned
    entry: String,
    /// the new understanding as a whole, if it has changed
    overview: Option<String>,
    /// a line about the entry
    summary: Option<String>,
    /// the kind of work that led to it
    work_context: Option<String>,
    /// the version that journal_read gave; without, what this session read last
    version: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct SynthesisArguments {
    /// the section
    section: String,
    /// one overview, that of the section if absent
    version_a: Option<String>,
    /// the other overview, that beside the section if absent
    version_b: Option<String>,
    /// the kind of work that led to the conflict
    work_context: Option<String>,
}

pub(super) fn tools() -> [ClientTool; 6] {
    use ToolSet::Journal;
    [
        tool("journal_search", Journal, Reads, "journal search entries")
            .about(
                "Search journal entries by their text and by the kind of work that led to them. Old entries need a better \
                 match.",
            )
            .parameter("work_context", &["context"])
            .parameter("content", &["query", "text"])
            .parameter("salience_threshold", &["threshold"])
            .answered(|session, arguments: SearchArguments| {
                let context = arguments.work_context.unwrap_or_default();
                let found =
                    session.workspace.search_journal(&context, &arguments.content, arguments.salience_threshold);
                Ok(named("entries", found.map_err(error)?))
            }),
        tool("journal_read", Journal, Reads, "journal read section overview entry")
            .about(
                "Read a journal section: its current understanding and its version; or one entry. Read before you write.",
            )
            .parameter("id", &["path", "section"])
            .answered(|session, arguments: ReadArguments| {
                journal(session)?.read(&arguments.id, session.session.as_deref()).map_err(error)
            }),
        tool("journal_toc", Journal, Reads, "journal sections contents")
            .about("The journal's sections with their number of entries.")
            .parameter("id", &["path", "section"])
            .parameter("depth", &["levels"])
            .answered(|session, arguments: TocArguments| {
                let depth = arguments.depth.unwrap_or(DEPTH) as usize;
                Ok(named("sections", journal(session)?.toc(arguments.id.as_deref(), depth).map_err(error)?))
            }),
        tool("journal_list_entries", Journal, Reads, "journal entries list")
            .about("The entries of a journal section, the newest first.")
            .parameter("path", &["id", "section"])
            .parameter("start", &["offset"])
            .parameter("length", &["limit", "count"])
            .answered(|session, arguments: ListArguments| {
                let length = arguments.length.unwrap_or(LISTED).min(MOST_LISTED);
                let start = arguments.start.unwrap_or_default();
                let entries = journal(session)?.entries(&arguments.path, start as usize, length as usize);
                Ok(named("entries", entries.map_err(error)?))
            }),
        tool("journal_write", Journal, Writes, "journal write entry overview")
            .about("Add an entry to a journal section that you have read, and optionally replace its overview.")
            .parameter("path", &["id", "section"])
            .document("entry", &["text", "content"])
            .document("overview", &[])
            .parameter("summary", &[])
            .parameter("work_context", &["context"])
            .parameter("version", &[])
            .answered(|session, arguments: WriteArguments| {
                let draft = Draft {
                    text: arguments.entry,
                    overview: arguments.overview,
                    summary: arguments.summary,
                    work_context: arguments.work_context,
                    session: session.session.clone(),
                    agent: Some(session.client.clone()),
                    task: None,
                };
                journal(session)?.write(&arguments.path, &draft, arguments.version.as_deref()).map_err(error)
            }),
        tool("journal_synthesize_conflict", Journal, Writes, "journal merge conflict overviews")
            .about(
                "Merge two overviews of a journal section. The configured model writes the merged one; without a model, \
                 you get both and write it with journal_write.",
            )
            .parameter("section", &["path", "id"])
            .document("version_a", &[])
            .document("version_b", &[])
            .parameter("work_context", &["context"])
            .asks(ModelUse::Journal)
            .answered(synthesize),
    ]
}

/// Merges two overviews.
fn synthesize(session: &ToolSession, arguments: SynthesisArguments) -> Result<Synthesized, ToolError> {
    let request = SynthesisRequest {
        receipt: session.receipt(&arguments.section),
        section: arguments.section,
        version_a: arguments.version_a,
        version_b: arguments.version_b,
        draft: Draft {
            work_context: arguments.work_context,
            session: session.session.clone(),
            agent: Some(session.client.clone()),
            ..Draft::default()
        },
    };
    let account = |receipt| {
        if let Some(store) = &session.app.store {
            store.note_receipt(receipt);
            // The client may end this process as soon as it has the answer.
            block_on(store.flush());
        }
    };
    let settings = session.app.settings();
    journal(session)?.synthesize(&settings.config, request, &session.until, &account).map_err(error)
}
