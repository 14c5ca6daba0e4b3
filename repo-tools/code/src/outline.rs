//! The outline of one file.

use muninn_base::RelPath;
use muninn_repo_tools::{ReadError, Worktree, read_text};
use serde::Serialize;

use super::answer::Symbol;
use crate::syntax::{Import, Language, ParseError, ParseLimits, parse};

/// The definitions and imports of a file.
#[derive(Debug, Serialize)]
pub struct Outline {
    /// The file.
    pub path: RelPath,
    pub language: Language,
    /// The definitions, in file order.
    pub entries: Vec<OutlineEntry>,
    /// The imports, in file order.
    pub imports: Vec<Import>,
    /// Whether the file has syntax errors, so that definitions can be missing.
    pub broken: bool,
    /// Whether a limit ended the parsing, so that definitions are missing.
    pub cut: bool,
}

/// A definition with its nesting depth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutlineEntry {
    /// The number of enclosing definitions.
    pub depth: usize,
    /// The definition.
    #[serde(flatten)]
    pub symbol: Symbol,
}

/// Why a file has no outline.
#[derive(Debug, thiserror::Error)]
pub enum OutlineError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The language has no grammar here.
    #[error("{path} is in no language that is parsed here")]
    Language {
        /// The file.
        path: RelPath,
    },
    /// The file is too large or minified, or parsing it took too long.
    #[error("cannot parse {path}")]
    Unparsed {
        /// The file.
        path: RelPath,
        /// The cause.
        source: ParseError,
    },
}

/// Returns the definitions and imports of a file.
///
/// # Errors
/// [`OutlineError`] if the file cannot be read or parsed. Syntax errors set [`Outline::broken`] instead.
pub fn outline(worktree: &Worktree, path: &RelPath, limits: &ParseLimits<'_>) -> Result<Outline, OutlineError> {
    let source = read_text(worktree, path, limits.max_bytes as u64)?.text;
    let language = Language::of(path, &source).ok_or_else(|| OutlineError::Language { path: path.clone() })?;
    let parsed =
        parse(language, &source, limits).map_err(|source| OutlineError::Unparsed { path: path.clone(), source })?;
    let mut depths = Vec::with_capacity(parsed.definitions.len());
    for definition in &parsed.definitions {
        let parent = definition.parent.and_then(|at| depths.get(at as usize));
        depths.push(parent.map_or(0, |depth| depth + 1));
    }
    let entry = |(definition, depth)| OutlineEntry { depth, symbol: Symbol::new(path, &source, &parsed, definition) };
    Ok(Outline {
        path: path.clone(),
        language,
        entries: parsed.definitions.iter().zip(depths).map(entry).collect(),
        broken: parsed.broken,
        cut: parsed.cut,
        imports: parsed.imports,
    })
}
