//! Metis documents as knowledge: decisions, visions and tasks.
//!
//! A decision has high confidence, a vision medium, a proposal or a plan low. Archived and replaced documents are
//! skipped. Titles include the document's name, so that a section in a prompt shows its source: `ADR-3 (PROJ-A-0003):
//! Sessions are signed cookies, Decision`.

use std::time::Duration;

use muninn_base::page_files::is_directory;
use muninn_base::stamp::Stamp;
use muninn_base::{RelPath, Until};
use muninn_repo_tools::metis::{MetisDocument, MetisLimits, MetisText, texts};
use muninn_repo_tools::{Worktree, stat};
use muninn_text::redact::redact;

use super::listing::Listing;
use super::section::SectionSource;
use crate::memories::{LoadedMemories, Memory};

/// The folder of documents.
const FOLDER: &str = ".metis";
/// Files that decide which documents git ignores.
const IGNORING: [&str; 2] = [".gitignore", ".metis/.gitignore"];
/// Phases of an active task.
const ACTIVE: [&str; 4] = ["active", "in-progress", "in_progress", "doing"];
/// Phases of a valid decision.
const DECIDED: [&str; 3] = ["decided", "accepted", "approved"];
/// Phases of a decision that is no longer valid.
const REPLACED: [&str; 4] = ["superseded", "deprecated", "rejected", "withdrawn"];

/// Loads the documents, up to a number of bytes.
pub(super) fn load(worktree: &Worktree, max_bytes: u64) -> LoadedMemories {
    let mut loaded = LoadedMemories { stamps: stamps(worktree), ..LoadedMemories::default() };
    if loaded.stamps.is_empty() {
        return loaded;
    }
    let limits = MetisLimits::default();
    let found = texts(worktree, &limits, usize::try_from(max_bytes).unwrap_or(usize::MAX));
    loaded.items = found.texts.iter().flat_map(memories).collect();
    let unreadable = found.unreadable.iter();
    let notes = unreadable.map(|(path, reason)| format!("{path}: not a Metis document: {reason}; indexed as a file"));
    loaded.notes = notes.collect();
    if !found.cuts.is_empty() {
        let words = found.cuts.describe();
        loaded.notes.push(format!("{FOLDER}: not all documents are read; limit reached: {words}"));
    }
    loaded
}

/// Stamps of the files, more than are loaded: only the reader knows which ones git ignores.
pub(super) fn stamps(worktree: &Worktree) -> Vec<Stamp> {
    let folder = worktree.root().join(FOLDER);
    if !is_directory(&folder) {
        return Vec::new();
    }
    let listing = Listing::below(worktree.root(), &folder);
    let mut stamps: Vec<Stamp> = listing.files.iter().map(Stamp::from).collect();
    stamps.extend(IGNORING.iter().filter_map(|path| {
        let (size, modified) = stat(worktree, &RelPath::new(path).ok()?).ok()?;
        Some(Stamp { path: (*path).to_owned(), size, modified })
    }));
    stamps
}

/// The short code of the current task: the only active one, or of several active tasks the one whose code is in the
/// branch name. `None` if there is no such task.
pub fn current_task(worktree: &Worktree) -> Option<String> {
    let limits = MetisLimits { until: Until::within(Duration::from_secs(1)), ..MetisLimits::default() };
    if !is_directory(&worktree.root().join(FOLDER)) {
        return None;
    }
    let found = muninn_repo_tools::metis::documents(worktree, &limits).documents;
    let mut active = found.into_iter().filter(is_active).map(|document| document.id);
    let first = active.next()?;
    let mut all = vec![first];
    all.extend(active);
    if all.len() > 1 {
        let branch = worktree.branch().ok()??;
        all.retain(|code| names(&branch, code));
    }
    let task = all.pop()?;
    all.is_empty().then_some(task)
}

fn is_active(document: &MetisDocument) -> bool {
    document.kind == "task" && has_phase(document, &ACTIVE)
}

fn has_phase(document: &MetisDocument, phases: &[&str]) -> bool {
    let phase = document.phase.as_deref().unwrap_or_default();
    phases.iter().any(|one| one.eq_ignore_ascii_case(phase))
}

/// Returns whether a branch name contains a code, ignoring case, and not as a prefix of a longer one.
fn names(branch: &str, code: &str) -> bool {
    let (branch, code) = (branch.to_lowercase(), code.to_lowercase());
    let apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    branch.match_indices(&code).any(|(at, code)| {
        let (before, after) = (&branch[..at], &branch[at + code.len()..]);
        apart(before.chars().next_back()) && apart(after.chars().next())
    })
}

/// The sections of a document; none for a replaced decision.
pub(super) fn memories(text: &MetisText) -> Vec<Memory> {
    let document = &text.document;
    if document.kind == "adr" && has_phase(document, &REPLACED) {
        return Vec::new();
    }
    let body = redact(&text.text);
    let name = redact(&name(document)).into_owned();
    let sections = SectionSource {
        path: &document.path,
        body: &body,
        first_line: text.first_line,
        confidence: Some(confidence(document)),
        applies_to: &[],
    };
    sections.memories(|heading| {
        // The first heading of a document repeats its title.
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
            let title = title.strip_prefix(&label).unwrap_or(title).trim_start_matches([':', ' ']);
            format!("{label} ({id}): {title}")
        }
        None => format!("{id}: {title}"),
    }
}
