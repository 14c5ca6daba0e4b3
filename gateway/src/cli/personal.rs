//! `muninn personal`: one person's memory, outside of every repository.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use jiff::tz::TimeZone;
use muninn_base::with_causes;
use muninn_config::{Config, PersonalConfig, paths};
use muninn_notebooks::personal::layout::LeftOut;
use muninn_notebooks::personal::{
    BadLines, EntryMetadata, FoundItem, ItemType, JournalEntry, Personal, PersonalContext, PersonalError, QUESTIONS,
    SearchOptions, Setup, Signal, SignalSummary, time,
};
use muninn_personal::{ArchiveError, Imported, VersionError};
use serde::Serialize;

use super::{CliError, Common, Exit, examples, log, output};

/// Keep what concerns you, not a repository, in files of your own
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn personal init", "Answer three questions"),
    ("muninn personal log garden \"The tomatoes need water on Mondays\"", "Keep a note"),
    ("muninn personal search tomatoes", "Find it again"),
]))]
pub(crate) struct PersonalCommand {
    #[command(subcommand)]
    action: Action,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Action {
    /// Create the directory and its files; asks three questions unless their answers are given
    #[command(after_help = examples(&[("muninn personal init --name Ann", "Without a question about the name")]))]
    Init {
        /// What you want to be called
        #[arg(long, value_name = "TEXT")]
        name: Option<String>,
        /// How you want agents to work with you
        #[arg(long, value_name = "TEXT")]
        style: Option<String>,
        /// What you are working on
        #[arg(long, value_name = "TEXT")]
        work: Option<String>,
        /// Keep versions in a git repository of the directory: each change is committed
        #[arg(long)]
        git: bool,
    },
    /// Print what a session is told about you, and what is to be put right
    #[command(after_help = examples(&[("muninn personal context --json", "As the tool get_context returns it")]))]
    Context,
    /// Add a note to the journal
    #[command(after_help = examples(&[("muninn personal log health \"Slept badly\"", "A topic and a text")]))]
    Log {
        /// The category
        #[arg(value_name = "TOPIC")]
        topic: String,
        /// The note
        #[arg(value_name = "TEXT")]
        content: String,
    },
    /// Print the newest notes
    #[command(after_help = examples(&[("muninn personal recent --topic garden", "Only those about a topic")]))]
    Recent {
        /// So many notes
        #[arg(long, value_name = "COUNT", default_value_t = 10)]
        count: usize,
        /// Only notes with this topic
        #[arg(long, value_name = "TOPIC")]
        topic: Option<String>,
    },
    /// Search notes and entities
    #[command(after_help = examples(&[("muninn personal search \"who knows about boats\" --type person", "Only people")]))]
    Search {
        /// The question
        #[arg(value_name = "QUERY")]
        query: String,
        /// Only journal, person, project, or another folder of entities
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<String>,
        /// Only from this date or time on
        #[arg(long, value_name = "DATE")]
        since: Option<String>,
        /// So many results
        #[arg(long, value_name = "COUNT", default_value_t = 5)]
        limit: usize,
    },
    /// List lines of the journal that cannot be read
    #[command(after_help = examples(&[("muninn personal check", "Exits with 1 if there are any")]))]
    Check,
    /// Write all files to an archive, for another machine
    #[command(after_help = examples(&[("muninn personal export me.tar.zst", "What can be rebuilt is left out, and so is .git")]))]
    Export {
        /// The archive, which must not exist
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Add the files of an archive; files that differ stay as they are, and journals get the entries they lack
    #[command(after_help = examples(&[("muninn personal import me.tar.zst --force", "Files that differ are replaced")]))]
    Import {
        /// The archive
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Replace files that differ
        #[arg(long)]
        force: bool,
    },
    /// Print the newest logged events, or add them up
    #[command(after_help = examples(&[("muninn personal signals --summary --days 7", "Those of a week, added up")]))]
    Signals {
        /// Add up those of the last days: by kind, and the most frequent files and queries
        #[arg(long)]
        summary: bool,
        /// Of so many days, for --summary
        #[arg(long, value_name = "COUNT", default_value_t = 30)]
        days: u32,
        /// So many events
        #[arg(long, value_name = "COUNT", default_value_t = 20)]
        count: usize,
    },
}

impl PersonalCommand {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        log::to_stderr("warn");
        let config = common.configuration(None)?;
        let personal = opened(&config)?;
        let json = self.json;
        match self.action {
            Action::Init { name, style, work, git } => {
                init(&personal, &config.personal, [name, style, work], git, json)?;
            }
            Action::Export { file } => {
                let exported = muninn_personal::export(personal.root(), &file)?;
                output::value(json, &exported, |exported| {
                    let files = output::plural(exported.files, "file");
                    format!("wrote {files} to {}\n{}", file.display(), left_text(&exported.left))
                });
            }
            Action::Import { file, force } => {
                let _lock = personal.lock()?;
                let imported = muninn_personal::import(personal.root(), &file, force)?;
                output::value(json, &imported, import_text);
            }
            Action::Context => output::value(json, &personal.context(), context),
            Action::Log { topic, content } => {
                let logged = personal.log(&topic, &content, EntryMetadata::default())?;
                output::value(json, &logged, |logged| {
                    if logged.redacted { "logged; a secret was removed\n".to_owned() } else { "logged\n".to_owned() }
                });
            }
            Action::Recent { count, topic } => {
                output::value(json, &personal.recent(count, topic.as_deref())?, |entries| {
                    entries.iter().map(entry).collect()
                });
            }
            Action::Search { query, kind, since, limit } => {
                let options = SearchOptions {
                    kind: kind.filter(|kind| kind != "all").map(ItemType::from),
                    since: since.map(|since| time(&since, &TimeZone::system())).transpose()?,
                    limit,
                };
                let results = personal.search(&query, &options)?;
                output::value(json, &results, |results| results.iter().map(found).collect());
                if results.is_empty() {
                    return Ok(ExitCode::from(Exit::Failure as u8));
                }
            }
            Action::Check => {
                let bad = personal.check_journal()?;
                output::value(json, &bad, bad_lines);
                if bad.count > 0 || bad.ended_in.is_some() {
                    return Ok(ExitCode::from(Exit::Failure as u8));
                }
            }
            Action::Signals { summary: true, days, .. } => {
                output::value(json, &personal.summarize_signals(days)?, signals);
            }
            Action::Signals { count, .. } => {
                output::value(json, &personal.recent_signals(count)?, |signals| signals.iter().map(signal).collect());
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The personal memory of the user of this command.
///
/// # Errors
/// If it is not enabled.
pub(super) fn opened(config: &Config) -> Result<Personal, CliError> {
    if !config.personal.enabled {
        return Err(CliError::new(Exit::Failure, "personal memory is not enabled")
            .hint("set `enabled = true` under [personal] in your muninn.toml"));
    }
    let root = paths::personal_dir(config.personal.path.as_deref())?;
    Ok(Personal::new(&root, Common::clock()))
}

/// A directory that was set up.
#[derive(Serialize)]
struct Initialised {
    root: String,
    created: Vec<&'static str>,
}

fn init(
    personal: &Personal,
    config: &PersonalConfig,
    answers: [Option<String>; 3],
    git: bool,
    json: bool,
) -> Result<(), CliError> {
    let is_first = personal.is_first_run();
    let is_asked = is_first && std::io::stdin().is_terminal();
    // A program may answer: a line for each question that has no flag.
    let mut piped = std::io::stdin().lines();
    let mut given = Vec::new();
    for (question, answer) in QUESTIONS.iter().zip(answers) {
        given.push(match answer {
            Some(answer) => answer,
            None if is_asked => ask(question)?,
            None if is_first => piped.next().transpose()?.unwrap_or_default().trim().to_owned(),
            None => String::new(),
        });
    }
    let mut given = given.into_iter();
    let mut next = || given.next().unwrap_or_default();
    let setup = Setup { name: next(), style: next(), work: next() };
    let created = personal.set_up(&setup)?;
    let root = personal.root().display().to_string();
    output::value(json, &Initialised { root, created }, |made| match &*made.created {
        [] => format!("{} is there already; nothing was changed\n", made.root),
        created => format!("created in {}: {}\n", made.root, created.join(", ")),
    });
    let git = git || (is_asked && matches!(&*ask("Keep versions of the files in git? [y/N]")?, "y" | "Y" | "yes"));
    if git {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let remote = config.git_remote.as_deref();
        runtime.block_on(muninn_personal::begin(personal, remote))?;
        output::note("each change of a file is committed while a daemon or a gateway runs");
        if let Some(unconfirmed) = muninn_personal::unconfirmed_remote(personal, remote) {
            output::note(&format!("warning: {unconfirmed}"));
        }
    }
    if let Some(worktree) = personal.worktree_around() {
        let worktree = worktree.display();
        output::note(&format!("warning: it is in the git worktree {worktree}, where a commit could publish it"));
    }
    Ok(())
}

fn import_text(imported: &Imported) -> String {
    let Imported { added, merged, replaced, unchanged, kept, left, more_left, waiting } = imported;
    let mut text = format!("{added} new, {merged} merged, {replaced} replaced, {unchanged} the same\n");
    for name in kept {
        text.push_str(&format!("{name} differs and stays as it is; --force replaces it\n"));
    }
    text.push_str(&left_text(left));
    if *more_left > 0 {
        text.push_str(&format!("{more_left} more were left out\n"));
    }
    if !waiting.is_empty() {
        let reminders = output::plural(waiting.len(), "reminder");
        text.push_str(&format!("{reminders} came along, to fire only after your yes: `muninn remind accept`\n"));
    }
    text
}

fn left_text(left: &[LeftOut]) -> String {
    let line = |LeftOut { name, why }: &LeftOut| format!("left out {}: {why}\n", output::sanitize_field(name));
    left.iter().map(line).collect()
}

fn ask(question: &str) -> Result<String, CliError> {
    let failed = |error: std::io::Error| CliError::new(Exit::Failure, format!("cannot ask: {error}"));
    let mut terminal = anstream::stderr();
    write!(terminal, "{question} ").and_then(|()| terminal.flush()).map_err(failed)?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(failed)?;
    Ok(answer.trim().to_owned())
}

fn context(context: &PersonalContext) -> String {
    if context.is_first_run {
        let root = context.paths.root.display();
        return format!("nothing is set up in {root}: `muninn personal init` does it\n");
    }
    let mut text = format!("{}\n", context.identity);
    let state = &context.state;
    let texts = [
        Some(&state.inbox),
        Some(&state.today),
        Some(&state.commitments),
        state.human.as_ref(),
        state.workspace.as_ref(),
    ];
    for part in texts.into_iter().flatten().filter(|part| !part.is_empty()) {
        text.push_str(&format!("\n{part}\n"));
    }
    if !context.recent_journal.is_empty() {
        text.push_str("\n# Journal\n\n");
        text.extend(context.recent_journal.iter().map(entry));
    }
    if !context.schedules.is_empty() {
        text.push_str("\n# Reminders\n\n");
        let line = |reminder: &muninn_notebooks::personal::ScheduleView| {
            format!("- {}: {}\n", reminder.description, reminder.when)
        };
        text.extend(context.schedules.iter().map(line));
    }
    let notes = context.notes.iter().map(|note| format!("\nnote: {note}\n"));
    text + &notes.collect::<String>()
}

fn entry(entry: &JournalEntry) -> String {
    format!("{}  [{}] {}\n", output::local_time(&entry.timestamp), entry.topic, entry.content)
}

fn found(item: &FoundItem) -> String {
    let section = item.section.as_ref().map(|section| format!(" / {section}"));
    format!(
        "{:.2}  {}{}  {}\n{}\n\n",
        item.score,
        item.source,
        section.unwrap_or_default(),
        output::local_time(&item.timestamp),
        item.content
    )
}

fn bad_lines(bad: &BadLines) -> String {
    let mut text: String = bad
        .lines
        .iter()
        .map(|bad| format!("{}:{}: {}\n", bad.file, bad.line, output::sanitize_field(&bad.problem)))
        .collect();
    if bad.count > bad.lines.len() {
        text.push_str(&format!("and {} more lines\n", bad.count - bad.lines.len()));
    }
    if let Some(file) = &bad.ended_in {
        text.push_str(&format!("the check ended in {file}, because the journal has too many lines\n"));
    }
    text
}

fn signal(signal: &Signal) -> String {
    let context = signal.context.clone().unwrap_or_default();
    let words = [context.file, context.query, context.trigger];
    let words: Vec<String> = words.into_iter().flatten().collect();
    format!("{}  {}  {}\n", output::local_time(&signal.timestamp), signal.kind, words.join("  "))
}

fn signals(summary: &SignalSummary) -> String {
    let Some((first, last)) = &summary.days else {
        return "no events are logged\n".to_owned();
    };
    let mut text = format!("{} events from {first} to {last}\n", summary.signals);
    let mut add = |heading: &str, counts: &mut dyn Iterator<Item = (&String, &usize)>| {
        for (name, count) in counts {
            text.push_str(&format!("  {heading}{name}: {count}\n"));
        }
    };
    add("", &mut summary.kinds.iter());
    add("file ", &mut summary.files.iter().map(|(name, count)| (name, count)));
    add("query ", &mut summary.queries.iter().map(|(name, count)| (name, count)));
    if summary.bad_lines > 0 {
        text.push_str(&format!("{} lines cannot be read\n", summary.bad_lines));
    }
    text
}

impl From<ArchiveError> for CliError {
    fn from(error: ArchiveError) -> Self {
        CliError::new(Exit::Failure, with_causes(&error))
    }
}

impl From<VersionError> for CliError {
    fn from(error: VersionError) -> Self {
        CliError::new(Exit::Failure, with_causes(&error))
    }
}

impl From<PersonalError> for CliError {
    fn from(error: PersonalError) -> Self {
        let message = with_causes(&error);
        let exit = match error {
            PersonalError::Io { .. } | PersonalError::Damaged { .. } | PersonalError::Embed(_) => Exit::Failure,
            PersonalError::NoReminder(_) | PersonalError::NotSetUp(_) => Exit::NotFound,
            _ => Exit::Usage,
        };
        CliError::new(exit, message)
    }
}
