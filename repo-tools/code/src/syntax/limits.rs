//! Limits of parsing.

use std::time::Duration;

use muninn_base::Until;

use super::language::Language;

/// The limits and options of parsing one text.
#[derive(Debug, Clone, Copy)]
pub struct ParseLimits<'a> {
    /// Maximum size of a text, in bytes.
    pub max_bytes: usize,
    /// Maximum time for parsing and extraction together.
    pub max_time: Duration,
    /// An earlier deadline, if any.
    pub until: Option<&'a Until>,
    /// Maximum number of definitions, and of references.
    pub max_items: usize,
    /// Whether to keep plain uses of identifiers ([`super::ReferenceKind::Other`]). There are several times as many of
    /// them as of all other references.
    pub identifiers: bool,
    /// Keeps only references to this name.
    pub only: Option<&'a str>,
}

impl Default for ParseLimits<'_> {
    fn default() -> Self {
        Self {
            max_bytes: 1 << 20,
            max_time: Duration::from_millis(500),
            until: None,
            max_items: 50_000,
            identifiers: false,
            only: None,
        }
    }
}

/// Why a text was not parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The text is larger than allowed.
    #[error("too large to parse")]
    TooLarge,
    /// The lines are too long for code written by hand.
    #[error("minified")]
    Minified,
    /// The deadline passed during parsing.
    #[error("parsing took too long")]
    Slow,
    /// The grammar is incompatible with the tree-sitter library. This crate's tests load every grammar.
    #[error("the grammar of {language} cannot be loaded")]
    Grammar { language: Language },
}

/// A text is minified if it has a line longer than this and its mean line length exceeds [`MINIFIED_MEAN`], in bytes.
const MINIFIED_LINE: usize = 5_000;
const MINIFIED_MEAN: usize = 250;

impl ParseLimits<'_> {
    pub(super) fn admit(&self, source: &str) -> Result<(), ParseError> {
        if source.len() > self.max_bytes || u32::try_from(source.len()).is_err() {
            return Err(ParseError::TooLarge);
        }
        if source.len() > MINIFIED_LINE {
            let (mut lines, mut longest, mut from) = (1, 0, 0);
            for at in memchr::memchr_iter(b'\n', source.as_bytes()).chain([source.len()]) {
                (lines, longest, from) = (lines + 1, longest.max(at - from), at);
            }
            if longest > MINIFIED_LINE && source.len() / lines > MINIFIED_MEAN {
                return Err(ParseError::Minified);
            }
        }
        Ok(())
    }
}
