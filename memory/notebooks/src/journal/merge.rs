//! Merging two journals: the entries that only one has are put on top of the other, with their texts, authors and times.
//!
//! Entries never contradict each other. Overviews can: if both sides changed one, the other side's stays in the file, and
//! this side's is kept beside it.

use std::collections::HashMap;

use muninn_repo_tools::{ChainCommit, ChainError, CommitChain, History, ObjectId, Signature};

use super::entry::Entry;
use super::error::JournalError;
use super::limits::COMMITTER;
use super::log::LogEntry;
use super::section::SectionFile;
use super::seen::Seen;
use super::store::section_at;
use super::version::Version;
use super::{claims, conflict};
use crate::wiki::PagePath;

/// A merge of two journals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The newest commit now.
    pub tip: ObjectId,
    /// The number of entries that came from the other journal.
    pub received: usize,
    /// The number of entries that were put on top.
    pub moved: usize,
    /// The sections with two overviews since.
    pub conflicts: Vec<PagePath>,
}

/// The commits that only one of two journals has, the newest first.
pub(super) struct Divergence {
    pub(super) ours: Vec<Seen>,
    pub(super) theirs: Vec<Seen>,
    /// The newest commit that both have.
    base: Option<ObjectId>,
}

/// The commits of one journal that were read.
struct Side<'c> {
    history: History<'c>,
    commits: Vec<Seen>,
    places: HashMap<ObjectId, usize>,
}

impl Side<'_> {
    fn step(&mut self) -> Result<Option<ObjectId>, ChainError> {
        let Some(commit) = self.history.next().transpose()? else {
            return Ok(None);
        };
        let entry = LogEntry::of(&commit);
        self.places.insert(commit.id, self.commits.len());
        self.commits.push(Seen {
            id: commit.id,
            log_bytes: entry.as_ref().map_or(0, LogEntry::bytes),
            author_bytes: commit.author.name.len().max(commit.author.email.len()),
            was: entry.map(|entry| entry.was).unwrap_or_default(),
        });
        Ok(Some(commit.id))
    }
}

impl Divergence {
    /// Reads both journals in turn, so that little of what they have in common is read.
    pub(super) fn of(chain: &CommitChain, local: Option<ObjectId>, other: ObjectId) -> Result<Self, ChainError> {
        let mut sides = [local, Some(other)].map(|tip| Side {
            history: chain.history(tip),
            commits: Vec::new(),
            places: HashMap::new(),
        });
        let mut base = None;
        while base.is_none() {
            let steps = [sides[0].step()?, sides[1].step()?];
            let is_common = |id: &ObjectId| sides.iter().all(|side| side.places.contains_key(id));
            base = steps.into_iter().flatten().find(is_common);
            if steps == [None, None] {
                break;
            }
        }
        let [ours, theirs] = sides.map(|side| {
            let end = base.and_then(|base| side.places.get(&base).copied());
            let mut commits = side.commits;
            commits.truncate(end.unwrap_or(commits.len()));
            commits
        });
        Ok(Self { ours, theirs, base })
    }
}

/// Puts the commits that only `local` has on top of `other`. No ref is moved.
pub(super) fn onto(chain: &CommitChain, local: Option<ObjectId>, other: ObjectId) -> Result<Merged, JournalError> {
    let Divergence { ours, theirs, base } = Divergence::of(chain, local, other)?;
    if let Some(local) = local.filter(|_| theirs.is_empty()) {
        return Ok(Merged { tip: local, received: 0, moved: 0, conflicts: Vec::new() });
    }
    // An entry that one side has put on top before is the same entry.
    let there = claims::moved(chain, &ours, &theirs)?;
    let same = claims::moved(chain, &theirs, &ours)?.len() + there.len();
    let received = theirs.len().saturating_sub(same);
    let mut missing = Vec::new();
    for Seen { id, .. } in &ours {
        let is_there = match there.get(id) {
            Some(moved) => has_overview_of(chain, *moved, *id)?,
            None => false,
        };
        if !is_there {
            missing.push(*id);
        }
    }
    let (tip, on_top) = put_on_top(chain, &missing, base, Some(other))?;
    Ok(Merged { tip: tip.unwrap_or(other), received, moved: on_top.moved, conflicts: on_top.conflicts })
}

/// Whether an entry that was moved still has the overview that came with it, in its section or beside it. Its text alone
/// does not say so: somebody else can have moved it.
fn has_overview_of(chain: &CommitChain, moved: ObjectId, entry: ObjectId) -> Result<bool, JournalError> {
    let commit = chain.commit(entry)?;
    let Some(Entry { section, .. }) = Entry::parse(&commit.message) else {
        return Ok(true);
    };
    let (ours, _) = section_at(chain, Some(entry), &section)?;
    let (before, _) = section_at(chain, commit.parent, &section)?;
    if is_same(&ours, &before) {
        return Ok(true);
    }
    let (there, _) = section_at(chain, Some(moved), &section)?;
    let beside = conflict::of(chain, Some(moved), &section)?;
    Ok(is_same(&there, &ours) || beside.is_some_and(|beside| beside.other == ours.overview.trim_end()))
}

/// Whether two files have the same overview. Blanks at the end of one that was written by other means are lost when it is
/// written again.
fn is_same(one: &SectionFile, other: &SectionFile) -> bool {
    one.overview.trim_end() == other.overview.trim_end()
}

/// Entries that were put on top of another journal.
#[derive(Debug, Default)]
pub(super) struct OnTop {
    pub(super) moved: usize,
    conflicts: Vec<PagePath>,
}

/// Puts entries on top of a commit, or of none. `commits` are the newest first; `base` is what they and the commit have in
/// common. Returns the newest commit then.
pub(super) fn put_on_top(
    chain: &CommitChain,
    commits: &[ObjectId],
    base: Option<ObjectId>,
    commit: Option<ObjectId>,
) -> Result<(Option<ObjectId>, OnTop), JournalError> {
    let (mut tip, mut on_top) = (commit, OnTop::default());
    for id in commits.iter().rev() {
        let commit = chain.commit(*id)?;
        let Some(entry) = Entry::parse(&commit.message) else {
            continue;
        };
        let (written, is_conflict) = moved(chain, &commit, &entry, base, tip)?;
        if is_conflict && !on_top.conflicts.contains(&entry.section) {
            on_top.conflicts.push(entry.section);
        }
        tip = Some(written);
        on_top.moved += 1;
    }
    Ok((tip, on_top))
}

/// Writes an entry's commit again, on top of another one. Returns it, and whether there are two overviews since.
fn moved(
    chain: &CommitChain,
    commit: &ChainCommit,
    entry: &Entry,
    base: Option<ObjectId>,
    tip: Option<ObjectId>,
) -> Result<(ObjectId, bool), JournalError> {
    let section = &entry.section;
    let (ours, _) = section_at(chain, Some(commit.id), section)?;
    let (before, _) = section_at(chain, commit.parent, section)?;
    let (at_base, base_version) = section_at(chain, base, section)?;
    let (theirs, _) = section_at(chain, tip, section)?;
    let beside = conflict::file(section);
    let has_conflict = |at: Option<ObjectId>| match at {
        Some(at) => chain.file(at, &beside).map(|file| file.is_some()),
        None => Ok(false),
    };
    let is_open = has_conflict(tip)?;
    let settles = has_conflict(commit.parent)? && !has_conflict(Some(commit.id))?;
    let mut overview = theirs.overview.clone();
    let mut kept = None;
    if !is_same(&ours, &before) && !is_same(&ours, &theirs) {
        // The overview on top is not another one if it is the common one, or what our entry before left there.
        if (!is_open || settles) && (is_same(&theirs, &at_base) || is_same(&theirs, &before)) {
            overview.clone_from(&ours.overview);
        } else {
            let version = match base_version {
                Version::Of(id) => Some(id),
                Version::New => None,
            };
            kept = Some(conflict::render(&ours.overview, version));
        }
    }
    let file = SectionFile { overview, count: theirs.count.saturating_add(1) };
    let (path, text) = (section.file(), file.render());
    let mut files = vec![(&*path, Some(&*text))];
    match &kept {
        Some(kept) => files.push((&*beside, Some(kept))),
        None if settles && is_open => files.push((&*beside, None)),
        None => {}
    }
    let mut entry = entry.clone();
    entry.add_was(commit.id);
    let committer = Signature { name: COMMITTER.0.to_owned(), email: COMMITTER.1.to_owned(), ..commit.author.clone() };
    let signatures = (&commit.author, &committer);
    let written = chain.write(tip, &files, signatures, &entry.message())?;
    Ok((written, kept.is_some()))
}
