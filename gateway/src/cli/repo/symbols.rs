//! `muninn symbols`: lists definitions by name and kind.

use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;
use muninn_code::Symbol;
use muninn_code::syntax::DefinitionKind;
use muninn_context_engine::tools::{self, SymbolsArguments};

use super::{Common, Opened, Paint, PathFilter, TIMEOUT, examples, finish, output};
use crate::cli::CliError;

/// List definitions by name and kind
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn symbols limit", "Definitions whose name contains `limit`"),
    ("muninn symbols --exact Bucket --kind struct", "Structs of that name"),
    ("muninn symbols '' src/http --json", "All definitions below a folder, as JSON"),
]))]
pub(crate) struct Symbols {
    /// A part of the name; case is ignored [default: all names]
    name: Option<String>,
    /// Files and directories to search [default: the whole worktree]
    paths: Vec<String>,
    /// Match the whole name and its case
    #[arg(short, long, requires = "name")]
    exact: bool,
    /// Only definitions of this kind; may be repeated
    #[arg(short, long, value_name = "KIND", value_parser = PossibleValuesParser::new(DefinitionKind::ALL.map(DefinitionKind::name)))]
    kind: Vec<String>,
    #[command(flatten)]
    filter: PathFilter,
    /// The most results
    #[arg(short = 'n', long, value_name = "N", default_value_t = 200)]
    max: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Symbols {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let opened = Opened::open(common)?;
        let wanted = |kind: &DefinitionKind| self.kind.iter().any(|name| name == kind.name());
        let arguments = SymbolsArguments {
            path: opened.paths(&self.paths)?,
            name: self.name,
            exact: self.exact,
            kinds: DefinitionKind::ALL.into_iter().filter(wanted).collect(),
            glob: self.filter.globs(),
            max: Some(self.max),
            max_files: Some(usize::MAX),
        };
        let found = opened.call(tools::symbols, &arguments, TIMEOUT)?;
        if self.json {
            output::json(&found);
        } else {
            output::print(&found.symbols.iter().map(|symbol| line(symbol, Paint::new())).collect::<String>());
        }
        Ok(finish(&found.cuts, found.symbols.is_empty()))
    }
}

/// `path:line:kind Container.name  signature`
pub(super) fn line(symbol: &Symbol, paint: Paint) -> String {
    let (path, line) = (paint.path(&symbol.path.printed()), paint.number(symbol.line));
    let (kind, signature) = (symbol.kind.name(), paint.text(&symbol.signature));
    format!("{path}:{line}:{kind} {}  {signature}\n", symbol.qualified())
}
