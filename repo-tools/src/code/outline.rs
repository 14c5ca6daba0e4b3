//! What one file holds.

use serde::Serialize;

use super::answer::Symbol;
use crate::path::RelPath;
use crate::read::{ReadError, read_text};
use crate::syntax::{Import, Language, ParseError, ParseLimits, parse};
use crate::worktree::Worktree;

/// The definitions of a file.
#[derive(Debug, Serialize)]
pub struct Outline {
    /// The file.
    pub path: RelPath,
    /// Its language.
    pub language: Language,
    /// Its definitions, in order.
    pub entries: Vec<OutlineEntry>,
    /// Its imports, in order.
    pub imports: Vec<Import>,
    /// It has syntax errors; something may be missing.
    pub broken: bool,
    /// A limit ended the parsing; something is missing.
    pub cut: bool,
}

/// A definition and how deep it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutlineEntry {
    /// How many definitions are around it.
    pub depth: usize,
    /// The definition.
    #[serde(flatten)]
    pub symbol: Symbol,
}

/// Why a file has no outline.
#[derive(Debug, thiserror::Error)]
pub enum OutlineError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// There is no grammar for it.
    #[error("{path} is in no language that is parsed here")]
    Language {
        /// The file.
        path: RelPath,
    },
    /// It is too large, or parsing it took too long.
    #[error("cannot parse {path}")]
    Unparsed {
        /// The file.
        path: RelPath,
        /// Why.
        source: ParseError,
    },
}

/// The definitions of a file.
///
/// # Errors
/// [`OutlineError`] where it cannot be parsed. Syntax errors are no error.
pub fn outline(worktree: &Worktree, path: &RelPath, limits: &ParseLimits<'_>) -> Result<Outline, OutlineError> {
    let source = read_text(worktree, path, limits.max_bytes as u64)?.text;
    let language = Language::of(path, &source).ok_or_else(|| OutlineError::Language { path: path.clone() })?;
    let parsed = parse(language, &source, limits).map_err(|source| OutlineError::Unparsed {
        path: path.clone(),
        source,
    })?;
    let mut depths = Vec::with_capacity(parsed.definitions.len());
    for definition in &parsed.definitions {
        let parent = definition.parent.and_then(|at| depths.get(at as usize));
        depths.push(parent.map_or(0, |depth| depth + 1));
    }
    let entry = |(definition, depth)| OutlineEntry {
        depth,
        symbol: Symbol::new(path, &source, &parsed, definition),
    };
    Ok(Outline {
        path: path.clone(),
        language,
        entries: parsed.definitions.iter().zip(depths).map(entry).collect(),
        broken: parsed.broken,
        cut: parsed.cut,
        imports: parsed.imports,
    })
}
