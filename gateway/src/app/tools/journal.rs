//! The tools of the git journal: sections, entries, and writing to a section that was read.

use std::sync::Arc;

use muninn_context_engine::tools::{Effect, Output, Parameter, Tool, ToolContext, ToolError};
use muninn_memory::journal::{Draft, FoundEntry, JournalError, ListedEntry, TocNode, Written};
use muninn_memory::model::block_on;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ToolSession;
use crate::app::{JournalText, JournalUseError, SessionJournal, SynthesisRequest, Synthesized};

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
            "call `journal_read`; if the client names no session, pass the `version` that it returns"
        }
        JournalUseError::Journal(JournalError::Changed { .. }) => "then write with the new version",
        JournalUseError::Journal(JournalError::NoSection(_) | JournalError::NoEntry(_)) => {
            "`journal_toc` names the sections, `journal_list_entries` the entries"
        }
        _ => return ToolError::Application(Box::new(error)),
    };
    ToolError::Application(Box::new(Hinted { error, hint }))
}

/// An error with the remedy.
#[derive(Debug, thiserror::Error)]
#[error("{error}; {hint}")]
struct Hinted {
    error: JournalUseError,
    hint: &'static str,
}

fn json(value: &impl Serialize) -> Output {
    Output::from_text(serde_json::to_string_pretty(value).unwrap_or_default())
}

/// Searches entries.
pub(super) struct JournalSearch(pub(super) Arc<ToolSession>);

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

impl Tool for JournalSearch {
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
    const PAGED: bool = false;

    fn answer(&self, _: &ToolContext<'_>, arguments: &SearchArguments) -> Result<Found, ToolError> {
        let context = arguments.work_context.as_deref().unwrap_or_default();
        let entries = journal(&self.0)?.search(context, &arguments.content, arguments.salience_threshold);
        Ok(Found {
            entries: entries.map_err(error)?,
        })
    }

    fn output(&self, _: &SearchArguments, found: &Found) -> Output {
        json(&found.entries)
    }
}

/// Reads a section or an entry.
pub(super) struct JournalRead(pub(super) Arc<ToolSession>);

/// The arguments of [`JournalRead`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct ReadArguments {
    /// a section such as project/area, or an entry such as project/area#1a2b3c4
    id: String,
}

impl Tool for JournalRead {
    type Arguments = ReadArguments;
    type Answer = JournalText;

    const NAME: &'static str = "journal_read";
    const HINT: &'static str = "journal read section overview entry";
    const DESCRIPTION: &'static str =
        "Read a journal section: its current understanding and its version; or one entry. Read before you write.";
    const PARAMETERS: &'static [Parameter] = &[Parameter::described("id", &["path", "section"])];
    const PAGED: bool = false;

    fn answer(&self, _: &ToolContext<'_>, arguments: &ReadArguments) -> Result<JournalText, ToolError> {
        let session = self.0.session.as_deref();
        journal(&self.0)?.read(&arguments.id, session).map_err(error)
    }

    fn output(&self, _: &ReadArguments, read: &JournalText) -> Output {
        json(read)
    }
}

/// The table of contents.
pub(super) struct JournalToc(pub(super) Arc<ToolSession>);

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

impl Tool for JournalToc {
    type Arguments = TocArguments;
    type Answer = Contents;

    const NAME: &'static str = "journal_toc";
    const HINT: &'static str = "journal sections contents";
    const DESCRIPTION: &'static str = "The journal's sections with their number of entries.";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::described("id", &["path", "section"]),
        Parameter::described("depth", &["levels"]),
    ];
    const PAGED: bool = false;

    fn answer(&self, _: &ToolContext<'_>, arguments: &TocArguments) -> Result<Contents, ToolError> {
        let depth = arguments.depth.unwrap_or(DEPTH) as usize;
        let sections = journal(&self.0)?.toc(arguments.id.as_deref(), depth).map_err(error)?;
        Ok(Contents { sections })
    }

    fn output(&self, _: &TocArguments, contents: &Contents) -> Output {
        json(&contents.sections)
    }
}

/// Lists entries.
pub(super) struct JournalListEntries(pub(super) Arc<ToolSession>);

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

impl Tool for JournalListEntries {
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
    const PAGED: bool = false;

    fn answer(&self, _: &ToolContext<'_>, arguments: &ListArguments) -> Result<Entries, ToolError> {
        let length = arguments.length.unwrap_or(LISTED).min(MOST_LISTED);
        let start = arguments.start.unwrap_or_default();
        let entries = journal(&self.0)?.entries(&arguments.path, start as usize, length as usize);
        Ok(Entries {
            entries: entries.map_err(error)?,
        })
    }

    fn output(&self, _: &ListArguments, entries: &Entries) -> Output {
        json(&entries.entries)
    }
}

/// Writes an entry.
pub(super) struct JournalWrite(pub(super) Arc<ToolSession>);

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

impl Tool for JournalWrite {
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
    const PAGED: bool = false;

    fn answer(&self, _: &ToolContext<'_>, arguments: &WriteArguments) -> Result<Written, ToolError> {
        let draft = Draft {
            text: arguments.entry.clone(),
            overview: arguments.overview.clone(),
            summary: arguments.summary.clone(),
            work_context: arguments.work_context.clone(),
            session: self.0.session.clone(),
            agent: Some(self.0.client.clone()),
            task: None,
        };
        let written = journal(&self.0)?.write(&arguments.path, &draft, arguments.version.as_deref());
        written.map_err(error)
    }

    fn output(&self, _: &WriteArguments, written: &Written) -> Output {
        let redacted = if written.redacted {
            "; a secret was removed from it"
        } else {
            ""
        };
        Output::from_text(format!("wrote {}, version {}{redacted}", written.id, written.version))
    }
}

/// Merges two overviews.
pub(super) struct JournalSynthesizeConflict(pub(super) Arc<ToolSession>);

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

impl Tool for JournalSynthesizeConflict {
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
    const PAGED: bool = false;

    fn answer(&self, context: &ToolContext<'_>, arguments: &SynthesisArguments) -> Result<Synthesized, ToolError> {
        let session = &self.0;
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
        let merged = journal(session)?.synthesize(&settings.config, request, &context.until, &account);
        merged.map_err(error)
    }

    fn output(&self, _: &SynthesisArguments, merged: &Synthesized) -> Output {
        json(merged)
    }
}
