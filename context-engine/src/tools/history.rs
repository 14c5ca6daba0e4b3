//! The tool `git_log`: the commits up to HEAD.

use muninn_repo_tools::history::{CommitReader, CommitSummary};
use muninn_repo_tools::{Cut, Cuts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::FILE_ALIASES;
use super::{Effect, Output, PathArgument, Tool, ToolContext, ToolDescription, ToolError};

/// Number of commits if the caller names none, and the most that one call shows.
const COMMITS: usize = 20;
const MAX_COMMITS: usize = 200;
/// Maximum number of commits that are searched for one file.
const SEARCHED: usize = 20_000;

#[derive(Deserialize, JsonSchema)]
struct GitLogArguments {
    /// only commits that changed this file or directory
    path: Option<PathArgument>,
    /// how many commits to show; 20 if absent
    max: Option<usize>,
}

#[derive(Serialize)]
struct Log {
    /// The commits, newest first.
    commits: Vec<CommitSummary>,
    /// The limits that shortened the list.
    cuts: Cuts,
}

pub(super) fn git_log_tool() -> Tool {
    ToolDescription::new("git_log", Effect::Reads, "git history commits log")
        .about("Show the newest commits, of the repository or of one file: id, date, author, subject.")
        .parameter("path", FILE_ALIASES)
        .parameter("max", &["limit", "n", "count"])
        .paged()
        .answered(git_log, output)
}

/// Lists the newest commits.
fn git_log(context: &ToolContext<'_>, arguments: &GitLogArguments) -> Result<Log, ToolError> {
    let path = context.under(arguments.path.as_slice())?.pop();
    let max = arguments.max.unwrap_or(COMMITS).min(MAX_COMMITS);
    let reader = CommitReader::open(context.worktree)?;
    let searched = if path.is_some() { SEARCHED } else { max };
    let recent = reader.recent(searched, &context.until)?;
    let (mut commits, mut cuts) = (Vec::new(), recent.cuts);
    for id in recent.commits {
        if context.until.is_over() {
            cuts.add(Cut::Time);
            break;
        }
        if let Some(path) = &path
            && reader.changed(id, path) != Some(true)
        {
            continue;
        }
        if commits.len() == max {
            cuts.add(Cut::Matches);
            break;
        }
        commits.extend(reader.summary(id));
    }
    Ok(Log { commits, cuts })
}

fn output(_: &GitLogArguments, log: &Log) -> Output {
    let line = |commit: &CommitSummary| {
        let CommitSummary { id, date, author, subject } = commit;
        let (id, day) = (id.get(..10).unwrap_or(id), date.get(..10).unwrap_or(date));
        format!("{id} {day} {author}: {subject}")
    };
    let summary = format!("{} commits", log.commits.len());
    Output::listed(log.commits.iter().map(line), &log.cuts, "there is no commit", summary)
}
