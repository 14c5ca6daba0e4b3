use std::cell::RefCell;
use std::ops::ControlFlow;
use std::time::Instant;

use muninn_base::Until;
use tree_sitter::{ParseOptions, Parser, Tree};

use super::language::Language;
use super::limits::{ParseError, ParseLimits};
use super::parsed::Parsed;
use super::{table, walk};

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

#[cfg(test)]
mod tests;
