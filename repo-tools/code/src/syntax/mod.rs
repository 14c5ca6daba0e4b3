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
mod parsed;
mod resolve;
mod spec;
mod table;
mod use_tree;
mod walk;

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::time::Instant;

use tree_sitter::{ParseOptions, Parser, Tree};

use muninn_base::Until;

pub use language::Language;
pub use limits::{ParseError, ParseLimits};
pub use parsed::{Definition, DefinitionKind, Import, Imported, Lines, Parsed, Reference, ReferenceKind};

thread_local! {
    /// Reusing a parser, with its stacks, saves a few percent over a repository of small files.
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
}

/// Parses a source text.
///
/// Syntax errors do not make [`parse`] fail: they set [`Parsed::broken`], and the code around them is extracted.
///
/// # Errors
/// [`ParseError`] if a limit is reached before the tree is complete.
pub fn parse(language: Language, source: &str, limits: &ParseLimits) -> Result<Parsed, ParseError> {
    if limits.until.is_some_and(Until::is_over) {
        return Err(ParseError::Slow);
    }
    limits.admit(source)?;
    let latest = Instant::now() + limits.max_time;
    let until = limits.until.map_or(Until::at(latest), |until| until.no_later_than(latest));
    let tree = PARSER.with(|parser| match parser.try_borrow_mut() {
        Ok(mut parser) => tree_of(&mut parser, language, source, &until),
        // This arm is unreachable: no code that runs during parsing calls this function.
        Err(_) => tree_of(&mut Parser::new(), language, source, &until),
    })?;
    Ok(walk::walk(table::of(language), &tree, source, limits, &until))
}

fn tree_of(parser: &mut Parser, language: Language, source: &str, until: &Until) -> Result<Tree, ParseError> {
    parser.set_language(&language.grammar()).map_err(|_| ParseError::Grammar { language })?;
    let bytes = source.as_bytes();
    let mut in_time = |_: &tree_sitter::ParseState| {
        if until.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut in_time);
    let tree = parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options));
    tree.ok_or_else(|| {
        // Without a reset, the parser would continue this text when it is given the next file.
        parser.reset();
        ParseError::Slow
    })
}
