use muninn_code::syntax::{DefinitionKind, Language};
use muninn_text::lexical::Arena;
use serde::{Deserialize, Serialize};

/// The position of a name in its file; 0 is no name.
pub(crate) type NameId = u32;

/// What a file defines, imports and calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Syntax {
    pub(crate) language: Option<Language>,
    /// The declared package or namespace, or the one that a manifest names.
    pub(crate) package: NameId,
    /// Symbols in text order.
    pub(crate) symbols: Box<[SymbolEntry]>,
    pub(crate) imports: Box<[ImportEntry]>,
    /// Imported names and their aliases; each import has a run of them.
    pub(crate) taken: Box<[(NameId, NameId)]>,
    /// Calls sorted by caller.
    pub(crate) calls: Box<[CallEntry]>,
    /// Distinct referenced types.
    pub(crate) types: Box<[NameId]>,
    pub(crate) names: Arena,
    /// There is more than was kept.
    pub(crate) cut: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SymbolEntry {
    pub(crate) name: NameId,
    pub(crate) container: NameId,
    pub(crate) line: u32,
    pub(crate) kind: DefinitionKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ImportEntry {
    pub(crate) path: NameId,
    /// Number of imported names.
    pub(crate) taken: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct CallEntry {
    /// The position of the enclosing symbol plus one; 0 outside of all.
    pub(crate) caller: u32,
    pub(crate) name: NameId,
    pub(crate) qualifier: NameId,
}
