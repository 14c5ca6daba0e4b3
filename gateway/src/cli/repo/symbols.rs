//! `muninn symbols`: definitions by name and kind.

use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;
use muninn_context_engine::tools::{self, SymbolsArguments};
use muninn_repo_tools::code::Symbol;
use muninn_repo_tools::syntax::DefinitionKind;

use super::{Choice, Common, PATIENCE, Paint, Place, finish, output};
use crate::cli::CliError;

/// List definitions by name and kind
#[derive(Args)]
pub(crate) struct Symbols {
    /// A part of the name, in any case [default: all]
    name: Option<String>,
    /// Files and directories to look in [default: the whole worktree]
    paths: Vec<String>,
    /// The whole name, as it is written
    #[arg(short, long, requires = "name")]
    exact: bool,
    /// Only this kind; may be given several times
    #[arg(short, long, value_name = "KIND", value_parser = PossibleValuesParser::new(DefinitionKind::ALL.map(DefinitionKind::name)))]
    kind: Vec<String>,
    #[command(flatten)]
    choice: Choice,
    /// So many at most
    #[arg(short = 'n', long, value_name = "N", default_value_t = 200)]
    max: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Symbols {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let place = Place::open(common)?;
        let wanted = |kind: &DefinitionKind| self.kind.iter().any(|name| name == kind.name());
        let arguments = SymbolsArguments {
            path: place.paths(&self.paths)?,
            name: self.name,
            exact: self.exact,
            kinds: DefinitionKind::ALL.into_iter().filter(wanted).collect(),
            glob: self.choice.globs(),
            max: Some(self.max),
            max_files: Some(usize::MAX),
        };
        let found = place.ask(&tools::Symbols, &arguments, PATIENCE)?;
        if self.json {
            output::json(&found);
        } else {
            output::print(
                &found
                    .symbols
                    .iter()
                    .map(|symbol| line(symbol, Paint::new()))
                    .collect::<String>(),
            );
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
