//! The stored syntax of a file, from which the graph of a worktree is built without parsing again.
//!
//! It depends only on the file's content and name, and is cached with its digest by blob. Names are stored once in one
//! string; everything else is numbers, so the syntax of every file fits in memory.

mod make;
mod manifest;

use memchr::memmem;
use muninn_code::syntax::{DefinitionKind, Language};
use muninn_text::lexical::Arena;
use serde::{Deserialize, Serialize};

pub(super) use manifest::Manifest;

/// The position of a name in its file; 0 is no name.
pub(super) type NameId = u32;

/// What a file defines, imports and calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Syntax {
    pub(super) language: Option<Language>,
    /// The declared package or namespace, or the one that a manifest names.
    pub(super) package: NameId,
    /// Symbols in text order.
    pub(super) symbols: Box<[SymbolEntry]>,
    pub(super) imports: Box<[ImportEntry]>,
    /// Imported names and their aliases; each import has a run of them.
    pub(super) taken: Box<[(NameId, NameId)]>,
    /// Calls sorted by caller.
    pub(super) calls: Box<[CallEntry]>,
    /// Distinct referenced types.
    pub(super) types: Box<[NameId]>,
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
    /// Number of imported names.
    pub(super) taken: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct CallEntry {
    /// The position of the enclosing symbol plus one; 0 outside of all.
    pub(super) caller: u32,
    pub(super) name: NameId,
    pub(super) qualifier: NameId,
}

/// A defined symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol<'a> {
    pub name: &'a str,
    pub kind: DefinitionKind,
    /// The line of its name.
    pub line: u32,
    /// The containing type or module.
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

    /// Returns whether the file calls a name.
    pub(super) fn calls(&self, name: &str) -> bool {
        let named = |call: &CallEntry| self.name(call.name) == name;
        memmem::find(self.names.text().as_bytes(), name.as_bytes()).is_some() && self.calls.iter().any(named)
    }

    /// The name at a position; empty for none.
    pub(super) fn name(&self, id: NameId) -> &str {
        let at = (id as usize).checked_sub(1);
        at.and_then(|at| self.names.get(at)).unwrap_or_default()
    }

    /// Upper bound of [`NameId`].
    pub(super) fn names(&self) -> usize {
        self.names.len() + 1
    }

    /// Each import's path with its names and aliases.
    pub(super) fn each_import(&self) -> impl Iterator<Item = (&str, &[(NameId, NameId)])> {
        let mut from = 0;
        self.imports.iter().map(move |import| {
            let taken = self.taken.get(from..from + import.taken as usize).unwrap_or_default();
            from += import.taken as usize;
            (self.name(import.path), taken)
        })
    }
}
