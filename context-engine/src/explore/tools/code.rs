//! `symbols`, `definition` and `callers`. The index says which files they are asked of; what is told is what these files
//! hold now.

use muninn_repo_tools::RelPath;
use muninn_repo_tools::code::{
    self, Candidates, CodeLimits, NameMatch, NameQuery, Symbol, SymbolQuery, callers as callers_of,
    definition as definition_of, symbols as symbols_of,
};

use super::{Arguments, Caller, Output, Spec, Toolbox, listed, named};

const MAX_RESULTS: usize = 100;
/// Files that are parsed for a directory's symbols, and without an index for a name.
const MAX_PARSED: usize = 200;
/// Files that are parsed for a name, out of those that the index names.
const MAX_LIKELY: usize = 16;

pub(super) const SYMBOLS: Spec = Spec {
    name: "symbols",
    description: "List the definitions of a file or directory: `path:first-last kind name signature`.",
    parameters: &[
        ("path", "string", "the file or directory"),
        ("name", "string", "only names with this in them"),
        ("page", "integer", "which page of a long result"),
    ],
    required: 0,
    run: Some(symbols),
};

pub(super) const DEFINITION: Spec = Spec {
    name: "definition",
    description: "Find where a name is defined (`refill`, `Bucket.refill`), the likeliest first, with its lines.",
    parameters: &[
        ("name", "string", "the name"),
        ("path", "string", "the directory to look in"),
        ("page", "integer", "which page of a long result"),
    ],
    required: 1,
    run: Some(definition),
};

pub(super) const CALLERS: Spec = Spec {
    name: "callers",
    description: "Find the definitions whose code calls a name, the likeliest first, with the lines of the calls.",
    parameters: &[
        ("name", "string", "the name"),
        ("path", "string", "the directory to look in"),
        ("page", "integer", "which page of a long result"),
    ],
    required: 1,
    run: Some(callers),
};

const NAME: &[&str] = &["name", "symbol", "query", "identifier", "function"];

fn limits(tools: &Toolbox<'_>, caller: &Caller<'_>, max_files: usize) -> CodeLimits {
    CodeLimits {
        max_files,
        max_results: MAX_RESULTS,
        max_file_bytes: tools.max_file_bytes,
        until: caller.until.clone(),
    }
}

fn symbols(tools: &Toolbox<'_>, arguments: &Arguments, caller: &Caller<'_>) -> Result<Output, String> {
    let (filter, name) = (tools.filter(arguments, caller)?, arguments.text(NAME));
    let (paths, max_files) = match (&name, filter.under.is_empty()) {
        (None, true) => return Err("say which file or directory, or a part of the name".to_owned()),
        (Some(name), true) => (named::defining_like(tools, name), MAX_LIKELY),
        (_, false) => (tools.paths(caller), MAX_PARSED),
    };
    let query = SymbolQuery {
        name: name.map_or(NameMatch::Any, NameMatch::Part),
        kinds: Vec::new(),
        candidates: paths.as_deref().map_or(Candidates::Grep, Candidates::Paths),
        filter,
        limits: limits(tools, caller, max_files),
    };
    let found = symbols_of(tools.worktree, &query).map_err(|error| error.to_string())?;
    let summary = format!("{} symbols", found.symbols.len());
    let mut output = listed(
        found.symbols.iter().map(line),
        &found.cuts,
        "nothing is defined there",
        summary,
    );
    output.shown = shown(found.symbols.iter());
    Ok(output)
}

fn definition(tools: &Toolbox<'_>, arguments: &Arguments, caller: &Caller<'_>) -> Result<Output, String> {
    let mut query = query(tools, arguments, caller)?;
    let paths = named::defining(tools, &query);
    if let Some(paths) = &paths {
        query.candidates = Candidates::Paths(paths);
    }
    let found = definition_of(tools.worktree, &query).map_err(|error| error.to_string())?;
    let told = found.definitions.iter();
    let told = told.map(|one| format!("{}  [{:.0}% sure]", line(&one.symbol), one.confidence * 100.0));
    let summary = format!("{} definitions", found.definitions.len());
    let nothing = format!("nothing here defines {}", query.name);
    let mut output = listed(told, &found.cuts, &nothing, summary);
    output.shown = shown(found.definitions.iter().map(|one| &one.symbol));
    Ok(output)
}

fn callers(tools: &Toolbox<'_>, arguments: &Arguments, caller: &Caller<'_>) -> Result<Output, String> {
    let mut query = query(tools, arguments, caller)?;
    let paths = named::calling(tools, &query);
    if let Some(paths) = &paths {
        query.candidates = Candidates::Paths(paths);
    }
    let found = callers_of(tools.worktree, &query).map_err(|error| error.to_string())?;
    let told = found.callers.iter().map(|one| {
        let inside = one
            .symbol
            .as_ref()
            .map_or_else(|| "top level".to_owned(), Symbol::qualified);
        let lines: Vec<String> = one.calls.iter().map(u32::to_string).collect();
        let (path, sure) = (&one.path, one.confidence * 100.0);
        format!("{path}:{} in {inside}  [{sure:.0}% sure]", lines.join(","))
    });
    let summary = format!("{} callers", found.callers.len());
    let nothing = format!("nothing here calls {}", query.name);
    let mut output = listed(told, &found.cuts, &nothing, summary);
    let calls = found.callers.iter();
    let calls = calls.flat_map(|one| one.calls.iter().map(|at| (one.path.clone(), *at, *at)));
    output.shown = calls.collect();
    Ok(output)
}

/// The question that a call asks of a name.
fn query<'p>(tools: &Toolbox<'_>, arguments: &Arguments, caller: &Caller<'_>) -> Result<NameQuery<'p>, String> {
    let max_files = tools.snapshot.map_or(MAX_PARSED, |_| MAX_LIKELY);
    Ok(NameQuery {
        filter: tools.filter(arguments, caller)?,
        limits: limits(tools, caller, max_files),
        ..NameQuery::new(&arguments.needed(NAME)?)
    })
}

fn line(symbol: &code::Symbol) -> String {
    let (lines, signature) = (&symbol.lines, &symbol.signature);
    format!("{}:{}-{} {signature}", symbol.path, lines.first, lines.last)
}

fn shown<'s>(symbols: impl Iterator<Item = &'s Symbol>) -> Vec<(RelPath, u32, u32)> {
    symbols
        .map(|symbol| (symbol.path.clone(), symbol.lines.first, symbol.lines.last))
        .collect()
}
