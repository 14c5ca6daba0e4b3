//! Listing definitions by name and kind.

use std::ops::ControlFlow;

use muninn_repo_tools::{Cut, Cuts, FileFilter, Worktree};
use serde::Serialize;

use super::answer::Symbol;
use super::scan::{candidates, scan, sources, wanted};
use super::{Candidates, CodeError, CodeLimits, NameQuery};
use crate::syntax::{DefinitionKind, ParseLimits};

/// The definitions to list.
#[derive(Debug, Clone)]
pub struct SymbolQuery<'a> {
    /// The names to list.
    pub name: NameMatch,
    /// The kinds to list; empty for all kinds.
    pub kinds: Vec<DefinitionKind>,
    /// The files that can contain them.
    pub candidates: Candidates<'a>,
    /// The files to search.
    pub filter: FileFilter,
    pub limits: CodeLimits,
}

/// A condition on names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameMatch {
    Any,
    /// Exactly this name.
    Exact(String),
    /// Names that contain this text, in any case.
    Part(String),
}

impl NameMatch {
    fn matches(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(wanted) => name == wanted,
            Self::Part(wanted) => name.to_lowercase().contains(&wanted.to_lowercase()),
        }
    }
}

/// The answer of [`symbols`].
#[derive(Debug, Default, Serialize)]
pub struct Symbols {
    /// The definitions, by path and line.
    pub symbols: Vec<Symbol>,
    /// The number of files that were parsed.
    pub parsed: usize,
    /// The limits that were reached.
    pub cuts: Cuts,
}

/// Lists definitions. Without an exact name, every file with a grammar is parsed.
///
/// # Errors
/// [`CodeError`] for a malformed name or glob.
pub fn symbols(worktree: &Worktree, query: &SymbolQuery<'_>) -> Result<Symbols, CodeError> {
    let (paths, before) = match (&query.name, query.candidates) {
        (NameMatch::Exact(name), _) => {
            let search = NameQuery {
                candidates: query.candidates,
                filter: query.filter.clone(),
                limits: query.limits.clone(),
                ..NameQuery::new(name)
            };
            candidates(worktree, &search)?
        }
        (_, Candidates::Paths(paths)) => (wanted(worktree, paths, &query.filter)?, Cuts::default()),
        _ => sources(worktree, &query.filter, &query.limits.until)?,
    };
    let mut found = Symbols::default();
    let parse_limits = ParseLimits {
        // Drops all references, because no reference has an empty name.
        only: Some(""),
        ..ParseLimits::default()
    };
    let mut full = false;
    let cuts = scan(worktree, &paths, &query.limits, &parse_limits, |path, scanned| {
        let Some(parsed) = &scanned.parsed else {
            return ControlFlow::Continue(());
        };
        found.parsed += 1;
        let of_kind = |kind| query.kinds.is_empty() || query.kinds.contains(&kind);
        for definition in &parsed.definitions {
            if of_kind(definition.kind) && query.name.matches(&definition.name) {
                if found.symbols.len() >= query.limits.max_results {
                    full = true;
                    return ControlFlow::Break(());
                }
                found.symbols.push(Symbol::new(path, &scanned.source, parsed, definition));
            }
        }
        ControlFlow::Continue(())
    });
    found.cuts.extend(&before);
    found.cuts.extend(&cuts);
    if full {
        found.cuts.add(Cut::Matches);
    }
    Ok(found)
}
