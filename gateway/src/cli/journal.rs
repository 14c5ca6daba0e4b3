//! `muninn journal`: the git journal.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use muninn_base::{Until, with_causes};
use muninn_config::{Config, env_vars, paths};
use muninn_core::{
    JournalText, JournalUseError, SYNTHESIS_TIME, SessionJournal, Synced, SynthesisRequest, Synthesized, TransferError,
};
use muninn_ledger::{Receipt, SqliteStore, Store as _};
use muninn_notebooks::journal::{
    Draft, FoundEntry, JournalError, ListedEntry, OverviewConflict, TocNode, Undone, Written,
};
use muninn_repo_tools::{ChainError, Worktree};
use muninn_text::model::block_on;

use super::{CliError, Common, Exit, examples, output, read_text};

/// Read and write the git journal: sections whose entries are commits
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn journal toc --depth 2", "The sections, with the number of their entries"),
    ("muninn journal read gateway/retries", "The current understanding, and its version"),
    ("muninn journal write gateway/retries --version new --entry \"Retries double.\"", "A first entry"),
]))]
pub(crate) struct JournalCommand {
    #[command(subcommand)]
    action: Action,
    /// The session that reads and writes [default: CLAUDE_CODE_SESSION_ID]
    #[arg(long, value_name = "ID", global = true)]
    session: Option<String>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Action {
    /// Print a section with its version, or an entry
    #[command(after_help = examples(&[
        ("muninn journal read gateway/retries", "The section"),
        ("muninn journal read gateway/retries#1a2b3c4d", "One entry, by 7 or more digits"),
    ]))]
    Read {
        /// The section, or the entry
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Write an entry to a section that was read
    #[command(after_help = examples(&[
        ("muninn journal write gateway/retries --entry \"Retries double.\"", "In a session that has read the section"),
        ("muninn journal write gateway/retries --from - --overview now.md --version new", "Entry from standard input, overview from a file"),
    ]))]
    Write {
        /// The section
        #[arg(value_name = "SECTION")]
        section: String,
        /// The entry: what changed or was learned
        #[arg(long, value_name = "TEXT", required_unless_present = "from")]
        entry: Option<String>,
        /// Read the entry from this file; `-` is standard input
        #[arg(long, value_name = "FILE", conflicts_with = "entry")]
        from: Option<PathBuf>,
        /// Replace the overview by the text of this file
        #[arg(long, value_name = "FILE")]
        overview: Option<PathBuf>,
        /// A line about the entry
        #[arg(long, value_name = "TEXT")]
        summary: Option<String>,
        /// The kind of work that led to it [default: the entry's own `work_context:` line, else the section]
        #[arg(long, value_name = "TEXT")]
        work_context: Option<String>,
        /// The version of the section that was read [default: what the session read last]
        #[arg(long, value_name = "VERSION")]
        version: Option<String>,
        /// The task that the entry belongs to
        #[arg(long, value_name = "ID")]
        task: Option<String>,
    },
    /// Search entries by their text and by the kind of work that led to them
    #[command(after_help = examples(&[
        ("muninn journal search \"retries after a timeout\"", "By the text alone"),
        ("muninn journal search \"wait doubles\" --work-context \"debugging the gateway\"", "By both"),
    ]))]
    Search {
        /// The text
        #[arg(value_name = "TEXT")]
        content: String,
        /// The kind of work
        #[arg(long, value_name = "TEXT", default_value = "")]
        work_context: String,
        /// The score that a new entry needs, from 0 to 1 [default: `[journal.search] default_salience_threshold`]
        #[arg(long, value_name = "SCORE")]
        threshold: Option<f32>,
    },
    /// Exchange entries with a remote
    #[command(after_help = examples(&[("muninn journal sync", "With origin: entries of both sides are on both sides then")]))]
    Sync {
        /// The remote, by its name or address
        #[arg(value_name = "REMOTE", default_value = "origin")]
        remote: String,
    },
    /// Take in the entries of a remote
    #[command(after_help = examples(&[("muninn journal fetch upstream", "The remote stays as it is")]))]
    Fetch {
        /// The remote, by its name or address
        #[arg(value_name = "REMOTE", default_value = "origin")]
        remote: String,
    },
    /// Return to the journal before the last fetch or sync that changed it; entries written since are kept
    #[command(after_help = examples(&[
        ("muninn journal undo-fetch", "Repeated, it undoes the fetch before: the last 5"),
    ]))]
    UndoFetch,
    /// Give a remote the entries of this journal
    #[command(after_help = examples(&[("muninn journal push", "Refused if origin has entries that this journal lacks")]))]
    Push {
        /// The remote, by its name or address
        #[arg(value_name = "REMOTE", default_value = "origin")]
        remote: String,
    },
    /// Merge the two overviews of a section, which a sync has left
    #[command(after_help = examples(&[
        ("muninn journal resolve gateway/retries > merged.md", "Both overviews, merged line by line, with markers to edit"),
        ("muninn journal resolve gateway/retries --overview merged.md", "Write the edited text"),
    ]))]
    Resolve {
        /// The section
        #[arg(value_name = "SECTION")]
        section: String,
        /// Write the text of this file as the overview
        #[arg(long, value_name = "FILE")]
        overview: Option<PathBuf>,
        /// Let the model of `[journal] model` merge both
        #[arg(long, conflicts_with = "overview")]
        ask_model: bool,
        /// The entry about it
        #[arg(long, value_name = "TEXT", default_value = "Two overviews were merged into one.")]
        entry: String,
        /// The kind of work that led to the conflict
        #[arg(long, value_name = "TEXT")]
        work_context: Option<String>,
    },
    /// List the sections with the number of their entries
    #[command(after_help = examples(&[("muninn journal toc gateway --depth 3", "The sections below gateway, three levels")]))]
    Toc {
        /// Begin with this section
        #[arg(value_name = "SECTION")]
        id: Option<String>,
        /// Show so many levels
        #[arg(long, value_name = "COUNT", default_value_t = 1)]
        depth: usize,
    },
    /// List the entries of a section, the newest first
    #[command(after_help = examples(&[("muninn journal list gateway/retries --length 20", "The last twenty")]))]
    List {
        /// The section
        #[arg(value_name = "SECTION")]
        section: String,
        /// Leave out so many of the newest
        #[arg(long, value_name = "COUNT", default_value_t = 0)]
        start: usize,
        /// List at most so many
        #[arg(long, value_name = "COUNT", default_value_t = 10)]
        length: usize,
    },
}

impl JournalCommand {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let config = common.configuration(None)?;
        let settings = &config.journal;
        let worktree = match settings.path {
            Some(_) => common.worktree().ok(),
            None => Some(common.worktree()?),
        };
        let journal = SessionJournal::open(worktree.as_ref(), settings, &paths::state_dir()?, Common::clock())?;
        let from_client = || std::env::var(env_vars::CLAUDE_CODE_SESSION_ID).ok();
        let session = self.session.clone().or_else(from_client);
        match self.action {
            Action::Read { id } => output::value(self.json, &journal.read(&id, session.as_deref())?, text),
            Action::Write { section, entry, from, overview, summary, work_context, version, task } => {
                let entry = match (entry, from) {
                    (Some(entry), _) => entry,
                    (None, from) => read_text(&from.unwrap_or_default())?,
                };
                let draft = Draft {
                    text: entry,
                    overview: overview.as_deref().map(read_text).transpose()?,
                    summary,
                    work_context,
                    session,
                    agent: None,
                    task,
                };
                let written = journal.write(&section, &draft, version.as_deref())?;
                output::value(self.json, &written, written_text);
            }
            Action::Search { content, work_context, threshold } => {
                let entries = match common.workspace() {
                    Ok(workspace) => workspace.search_journal(&work_context, &content, threshold)?,
                    Err(_) => journal.search(&work_context, &content, threshold)?,
                };
                output::value(self.json, &*entries, found);
                if entries.is_empty() {
                    output::note("no entry matches");
                    return Ok(ExitCode::from(Exit::Failure as u8));
                }
            }
            Action::Sync { remote } => output::value(self.json, &journal.sync(&remote)?, synced),
            Action::Fetch { remote } => output::value(self.json, &journal.fetch(&remote)?, synced),
            Action::UndoFetch => output::value(self.json, &journal.undo_fetch()?, undone),
            Action::Push { remote } => output::value(self.json, &journal.push(&remote)?, synced),
            Action::Resolve { section, overview, ask_model, entry, work_context } => {
                let draft = Draft {
                    text: entry,
                    overview: overview.as_deref().map(read_text).transpose()?,
                    work_context,
                    session,
                    ..Draft::default()
                };
                self::resolve(self.json, &journal, &config, worktree.as_ref(), (&section, draft, ask_model))?;
            }
            Action::Toc { id, depth } => {
                output::value(self.json, &*journal.toc(id.as_deref(), depth)?, |nodes| contents(nodes, 0));
            }
            Action::List { section, start, length } => {
                output::value(self.json, &*journal.entries(&section, start, length)?, list);
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Merges two overviews: by the model, by the text of the user, or by showing both.
fn resolve(
    is_json: bool,
    journal: &SessionJournal,
    config: &Config,
    worktree: Option<&Worktree>,
    (section, draft, ask_model): (&str, Draft, bool),
) -> Result<(), CliError> {
    if ask_model && config.journal.model.is_none() {
        return Err(CliError::new(Exit::Usage, "no model merges overviews here")
            .hint("name one with `backend` and `model` under [journal] in muninn.toml"));
    }
    if ask_model {
        let root = worktree.map_or_else(|| Path::new(""), Worktree::root);
        let request = SynthesisRequest {
            section: section.to_owned(),
            version_a: None,
            version_b: None,
            draft,
            receipt: Receipt::of(ulid::Ulid::generate().to_string(), root, section),
        };
        let store = SqliteStore::open(&paths::state_dir()?, &config.limits)?;
        let until = Until::within(SYNTHESIS_TIME);
        let merged = journal.synthesize(config, request, &until, &|receipt| store.note_receipt(receipt));
        block_on(store.flush());
        output::value(is_json, &merged?, merged_text);
        return Ok(());
    }
    let sides = journal.sides(section)?;
    if draft.overview.is_some() {
        let written = journal.write(section, &draft, Some(&sides.version.to_string()))?;
        output::value(is_json, &written, written_text);
        return Ok(());
    }
    output::value(is_json, &sides, |sides| {
        let both = || format!("{}\n\n--- other\n\n{}\n", sides.version_a, sides.version_b);
        sides.three_way.clone().unwrap_or_else(both)
    });
    Ok(())
}

fn merged_text(merged: &Synthesized) -> String {
    match merged {
        Synthesized::Written { entry, overview, .. } => format!("{}\n{overview}\n", written_text(entry)),
        Synthesized::Proposed { overview, .. } => format!("{overview}\n"),
        Synthesized::Sides { sides, .. } => sides.three_way.clone().unwrap_or_default(),
    }
}

fn written_text(written: &Written) -> String {
    let redacted = if written.redacted { "; a secret was removed" } else { "" };
    format!("wrote {}, version {}{redacted}\n", written.id, written.version)
}

fn text(read: &JournalText) -> String {
    match read {
        JournalText::Section(section) => {
            format!(
                "section    {}\nentries    {}\nupdated    {}\nversion    {}\n\n{}\n",
                section.id,
                section.entry_count,
                section.last_updated.as_deref().map_or_else(|| "never".to_owned(), output::local_time),
                section.version,
                section.overview
            ) + &section.conflict.as_ref().map(other).unwrap_or_default()
        }
        JournalText::Entry(entry) => format!(
            "entry      {}\nauthor     {}\nwritten    {}\ncontext    {}\n\n{}\n",
            entry.id,
            entry.author,
            output::local_time(&entry.timestamp),
            entry.work_context,
            entry.content
        ),
    }
}

/// The second overview of a section.
fn other(conflict: &OverviewConflict) -> String {
    let base = conflict.base.as_deref().unwrap_or("(there was none)");
    format!(
        "\n--- another overview, of a merged journal; merge both with `muninn journal resolve`\n\n{}\n\n--- both come from\n\n{base}\n",
        conflict.other
    )
}

fn synced(synced: &Synced) -> String {
    let pushed = if synced.pushed { "pushed" } else { "nothing to push" };
    let mut text = format!("{} received, {} put on top, {pushed}\n", synced.received, synced.moved);
    for section in &synced.conflicts {
        text.push_str(&format!("two overviews  {section}: `muninn journal resolve {section}` shows both\n"));
    }
    text
}

fn undone(undone: &Undone) -> String {
    format!(
        "undid the fetch from {}: {} received are gone, {} written since are kept; the next fetch takes in the former again\n",
        undone.remote,
        output::plural(undone.removed, "entry"),
        output::plural(undone.kept, "entry")
    )
}

fn found(entries: &[FoundEntry]) -> String {
    let entry = |entry: &FoundEntry| {
        let first = entry.content.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let written = output::local_time(&entry.timestamp);
        format!("{:.2}  {}  {written}\n      {first}\n", entry.combined_score, entry.id)
    };
    entries.iter().map(entry).collect()
}

fn contents(nodes: &[TocNode], level: usize) -> String {
    let line = |node: &TocNode| {
        let entries = match (node.kind, node.entry_count) {
            ("folder", _) => "/".to_owned(),
            (_, 1) => "  1 entry".to_owned(),
            (_, count) => format!("  {count} entries"),
        };
        let below = contents(&node.subsections, level + 1);
        format!("{}{}{entries}\n{below}", "  ".repeat(level), node.id)
    };
    nodes.iter().map(line).collect()
}

fn list(entries: &[ListedEntry]) -> String {
    let line =
        |entry: &ListedEntry| format!("{}  {}  {}\n", entry.id, output::local_time(&entry.timestamp), entry.summary);
    entries.iter().map(line).collect()
}

impl From<JournalUseError> for CliError {
    fn from(error: JournalUseError) -> Self {
        let message = with_causes(&error);
        match error {
            JournalUseError::NoRepository => CliError::no_repository(message),
            JournalUseError::Version(_) | JournalUseError::NoSection(_) => CliError::new(Exit::Usage, message),
            JournalUseError::Transfer(TransferError::Git { what: "push", .. }) => CliError::new(Exit::Failure, message)
                .hint("the remote must accept refs/muninn/journal; some hosts accept only branches and tags"),
            JournalUseError::Transfer(TransferError::Refused { .. }) => {
                CliError::new(Exit::Failure, message).hint("the journal here is as it was; ask who wrote to the remote")
            }
            JournalUseError::Transfer(_) | JournalUseError::Synthesis(_) | JournalUseError::Client(_) => {
                CliError::new(Exit::Failure, message)
            }
            JournalUseError::Journal(error) => match error {
                JournalError::Id(_) => CliError::new(Exit::Usage, message),
                JournalError::NoEntry(_) | JournalError::Ambiguous { .. } | JournalError::NoSection(_) => {
                    CliError::new(Exit::NotFound, message).hint("`muninn journal toc` lists the sections")
                }
                JournalError::NotRead(section) => CliError::new(Exit::Failure, message)
                    .hint(format!("`muninn journal read {section}` shows the version for `--version`")),
                JournalError::Chain(ChainError::Limit { .. } | ChainError::TooLarge { .. }) => {
                    CliError::new(Exit::Failure, message)
                        .hint("`muninn doctor` says how to return to a smaller journal")
                }
                _ => CliError::new(Exit::Failure, message),
            },
        }
    }
}
