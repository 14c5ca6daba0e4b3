//! What is kept of a file's syntax: enough to make the graph of a worktree without parsing anything again.
//!
//! It depends on nothing but the file's content and its name, and is kept with its digest, by blob. Names are kept once,
//! in one string; everything else is numbers. So it can stay in memory for every file.

mod make;
mod manifest;

use memchr::memmem;
use muninn_repo_tools::syntax::{DefinitionKind, Language};
use serde::{Deserialize, Serialize};

use crate::index::lexical::Arena;

pub(super) use manifest::Manifest;

/// A name of a file, by its position among them; 0 is no name.
pub(super) type NameId = u32;

/// What a file defines, imports and calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Syntax {
    /// What it was parsed as.
    pub(super) language: Option<Language>,
    /// The package or namespace that it says it belongs to, or that a manifest names.
    pub(super) package: NameId,
    /// In the order of the text.
    pub(super) symbols: Box<[SymbolEntry]>,
    pub(super) imports: Box<[ImportEntry]>,
    /// The names that imports take, and what they are called here; each import has a run of them.
    pub(super) taken: Box<[(NameId, NameId)]>,
    /// By caller.
    pub(super) calls: Box<[CallEntry]>,
    /// Types that are named, each once.
    pub(super) types: Box<[NameId]>,
    /// All names.
    names: Arena,
    /// There is more than was kept.
    pub(super) cut: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SymbolEntry {
    pub(super) name: NameId,
    pub(super) container: NameId,
    pub(super) line: u32,
    pub(super) kind: DefinitionKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ImportEntry {
    pub(super) path: NameId,
    /// How many names it takes.
    pub(super) taken: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct CallEntry {
    /// The position of the symbol around it, plus one; 0 outside of all.
    pub(super) caller: u32,
    pub(super) name: NameId,
    pub(super) qualifier: NameId,
}

/// A definition as a file's syntax knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is.
    pub kind: DefinitionKind,
    /// The line of its name.
    pub line: u32,
    /// What it belongs to.
    pub container: Option<&'a str>,
}

impl Syntax {
    /// What it defines, in the order of the text.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol<'_>> {
        self.symbols.iter().map(|symbol| Symbol {
            name: self.name(symbol.name),
            kind: symbol.kind,
            line: symbol.line,
            container: Some(self.name(symbol.container)).filter(|name| !name.is_empty()),
        })
    }

    /// Whether anything in it calls something of this name.
    pub(super) fn calls(&self, name: &str) -> bool {
        let named = |call: &CallEntry| self.name(call.name) == name;
        memmem::find(self.names.text().as_bytes(), name.as_bytes()).is_some() && self.calls.iter().any(named)
    }

    /// The name at a position; empty for none.
    pub(super) fn name(&self, id: NameId) -> &str {
        let at = (id as usize).checked_sub(1);
        at.and_then(|at| self.names.get(at)).unwrap_or_default()
    }

    /// One more than the highest [`NameId`].
    pub(super) fn names(&self) -> usize {
        self.names.len() + 1
    }

    /// Each import's path with the names that it takes: as they are called there, and here.
    pub(super) fn each_import(&self) -> impl Iterator<Item = (&str, &[(NameId, NameId)])> {
        let mut from = 0;
        self.imports.iter().map(move |import| {
            let taken = self.taken.get(from..from + import.taken as usize).unwrap_or_default();
            from += import.taken as usize;
            (self.name(import.path), taken)
        })
    }
}
