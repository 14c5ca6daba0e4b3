//! `muninn resolve`: a person resolves conflicts.

use std::collections::HashSet;
use std::io::{BufRead as _, IsTerminal as _, Read as _, Write as _};
use std::process::ExitCode;

use clap::{ArgGroup, Args};
use muninn_core::{ConflictView, Workspace, conflicts};
use muninn_reconcile::{Keep, Resolution};
use serde_json::json;

use super::{folds, sides, workspace};
use crate::cli::output::{self, plural};
use crate::cli::{CliError, Common, Exit, editor, examples};

/// Maximum length of an agent's answer, in bytes.
const LONGEST_ANSWER: u64 = 1 << 20;

/// Resolve a conflict between memories; without an id, ask about each
#[derive(Args)]
#[command(group = ArgGroup::new("choice").args(["keep", "write", "accept", "apart", "by"]))]
#[command(after_help = examples(&[
    ("muninn resolve 7QK2 --keep=2,3 --note \"Different queues\"", "Keep two of the sides, and record why"),
    ("muninn resolve 7QK2 --write \"The limit is 64 per worker\"", "Replace all sides by a better text"),
    ("muninn resolve --accept", "Accept all proposals that a newer memory replaces older ones"),
    ("muninn resolve --by agent --batch 6f1d02c7a90be34d", "Record an agent's answer about undecided pairs, from standard input"),
]))]
pub(crate) struct Resolve {
    /// The id of a conflict, as `muninn conflicts` shows it, or of a fold, or any unambiguous part of it
    #[arg(requires = "choice")]
    id: Option<String>,
    /// The memories to keep: left (the oldest), right (the newest), both, none, or numbers such as 2,3
    #[arg(long, value_name = "SIDES", requires = "id")]
    keep: Option<Keep>,
    /// A text that replaces all sides
    #[arg(long, value_name = "TEXT", requires = "id")]
    write: Option<String>,
    /// Accept the proposal that the newest memory replaces the others; without an id, all proposals
    #[arg(long)]
    accept: bool,
    /// Undo a fold: both records are recalled, and no later run folds them again
    #[arg(long, requires = "id", conflicts_with = "note")]
    apart: bool,
    /// Record the answer of this agent, from standard input, about the pairs of `muninn conflicts --undecided --json`. If it decides a pair wrongly whose answer is known, nothing is recorded
    #[arg(long, value_name = "AGENT", requires = "batch", conflicts_with = "id")]
    by: Option<String>,
    /// The id of the batch that --by answers
    #[arg(long, value_name = "ID", requires = "by")]
    batch: Option<String>,
    /// The reason, for the team
    #[arg(long, value_name = "TEXT", requires = "id")]
    note: Option<String>,
    /// Print JSON
    #[arg(long, requires = "choice")]
    json: bool,
}

impl Resolve {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let workspace = workspace(common)?;
        if let Some(id) = self.id.as_deref().filter(|_| self.apart) {
            return keep_apart(&workspace, id, self.json);
        }
        if let (Some(agent), Some(batch)) = (&self.by, &self.batch) {
            return settle(&workspace, (agent, batch), self.json);
        }
        let resolution = match (self.keep, self.write) {
            (Some(keep), _) => Resolution::Keep(keep),
            (None, Some(text)) => Resolution::Write(text),
            (None, None) if self.accept => Resolution::Accept,
            (None, None) => return resolve_all(common, &workspace),
        };
        let Some(id) = &self.id else {
            return accept_all(common, &workspace, self.json);
        };
        let decision = workspace.resolve(id, &resolution, self.note.as_deref())?;
        if self.json {
            output::json(&json!({"decision": decision}));
        } else {
            output::line(&format!("resolved; the decision is {decision} in .muninn/memory/main.jsonl"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn keep_apart(workspace: &Workspace, id: &str, as_json: bool) -> Result<ExitCode, CliError> {
    let fold = workspace.keep_apart(id)?;
    if as_json {
        output::json(&json!({"apart": fold}));
    } else {
        output::line(&folds::text(&fold));
        output::note("both are recalled from now on; commit .muninn/memory/main.jsonl");
    }
    Ok(ExitCode::SUCCESS)
}

/// Records an agent's answer from standard input.
fn settle(workspace: &Workspace, (agent, batch): (&str, &str), as_json: bool) -> Result<ExitCode, CliError> {
    let mut answer = String::new();
    std::io::stdin().take(LONGEST_ANSWER).read_to_string(&mut answer)?;
    let decided = workspace.settle(agent, batch, &answer)?;
    if as_json {
        output::json(&json!(decided));
        return Ok(ExitCode::SUCCESS);
    }
    output::line(&format!(
        "{}, {} that both hold, {} replaced, {}, {} unsure",
        plural(decided.duplicates, "duplicate"),
        plural(decided.both, "pair"),
        decided.replaced,
        plural(decided.conflicts, "conflict"),
        decided.unsure
    ));
    output::note(
        "`muninn history ID` shows a decision, and `muninn link ID --apart OTHER` undoes it; commit .muninn/memory/main.jsonl",
    );
    Ok(ExitCode::SUCCESS)
}

/// Accepts all proposals, and shows each. A decision can change other conflicts, so they are read again after each.
fn accept_all(common: &Common, workspace: &Workspace, as_json: bool) -> Result<ExitCode, CliError> {
    let worktree = common.worktree()?;
    let mut decisions = Vec::new();
    let mut accepted = HashSet::new();
    let open = loop {
        let open = conflicts(&worktree)?;
        let mut proposed = open.iter().filter(|conflict| conflict.proposal.is_some());
        let Some(conflict) = proposed.find(|conflict| accepted.insert(conflict.id.clone())) else {
            break open;
        };
        let decision = workspace.resolve(&conflict.id, &Resolution::Accept, None)?;
        if !as_json {
            let newest = conflict.sides.last().map_or("", |side| side.id.as_str());
            output::line(&format!(
                "{newest} replaces {}: {}",
                plural(conflict.sides.len() - 1, "older record"),
                output::sanitize_line(conflict.proposal.as_deref().unwrap_or_default())
            ));
        }
        decisions.push(decision);
    };
    if as_json {
        output::json(&json!({"decisions": decisions}));
    }
    let count = plural(decisions.len(), "proposal");
    output::note(&format!("{count} accepted, {} open", open.len()));
    Ok(ExitCode::SUCCESS)
}

/// Asks about each open conflict. A decision can change other conflicts, so they are read again after each.
fn resolve_all(common: &Common, workspace: &Workspace) -> Result<ExitCode, CliError> {
    let worktree = common.worktree()?;
    let mut asked = HashSet::new();
    let mut resolved = 0;
    let open = loop {
        let open = conflicts(&worktree)?;
        if !open.is_empty() && !std::io::stdin().is_terminal() {
            return Err(CliError::new(Exit::Usage, "cannot ask about conflicts: stdin is not a terminal")
                .hint("name a conflict: muninn resolve ID --keep=left|right|both|none"));
        }
        let left: Vec<_> = open.iter().filter(|conflict| !asked.contains(&conflict.id)).collect();
        let Some(one) = left.first() else { break open };
        let all = asked.len() + left.len();
        output::note(&format!("conflict {} of {all}", asked.len() + 1));
        asked.insert(one.id.clone());
        let view = ConflictView::of(&worktree, one);
        output::line(&sides::text(&view));
        if output::write_error().is_some() {
            break open;
        }
        let resolution = match read_answer(&view)? {
            Answer::Resolve(resolution) => resolution,
            Answer::Skip => continue,
            Answer::Quit => break open,
        };
        workspace.resolve(&one.id, &resolution, None)?;
        resolved += 1;
    };
    output::note(&format!("{} resolved, {} open", plural(resolved, "conflict"), open.len()));
    Ok(ExitCode::SUCCESS)
}

enum Answer {
    Resolve(Resolution),
    Skip,
    Quit,
}

fn read_answer(conflict: &ConflictView) -> Result<Answer, CliError> {
    let accept = if conflict.proposal.is_some() { "accept, " } else { "" };
    loop {
        write!(
            anstream::stderr(),
            "{accept}keep left, right, both, none or numbers such as 2,3; edit, skip, quit [skip]: "
        )
        .ok();
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line)? == 0 {
            return Ok(Answer::Quit);
        }
        let answer = match line.trim() {
            "l" => "left",
            "r" => "right",
            "b" => "both",
            "n" => "none",
            other => other,
        };
        match answer {
            "a" | "accept" if conflict.proposal.is_some() => return Ok(Answer::Resolve(Resolution::Accept)),
            "" | "s" | "skip" => return Ok(Answer::Skip),
            "q" | "quit" => return Ok(Answer::Quit),
            "e" | "edit" => match edited(conflict)? {
                Some(text) => return Ok(Answer::Resolve(Resolution::Write(text))),
                None => output::note("nothing was written"),
            },
            other => match other.parse::<Keep>() {
                Ok(keep) if has_sides(&keep, conflict) => return Ok(Answer::Resolve(Resolution::Keep(keep))),
                _ => output::note(&format!("`{other}` is not one of these answers")),
            },
        }
    }
}

fn has_sides(keep: &Keep, conflict: &ConflictView) -> bool {
    match keep {
        Keep::Sides(numbers) => numbers.iter().all(|number| *number <= conflict.sides.len()),
        _ => true,
    }
}

/// A new text from the user's editor, which shows all sides as comments; `None` for an empty one.
fn edited(conflict: &ConflictView) -> Result<Option<String>, CliError> {
    let file = tempfile::Builder::new().prefix("muninn-").suffix(".txt").tempfile()?;
    let sides = conflict.sides.iter().zip(1..);
    let sides = sides.map(|(side, number)| format!("# {number}: {}\n", side.text.replace('\n', "\n#    ")));
    let text = format!(
        "{}\n\n# Write one text that replaces all sides. Lines with # are ignored.\n{}",
        conflict.sides.last().map_or("", |side| &side.text),
        sides.collect::<String>()
    );
    std::fs::write(file.path(), text)?;
    editor::open(file.path(), "use `muninn resolve ID --write TEXT`")?;
    let written = std::fs::read_to_string(file.path())?;
    let lines = written.lines().filter(|line| !line.starts_with('#'));
    let text = lines.collect::<Vec<_>>().join("\n").trim().to_owned();
    Ok(Some(text).filter(|text| !text.is_empty()))
}
