//! `muninn resolve`: a person resolves conflicts.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use muninn_memory::reconcile::Keep;
use serde_json::json;

use super::{sides, workspace};
use crate::app::{ConflictView, Workspace, conflicts};
use crate::cli::output::{self, plural};
use crate::cli::{CliError, Common, Exit, examples};

/// Resolve a conflict between memories; without an id, ask about each
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn resolve", "Ask about each open conflict"),
    ("muninn resolve 7QK2 --keep=right", "Keep the newer memory"),
    ("muninn resolve 7QK2 --keep=both --note \"Different queues\"", "Keep both, and record why"),
]))]
pub(crate) struct Resolve {
    /// The conflict's id, as `muninn conflicts` shows it, or any unambiguous part of it
    #[arg(requires = "keep")]
    id: Option<String>,
    /// The memory to keep
    #[arg(long, value_enum, requires = "id")]
    keep: Option<Side>,
    /// The reason, for the team
    #[arg(long, value_name = "TEXT", requires = "id")]
    note: Option<String>,
    /// Print JSON
    #[arg(long, requires = "id")]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Side {
    /// The older one
    Left,
    /// The newer one
    Right,
    /// Both: they do not contradict each other
    Both,
}

impl From<Side> for Keep {
    fn from(side: Side) -> Self {
        match side {
            Side::Left => Keep::Left,
            Side::Right => Keep::Right,
            Side::Both => Keep::Both,
        }
    }
}

impl Resolve {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let workspace = workspace(common)?;
        let (Some(id), Some(keep)) = (&self.id, self.keep) else {
            return resolve_all(common, &workspace);
        };
        let decision = workspace.resolve(id, keep.into(), self.note.as_deref())?;
        match self.json {
            true => output::json(&json!({"decision": decision})),
            false => output::line(&format!(
                "resolved; the decision is {decision} in .muninn/memory/main.jsonl"
            )),
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Asks about each open conflict.
fn resolve_all(common: &Common, workspace: &Workspace) -> Result<ExitCode, CliError> {
    let worktree = common.worktree()?;
    let open = conflicts(&worktree)?;
    if !open.is_empty() && !std::io::stdin().is_terminal() {
        return Err(
            CliError::new(Exit::Usage, "cannot ask about conflicts: stdin is not a terminal")
                .hint("name a conflict: muninn resolve ID --keep=left|right|both"),
        );
    }
    let mut resolved = 0;
    for (index, one) in open.iter().enumerate() {
        output::note(&format!("conflict {} of {}", index + 1, open.len()));
        output::line(&sides::text(&ConflictView::of(&worktree, one)));
        if output::write_error().is_some() {
            break;
        }
        let keep = match read_answer()? {
            Answer::Keep(keep) => keep,
            Answer::Skip => continue,
            Answer::Quit => break,
        };
        workspace.resolve(&one.conflict.id, keep, None)?;
        resolved += 1;
    }
    output::note(&format!(
        "{} resolved, {} open",
        plural(resolved, "conflict"),
        open.len() - resolved
    ));
    Ok(ExitCode::SUCCESS)
}

enum Answer {
    Keep(Keep),
    Skip,
    Quit,
}

fn read_answer() -> Result<Answer, CliError> {
    loop {
        write!(anstream::stderr(), "keep left, right or both, skip, quit [skip]: ").ok();
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line)? == 0 {
            return Ok(Answer::Quit);
        }
        match line.trim() {
            "l" | "left" => return Ok(Answer::Keep(Keep::Left)),
            "r" | "right" => return Ok(Answer::Keep(Keep::Right)),
            "b" | "both" => return Ok(Answer::Keep(Keep::Both)),
            "" | "s" | "skip" => return Ok(Answer::Skip),
            "q" | "quit" => return Ok(Answer::Quit),
            other => output::note(&format!("`{other}` is not one of these answers")),
        }
    }
}
