//! `symbols`, `definition` and `callers`. The graph of the index says which files may hold a name; what is told is what
//! these files hold now.

use muninn_repo_tools::RelPath;
use muninn_repo_tools::code::{
    self, Candidates, CodeLimits, NameMatch, NameQuery, Symbol, SymbolQuery, callers as callers_of,
    definition as definition_of, symbols as symbols_of,
};

use super::{Arguments, Caller, Output, Spec, Toolbox, listed};

const MAX_RESULTS: usize = 100;
/// Files that are parsed for one question by name.
const MAX_PARSED: usize = 200;

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

fn limits(tools: &Toolbox<'_>, caller: &Caller<'_>) -> CodeLimits {
    CodeLimits {
        max_files: MAX_PARSED,
        max_results: MAX_RESULTS,
        max_file_bytes: tools.max_file_bytes,
        until: caller.until.clone(),
    }
}

fn symbols(tools: &Toolbox<'_>, arguments: &Arguments, caller: &Caller<'_>) -> Result<Output, String> {
    let (filter, name) = (tools.filter(arguments, caller)?, arguments.text(NAME));
    if filter.under.is_empty() && name.is_none() {
        return Err("say which file or directory, or a part of the name".to_owned());
    }
    let paths = tools.paths(caller);
    let query = SymbolQuery {
        name: name.map_or(NameMatch::Any, NameMatch::Part),
        kinds: Vec::new(),
        candidates: match (&paths, filter.under.is_empty()) {
            // A part of a name is looked for in the text first, which is far less than parsing all files.
            (_, true) | (None, _) => Candidates::Grep,
            (Some(paths), false) => Candidates::Paths(paths),
        },
        filter,
        limits: limits(tools, caller),
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
    let name = arguments.needed(NAME)?;
    let paths = about(tools, caller, &name, |tools, last| {
        let graph = tools.snapshot?.graph();
        Some(graph.definitions(last).map(|defined| defined.file).collect())
    });
    let found = definition_of(
        tools.worktree,
        &query(tools, arguments, caller, &name, paths.as_deref())?,
    );
    let found = found.map_err(|error| error.to_string())?;
    let told = found.definitions.iter();
    let told = told.map(|one| format!("{}  [{:.0}% sure]", line(&one.symbol), one.confidence * 100.0));
    let summary = format!("{} definitions", found.definitions.len());
    let mut output = listed(told, &found.cuts, &format!("nothing here defines {name}"), summary);
    output.shown = shown(found.definitions.iter().map(|one| &one.symbol));
    Ok(output)
}

fn callers(tools: &Toolbox<'_>, arguments: &Arguments, caller: &Caller<'_>) -> Result<Output, String> {
    let name = arguments.needed(NAME)?;
    let paths = about(tools, caller, &name, |tools, last| {
        Some(tools.snapshot?.graph().files_about(last))
    });
    let found = callers_of(
        tools.worktree,
        &query(tools, arguments, caller, &name, paths.as_deref())?,
    );
    let found = found.map_err(|error| error.to_string())?;
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
    let mut output = listed(told, &found.cuts, &format!("nothing here calls {name}"), summary);
    let calls = found.callers.iter();
    let calls = calls.flat_map(|one| one.calls.iter().map(|at| (one.path.clone(), *at, *at)));
    output.shown = calls.collect();
    Ok(output)
}

/// The files that the graph names for a name; `None` where it knows none, since it may lag behind the disk.
fn about(
    tools: &Toolbox<'_>,
    caller: &Caller<'_>,
    name: &str,
    files: impl Fn(&Toolbox<'_>, &str) -> Option<Vec<u32>>,
) -> Option<Vec<RelPath>> {
    let snapshot = tools.snapshot?;
    let last = name
        .rsplit([':', '.', '#', '\\'])
        .next()
        .unwrap_or(name)
        .trim_end_matches("()");
    let mut files = files(tools, last)?;
    files.sort_unstable();
    files.dedup();
    let paths = files
        .iter()
        .map(|file| snapshot.file(*file as usize).facts.path.clone());
    let within = |path: &RelPath| caller.scope.is_none_or(|scope| path.is_under(scope));
    let paths: Vec<RelPath> = paths.filter(|path| within(path)).collect();
    (!paths.is_empty()).then_some(paths)
}

fn query<'p>(
    tools: &Toolbox<'_>,
    arguments: &Arguments,
    caller: &Caller<'_>,
    name: &str,
    paths: Option<&'p [RelPath]>,
) -> Result<NameQuery<'p>, String> {
    let mut query = NameQuery::new(name);
    query.filter = tools.filter(arguments, caller)?;
    query.limits = limits(tools, caller);
    if let Some(paths) = paths {
        query.candidates = Candidates::Paths(paths);
    }
    Ok(query)
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
