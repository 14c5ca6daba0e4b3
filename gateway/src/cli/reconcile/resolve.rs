//! `muninn resolve`: a person settles conflicts.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use muninn_memory::reconcile::Keep;
use serde_json::json;

use super::{sides, workspace};
use crate::app::{Workspace, conflicts};
use crate::cli::output::{self, plural};
use crate::cli::{CliError, Common, Exit};

/// Settle a conflict between memories; without an id, one after the other
#[derive(Args)]
pub(crate) struct Resolve {
    /// The conflict's id, or any part of it that no other has
    #[arg(requires = "keep")]
    id: Option<String>,
    /// What is so: the older, the newer, or both
    #[arg(long, value_enum, requires = "id")]
    keep: Option<Side>,
    /// Why, for the team
    #[arg(long, value_name = "TEXT", requires = "id")]
    note: Option<String>,
    /// Print JSON
    #[arg(long, requires = "id")]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Side {
    /// The older
    Left,
    /// The newer
    Right,
    /// Both: they are no contradiction
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
            return walk(common, &workspace);
        };
        let decision = workspace.resolve(id, keep.into(), self.note.as_deref())?;
        match self.json {
            true => output::json(&json!({"decision": decision})),
            false => output::line(&format!(
                "settled; the decision is {decision} in .muninn/memory/main.jsonl"
            )),
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Asks for each open conflict what is so.
fn walk(common: &Common, workspace: &Workspace) -> Result<ExitCode, CliError> {
    let worktree = common.worktree()?;
    let open = conflicts(&worktree)?;
    if !open.is_empty() && !std::io::stdin().is_terminal() {
        return Err(CliError::new(Exit::Usage, "there is nobody to ask")
            .hint("name a conflict: muninn resolve ID --keep=left|right|both"));
    }
    let mut settled = 0;
    for (at, one) in open.iter().enumerate() {
        output::note(&format!("{} of {}", at + 1, open.len()));
        output::line(&sides::shown(&worktree, one));
        if output::cut_short().is_some() {
            break;
        }
        let keep = match answer()? {
            Answer::Keep(keep) => keep,
            Answer::Skip => continue,
            Answer::Quit => break,
        };
        workspace.resolve(&one.conflict.id, keep, None)?;
        settled += 1;
    }
    output::note(&format!(
        "{} settled, {} open",
        plural(settled, "conflict"),
        open.len() - settled
    ));
    Ok(ExitCode::SUCCESS)
}

enum Answer {
    Keep(Keep),
    Skip,
    Quit,
}

fn answer() -> Result<Answer, CliError> {
    loop {
        let _reader_left = write!(anstream::stderr(), "keep left, right or both, skip, quit [skip]: ");
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
            other => output::note(&format!("`{other}` is none of these")),
        }
    }
}
