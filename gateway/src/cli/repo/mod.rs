//! The registry's tools as commands, for people and scripts. A command makes a tool's arguments, calls it, and prints its
//! answer: as JSON, or as text of its own.
//!
//! Each opens the worktree and nothing else: no configuration is read, no state directory made, no index asked.

mod definition;
mod grep;
mod outline;
mod read;
mod symbols;
mod tree;
mod usages;

pub(super) use definition::Definition;
pub(super) use grep::Grep;
pub(super) use outline::Outline;
pub(super) use read::Read;
pub(super) use symbols::Symbols;
pub(super) use tree::Tree;
pub(super) use usages::{Callers, References};

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use muninn_context_engine::tools::{Globs, NameArguments, Paths, Tool, ToolContext, ToolError};
use muninn_memory::Memories;
use muninn_repo_tools::code::CodeLimits;
use muninn_repo_tools::{Cuts, RelPath, Until, Worktree};

use super::{CliError, Common, Exit, output};
use crate::causes::with_causes;
use crate::config::env_vars;

/// Which files a command is about.
#[derive(Args)]
pub(super) struct Choice {
    /// Only files that fit, or with `!` those that do not; may be given several times, the last that fits decides
    #[arg(short, long, value_name = "GLOB")]
    glob: Vec<String>,
}

impl Choice {
    fn globs(&self) -> Globs {
        Globs(self.glob.clone())
    }
}

/// What a command may take unless the user says otherwise.
const PATIENCE: Duration = Duration::from_secs(10);

/// A worktree, and the directory in it that paths are given from.
pub(super) struct Place {
    worktree: Worktree,
    directory: std::path::PathBuf,
}

impl Place {
    fn open(common: &Common) -> Result<Self, CliError> {
        let directory = common.directory()?;
        let worktree = common.worktree()?;
        let directory = directory.canonicalize()?;
        Ok(Self { worktree, directory })
    }

    /// What a tool answers within a time.
    fn ask<T: Tool>(&self, tool: &T, arguments: &T::Arguments, time: Duration) -> Result<T::Answer, CliError> {
        let context = ToolContext {
            worktree: &self.worktree,
            snapshot: None,
            memories: &Memories::default(),
            max_file_bytes: CodeLimits::default().max_file_bytes,
            scope: None,
            until: Until::within(time),
        };
        tool.answer(&context, arguments).map_err(|error| {
            let exit = match error {
                ToolError::Read(_) | ToolError::Outline(_) => Exit::NotFound,
                _ => Exit::Usage,
            };
            CliError::new(exit, with_causes(&error))
        })
    }

    /// Paths of the command line; none where one is the root.
    fn paths(&self, given: &[String]) -> Result<Paths, CliError> {
        let paths = given.iter().map(|path| self.path_or_root(path));
        let paths: Vec<Option<RelPath>> = paths.collect::<Result<_, _>>()?;
        let paths: Option<Vec<RelPath>> = paths.into_iter().collect();
        Ok(paths.unwrap_or_default().into())
    }

    /// A path of the command line, from the directory of the start; `None` for the root itself.
    fn path_or_root(&self, given: &str) -> Result<Option<RelPath>, CliError> {
        let outside = || CliError::new(Exit::NotFound, format!("{given} is not in the worktree"));
        let absolute = self.directory.join(given);
        // Without looking at the disk: a file that is gone has a name too.
        let mut plain = std::path::PathBuf::new();
        for part in absolute.components() {
            match part {
                std::path::Component::ParentDir => {
                    plain.pop();
                }
                std::path::Component::CurDir => {}
                part => plain.push(part),
            }
        }
        let relative = plain.strip_prefix(self.worktree.root()).map_err(|_| outside())?;
        if relative == Path::new("") {
            return Ok(None);
        }
        RelPath::from_relative(relative).map(Some).ok_or_else(outside)
    }

    fn path(&self, given: &str) -> Result<RelPath, CliError> {
        self.path_or_root(given)?
            .ok_or_else(|| CliError::new(Exit::Usage, format!("{given} is the worktree itself, not a file in it")))
    }
}

/// A question by name, as several commands ask it.
#[derive(Args)]
pub(super) struct Question {
    /// The name, alone or with what it belongs to: refill, Bucket::refill, Bucket.refill
    name: String,
    /// The file that the question comes from: what it defines and imports is meant first
    #[arg(long, value_name = "FILE")]
    from: Option<String>,
    #[command(flatten)]
    choice: Choice,
    /// So many answers at most
    #[arg(short = 'n', long, value_name = "N", default_value_t = 200)]
    max: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Question {
    /// What a tool answers to it.
    fn ask<T: Tool<Arguments = NameArguments>>(&self, tool: &T, common: &Common) -> Result<T::Answer, CliError> {
        let place = Place::open(common)?;
        let from = self.from.as_ref().map(|path| place.path(path)).transpose()?;
        let arguments = NameArguments {
            name: self.name.clone(),
            path: Paths::default(),
            from: from.map(Into::into),
            glob: self.choice.globs(),
            max: Some(self.max),
            max_files: Some(CodeLimits::default().max_files),
        };
        place.ask(tool, &arguments, PATIENCE)
    }
}

/// Says on stderr that something is missing, and exits as grep does: 1 where there is nothing.
fn finish(cuts: &Cuts, nothing: bool) -> ExitCode {
    if !cuts.is_empty() {
        output::note(&format!("not all is shown; the bound reached is: {}", cuts.describe()));
    }
    if nothing { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Colours for a terminal, as ripgrep has them.
#[derive(Clone, Copy)]
struct Paint(bool);

impl Paint {
    fn new() -> Self {
        Self(std::io::stdout().is_terminal() && std::env::var_os(env_vars::NO_COLOR).is_none())
    }

    fn path(self, text: &str) -> String {
        if self.0 {
            format!("\u{1b}[35m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    fn number(self, number: impl std::fmt::Display) -> String {
        if self.0 {
            format!("\u{1b}[32m{number}\u{1b}[0m")
        } else {
            number.to_string()
        }
    }

    /// The text of a strange file, which must not speak to the terminal.
    fn text(self, text: &str) -> String {
        let tame = |c: char| if c.is_control() && c != '\t' { '\u{fffd}' } else { c };
        if self.0 {
            text.chars().map(tame).collect()
        } else {
            text.to_owned()
        }
    }
}
