//! Finding the uses and the callers of a name.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use muninn_base::RelPath;
use muninn_repo_tools::{Cut, Cuts, Worktree, shorten};

use super::answer::{Caller, Callers, References, Symbol, Usage, UsageKind};
use super::confidence::{self, UsingFile};
use super::scan::{Scanned, candidates, scan};
use super::{CodeError, NameQuery};
use crate::syntax::{DefinitionKind, Language, ParseLimits, ReferenceKind};

/// Maximum length of the shown text of a line, in bytes.
const MAX_TEXT: usize = 200;

/// Finds the uses of a name, by path and line. Definitions are not uses.
///
/// # Errors
/// [`CodeError`] for a malformed name or glob.
pub fn references(worktree: &Worktree, query: &NameQuery<'_>) -> Result<References, CodeError> {
    let collected = collect(worktree, query, true)?;
    let definitions = collected.targets();
    let mut answer = References {
        definitions: definitions.len(),
        parsed: collected.parsed,
        cuts: collected.cuts.clone(),
        references: Vec::new(),
    };
    let usages = collected.files.iter().flat_map(|file| file.uses.iter().map(move |found| (file, found)));
    for (file, found) in usages {
        if answer.references.len() >= query.limits.max_results {
            answer.cuts.add(Cut::Matches);
            break;
        }
        let (confidence, basis) =
            confidence::of_usage(found.kind, found.qualifier.as_deref(), &definitions, &file.user);
        answer.references.push(Usage {
            path: file.path.clone(),
            line: found.line,
            kind: found.kind,
            inside: found.inside.as_ref().map(Symbol::qualified),
            text: found.text.clone(),
            confidence,
            basis,
        });
    }
    Ok(answer)
}

/// Finds the definitions whose code calls a name, the most likely first.
///
/// # Errors
/// [`CodeError`] for a malformed name or glob.
pub fn callers(worktree: &Worktree, query: &NameQuery<'_>) -> Result<Callers, CodeError> {
    let collected = collect(worktree, query, false)?;
    let definitions = collected.targets();
    let mut callers: BTreeMap<(RelPath, Option<u32>), Caller> = BTreeMap::new();
    for file in &collected.files {
        for found in file.uses.iter().filter(|found| found.kind == UsageKind::Call) {
            let (confidence, basis) =
                confidence::of_usage(found.kind, found.qualifier.as_deref(), &definitions, &file.user);
            let key = (file.path.clone(), found.inside.as_ref().map(|symbol| symbol.lines.first));
            let caller = callers.entry(key).or_insert_with(|| Caller {
                symbol: found.inside.clone(),
                path: file.path.clone(),
                calls: Vec::new(),
                confidence,
                basis,
            });
            caller.calls.push(found.line);
            if confidence > caller.confidence {
                (caller.confidence, caller.basis) = (confidence, basis);
            }
        }
    }
    let mut callers: Vec<Caller> = callers.into_values().collect();
    callers.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    let mut cuts = collected.cuts.clone();
    if callers.len() > query.limits.max_results {
        callers.truncate(query.limits.max_results);
        cuts.add(Cut::Matches);
    }
    Ok(Callers { callers, definitions: definitions.len(), parsed: collected.parsed, cuts })
}

/// The definitions and uses of a name in the candidate files.
struct Collected {
    files: Vec<FileUses>,
    definitions: Vec<(Symbol, Option<Language>)>,
    /// The container that the question names.
    container: Option<String>,
    parsed: usize,
    cuts: Cuts,
}

struct FileUses {
    path: RelPath,
    user: UsingFile,
    uses: Vec<Use>,
}

struct Use {
    line: u32,
    kind: UsageKind,
    qualifier: Option<String>,
    inside: Option<Symbol>,
    text: String,
}

impl Collected {
    /// The definitions in the named container, or all definitions if that container has none.
    fn targets(&self) -> Vec<(&Symbol, Option<Language>)> {
        let all = self.definitions.iter().map(|(symbol, language)| (symbol, *language));
        let in_container = |symbol: &Symbol| symbol.container.as_deref() == self.container.as_deref();
        let named: Vec<_> = all.clone().filter(|(symbol, _)| in_container(symbol)).collect();
        if self.container.is_some() && !named.is_empty() { named } else { all.collect() }
    }
}

fn collect(worktree: &Worktree, query: &NameQuery<'_>, texts: bool) -> Result<Collected, CodeError> {
    let (name, container) = query.parts();
    let (paths, before) = candidates(worktree, query)?;
    let mut collected = Collected {
        files: Vec::new(),
        definitions: Vec::new(),
        container: container.map(str::to_owned),
        parsed: 0,
        cuts: before,
    };
    let parse_limits = ParseLimits { identifiers: true, only: Some(name), ..ParseLimits::default() };
    let cuts = scan(worktree, &paths, &query.limits, &parse_limits, |path, scanned| {
        collected.add(path, name, &scanned, texts);
        ControlFlow::Continue(())
    });
    collected.cuts.extend(&cuts);
    Ok(collected)
}

impl Collected {
    fn add(&mut self, path: &RelPath, name: &str, scanned: &Scanned, texts: bool) {
        let empty = crate::syntax::Parsed::default();
        let parsed = scanned.parsed.as_ref().unwrap_or(&empty);
        self.parsed += usize::from(scanned.parsed.is_some());
        let symbol = |definition| Symbol::new(path, &scanned.source, parsed, definition);
        let own = parsed.definitions.iter().filter(|of| &*of.name == name);
        let own: Vec<_> = own.filter(|of| of.kind != DefinitionKind::Impl).collect();
        self.definitions.extend(own.iter().map(|of| (symbol(of), scanned.language)));
        let lines: Vec<&str> = scanned.source.lines().collect();
        let text = |line: u32| {
            let text = lines.get(line.saturating_sub(1) as usize).copied().unwrap_or_default();
            shorten(text.trim(), MAX_TEXT).0.to_owned()
        };
        let mut uses: Vec<Use> = parsed
            .references
            .iter()
            .map(|reference| Use {
                line: reference.line,
                kind: match reference.kind {
                    ReferenceKind::Call => UsageKind::Call,
                    ReferenceKind::Import => UsageKind::Import,
                    ReferenceKind::Type => UsageKind::Type,
                    ReferenceKind::Other => UsageKind::Other,
                },
                qualifier: reference.qualifier.as_ref().map(ToString::to_string),
                inside: reference.inside.and_then(|at| parsed.definitions.get(at as usize)).map(symbol),
                text: text(reference.line),
            })
            .collect();
        if texts {
            let is_known =
                |line: u32| uses.iter().any(|found| found.line == line) || own.iter().any(|of| of.name_line == line);
            let mentions = lines.iter().zip(1u32..).filter(|(text, line)| has_word(text, name) && !is_known(*line));
            let more: Vec<Use> = mentions
                .map(|(_, line)| Use {
                    line,
                    kind: UsageKind::Text,
                    qualifier: None,
                    inside: parsed.enclosing(line).map(symbol),
                    text: text(line),
                })
                .collect();
            uses.extend(more);
            uses.sort_by_key(|found| found.line);
        }
        if !uses.is_empty() {
            self.files.push(FileUses {
                path: path.clone(),
                user: UsingFile::new(path, scanned.language, parsed),
                uses,
            });
        }
    }
}

/// Returns whether a line contains a name as a whole word, without a letter, digit or `_` next to it.
fn has_word(line: &str, name: &str) -> bool {
    let beside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(name)
        .any(|(at, _)| !beside(line[..at].chars().next_back()) && !beside(line[at + name.len()..].chars().next()))
}
