//! Extracting definitions, references and imports of a source text with tree-sitter.
//!
//! [`parse`] is the entry point. The index calls it for every blob of a repository, so it must be fast: it makes one
//! iterative walk over the tree with a table of node kinds (`table.rs`, filled from `spec/`). It uses no tree-sitter
//! queries, because they cost about as much as the parsing itself. It is limited in bytes and time, does not recurse
//! into nested nodes, and extracts what it can from code with syntax errors.
//!
//! ```
//! use muninn_code::syntax::{Language, ParseLimits, parse};
//!
//! let parsed = parse(Language::Rust, "/// Adds.\nfn add(a: u8) -> u8 { a + one() }\n", &ParseLimits::default())?;
//! let add = &parsed.definitions[0];
//! assert_eq!((&*add.name, add.lines.first, add.lines.last), ("add", 1, 2));
//! assert_eq!(&*parsed.references[0].name, "one");
//! # Ok::<(), muninn_code::syntax::ParseError>(())
//! ```

mod imports;
mod language;
mod limits;
mod parse;
mod parsed;
mod resolve;
mod spec;
mod table;
mod use_tree;
mod walk;

pub use language::Language;
pub use limits::{ParseError, ParseLimits};
pub use parse::parse;
pub use parsed::{Definition, DefinitionKind, Import, Imported, Lines, Parsed, Reference, ReferenceKind};
