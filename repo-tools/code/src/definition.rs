//! Finding the definitions of a name.

use std::ops::ControlFlow;

use muninn_repo_tools::{Cut, Worktree};

use super::answer::{Definitions, ScoredDefinition, Symbol};
use super::confidence::{self, UsingFile};
use super::scan::{candidates, scan};
use super::{CodeError, NameQuery};
use crate::syntax::{DefinitionKind, Language, ParseLimits};

/// Finds the definitions of a name, the most likely first.
///
/// # Errors
/// [`CodeError`] for a malformed name or glob.
pub fn definition(worktree: &Worktree, query: &NameQuery<'_>) -> Result<Definitions, CodeError> {
    let (name, container) = query.parts();
    let (mut paths, before) = candidates(worktree, query)?;
    // The imports of the query's file are evidence even if that file does not contain the name.
    if let Some(from) = query.from.as_ref().filter(|from| !paths.contains(from)) {
        paths.push(from.clone());
    }
    let mut answer = Definitions { cuts: before, ..Definitions::default() };
    let mut user: Option<UsingFile> = None;
    let mut found: Vec<(Symbol, Option<Language>)> = Vec::new();
    let parse_limits = ParseLimits { only: Some(name), ..ParseLimits::default() };
    let cuts = scan(worktree, &paths, &query.limits, &parse_limits, |path, scanned| {
        let Some(parsed) = &scanned.parsed else {
            return ControlFlow::Continue(());
        };
        answer.parsed += 1;
        if query.from.as_ref() == Some(path) {
            user = Some(UsingFile::new(path, scanned.language, parsed));
        }
        let named = parsed.definitions.iter().filter(|of| &*of.name == name);
        found.extend(
            named
                .filter(|of| of.kind != DefinitionKind::Impl)
                .map(|of| (Symbol::new(path, &scanned.source, parsed, of), scanned.language)),
        );
        ControlFlow::Continue(())
    });
    answer.cuts.extend(&cuts);
    let all: Vec<_> = found.iter().map(|(symbol, language)| (symbol, *language)).collect();
    let scored = all.iter().map(|(symbol, language)| {
        let (confidence, basis) = confidence::of_definition(symbol, *language, &all, container, user.as_ref());
        ScoredDefinition { symbol: (*symbol).clone(), confidence, basis }
    });
    let mut definitions: Vec<ScoredDefinition> = scored.collect();
    let key = |of: &ScoredDefinition| (of.symbol.path.clone(), of.symbol.line);
    definitions.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then_with(|| key(a).cmp(&key(b))));
    if definitions.len() > query.limits.max_results {
        definitions.truncate(query.limits.max_results);
        answer.cuts.add(Cut::Matches);
    }
    answer.definitions = definitions;
    Ok(answer)
}
