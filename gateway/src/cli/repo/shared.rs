use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use muninn_base::{RelPath, Until, with_causes};
use muninn_code::CodeLimits;
use muninn_config::env_vars;
use muninn_context_engine::tools::{Globs, NameArguments, Paths, ToolContext, ToolError};
use muninn_recall::Memories;
use muninn_repo_tools::{Cuts, Worktree};

use super::super::{CliError, Common, Exit, output};

/// A filter of files by their paths.
#[derive(Args)]
pub(crate) struct PathFilter {
    /// Only files that match GLOB, or with `!` those that do not; may be repeated, and the last match decides
    #[arg(short, long, value_name = "GLOB")]
    glob: Vec<String>,
}

impl PathFilter {
    pub(crate) fn globs(&self) -> Globs {
        Globs(self.glob.clone())
    }
}

/// The longest time of a command, unless the user sets another.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

/// The function of a tool.
type Tool<A, R> = fn(&ToolContext<'_>, &A) -> Result<R, ToolError>;

/// An opened worktree, and the directory that paths are relative to.
pub(crate) struct Opened {
    worktree: Worktree,
    directory: std::path::PathBuf,
}

impl Opened {
    pub(crate) fn open(common: &Common) -> Result<Self, CliError> {
        let directory = common.directory()?;
        let worktree = common.worktree()?;
        let directory = directory.canonicalize()?;
        Ok(Self { worktree, directory })
    }

    /// Calls a tool with a time limit.
    pub(crate) fn call<A, R>(&self, tool: Tool<A, R>, arguments: &A, time: Duration) -> Result<R, CliError> {
        let context = ToolContext {
            worktree: &self.worktree,
            snapshot: None,
            memories: &Memories::default(),
            max_file_bytes: CodeLimits::default().max_file_bytes,
            scope: None,
            until: Until::within(time),
        };
        tool(&context, arguments).map_err(|error| {
            let exit = match error {
                ToolError::Read(_) | ToolError::Outline(_) => Exit::NotFound,
                _ => Exit::Usage,
            };
            CliError::new(exit, with_causes(&error))
        })
    }

    /// Resolves paths of the command line. Empty, which means all files, where one of them is the root.
    pub(crate) fn paths(&self, given: &[String]) -> Result<Paths, CliError> {
        let paths = given.iter().map(|path| self.path_or_root(path));
        let paths: Vec<Option<RelPath>> = paths.collect::<Result<_, _>>()?;
        let paths: Option<Vec<RelPath>> = paths.into_iter().collect();
        Ok(paths.unwrap_or_default().into())
    }

    /// Resolves a path of the command line. `None` is the root itself.
    fn path_or_root(&self, given: &str) -> Result<Option<RelPath>, CliError> {
        let outside = || CliError::new(Exit::NotFound, format!("{given} is outside the worktree"));
        let absolute = self.directory.join(given);
        // The path is normalised without the disk, so that deleted files have a path too.
        let mut normal = std::path::PathBuf::new();
        for part in absolute.components() {
            match part {
                std::path::Component::ParentDir => {
                    normal.pop();
                }
                std::path::Component::CurDir => {}
                part => normal.push(part),
            }
        }
        let relative = normal.strip_prefix(self.worktree.root()).map_err(|_| outside())?;
        if relative == Path::new("") {
            return Ok(None);
        }
        RelPath::from_relative(relative).map(Some).ok_or_else(outside)
    }

    pub(crate) fn path(&self, given: &str) -> Result<RelPath, CliError> {
        self.path_or_root(given)?
            .ok_or_else(|| CliError::new(Exit::Usage, format!("{given} is the worktree itself; name a file in it")))
    }
}

/// The arguments of commands that take a name.
#[derive(Args)]
pub(crate) struct NameQuery {
    /// The name, alone or with its container: refill, Bucket::refill, Bucket.refill
    name: String,
    /// Prefer what FILE defines and imports
    #[arg(long, value_name = "FILE")]
    from: Option<String>,
    #[command(flatten)]
    filter: PathFilter,
    /// The most results
    #[arg(short = 'n', long, value_name = "N", default_value_t = 200)]
    max: usize,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl NameQuery {
    /// Calls a tool with these arguments.
    pub(crate) fn call<R>(&self, tool: Tool<NameArguments, R>, common: &Common) -> Result<R, CliError> {
        let opened = Opened::open(common)?;
        let from = self.from.as_ref().map(|path| opened.path(path)).transpose()?;
        let arguments = NameArguments {
            name: self.name.clone(),
            path: Paths::default(),
            from: from.map(Into::into),
            glob: self.filter.globs(),
            max: Some(self.max),
            max_files: Some(CodeLimits::default().max_files),
        };
        opened.call(tool, &arguments, TIMEOUT)
    }
}

/// Reports on stderr which limits left results out. The exit code is 1 if there are none, as in grep.
pub(crate) fn finish(cuts: &Cuts, is_empty: bool) -> ExitCode {
    if !cuts.is_empty() {
        output::note(&format!("results are incomplete; limit reached: {}", cuts.describe()));
    }
    if is_empty { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Colours for a terminal, the same as ripgrep's.
#[derive(Clone, Copy)]
pub(crate) struct Paint(bool);

impl Paint {
    pub(crate) fn new() -> Self {
        Self(std::io::stdout().is_terminal() && std::env::var_os(env_vars::NO_COLOR).is_none())
    }

    pub(crate) fn path(self, text: &str) -> String {
        if self.0 { format!("\u{1b}[35m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub(crate) fn number(self, number: impl std::fmt::Display) -> String {
        if self.0 { format!("\u{1b}[32m{number}\u{1b}[0m") } else { number.to_string() }
    }

    /// The text of a file, without the control characters that could control the terminal.
    pub(crate) fn text(self, text: &str) -> String {
        let sanitize = |c: char| if c.is_control() && c != '\t' { '\u{fffd}' } else { c };
        if self.0 { text.chars().map(sanitize).collect() } else { text.to_owned() }
    }
}
