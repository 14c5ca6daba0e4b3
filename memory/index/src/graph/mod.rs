//! The structure of a worktree: the definitions of each name and their callers.
//!
//! The graph consists of plain arrays that are built at once from the [`Syntax`] of all files. A query is a lookup in
//! one array and a slice of another. The arrays are never updated: after a change they are rebuilt, which takes a
//! fraction of a second for a million lines.
//!
//! Imports are resolved to files by the rules of each language, as far as paths and manifests allow. Calls are resolved
//! by name, without types. Each edge has a confidence and its basis.

mod build;
mod calls;
mod files;
mod resolve;

#[cfg(test)]
mod tests;

use muninn_code::Basis;
use muninn_code::syntax::DefinitionKind;
use muninn_text::lexical::Arena;

use crate::rows::Rows;

/// The id of a definition: its position in the array of definitions, which is sorted by file and by position in the
/// text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DefinitionId(pub u32);

/// The symbol table, the file dependency map and the code structure graph of a worktree.
///
/// Files have the numbers that were given to [`Graph::build`].
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// All defined names, sorted and without duplicates. A name's number is its position.
    names: Arena,
    definitions: Box<[Entry]>,
    by_name: Rows<u32>,
    /// The number of pairs of a file and a file that it imports.
    imports: usize,
    /// A row for each definition.
    callers: Rows<Edge>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    name: u32,
    /// `u32::MAX` for none.
    container: u32,
    file: u32,
    line: u32,
    kind: DefinitionKind,
}

/// A call edge, stored in the row of one of its two definitions.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Edge {
    /// The number of the other definition. Code outside of definitions has the number of its file plus the number of
    /// definitions.
    end: u32,
    percent: u8,
    basis: Basis,
}

/// A definition with its location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Defined<'a> {
    pub id: DefinitionId,
    pub name: &'a str,
    pub kind: DefinitionKind,
    /// The number of the file.
    pub file: u32,
    /// The line of the name.
    pub line: u32,
    /// The name of the container.
    pub container: Option<&'a str>,
}

/// The location of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Site {
    /// Inside a definition.
    Definition(DefinitionId),
    /// In a file, outside of all definitions.
    File(u32),
}

/// A call that was resolved by name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call {
    /// The location of the call.
    pub from: Site,
    /// From 0 to 1.
    pub confidence: f32,
    /// The evidence for the confidence.
    pub basis: Basis,
}

impl Graph {
    /// Returns all definitions of a name, by file.
    pub fn definitions(&self, name: &str) -> impl Iterator<Item = Defined<'_>> {
        let found = self.names.find(name).map_or(&[] as &[_], |id| self.named(id));
        found.iter().filter_map(|id| self.definition(DefinitionId(*id)))
    }

    /// Returns all definitions whose names contain a text. Case is ignored.
    pub fn definitions_with(&self, part: &str) -> impl Iterator<Item = Defined<'_>> {
        let part = part.to_lowercase();
        let fits = move |id: &usize| {
            let name = self.names.get(*id);
            name.is_some_and(|name| name.to_lowercase().contains(&part))
        };
        let found = (0..self.names.len()).filter(fits).flat_map(|id| self.named(id));
        found.filter_map(|id| self.definition(DefinitionId(*id)))
    }

    pub fn definition(&self, id: DefinitionId) -> Option<Defined<'_>> {
        let entry = self.definitions.get(id.0 as usize)?;
        Some(Defined {
            id,
            name: self.name(entry.name),
            kind: entry.kind,
            file: entry.file,
            line: entry.line,
            container: (entry.container != u32::MAX).then(|| self.name(entry.container)),
        })
    }

    /// Returns the calls to a definition, by file.
    pub fn callers(&self, id: DefinitionId) -> impl Iterator<Item = Call> {
        self.callers.of(id.0).iter().map(|edge| Call {
            from: self.site(edge.end),
            confidence: f32::from(edge.percent) / 100.0,
            basis: edge.basis,
        })
    }

    fn named(&self, name: usize) -> &[u32] {
        self.by_name.of(u32::try_from(name).unwrap_or(u32::MAX))
    }

    fn name(&self, id: u32) -> &str {
        self.names.get(id as usize).unwrap_or_default()
    }

    fn site(&self, end: u32) -> Site {
        match (end as usize).checked_sub(self.definitions.len()) {
            Some(file) => Site::File(u32::try_from(file).unwrap_or(u32::MAX)),
            None => Site::Definition(DefinitionId(end)),
        }
    }

    /// Returns the numbers of definitions, import edges and call edges.
    pub fn size(&self) -> (usize, usize, usize) {
        (self.definitions.len(), self.imports, self.callers.len())
    }
}
