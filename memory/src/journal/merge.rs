//! Merging two journals: the entries that only one has are put on top of the other, with their texts, authors and times.
//!
//! Entries never contradict each other. Overviews can: if both sides changed one, the other side's stays in the file, and
//! this side's is kept beside it.

use std::collections::HashSet;

use muninn_repo_tools::{ChainCommit, CommitChain, ObjectId, Signature};

use super::conflict;
use super::entry::Entry;
use super::error::JournalError;
use super::section::SectionFile;
use super::store::{Version, section_at};
use super::write::COMMITTER;
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

/// Puts the commits that only `local` has on top of `other`. No ref is moved.
pub(super) fn onto(chain: &CommitChain, local: Option<ObjectId>, other: ObjectId) -> Result<Merged, JournalError> {
    let ours = chain.back_to(local, None)?;
    let our_ids: HashSet<ObjectId> = ours.iter().map(|commit| commit.id).collect();
    let mut only_theirs = Vec::new();
    let mut next = Some(other);
    let base = loop {
        match next {
            Some(id) if !our_ids.contains(&id) => {
                let commit = chain.commit(id)?;
                next = commit.parent;
                only_theirs.push(commit);
            }
            base => break base,
        }
    };
    let only_ours: Vec<ChainCommit> = ours.into_iter().take_while(|commit| Some(commit.id) != base).collect();
    // An entry that one side has put on top before is the same entry.
    let was = |commits: &[ChainCommit]| -> HashSet<String> {
        let entries = commits.iter().filter_map(|commit| Entry::parse(&commit.message));
        entries.flat_map(|entry| entry.was).collect()
    };
    let (their_was, our_was) = (was(&only_theirs), was(&only_ours));
    let is_new = |commit: &&ChainCommit| !our_was.contains(&commit.id.to_string());
    let mut merged = Merged {
        tip: other,
        received: only_theirs.iter().filter(is_new).count(),
        moved: 0,
        conflicts: Vec::new(),
    };
    if let Some(local) = local.filter(|_| only_theirs.is_empty()) {
        merged.tip = local;
        return Ok(merged);
    }
    for commit in only_ours.iter().rev() {
        let Some(entry) = Entry::parse(&commit.message).filter(|_| !their_was.contains(&commit.id.to_string())) else {
            continue;
        };
        let (tip, is_conflict) = moved(chain, commit, &entry, base, merged.tip)?;
        if is_conflict && !merged.conflicts.contains(&entry.section) {
            merged.conflicts.push(entry.section);
        }
        merged.tip = tip;
        merged.moved += 1;
    }
    Ok(merged)
}

/// Writes an entry's commit again, on top of another one. Returns it, and whether there are two overviews since.
fn moved(
    chain: &CommitChain,
    commit: &ChainCommit,
    entry: &Entry,
    base: Option<ObjectId>,
    tip: ObjectId,
) -> Result<(ObjectId, bool), JournalError> {
    let section = &entry.section;
    let (ours, _) = section_at(chain, Some(commit.id), section)?;
    let (before, _) = section_at(chain, commit.parent, section)?;
    let (at_base, base_version) = section_at(chain, base, section)?;
    let (theirs, _) = section_at(chain, Some(tip), section)?;
    let beside = conflict::file(section);
    let has_conflict = |at: Option<ObjectId>| match at {
        Some(at) => chain.file(at, &beside).map(|file| file.is_some()),
        None => Ok(false),
    };
    let is_open = has_conflict(Some(tip))?;
    let settles = has_conflict(commit.parent)? && !has_conflict(Some(commit.id))?;
    let mut overview = theirs.overview.clone();
    let mut kept = None;
    if ours.overview != before.overview && ours.overview != theirs.overview {
        // The overview on top is not another one if it is the common one, or what our entry before left there.
        match (!is_open || settles) && (theirs.overview == at_base.overview || theirs.overview == before.overview) {
            true => overview.clone_from(&ours.overview),
            false => {
                let version = match base_version {
                    Version::Of(id) => Some(id),
                    Version::New => None,
                };
                kept = Some(conflict::render(&ours.overview, version));
            }
        }
    }
    let file = SectionFile {
        overview,
        count: theirs.count + 1,
    };
    let (path, text) = (section.file(), file.render());
    let mut files = vec![(&*path, Some(&*text))];
    match &kept {
        Some(kept) => files.push((&*beside, Some(kept))),
        None if settles && is_open => files.push((&*beside, None)),
        None => {}
    }
    let mut entry = entry.clone();
    entry.was.push(commit.id.to_string());
    let committer = Signature {
        name: COMMITTER.0.to_owned(),
        email: COMMITTER.1.to_owned(),
        ..commit.author.clone()
    };
    let signatures = (&commit.author, &committer);
    let written = chain.write(Some(tip), &files, signatures, &entry.message())?;
    Ok((written, kept.is_some()))
}
