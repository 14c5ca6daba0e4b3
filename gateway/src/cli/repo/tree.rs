//! `muninn tree`: the directories, as many as fit.

use std::process::ExitCode;

use clap::Args;
use muninn_repo_tools::{TreeLimits, tree};

use super::{Choice, Common, Place, finish, output, wrong_usage};
use crate::cli::CliError;

/// Show the repository's files as a tree, within a budget
#[derive(Args)]
pub(crate) struct Tree {
    /// Directories to show [default: the whole worktree]
    paths: Vec<String>,
    /// Levels below the root
    #[arg(short, long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    depth: usize,
    /// What the text may cost, in tokens, estimated
    #[arg(long, value_name = "N", default_value_t = 4_000)]
    tokens: usize,
    #[command(flatten)]
    choice: Choice,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Tree {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let place = Place::open(common)?;
        let limits = TreeLimits {
            filter: self.choice.filter(&place, &self.paths)?,
            max_depth: self.depth,
            max_tokens: self.tokens,
            ..TreeLimits::default()
        };
        let tree = tree(&place.worktree, &limits).map_err(|error| wrong_usage(&error))?;
        if self.json {
            output::json(&tree);
        } else {
            output::print(&tree.text());
        }
        Ok(finish(&tree.cuts, tree.files == 0))
    }
}
