//! `muninn tree`: shows the files as a tree that fits a budget of tokens.

use std::process::ExitCode;

use clap::Args;
use muninn_context_engine::tools::{self, TreeArguments};

use super::{Common, Opened, PathFilter, TIMEOUT, examples, finish, output};
use crate::cli::CliError;

/// Show the repository's files as a tree
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn tree --depth 2", "Two levels"),
    ("muninn tree src --tokens 500", "One folder, in at most 500 tokens"),
]))]
pub(crate) struct Tree {
    /// Directories to show [default: the whole worktree]
    paths: Vec<String>,
    /// The number of levels
    #[arg(short, long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    depth: usize,
    /// The most tokens of the text, estimated
    #[arg(long, value_name = "N", default_value_t = 4_000)]
    tokens: usize,
    #[command(flatten)]
    filter: PathFilter,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Tree {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let opened = Opened::open(common)?;
        let arguments = TreeArguments {
            path: opened.paths(&self.paths)?,
            depth: Some(self.depth),
            glob: self.filter.globs(),
            tokens: Some(self.tokens),
        };
        let tree = opened.call(tools::tree, &arguments, TIMEOUT)?;
        if self.json {
            output::json(&tree);
        } else {
            output::print(&tree.text());
        }
        Ok(finish(&tree.cuts, tree.files == 0))
    }
}
