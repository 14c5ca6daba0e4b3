//! The structure of a worktree: which file defines a name, and who calls it.
//!
//! Plain arrays, made from the [`Syntax`] of all files in one go. A question is a look-up in one array and a slice of
//! another, and there is nothing to keep up to date: after a change the arrays are made anew, which takes a fraction of a
//! second for a million lines.
//!
//! Imports are followed to files by the rules of each language as far as paths and manifests tell. Calls are resolved by
//! name, without types: each edge carries what it rests on and how sure that makes it.

mod build;
mod calls;
mod files;
mod resolve;

#[cfg(test)]
mod tests;

use muninn_repo_tools::code::Basis;
use muninn_repo_tools::syntax::DefinitionKind;

use crate::index::lexical::Arena;
use crate::index::rows::Rows;

/// A definition, by its position among all: by file, and in the order of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DefinitionId(pub u32);

/// The symbol table, the file dependency map and the code structure graph of a worktree.
///
/// Files are meant by the numbers that they were given to [`Graph::build`] with.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// All names that are defined anywhere, each once and in order; one is meant by its position.
    names: Arena,
    definitions: Box<[Entry]>,
    by_name: Rows<u32>,
    /// The number of pairs of a file and one that it imports.
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

/// A call edge without one of its ends.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Edge {
    /// The other end: a definition or, numbered behind them, a file's code outside of definitions.
    end: u32,
    percent: u8,
    basis: Basis,
}

/// A definition and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Defined<'a> {
    /// By which it is asked about.
    pub id: DefinitionId,
    /// Its name.
    pub name: &'a str,
    /// What it is.
    pub kind: DefinitionKind,
    /// The number of its file.
    pub file: u32,
    /// The line of its name.
    pub line: u32,
    /// What it belongs to.
    pub container: Option<&'a str>,
}

/// Where a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Site {
    /// In a definition.
    Definition(DefinitionId),
    /// In the code of a file that is in no definition.
    File(u32),
}

/// A call, as far as the names tell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call {
    /// Where it stands.
    pub from: Site,
    /// From 0 to 1.
    pub confidence: f32,
    /// Why.
    pub basis: Basis,
}

impl Graph {
    /// All definitions of a name, by file.
    pub fn definitions(&self, name: &str) -> impl Iterator<Item = Defined<'_>> {
        let found = self.names.find(name).map_or(&[] as &[_], |id| self.named(id));
        found.iter().filter_map(|id| self.definition(DefinitionId(*id)))
    }

    /// All definitions whose names have a part in them, in upper or lower case.
    pub fn definitions_with(&self, part: &str) -> impl Iterator<Item = Defined<'_>> {
        let part = part.to_lowercase();
        let fits = move |id: &usize| {
            let name = self.names.get(*id);
            name.is_some_and(|name| name.to_lowercase().contains(&part))
        };
        let found = (0..self.names.len()).filter(fits).flat_map(|id| self.named(id));
        found.filter_map(|id| self.definition(DefinitionId(*id)))
    }

    /// One definition.
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

    /// Who calls a definition, by file.
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

    /// How many definitions, import edges and call edges there are.
    pub fn size(&self) -> (usize, usize, usize) {
        (self.definitions.len(), self.imports, self.callers.len())
    }
}
