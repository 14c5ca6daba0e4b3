//! What a source text may cost.

use std::time::Duration;

use super::language::Language;

use crate::until::Until;

/// How far parsing one text goes.
#[derive(Debug, Clone, Copy)]
pub struct ParseLimits<'a> {
    /// Larger texts are not parsed, in bytes.
    pub max_bytes: usize,
    /// Parsing and extraction together.
    pub max_time: Duration,
    /// Also an end to it, where it comes sooner.
    pub until: Option<&'a Until>,
    /// Definitions and references that are kept, each.
    pub max_items: usize,
    /// Also keep plain uses of identifiers ([`super::ReferenceKind::Other`]); several times as many as all others.
    pub identifiers: bool,
    /// Keep references to this name only.
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
    /// More bytes than allowed.
    #[error("too large to parse")]
    TooLarge,
    /// Its lines are too long to be written by a person.
    #[error("minified")]
    Minified,
    /// The time was over before there was a tree.
    #[error("parsing took too long")]
    Slow,
    /// The grammar does not fit the library; a build that passed this crate's tests has none such.
    #[error("the grammar of {language} cannot be loaded")]
    Grammar {
        /// Which one.
        language: Language,
    },
}

/// A text is minified if it has a line longer than this, and its lines are [`MINIFIED_MEAN`] long on average.
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
