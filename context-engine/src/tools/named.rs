//! Which files a question about a name is asked of, as the index knows them, the likeliest first: parsing is what costs.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use muninn_memory::index::{Defined, FileRole, Graph, Site, Snapshot};
use muninn_repo_tools::code::NameQuery;
use muninn_repo_tools::syntax::DefinitionKind;
use muninn_repo_tools::{Detail, GrepLimits, GrepPattern, GrepQuery, RelPath, WalkLimits, grep_paths, walk_until};

use super::ToolContext;

/// How sure it is what a call means depends on what may be meant; more definitions than this make it no less sure.
const MAX_RIVALS: usize = 4;

/// The files that define the name; `None` without an index.
pub(super) fn defining(context: &ToolContext<'_>, query: &NameQuery<'_>) -> Option<Vec<RelPath>> {
    let snapshot = context.snapshot?;
    let numbers = meant(snapshot, query).into_iter().map(|defined| defined.file as usize);
    Some(paths(context, snapshot, query, numbers))
}

/// The files that call the name, after those that say what is meant by it; `None` without an index.
pub(super) fn calling(context: &ToolContext<'_>, query: &NameQuery<'_>) -> Option<Vec<RelPath>> {
    let snapshot = context.snapshot?;
    let (name, container) = query.parts();
    let meant = meant(snapshot, query);
    let named = meant.iter().filter(|defined| defined.container == container);
    let surely = match container.is_some() && named.clone().next().is_some() {
        true => sure(snapshot.graph(), named),
        false => sure(snapshot.graph(), meant.iter()),
    };
    let mut calling: Vec<usize> = snapshot.calling(name).collect();
    calling.sort_by_key(|file| {
        let percent = surely.get(file).copied().unwrap_or(0);
        (Reverse(percent), snapshot.file(*file).role != FileRole::Source)
    });
    let rivals = meant.iter().take(MAX_RIVALS).map(|defined| defined.file as usize);
    Some(paths(context, snapshot, query, rivals.chain(calling)))
}

/// The files that define a name with this in it; `None` without an index.
pub(super) fn defining_like(context: &ToolContext<'_>, part: &str) -> Option<Vec<RelPath>> {
    let snapshot = context.snapshot?;
    let mut definitions: Vec<_> = snapshot.graph().definitions_with(part).collect();
    definitions.sort_by_key(|defined| !is_source(snapshot, defined));
    let numbers = definitions.iter().map(|defined| defined.file as usize);
    Some(distinct(snapshot, numbers))
}

/// All definitions of the name, the likeliest first.
fn meant<'s>(snapshot: &'s Snapshot, query: &NameQuery<'_>) -> Vec<Defined<'s>> {
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

/// The files that call definitions, with how sure the surest of their calls is, in percent.
fn sure<'d>(graph: &Graph, definitions: impl Iterator<Item = &'d Defined<'d>>) -> HashMap<usize, u32> {
    let mut files = HashMap::new();
    for call in definitions.flat_map(|defined| graph.callers(defined.id)) {
        let file = match call.from {
            Site::File(file) => Some(file),
            Site::Definition(id) => graph.definition(id).map(|defined| defined.file),
        };
        if let Some(file) = file {
            let surest: &mut u32 = files.entry(file as usize).or_default();
            *surest = (*surest).max((call.confidence * 100.0) as u32);
        }
    }
    files
}

/// The files of these numbers; where there are none, those that changed since they were indexed and hold the name now.
fn paths(
    context: &ToolContext<'_>,
    snapshot: &Snapshot,
    query: &NameQuery<'_>,
    numbers: impl Iterator<Item = usize>,
) -> Vec<RelPath> {
    let known = distinct(snapshot, numbers);
    match known.is_empty() {
        true => changed(context, snapshot, query),
        false => known,
    }
}

fn distinct(snapshot: &Snapshot, numbers: impl Iterator<Item = usize>) -> Vec<RelPath> {
    let mut seen = HashSet::new();
    let numbers = numbers.filter(|number| seen.insert(*number));
    numbers.map(|number| snapshot.file(number).facts.path.clone()).collect()
}

/// A search that fails finds nothing: what is wrong with the name or the filter is told by the question itself.
fn changed(context: &ToolContext<'_>, snapshot: &Snapshot, query: &NameQuery<'_>) -> Vec<RelPath> {
    let limits = WalkLimits {
        max_file_bytes: query.limits.max_file_bytes,
        ..WalkLimits::default()
    };
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
