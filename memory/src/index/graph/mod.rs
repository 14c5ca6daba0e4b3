//! What a worktree's files have to do with each other: who defines a name, who imports whom, who calls what.
//!
//! Plain arrays, made from the [`Syntax`] of all files in one go. A question is a look-up in one array and a slice of
//! another, and there is nothing to keep up to date: after a change the arrays are made anew, which takes a fraction of a
//! second for a million lines.
//!
//! Imports are followed to files by the rules of each language as far as paths and manifests tell. Calls are resolved by
//! name, without types: each edge carries what it rests on and how sure that makes it.

mod build;
mod calls;
mod csr;
mod files;
mod names;
mod resolve;

#[cfg(test)]
mod tests;

use muninn_repo_tools::code::Basis;
use muninn_repo_tools::syntax::DefinitionKind;

use csr::Rows;
use names::Names;

/// A definition, by its position among all: by file, and in the order of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DefinitionId(pub u32);

/// The symbol table, the file dependency map and the code structure graph of a worktree.
///
/// Files are meant by the numbers that they were given to [`Graph::build`] with.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    names: Names,
    definitions: Box<[Entry]>,
    /// For each file the first of its definitions; one more at the end.
    first_of_file: Box<[u32]>,
    by_name: Rows<u32>,
    imports: Rows<u32>,
    imported_by: Rows<u32>,
    /// A row for each definition, and behind them one for each file's code outside of definitions.
    callees: Rows<Edge>,
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

/// To a definition or, numbered behind them, a file's code outside of definitions.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Edge {
    to: u32,
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

/// That something calls something, as far as the names tell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call<T> {
    /// The other end.
    pub other: T,
    /// From 0 to 1.
    pub confidence: f32,
    /// Why.
    pub basis: Basis,
}

impl Graph {
    /// The files that a file imports, each once.
    pub fn imports(&self, file: u32) -> &[u32] {
        self.imports.of(file)
    }

    /// The files that import a file, each once.
    pub fn imported_by(&self, file: u32) -> &[u32] {
        self.imported_by.of(file)
    }

    /// All definitions of a name, by file.
    pub fn definitions(&self, name: &str) -> impl Iterator<Item = Defined<'_>> {
        let found = self.names.find(name).map_or(&[] as &[_], |id| self.by_name.of(id));
        found.iter().filter_map(|id| self.definition(DefinitionId(*id)))
    }

    /// All definitions whose names have a part in them, in upper or lower case.
    pub fn definitions_with(&self, part: &str) -> impl Iterator<Item = Defined<'_>> {
        let part = part.to_lowercase();
        let ids = (0..self.names.len()).filter_map(|id| u32::try_from(id).ok());
        let fitting = ids.filter(move |id| self.names.get(*id).to_lowercase().contains(&part));
        let found = fitting.flat_map(|id| self.by_name.of(id));
        found.filter_map(|id| self.definition(DefinitionId(*id)))
    }

    /// One definition.
    pub fn definition(&self, id: DefinitionId) -> Option<Defined<'_>> {
        let entry = self.definitions.get(id.0 as usize)?;
        Some(Defined {
            id,
            name: self.names.get(entry.name),
            kind: entry.kind,
            file: entry.file,
            line: entry.line,
            container: (entry.container != u32::MAX).then(|| self.names.get(entry.container)),
        })
    }

    /// What a file defines, in the order of its text.
    pub fn defined_in(&self, file: u32) -> impl Iterator<Item = Defined<'_>> {
        let bounds = self
            .first_of_file
            .get(file as usize)
            .zip(self.first_of_file.get(file as usize + 1));
        let (first, end) = bounds.map_or((0, 0), |(first, end)| (*first, *end));
        (first..end).filter_map(|id| self.definition(DefinitionId(id)))
    }

    /// Who calls a definition, by file.
    pub fn callers(&self, id: DefinitionId) -> impl Iterator<Item = Call<Site>> {
        self.callers.of(id.0).iter().map(|edge| edge.call(self.site(edge.to)))
    }

    /// What a definition calls.
    pub fn callees(&self, id: DefinitionId) -> impl Iterator<Item = Call<DefinitionId>> {
        let row = if (id.0 as usize) < self.definitions.len() {
            id.0
        } else {
            u32::MAX
        };
        self.callees.of(row).iter().map(|edge| edge.call(DefinitionId(edge.to)))
    }

    /// What a file's code outside of definitions calls.
    pub fn callees_of_file(&self, file: u32) -> impl Iterator<Item = Call<DefinitionId>> {
        let row = u32::try_from(self.definitions.len())
            .unwrap_or(u32::MAX)
            .saturating_add(file);
        self.callees.of(row).iter().map(|edge| edge.call(DefinitionId(edge.to)))
    }

    fn site(&self, to: u32) -> Site {
        match (to as usize).checked_sub(self.definitions.len()) {
            Some(file) => Site::File(u32::try_from(file).unwrap_or(u32::MAX)),
            None => Site::Definition(DefinitionId(to)),
        }
    }

    /// How many definitions, import edges and call edges there are.
    pub fn size(&self) -> (usize, usize, usize) {
        (self.definitions.len(), self.imports.len(), self.callers.len())
    }

    /// What it takes in memory besides itself, in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.names.heap_bytes()
            + size_of_val(&*self.definitions)
            + size_of_val(&*self.first_of_file)
            + self.by_name.heap_bytes()
            + self.imports.heap_bytes()
            + self.imported_by.heap_bytes()
            + self.callees.heap_bytes()
            + self.callers.heap_bytes()
    }
}

impl Edge {
    fn call<T>(self, other: T) -> Call<T> {
        Call {
            other,
            confidence: f32::from(self.percent) / 100.0,
            basis: self.basis,
        }
    }
}
