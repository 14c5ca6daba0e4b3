//! Resolves calls to definitions, by name.
//!
//! The rules are those of `muninn callers` ([`muninn_code`]): the nearest definition wins. The numbers only
//! order the rules; they are not measured probabilities.

use std::collections::HashMap;

use muninn_code::Basis;
use muninn_code::syntax::{DefinitionKind, Language};

use super::files::{Files, Given, folder, stem};
use super::resolve::Imported;
use super::{Edge, Graph};
use crate::syntax::{CallEntry, Syntax};

/// Maximum number of definitions that a call can refer to. A call with more possible definitions gets no edge.
const MAX_TARGETS: usize = 4;
/// If a name has more definitions than this, only those in files that are related to the caller's file are considered.
const MANY: usize = 64;
/// Names that refer to the object or type that a method belongs to.
const OWN: &[&str] = &["self", "Self", "this", "cls", "static", "$this", "super", "base", "parent"];

/// Returns all call edges, each pair once: a definition and its caller. `first_of_file` is the first definition of each
/// file.
pub(super) fn edges(
    graph: &Graph,
    files: &Files<'_>,
    given: &[Given<'_>],
    (ids, first_of_file): (&HashMap<&str, u32>, &[u32]),
    imported: &Imported,
) -> Vec<(u32, Edge)> {
    let mut edges = Vec::new();
    let count = u32::try_from(graph.definitions.len()).unwrap_or(u32::MAX);
    for (position, (number, path, syntax)) in given.iter().enumerate() {
        let Some(language) = syntax.language else { continue };
        let caller = Caller::new(graph, files, (*number, path.as_str(), syntax, language), ids, imported.of(position));
        let first = first_of_file.get(*number as usize).copied().unwrap_or(0);
        let begin = edges.len();
        for call in &syntax.calls {
            let from = match call.caller.checked_sub(1) {
                Some(symbol) => first + symbol,
                None => count + number,
            };
            caller.resolve(call, from, &mut edges);
        }
        // A definition can call another by several names. The edge with the highest confidence is kept.
        let own = &mut edges[begin..];
        own.sort_unstable_by_key(|(to, edge)| (edge.end, *to, std::cmp::Reverse(edge.percent)));
        let mut kept = begin;
        for at in begin..edges.len() {
            let same = kept > begin && {
                let (before, now): (&(u32, Edge), &(u32, Edge)) = (&edges[kept - 1], &edges[at]);
                before.0 == now.0 && before.1.end == now.1.end
            };
            if !same {
                edges.swap(kept, at);
                kept += 1;
            }
        }
        edges.truncate(kept);
    }
    edges
}

/// A file whose calls are resolved.
struct Caller<'a> {
    graph: &'a Graph,
    files: &'a Files<'a>,
    number: u32,
    folder: &'a str,
    syntax: &'a Syntax,
    language: Language,
    /// The number of each of this file's names in the graph; `u32::MAX` for a name without a definition.
    ids: Vec<u32>,
    /// The local names of imported definitions, with their original names.
    aliases: HashMap<u32, u32>,
    /// The imported files, sorted.
    imports: Vec<u32>,
    /// The imported headers. Their functions are defined in files of the same name.
    headers: Vec<&'a str>,
}

impl<'a> Caller<'a> {
    fn new(
        graph: &'a Graph,
        files: &'a Files<'a>,
        (number, path, syntax, language): (u32, &'a str, &'a Syntax, Language),
        ids: &HashMap<&str, u32>,
        imported: &[(u32, u32)],
    ) -> Self {
        let id = |name: u32| ids.get(syntax.name(name)).copied().unwrap_or(u32::MAX);
        let renamed = syntax.taken.iter().filter(|(name, alias)| name != alias && *alias != 0);
        let mut imports: Vec<u32> = imported.iter().map(|(_, file)| *file).collect();
        imports.sort_unstable();
        imports.dedup();
        let c = matches!(language, Language::C | Language::Cpp);
        let headers = imports.iter().filter(|_| c).map(|file| files.path(*file));
        Self {
            graph,
            files,
            number,
            folder: folder(path),
            syntax,
            language,
            ids: (0u32..).take(syntax.names()).map(|name| if name == 0 { u32::MAX } else { id(name) }).collect(),
            aliases: renamed.map(|(name, alias)| (*alias, id(*name))).collect(),
            headers: headers.collect(),
            imports,
        }
    }

    fn id(&self, name: u32) -> u32 {
        let known = self.ids.get(name as usize).copied().unwrap_or(u32::MAX);
        if self.aliases.is_empty() { known } else { self.aliases.get(&name).copied().unwrap_or(known) }
    }

    fn resolve(&self, call: &CallEntry, from: u32, edges: &mut Vec<(u32, Edge)>) {
        let name = self.id(call.name);
        let all = self.graph.by_name.of(name);
        if all.is_empty() {
            return;
        }
        let qualifier = self.syntax.name(call.qualifier);
        let container = if OWN.contains(&qualifier) {
            self.graph.definitions.get(from as usize).map_or(u32::MAX, |entry| entry.container)
        } else {
            self.id(call.qualifier)
        };
        let seen = Seen { qualifier, container, from };
        let (mut best, mut targets, mut rivals) = (0, Vec::new(), 0usize);
        let mut look = |to: u32| {
            let Some((percent, basis)) = self.judge(to, &seen) else {
                return;
            };
            rivals += 1;
            if percent > best {
                best = percent;
                targets.clear();
            }
            if percent == best {
                targets.push((to, basis));
            }
        };
        if all.len() <= MANY {
            all.iter().for_each(|to| look(*to));
        } else {
            self.near(all, container).into_iter().for_each(&mut look);
            // All other definitions of the name count as rivals.
            rivals = all.len();
        }
        let ambiguous = |basis| basis == Basis::Ambiguous;
        if targets.len() > MAX_TARGETS {
            if targets.iter().any(|(_, basis)| ambiguous(*basis)) {
                return;
            }
            targets.truncate(MAX_TARGETS);
        }
        let alone = rivals == 1;
        edges.extend(targets.into_iter().map(|(to, basis)| {
            let (percent, basis) = match basis {
                Basis::Ambiguous if alone && qualifier.is_empty() => (80, Basis::Unique),
                // A method of that name on an object of unknown type.
                Basis::Ambiguous if alone => (60, Basis::Unique),
                Basis::Ambiguous => (u8::try_from(100 / rivals.max(2)).unwrap_or(20).clamp(20, 50), basis),
                _ => (best, basis),
            };
            let edge = Edge { end: from, percent, basis };
            (to, edge)
        }));
    }

    /// Returns the confidence, in percent, that a call refers to a definition; `None` if it cannot.
    fn judge(&self, to: u32, seen: &Seen<'_>) -> Option<(u8, Basis)> {
        let entry = self.graph.definitions.get(to as usize)?;
        let called = entry.kind.is_callable()
            || matches!(entry.kind, DefinitionKind::Class | DefinitionKind::Struct | DefinitionKind::Variant);
        let language = self.files.syntax(entry.file)?.language?;
        // Constructing a struct and calling the own function are no evidence beyond the name.
        if !called || !self.language.is_related_to(language) || to == seen.from {
            return None;
        }
        let prototype = entry.kind == DefinitionKind::Prototype;
        let by_type = seen.container != u32::MAX && entry.container == seen.container;
        let path = self.files.path(entry.file);
        let by_module = !seen.qualifier.is_empty() && stem(path) == seen.qualifier;
        let imported = self.imports.binary_search(&entry.file).is_ok();
        let (percent, basis) = if by_type {
            let near = entry.file == self.number || imported;
            (if near { 95 } else { 90 }, Basis::Qualified)
        } else if by_module && imported {
            (92, Basis::Imported)
        } else if entry.file == self.number {
            let own = seen.qualifier.is_empty() || OWN.contains(&seen.qualifier);
            (if own { 92 } else { 70 }, Basis::SameFile)
        } else if imported {
            (if seen.qualifier.is_empty() { 90 } else { 75 }, Basis::Imported)
        } else if let Some(percent) = self.declared(path) {
            (percent, Basis::Imported)
        } else if folder(path) == self.folder {
            (60, Basis::SameDirectory)
        } else {
            (20, Basis::Ambiguous)
        };
        Some((if prototype { percent / 2 } else { percent }, basis))
    }

    /// Returns the confidence, in percent, that a file defines the functions that an imported header declares: the file
    /// must have the header's name, and the confidence is highest in the same folder.
    fn declared(&self, path: &str) -> Option<u8> {
        let named = self.headers.iter().filter(|header| stem(header) == stem(path));
        named.map(|header| if folder(header) == folder(path) { 90 } else { 80 }).max()
    }

    /// Returns the definitions of a name that are in this file, in a file that it imports, or in a file that defines
    /// the named type.
    fn near(&self, all: &[u32], container: u32) -> Vec<u32> {
        let owners = self.graph.by_name.of(container).iter().take(16);
        let owners = owners.filter_map(|id| Some(self.graph.definitions.get(*id as usize)?.file));
        let mut around: Vec<u32> = self.imports.iter().copied().take(256).chain([self.number]).chain(owners).collect();
        around.sort_unstable();
        around.dedup();
        let file = |id: &u32| self.graph.definitions.get(*id as usize).map_or(u32::MAX, |entry| entry.file);
        let of_file = |wanted: u32| {
            let start = all.partition_point(|id| file(id) < wanted);
            all[start..].iter().take_while(move |id| file(id) == wanted).take(MANY)
        };
        around.into_iter().flat_map(of_file).copied().collect()
    }
}

/// The details of a call in addition to the name.
struct Seen<'a> {
    qualifier: &'a str,
    /// The number of the callee's container name.
    container: u32,
    from: u32,
}
