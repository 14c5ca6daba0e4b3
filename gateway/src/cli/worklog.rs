//! `muninn worklog`: `JOURNAL.md` of the worktree.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use muninn_base::with_causes;
use muninn_config::env_vars;
use muninn_core::{SessionWorklog, WorklogStatus, WorklogUseError, Workspace};
use muninn_notebooks::worklog::{FILE, HANDOVER_LINES, Mutation, MutationKind, ParsedMutation, WorklogError};

use super::{CliError, Common, Exit, examples, log, output};

/// Keep a worklog of the task in JOURNAL.md, which all agents of a worktree share
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn worklog show", "The last lines"),
    ("muninn worklog append \"Found: the retry loop is in gateway/src/backend\"", "A line"),
    ("muninn worklog archive", "At the end of the task"),
]))]
pub(crate) struct WorklogCommand {
    #[command(subcommand)]
    action: Action,
    /// The session that writes [default: CLAUDE_CODE_SESSION_ID]
    #[arg(long, value_name = "ID", global = true)]
    session: Option<String>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Action {
    /// Begin a session: print what others wrote, and add a header
    #[command(after_help = examples(&[("muninn worklog start \"Replace the token format\" --task auth", "With an intent and a task")]))]
    Start {
        /// What the session is to do
        #[arg(value_name = "INTENT", default_value = "")]
        intent: String,
        /// The task of a new worklog [default: the active Metis task, else the branch]
        #[arg(long, value_name = "TASK")]
        task: Option<String>,
    },
    /// Print the last lines
    #[command(after_help = examples(&[("muninn worklog show --lines 200", "More of them")]))]
    Show {
        /// So many lines
        #[arg(long, value_name = "COUNT", default_value_t = HANDOVER_LINES)]
        lines: usize,
    },
    /// Add one or two lines: a decision, a failure, a finding
    #[command(after_help = examples(&[("muninn worklog append \"Decision: session token, not JWT\"", "A decision")]))]
    Append {
        /// The text
        #[arg(value_name = "TEXT")]
        text: String,
    },
    /// Declare what you do differently after three failures
    #[command(after_help = examples(&[
        ("muninn worklog mutate M5 --failed-on swap --switching-to hook --rationale broad", "Reduce the scope"),
    ]))]
    Mutate {
        /// M1 Reproduce First, M2 Observe, M3 Bisect, M4 Change One Thing, M5 Reduce Scope, M6 Check Assumptions, M7 Change Approach
        #[arg(value_name = "KIND")]
        kind: MutationKind,
        /// What failed
        #[arg(long, value_name = "TEXT")]
        failed_on: String,
        /// What you do instead
        #[arg(long, value_name = "TEXT")]
        switching_to: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        rationale: String,
    },
    /// Print the sessions, failures and mutations, and the sessions that changed files and wrote nothing
    #[command(after_help = examples(&[("muninn worklog status", "A summary")]))]
    Status,
    /// List the tools that agents wished for
    #[command(after_help = examples(&[("muninn worklog wishes", "Lines of the form: I wish I had a tool for ...")]))]
    Wishes,
    /// Copy the worklog to .muninn/journals, add what was learned from failures to the shared files, and remove it
    #[command(after_help = examples(&[("muninn worklog archive --task auth", "With a name for the copy")]))]
    Archive {
        /// The task in the name of the copy [default: that of the title]
        #[arg(long, value_name = "TASK")]
        task: Option<String>,
        /// Keep JOURNAL.md
        #[arg(long)]
        keep: bool,
        /// Archive the worklogs of removed worktrees instead
        #[arg(long, conflicts_with_all = ["task", "keep"])]
        removed: bool,
    },
}

impl WorklogCommand {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        log::to_stderr("warn");
        let workspace = common.workspace()?;
        let worklog = workspace.worklog()?;
        let from_client = || std::env::var(env_vars::CLAUDE_CODE_SESSION_ID).ok();
        let session = self.session.clone().or_else(from_client);
        run(self.action, self.json, &workspace, &worklog, session.as_deref())?;
        Ok(ExitCode::SUCCESS)
    }
}

fn run(
    action: Action,
    is_json: bool,
    workspace: &Workspace,
    worklog: &SessionWorklog,
    session: Option<&str>,
) -> Result<(), CliError> {
    match action {
        Action::Start { intent, task } => {
            let before = worklog.begin(session, None, task.as_deref(), &intent)?;
            output::value(is_json, &before, |before| {
                before.as_ref().map_or_else(String::new, |tail| format!("{}\n", tail.text))
            });
        }
        Action::Show { lines } => {
            let tail = worklog.tail(lines)?;
            output::value(is_json, &tail, |tail| {
                tail.as_ref().map_or_else(|| "nothing is written yet\n".to_owned(), |tail| format!("{}\n", tail.text))
            });
        }
        Action::Append { text } => {
            let appended = worklog.append(session, None, &text)?;
            output::value(is_json, &appended, |appended| {
                if appended.redacted { "added; a secret was removed\n".to_owned() } else { "added\n".to_owned() }
            });
        }
        Action::Mutate { kind, failed_on, switching_to, rationale } => {
            let mutation = Mutation { kind, failed_on, switching_to, rationale };
            worklog.mutate(session, &mutation)?;
            output::value(is_json, &mutation, |mutation| {
                format!("declared {} ({})\n", mutation.kind, mutation.kind.words())
            });
        }
        Action::Status => output::value(is_json, &worklog.status()?, status),
        Action::Wishes => output::value(is_json, &worklog.status()?.content.wishes, |wishes| {
            wishes.iter().map(|wish| format!("{wish}\n")).collect()
        }),
        Action::Archive { task: None, removed: true, .. } => {
            let removed = worklog.removed();
            if removed.is_empty() {
                output::note("no removed worktree of this repository left a worklog");
            }
            for worklog in &removed {
                archive(is_json, workspace, worklog, None, false)?;
            }
        }
        Action::Archive { task, keep, .. } => archive(is_json, workspace, worklog, task.as_deref(), keep)?,
    }
    Ok(())
}

fn archive(
    is_json: bool,
    workspace: &Workspace,
    worklog: &SessionWorklog,
    task: Option<&str>,
    keep: bool,
) -> Result<(), CliError> {
    let remembered = workspace.remember_gossip(worklog)?;
    let archived = worklog.archive(task, keep)?;
    output::value(is_json, &archived, |archived| {
        let removed = if archived.removed { format!("; {FILE} is removed") } else { String::new() };
        format!(
            "{}: {} corrections, {} patterns, {remembered} discoveries remembered{removed}\n",
            archived.copy, archived.corrections, archived.patterns
        )
    });
    Ok(())
}

pub fn status(status: &WorklogStatus) -> String {
    let removed = |worktree: &PathBuf| {
        let worktree = worktree.display();
        format!("{worktree} was removed: `muninn worklog archive --removed` keeps what was learned there\n")
    };
    let removed: String = status.removed.iter().map(removed).collect();
    if !status.exists {
        return format!("there is no {FILE} yet; the next session begins it\n{removed}");
    }
    let content = &status.content;
    let mut text = format!(
        "file       {}\ntask       {}\nsessions   {}\nfailures   {}\nmutations  {}\n",
        status.file.display(),
        content.task.as_deref().unwrap_or("unknown"),
        content.sessions.len(),
        content.failures.len(),
        content.mutations.len()
    );
    text.extend(content.mutations.iter().map(mutation));
    for session in &status.silent {
        text.push_str(&format!("session {session} changed files and wrote nothing\n"));
    }
    if status.is_merged {
        text.push_str("the branch of this task is merged: `muninn worklog archive` keeps what was learned\n");
    }
    text + &removed
}

fn mutation(found: &ParsedMutation) -> String {
    let mutation = &found.mutation;
    let worked = found.worked.as_ref().map(|what| format!("; worked: {what}"));
    format!(
        "  {} {}: {} -> {}{}\n",
        mutation.kind,
        mutation.kind.words(),
        mutation.failed_on,
        mutation.switching_to,
        worked.unwrap_or_default()
    )
}

impl From<WorklogUseError> for CliError {
    fn from(error: WorklogUseError) -> Self {
        let message = with_causes(&error);
        match error {
            WorklogUseError::Disabled => CliError::new(Exit::Failure, message).hint(
                "set `enabled = true` under [worklog] in your muninn.toml; `muninn config check` prints its path",
            ),
            WorklogUseError::NotInitialised => {
                CliError::new(Exit::Failure, message).hint("run `muninn init` in this repository")
            }
            WorklogUseError::NoRepository => CliError::no_repository(message),
            WorklogUseError::Worklog(WorklogError::Empty | WorklogError::TooLong { .. } | WorklogError::Heading) => {
                CliError::new(Exit::Usage, message)
            }
            WorklogUseError::Worklog(WorklogError::Missing(_)) => CliError::new(Exit::NotFound, message),
            _ => CliError::new(Exit::Failure, message),
        }
    }
}
