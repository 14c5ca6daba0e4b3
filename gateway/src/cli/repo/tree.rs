//! `muninn tree`: the directories, as many as fit.

use std::process::ExitCode;

use clap::Args;
use muninn_context_engine::tools::{self, TreeArguments};

use super::{Choice, Common, PATIENCE, Place, finish, output};
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
        let arguments = TreeArguments {
            path: place.paths(&self.paths)?,
            depth: Some(self.depth),
            glob: self.choice.globs(),
            tokens: Some(self.tokens),
        };
        let tree = place.ask(&tools::Tree, &arguments, PATIENCE)?;
        if self.json {
            output::json(&tree);
        } else {
            output::print(&tree.text());
        }
        Ok(finish(&tree.cuts, tree.files == 0))
    }
}
