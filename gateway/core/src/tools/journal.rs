//! The tools of the git journal: sections, entries, and writing to a section that was read.

use std::sync::Arc;

use muninn_context_engine::tools::{Effect, Output, Parameter, ToolError};
use muninn_notebooks::journal::{Draft, FoundEntry, JournalError, ListedEntry, TocNode, Written};
use muninn_text::model::block_on;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool::{SessionTool, failed_with_hint, json};
use super::{ModelUse, ToolSession};
use crate::{JournalText, JournalUseError, SessionJournal, SynthesisRequest, Synthesized};

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

/// Searches entries.
pub(super) struct JournalSearch;

/// The arguments of [`JournalSearch`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct SearchArguments {
    /// the kind of work
    work_context: Option<String>,
    /// what is sought
    content: String,
    /// the score that a new entry needs, 0 to 1
    salience_threshold: Option<f32>,
}

/// Found entries.
#[derive(Debug, Serialize)]
pub(super) struct Found {
    entries: Vec<FoundEntry>,
}

impl SessionTool for JournalSearch {
    type Arguments = SearchArguments;
    type Answer = Found;

    const NAME: &'static str = "journal_search";
    const HINT: &'static str = "journal search entries";
    const DESCRIPTION: &'static str = "Search journal entries by their text and by the kind of work that led to them. Old entries need a better match.";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::described("work_context", &["context"]),
        Parameter::described("content", &["query", "text"]),
        Parameter::described("salience_threshold", &["threshold"]),
    ];

    fn answer(session: &ToolSession, arguments: &SearchArguments) -> Result<Found, ToolError> {
        let context = arguments.work_context.as_deref().unwrap_or_default();
        let entries = journal(session)?.search(context, &arguments.content, arguments.salience_threshold);
        Ok(Found { entries: entries.map_err(error)? })
    }

    fn output(_: &SearchArguments, found: &Found) -> Output {
        json(&found.entries)
    }
}

/// Reads a section or an entry.
pub(super) struct JournalRead;

/// The arguments of [`JournalRead`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct ReadArguments {
    /// a section such as project/area, or an entry such as project/area#1a2b3c4
    id: String,
}

impl SessionTool for JournalRead {
    type Arguments = ReadArguments;
    type Answer = JournalText;

    const NAME: &'static str = "journal_read";
    const HINT: &'static str = "journal read section overview entry";
    const DESCRIPTION: &'static str =
        "Read a journal section: its current understanding and its version; or one entry. Read before you write.";
    const PARAMETERS: &'static [Parameter] = &[Parameter::described("id", &["path", "section"])];

    fn answer(session: &ToolSession, arguments: &ReadArguments) -> Result<JournalText, ToolError> {
        journal(session)?.read(&arguments.id, session.session.as_deref()).map_err(error)
    }
}

/// The table of contents.
pub(super) struct JournalToc;

/// The arguments of [`JournalToc`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct TocArguments {
    /// the section to begin with
    id: Option<String>,
    /// levels, 1 if absent
    depth: Option<u32>,
}

/// Sections.
#[derive(Debug, Serialize)]
pub(super) struct Contents {
    sections: Vec<TocNode>,
}

impl SessionTool for JournalToc {
    type Arguments = TocArguments;
    type Answer = Contents;

    const NAME: &'static str = "journal_toc";
    const HINT: &'static str = "journal sections contents";
    const DESCRIPTION: &'static str = "The journal's sections with their number of entries.";
    const PARAMETERS: &'static [Parameter] =
        &[Parameter::described("id", &["path", "section"]), Parameter::described("depth", &["levels"])];

    fn answer(session: &ToolSession, arguments: &TocArguments) -> Result<Contents, ToolError> {
        let depth = arguments.depth.unwrap_or(DEPTH) as usize;
        let sections = journal(session)?.toc(arguments.id.as_deref(), depth).map_err(error)?;
        Ok(Contents { sections })
    }

    fn output(_: &TocArguments, contents: &Contents) -> Output {
        json(&contents.sections)
    }
}

/// Lists entries.
pub(super) struct JournalListEntries;

/// The arguments of [`JournalListEntries`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct ListArguments {
    /// the section
    path: String,
    /// entries to leave out, 0 is the newest
    start: Option<u32>,
    /// at most so many, 10 if absent
    length: Option<u32>,
}

/// Entries.
#[derive(Debug, Serialize)]
pub(super) struct Entries {
    entries: Vec<ListedEntry>,
}

impl SessionTool for JournalListEntries {
    type Arguments = ListArguments;
    type Answer = Entries;

    const NAME: &'static str = "journal_list_entries";
    const HINT: &'static str = "journal entries list";
    const DESCRIPTION: &'static str = "The entries of a journal section, the newest first.";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::described("path", &["id", "section"]),
        Parameter::described("start", &["offset"]),
        Parameter::described("length", &["limit", "count"]),
    ];

    fn answer(session: &ToolSession, arguments: &ListArguments) -> Result<Entries, ToolError> {
        let length = arguments.length.unwrap_or(LISTED).min(MOST_LISTED);
        let start = arguments.start.unwrap_or_default();
        let entries = journal(session)?.entries(&arguments.path, start as usize, length as usize);
        Ok(Entries { entries: entries.map_err(error)? })
    }

    fn output(_: &ListArguments, entries: &Entries) -> Output {
        json(&entries.entries)
    }
}

/// Writes an entry.
pub(super) struct JournalWrite;

/// The arguments of [`JournalWrite`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct WriteArguments {
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

impl SessionTool for JournalWrite {
    type Arguments = WriteArguments;
    type Answer = Written;

    const NAME: &'static str = "journal_write";
    const HINT: &'static str = "journal write entry overview";
    const DESCRIPTION: &'static str =
        "Add an entry to a journal section that you have read, and optionally replace its overview.";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::described("path", &["id", "section"]),
        Parameter::document("entry", &["text", "content"]),
        Parameter::document("overview", &[]),
        Parameter::described("summary", &[]),
        Parameter::described("work_context", &["context"]),
        Parameter::described("version", &[]),
    ];
    const EFFECT: Effect = Effect::Writes;

    fn answer(session: &ToolSession, arguments: &WriteArguments) -> Result<Written, ToolError> {
        let draft = Draft {
            text: arguments.entry.clone(),
            overview: arguments.overview.clone(),
            summary: arguments.summary.clone(),
            work_context: arguments.work_context.clone(),
            session: session.session.clone(),
            agent: Some(session.client.clone()),
            task: None,
        };
        let written = journal(session)?.write(&arguments.path, &draft, arguments.version.as_deref());
        written.map_err(error)
    }

    fn output(_: &WriteArguments, written: &Written) -> Output {
        let redacted = if written.redacted { "; a secret was removed from it" } else { "" };
        Output::from_text(format!("wrote {}, version {}{redacted}", written.id, written.version))
    }
}

/// Merges two overviews.
pub(super) struct JournalSynthesizeConflict;

/// The arguments of [`JournalSynthesizeConflict`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct SynthesisArguments {
    /// the section
    section: String,
    /// one overview, that of the section if absent
    version_a: Option<String>,
    /// the other overview, that beside the section if absent
    version_b: Option<String>,
    /// the kind of work that led to the conflict
    work_context: Option<String>,
}

impl SessionTool for JournalSynthesizeConflict {
    type Arguments = SynthesisArguments;
    type Answer = Synthesized;

    const NAME: &'static str = "journal_synthesize_conflict";
    const HINT: &'static str = "journal merge conflict overviews";
    const DESCRIPTION: &'static str = "Merge two overviews of a journal section. The configured model writes the merged one; \
        without a model, you get both and write it with journal_write.";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::described("section", &["path", "id"]),
        Parameter::document("version_a", &[]),
        Parameter::document("version_b", &[]),
        Parameter::described("work_context", &["context"]),
    ];
    const EFFECT: Effect = Effect::Writes;
    const MODEL: ModelUse = ModelUse::Journal;

    fn answer(session: &ToolSession, arguments: &SynthesisArguments) -> Result<Synthesized, ToolError> {
        let request = SynthesisRequest {
            section: arguments.section.clone(),
            version_a: arguments.version_a.clone(),
            version_b: arguments.version_b.clone(),
            draft: Draft {
                work_context: arguments.work_context.clone(),
                session: session.session.clone(),
                agent: Some(session.client.clone()),
                ..Draft::default()
            },
            receipt: session.receipt(&arguments.section),
        };
        let account = |receipt| {
            if let Some(store) = &session.app.store {
                store.note_receipt(receipt);
                // The client may end this process as soon as it has the answer.
                block_on(store.flush());
            }
        };
        let settings = session.app.settings();
        let merged = journal(session)?.synthesize(&settings.config, request, &session.until, &account);
        merged.map_err(error)
    }
}
