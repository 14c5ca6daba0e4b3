//! Metis documents as knowledge: what was decided, what is aimed at, what is being worked on.
//!
//! A decision counts as much as what somebody is sure of, a vision as what somebody thinks, and a proposal or a plan as
//! little as anything does. What was put away or replaced is not recalled. Titles name the document, so that a prompt
//! that gets a section of it says where that stands: `ADR-3 (PROJ-A-0003): Sessions are signed cookies, Decision`.

use std::time::Duration;

use muninn_repo_tools::metis::{MetisDocument, MetisLimits, MetisText, texts};
use muninn_repo_tools::{RelPath, Until, Worktree, stat};

use super::listing::{Listing, is_directory};
use super::section::Text;
use crate::memories::{Loaded, Memory};
use crate::redact::redact;
use crate::stamp::Stamp;

/// Where the documents are.
const FOLDER: &str = ".metis";
/// Files that decide which of them git ignores.
const IGNORING: [&str; 2] = [".gitignore", ".metis/.gitignore"];
/// Phases of a task that somebody is at.
const UNDER_WAY: [&str; 4] = ["active", "in-progress", "in_progress", "doing"];
/// Phases of a decision that holds.
const DECIDED: [&str; 3] = ["decided", "accepted", "approved"];
/// Phases of a decision that holds no more.
const REPLACED: [&str; 4] = ["superseded", "deprecated", "rejected", "withdrawn"];

/// Reads the documents, at most so many bytes of them.
pub(super) fn load(worktree: &Worktree, max_bytes: u64) -> Loaded {
    let mut loaded = Loaded {
        stamps: stamps(worktree),
        ..Loaded::default()
    };
    if loaded.stamps.is_empty() {
        return loaded;
    }
    let limits = MetisLimits::default();
    let found = texts(worktree, &limits, usize::try_from(max_bytes).unwrap_or(usize::MAX));
    loaded.items = found.texts.iter().flat_map(memories).collect();
    let unreadable = found.unreadable.iter();
    let notes =
        unreadable.map(|(path, reason)| format!("{path}: no Metis document, for {reason}; found as any file is"));
    loaded.notes = notes.collect();
    if !found.cuts.is_empty() {
        let words = found.cuts.describe();
        loaded.notes.push(format!(
            "{FOLDER}: not all documents are read; the bound reached is: {words}"
        ));
    }
    loaded
}

/// The files as they are now. More than are read: whether git ignores one is known to the reader alone.
pub(super) fn stamps(worktree: &Worktree) -> Vec<Stamp> {
    let folder = worktree.root().join(FOLDER);
    if !is_directory(&folder) {
        return Vec::new();
    }
    let listing = Listing::below(worktree.root(), &folder);
    let mut stamps: Vec<Stamp> = listing.files.iter().map(Stamp::from).collect();
    stamps.extend(IGNORING.iter().filter_map(|path| {
        let (size, modified) = stat(worktree, &RelPath::new(path).ok()?).ok()?;
        Some(Stamp {
            path: (*path).to_owned(),
            size,
            modified,
        })
    }));
    stamps
}

/// The short code of the task that is being worked on: the one whose phase is active, or, of several, the one whose
/// code is in the name of the branch. `None` where that is not one task.
pub fn current_task(worktree: &Worktree) -> Option<String> {
    let limits = MetisLimits {
        until: Until::within(Duration::from_secs(1)),
        ..MetisLimits::default()
    };
    if !is_directory(&worktree.root().join(FOLDER)) {
        return None;
    }
    let found = muninn_repo_tools::metis::documents(worktree, &limits).documents;
    let mut active = found.into_iter().filter(is_under_way).map(|document| document.id);
    let first = active.next()?;
    let mut all = vec![first];
    all.extend(active);
    if all.len() > 1 {
        let branch = worktree.branch()?;
        all.retain(|code| names(&branch, code));
    }
    let task = all.pop()?;
    all.is_empty().then_some(task)
}

fn is_under_way(document: &MetisDocument) -> bool {
    document.kind == "task" && has_phase(document, &UNDER_WAY)
}

fn has_phase(document: &MetisDocument, phases: &[&str]) -> bool {
    let phase = document.phase.as_deref().unwrap_or_default();
    phases.iter().any(|one| one.eq_ignore_ascii_case(phase))
}

/// Whether a code stands in a branch's name, in any case, and not as the beginning of a longer one.
fn names(branch: &str, code: &str) -> bool {
    let (branch, code) = (branch.to_lowercase(), code.to_lowercase());
    let apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    branch.match_indices(&code).any(|(at, code)| {
        let (before, after) = (&branch[..at], &branch[at + code.len()..]);
        apart(before.chars().next_back()) && apart(after.chars().next())
    })
}

/// The sections of a document; none of one that holds no more.
pub(super) fn memories(text: &MetisText) -> Vec<Memory> {
    let document = &text.document;
    if document.kind == "adr" && has_phase(document, &REPLACED) {
        return Vec::new();
    }
    let body = redact(&text.text);
    let name = redact(&name(document)).into_owned();
    let sections = Text {
        path: &document.path,
        body: &body,
        first_line: text.first_line,
        confidence: Some(confidence(document)),
        applies_to: &[],
    };
    sections.memories(|heading| {
        // The first heading of a document is its title once more.
        if heading.is_empty() || heading.ends_with(&document.title) {
            name.clone()
        } else {
            format!("{name}, {heading}")
        }
    })
}

pub(super) fn confidence(document: &MetisDocument) -> f32 {
    match document.kind.as_str() {
        "adr" if has_phase(document, &DECIDED) => 0.9,
        "vision" => 0.6,
        _ => 0.3,
    }
}

/// `ADR-3 (PROJ-A-0003): its title`, or without a number `PROJ-T-0001: its title`.
fn name(document: &MetisDocument) -> String {
    let (id, title) = (&document.id, &document.title);
    match document.number.filter(|_| document.kind == "adr") {
        Some(number) => {
            let label = format!("ADR-{number}");
            let title = title
                .strip_prefix(&label)
                .unwrap_or(title)
                .trim_start_matches([':', ' ']);
            format!("{label} ({id}): {title}")
        }
        None => format!("{id}: {title}"),
    }
}
