//! The tools `symbols`, `outline`, `definition`, `references` and `callers`. The index selects the files to parse; the
//! answers come from their current content.

use muninn_base::RelPath;
use muninn_code::syntax::{DefinitionKind, ParseLimits};
use muninn_code::{CodeLimits, NameMatch, NameQuery, Symbol, SymbolQuery};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Effect::Reads;
use super::arguments::{FILE_ALIASES, GLOB_ALIASES, PATH_ALIASES};
use super::output::{neutral_head, neutral_line};
use super::{Globs, Output, PathArgument, Paths, Tool, ToolContext, ToolDescription, ToolError, candidate_files};

const MAX_RESULTS: usize = 100;
/// Maximum number of files to parse for the symbols of a directory, and for a name without an index.
const MAX_PARSED: usize = 200;
/// Maximum number of files to parse for a name with an index.
const MAX_LIKELY: usize = 16;

/// Other names that models write for `name`.
const NAME_ALIASES: &[&str] = &["symbol", "query", "identifier", "function"];

pub(super) fn tools() -> [Tool; 5] {
    [
        ToolDescription::new("symbols", Reads, "list symbols definitions of a file")
            .about("List the definitions of a file or directory: `path:first-last kind name signature`.")
            .parameter("path", PATH_ALIASES)
            .parameter("name", NAME_ALIASES)
            .accepted("glob", GLOB_ALIASES)
            .paged()
            .answered(symbols, symbols_output),
        ToolDescription::new("outline", Reads, "outline structure of a file")
            .about("Show the definitions of a file, nested, with their lines.")
            .parameter("path", FILE_ALIASES)
            .paged()
            .answered(outline, outline_output),
        by_name("definition", "go to definition symbol")
            .about("Find where a name is defined (`refill`, `Bucket.refill`), the likeliest first, with its lines.")
            .answered(definition, definition_output),
        by_name("references", "find references usages")
            .about("Find the uses of a name, with how sure each is.")
            .answered(references, references_output),
        by_name("callers", "call hierarchy who calls")
            .about("Find the definitions whose code calls a name, the likeliest first, with the lines of the calls.")
            .answered(callers, callers_output),
    ]
}

/// Begins the description of a tool that takes [`NameArguments`].
fn by_name(name: &'static str, hint: &'static str) -> ToolDescription {
    ToolDescription::new(name, Reads, hint)
        .parameter("name", NAME_ALIASES)
        .parameter("path", PATH_ALIASES)
        .accepted("glob", GLOB_ALIASES)
        .paged()
}

/// The arguments of [`symbols`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct SymbolsArguments {
    /// the file or directory
    #[serde(default)]
    pub path: Paths,
    /// only names with this in them
    pub name: Option<String>,
    /// `name` is the whole name, as it is written
    #[serde(default)]
    pub exact: bool,
    /// only definitions of these kinds, such as `struct`
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub kinds: Vec<DefinitionKind>,
    /// only files that fit, such as `*.rs`
    #[serde(default)]
    pub glob: Globs,
    /// how many definitions to list; 100 if absent
    pub max: Option<usize>,
    /// how many files to parse; without it, a name or a path is needed
    pub max_files: Option<usize>,
}

/// Lists definitions.
pub fn symbols(context: &ToolContext<'_>, arguments: &SymbolsArguments) -> Result<muninn_code::Symbols, ToolError> {
    let filter = context.filter(&arguments.path.0, &arguments.glob)?;
    let (paths, max_files) = match (&arguments.name, filter.under.is_empty()) {
        (None, true) if arguments.max_files.is_none() => return Err(ToolError::Everything),
        (Some(name), true) => (candidate_files::files_defining_part(context, name), MAX_LIKELY),
        _ => (context.paths(), MAX_PARSED),
    };
    let query = SymbolQuery {
        name: match arguments.name.clone() {
            None => NameMatch::Any,
            Some(name) if arguments.exact => NameMatch::Exact(name),
            Some(name) => NameMatch::Part(name),
        },
        kinds: arguments.kinds.clone(),
        candidates: candidates(paths.as_deref()),
        filter,
        limits: limits(context, arguments.max, arguments.max_files.unwrap_or(max_files)),
    };
    Ok(muninn_code::symbols(context.worktree, &query)?)
}

fn symbols_output(_: &SymbolsArguments, found: &muninn_code::Symbols) -> Output {
    let summary = format!("{} symbols", found.symbols.len());
    let lines = found.symbols.iter().map(line);
    Output::listed(lines, &found.cuts, "nothing is defined there", summary).with_shown(found.symbols.iter().map(shown))
}

/// The arguments of [`outline`].
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct OutlineArguments {
    /// the file, from the repository's root
    pub path: PathArgument,
}

/// Finds the definitions of a file.
pub fn outline(context: &ToolContext<'_>, arguments: &OutlineArguments) -> Result<muninn_code::Outline, ToolError> {
    let path = context.file(&arguments.path)?;
    Ok(muninn_code::outline(context.worktree, &path, &ParseLimits::default())?)
}

fn outline_output(_: &OutlineArguments, outline: &muninn_code::Outline) -> Output {
    let line = |entry: &muninn_code::OutlineEntry| {
        let (lines, signature) = (&entry.symbol.lines, &entry.symbol.signature);
        let signature = neutral_line(&entry.symbol.path, signature);
        format!("{}-{} {}{signature}", lines.first, lines.last, "  ".repeat(entry.depth))
    };
    let summary = format!("{} definitions", outline.entries.len());
    let (lines, symbols) = (outline.entries.iter().map(line), outline.entries.iter());
    let output = Output::listed(lines, &Default::default(), "nothing is defined there", summary);
    output.with_shown(symbols.map(|entry| shown(&entry.symbol)))
}

/// The arguments of [`definition`], [`references`] and [`callers`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct NameArguments {
    /// the name
    pub name: String,
    /// the directory to look in
    #[serde(default)]
    pub path: Paths,
    /// the file that the question comes from: what it defines and imports is meant first
    pub from: Option<PathArgument>,
    /// only files that fit, such as `*.rs`
    #[serde(default)]
    pub glob: Globs,
    /// how many answers to give; 100 if absent
    pub max: Option<usize>,
    /// how many files to parse
    pub max_files: Option<usize>,
}

/// Finds where a name is defined.
pub fn definition(context: &ToolContext<'_>, arguments: &NameArguments) -> Result<muninn_code::Definitions, ToolError> {
    let query = arguments.query(context)?;
    let paths = candidate_files::files_defining(context, &query);
    Ok(muninn_code::definition(context.worktree, &within(query, paths.as_deref()))?)
}

fn definition_output(arguments: &NameArguments, found: &muninn_code::Definitions) -> Output {
    let definitions = found.definitions.iter();
    let lines = definitions.map(|one| format!("{}  [{:.0}% sure]", line(&one.symbol), one.confidence * 100.0));
    let summary = format!("{} definitions", found.definitions.len());
    let nothing = format!("nothing here defines {}", arguments.name);
    let symbols = found.definitions.iter().map(|one| &one.symbol);
    Output::listed(lines, &found.cuts, &nothing, summary).with_shown(symbols.map(shown))
}

/// Finds the uses of a name. Searches the files, because the index has only calls and no other uses.
pub fn references(context: &ToolContext<'_>, arguments: &NameArguments) -> Result<muninn_code::References, ToolError> {
    let unindexed = ToolContext { snapshot: None, ..context.clone() };
    Ok(muninn_code::references(context.worktree, &arguments.query(&unindexed)?)?)
}

fn references_output(arguments: &NameArguments, found: &muninn_code::References) -> Output {
    let uses = found.references.iter().map(|one| {
        let (path, line, text, sure) = (&one.path, one.line, &one.text, one.confidence * 100.0);
        let (head, text) = (neutral_head(&format!("{path}:{line}:")), neutral_line(path, text));
        format!("{head}{text}  [{sure:.0}% sure]")
    });
    let summary = format!("{} references", found.references.len());
    let nothing = format!("nothing here uses {}", arguments.name);
    let lines = found.references.iter().map(|one| (one.path.clone(), one.line, one.line));
    Output::listed(uses, &found.cuts, &nothing, summary).with_shown(lines)
}

/// Finds the definitions whose code calls a name.
pub fn callers(context: &ToolContext<'_>, arguments: &NameArguments) -> Result<muninn_code::Callers, ToolError> {
    let query = arguments.query(context)?;
    let paths = candidate_files::files_calling(context, &query);
    Ok(muninn_code::callers(context.worktree, &within(query, paths.as_deref()))?)
}

fn callers_output(arguments: &NameArguments, found: &muninn_code::Callers) -> Output {
    let callers = found.callers.iter().map(|one| {
        let inside = one.symbol.as_ref().map_or_else(|| "top level".to_owned(), Symbol::qualified);
        let lines: Vec<String> = one.calls.iter().map(u32::to_string).collect();
        let (path, sure) = (&one.path, one.confidence * 100.0);
        let (head, inside) = (neutral_head(&format!("{path}:{}", lines.join(","))), neutral_line(path, &inside));
        format!("{head} in {inside}  [{sure:.0}% sure]")
    });
    let summary = format!("{} callers", found.callers.len());
    let nothing = format!("nothing here calls {}", arguments.name);
    let calls = found.callers.iter();
    let calls = calls.flat_map(|one| one.calls.iter().map(|at| (one.path.clone(), *at, *at)));
    Output::listed(callers, &found.cuts, &nothing, summary).with_shown(calls)
}

impl NameArguments {
    /// Returns the question over the files that contain the name.
    fn query(&self, context: &ToolContext<'_>) -> Result<NameQuery<'static>, ToolError> {
        let max_files = context.snapshot.map_or(MAX_PARSED, |_| MAX_LIKELY);
        let from = self.from.as_ref();
        Ok(NameQuery {
            from: from.map(|from| context.file(from)).transpose()?,
            filter: context.filter(&self.path.0, &self.glob)?,
            limits: limits(context, self.max, self.max_files.unwrap_or(max_files)),
            ..NameQuery::new(&self.name)
        })
    }
}

/// Limits a question to these files, if they are known.
fn within<'p>(query: NameQuery<'static>, paths: Option<&'p [RelPath]>) -> NameQuery<'p> {
    NameQuery { candidates: candidates(paths), ..query }
}

fn candidates(paths: Option<&[RelPath]>) -> muninn_code::Candidates<'_> {
    paths.map_or(muninn_code::Candidates::Grep, muninn_code::Candidates::Paths)
}

fn limits(context: &ToolContext<'_>, max: Option<usize>, max_files: usize) -> CodeLimits {
    CodeLimits {
        max_files,
        max_results: max.unwrap_or(MAX_RESULTS),
        max_file_bytes: context.max_file_bytes,
        until: context.until.clone(),
    }
}

fn line(symbol: &Symbol) -> String {
    let (lines, signature) = (&symbol.lines, &symbol.signature);
    let head = neutral_head(&format!("{}:{}-{}", symbol.path, lines.first, lines.last));
    format!("{head} {}", neutral_line(&symbol.path, signature))
}

fn shown(symbol: &Symbol) -> (RelPath, u32, u32) {
    (symbol.path.clone(), symbol.lines.first, symbol.lines.last)
}
