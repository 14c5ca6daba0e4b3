use muninn_code::Basis;
use muninn_code::syntax::DefinitionKind;
use muninn_text::lexical::Arena;

use crate::rows::Rows;

/// The symbol table, the file dependency map and the code structure graph of a worktree.
///
/// Files have the numbers that were given to [`Graph::build`].
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// All defined names, sorted and without duplicates. A name's number is its position.
    pub(crate) names: Arena,
    pub(crate) definitions: Box<[Entry]>,
    pub(crate) by_name: Rows<u32>,
    /// The number of pairs of a file and a file that it imports.
    pub(crate) imports: usize,
    /// A row for each definition.
    pub(crate) callers: Rows<Edge>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) name: u32,
    /// `u32::MAX` for none.
    pub(crate) container: u32,
    pub(crate) file: u32,
    pub(crate) line: u32,
    pub(crate) kind: DefinitionKind,
}

/// A call edge, stored in the row of one of its two definitions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Edge {
    /// The number of the other definition. Code outside of definitions has the number of its file plus the number of
    /// definitions.
    pub(crate) end: u32,
    pub(crate) percent: u8,
    pub(crate) basis: Basis,
}
