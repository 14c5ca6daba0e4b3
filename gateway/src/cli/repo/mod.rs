//! The repository's tools as commands: what the explorer and other programs call, for people and scripts.
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

use clap::Args;
use muninn_repo_tools::code::{CodeError, CodeLimits, NameQuery};
use muninn_repo_tools::{Cuts, FileFilter, RelPath, Worktree};

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
    fn filter(&self, place: &Place, paths: &[String]) -> Result<FileFilter, CliError> {
        let under: Result<Vec<Option<RelPath>>, CliError> = paths.iter().map(|path| place.path_or_root(path)).collect();
        let under = under?;
        let everywhere = under.iter().any(Option::is_none);
        Ok(FileFilter {
            globs: self.glob.clone(),
            under: if everywhere {
                Vec::new()
            } else {
                under.into_iter().flatten().collect()
            },
        })
    }
}

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
    fn query(&self, place: &Place) -> Result<NameQuery<'static>, CliError> {
        Ok(NameQuery {
            from: self.from.as_ref().map(|path| place.path(path)).transpose()?,
            filter: self.choice.filter(place, &[])?,
            limits: CodeLimits {
                max_results: self.max,
                ..CodeLimits::default()
            },
            ..NameQuery::new(&self.name)
        })
    }
}

fn wrong_usage(error: &(impl std::error::Error + 'static)) -> CliError {
    CliError::new(Exit::Usage, with_causes(error))
}

fn wrong_name(error: CodeError) -> CliError {
    wrong_usage(&error)
}

/// Says on stderr that something is missing, and exits as grep does: 1 where there is nothing.
fn finish(cuts: &Cuts, nothing: bool) -> ExitCode {
    if !cuts.is_empty() {
        output::note(&format!("not all is shown; the bound reached is: {}", cuts.words()));
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
