//! Builds the arrays of the graph from the syntax of all files.

use std::collections::HashMap;

use muninn_base::RelPath;
use muninn_text::lexical::Arena;

use super::files::{Files, Given};
use super::{Entry, Graph, calls, resolve};
use crate::rows::Rows;
use crate::syntax::Syntax;

impl Graph {
    /// Builds the graph of a worktree from all its files: their numbers, their paths and their stored syntax. Files
    /// without syntax are included, because other files can import them.
    pub fn build<'a>(files: impl Iterator<Item = (u32, &'a RelPath, &'a Syntax)>) -> Self {
        let mut given: Vec<Given<'a>> = files.collect();
        given.sort_unstable_by_key(|(number, ..)| *number);
        let (names, ids) = names(&given);
        let (definitions, first_of_file) = definitions(&given, &ids);
        let named: Vec<(u32, u32)> = (0u32..).zip(&*definitions).map(|(id, entry)| (entry.name, id)).collect();
        let mut graph = Self { by_name: Rows::new(names.len(), &named), names, definitions, ..Self::default() };
        let files = Files::new(&given);
        let imported = resolve::imports(&files, &given);
        graph.imports = imported.pairs().count();
        let edges = calls::edges(&graph, &files, &given, (&ids, &first_of_file), &imported);
        graph.callers = Rows::new(graph.definitions.len(), &edges);
        graph
    }
}

/// Collects the names of all definitions and of their containers.
fn names<'a>(given: &[Given<'a>]) -> (Arena, HashMap<&'a str, u32>) {
    let mut ids: HashMap<&'a str, u32> = HashMap::new();
    for (.., syntax) in given {
        for symbol in &syntax.symbols {
            ids.entry(syntax.name(symbol.name)).or_default();
            if symbol.container != 0 {
                ids.entry(syntax.name(symbol.container)).or_default();
            }
        }
    }
    let mut sorted: Vec<&'a str> = ids.keys().copied().collect();
    sorted.sort_unstable();
    let mut names = Arena::default();
    for (id, name) in (0u32..).zip(&sorted) {
        ids.insert(name, id);
        names.push(name);
    }
    names.shrink();
    (names, ids)
}

fn definitions(given: &[Given<'_>], ids: &HashMap<&str, u32>) -> (Box<[Entry]>, Vec<u32>) {
    let count = given.iter().map(|(.., syntax)| syntax.symbols.len()).sum();
    let mut definitions = Vec::with_capacity(count);
    let mut first_of_file = Vec::new();
    let next = |definitions: &Vec<Entry>| u32::try_from(definitions.len()).unwrap_or(u32::MAX);
    for (number, _, syntax) in given {
        // File numbers that were not given have no definitions.
        first_of_file.resize(*number as usize + 1, next(&definitions));
        let id = |name| ids.get(syntax.name(name)).copied().unwrap_or(u32::MAX);
        definitions.extend(syntax.symbols.iter().map(|symbol| Entry {
            name: id(symbol.name),
            container: if symbol.container == 0 { u32::MAX } else { id(symbol.container) },
            file: *number,
            line: symbol.line,
            kind: symbol.kind,
        }));
    }
    (definitions.into(), first_of_file)
}
