//! Selecting the files for a question about a name from the index, the most likely first, because parsing is expensive.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use muninn_base::RelPath;
use muninn_code::NameQuery;
use muninn_code::syntax::DefinitionKind;
use muninn_index::{Defined, FileRole, Graph, Site, Snapshot};
use muninn_repo_tools::{Detail, GrepLimits, GrepPattern, GrepQuery, WalkLimits, grep_paths, walk_until};

use super::ToolContext;

/// Maximum number of definition files that are parsed before the calls. The confidence of a call depends on the number
/// of definitions, and does not change beyond this one.
const MAX_RIVALS: usize = 4;

/// Returns the files that define the name; `None` without an index.
pub(super) fn files_defining(context: &ToolContext<'_>, query: &NameQuery<'_>) -> Option<Vec<RelPath>> {
    let snapshot = context.snapshot?;
    let numbers = definitions(snapshot, query).into_iter().map(|defined| defined.file as usize);
    Some(paths(context, snapshot, query, numbers))
}

/// Returns the files that define the name, followed by those that call it; `None` without an index.
pub(super) fn files_calling(context: &ToolContext<'_>, query: &NameQuery<'_>) -> Option<Vec<RelPath>> {
    let snapshot = context.snapshot?;
    let (name, container) = query.parts();
    let definitions = definitions(snapshot, query);
    let named = definitions.iter().filter(|defined| defined.container == container);
    let confidences = if container.is_some() && named.clone().next().is_some() {
        call_confidences(snapshot.graph(), named)
    } else {
        call_confidences(snapshot.graph(), definitions.iter())
    };
    let mut calling: Vec<usize> = snapshot.calling(name).collect();
    calling.sort_by_key(|file| {
        let percent = confidences.get(file).copied().unwrap_or(0);
        (Reverse(percent), snapshot.file(*file).role != FileRole::Source)
    });
    let rivals = definitions.iter().take(MAX_RIVALS).map(|defined| defined.file as usize);
    Some(paths(context, snapshot, query, rivals.chain(calling)))
}

/// Returns the files that define a name with this part; `None` without an index.
pub(super) fn files_defining_part(context: &ToolContext<'_>, part: &str) -> Option<Vec<RelPath>> {
    let snapshot = context.snapshot?;
    let mut definitions: Vec<_> = snapshot.graph().definitions_with(part).collect();
    definitions.sort_by_key(|defined| !is_source(snapshot, defined));
    let numbers = definitions.iter().map(|defined| defined.file as usize);
    Some(distinct(snapshot, numbers))
}

/// Returns all definitions of the name, the most likely first.
fn definitions<'s>(snapshot: &'s Snapshot, query: &NameQuery<'_>) -> Vec<Defined<'s>> {
    let (name, container) = query.parts();
    let mut definitions: Vec<_> = snapshot.graph().definitions(name).collect();
    definitions.sort_by_key(|defined| {
        let elsewhere = container.is_some() && defined.container != container;
        let prototype = defined.kind == DefinitionKind::Prototype;
        (elsewhere, prototype, !is_source(snapshot, defined))
    });
    definitions
}

fn is_source(snapshot: &Snapshot, defined: &Defined<'_>) -> bool {
    snapshot.file(defined.file as usize).role == FileRole::Source
}

/// Returns the files that call definitions, with the confidence of their most certain call in percent.
fn call_confidences<'d>(graph: &Graph, definitions: impl Iterator<Item = &'d Defined<'d>>) -> HashMap<usize, u32> {
    let mut files = HashMap::new();
    for call in definitions.flat_map(|defined| graph.callers(defined.id)) {
        let file = match call.from {
            Site::File(file) => Some(file),
            Site::Definition(id) => graph.definition(id).map(|defined| defined.file),
        };
        if let Some(file) = file {
            let highest: &mut u32 = files.entry(file as usize).or_default();
            *highest = (*highest).max((call.confidence * 100.0) as u32);
        }
    }
    files
}

/// Returns the files with these numbers; if there are none, the files that changed since they were indexed and contain
/// the name now.
fn paths(
    context: &ToolContext<'_>,
    snapshot: &Snapshot,
    query: &NameQuery<'_>,
    numbers: impl Iterator<Item = usize>,
) -> Vec<RelPath> {
    let known = distinct(snapshot, numbers);
    if known.is_empty() { changed_files(context, snapshot, query) } else { known }
}

fn distinct(snapshot: &Snapshot, numbers: impl Iterator<Item = usize>) -> Vec<RelPath> {
    let mut seen = HashSet::new();
    let numbers = numbers.filter(|number| seen.insert(*number));
    numbers.map(|number| snapshot.file(number).facts.path.clone()).collect()
}

/// Returns the files that changed since they were indexed and contain the name. Errors are ignored, because the
/// question itself reports an invalid name or filter.
fn changed_files(context: &ToolContext<'_>, snapshot: &Snapshot, query: &NameQuery<'_>) -> Vec<RelPath> {
    let limits = WalkLimits { max_file_bytes: query.limits.max_file_bytes, ..WalkLimits::default() };
    let walked = walk_until(context.worktree, &limits, Some(&query.limits.until));
    let changed = walked.files.into_iter().filter(|now| {
        let known = snapshot.find(&now.path).map(|(_, file)| &file.facts);
        known.is_none_or(|known| !known.fits(now.size, now.modified))
    });
    let changed: Vec<RelPath> = changed.map(|now| now.path).collect();
    let search = GrepQuery {
        detail: Detail::Files,
        limits: GrepLimits {
            max_matches: usize::MAX,
            max_file_bytes: query.limits.max_file_bytes,
            until: query.limits.until.clone(),
            ..GrepLimits::default()
        },
        ..GrepQuery::new(GrepPattern::Literals(vec![query.parts().0.to_owned()]))
    };
    let found = grep_paths(context.worktree, &search, &changed).unwrap_or_default();
    found.counts.into_iter().map(|file| file.path).collect()
}
