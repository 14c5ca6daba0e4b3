//! Reverted commits: what they brought into a directory, and whether it came back.
//!
//! A revert is a commit that says so, in git's words: `This reverts commit ID`. A file that was moved or combined since
//! cannot be found in the tree, so the tree alone does not show what a revert takes away. Where the history does not tell,
//! as at the end of a shallow clone, nothing counts as reverted.

use std::collections::{BTreeMap, HashMap, HashSet};

use gix::ObjectId;
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;

use crate::path::RelPath;
use crate::worktree::Worktree;

/// Git's words before the id of the reverted commit, at the beginning of a line.
const REVERTS: &str = "This reverts commit ";
/// Git's words between the id of a reverted merge and that of the parent whose side stays.
const SIDE: &str = ", reversing changes made to ";

/// Number of commits that are read whatever their time, because clocks differ.
const ALWAYS: usize = 2_000;
/// Maximum number of commits that are read for reverts.
const MOST_COMMITS: usize = 50_000;
/// Maximum number of reverts that are compared, the newest first.
const MOST_REVERTS: usize = 1_000;
/// Maximum number of files of the directory in a commit, and the maximum length of each in bytes.
const MOST_FILES: usize = 20_000;
const MOST_BYTES: u64 = 64 << 20;

/// A commit that a later one reverted, and whose revert holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RevertedCommit {
    revert: ObjectId,
    commit: ObjectId,
    /// The parent whose side stays; `None` for the first commit of a history.
    before: Option<ObjectId>,
}

/// Reads the reverts in the history of one commit.
pub struct RevertReader {
    repository: gix::Repository,
    head: ObjectId,
}

/// The content of a file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitFile {
    /// The path.
    pub path: RelPath,
    /// The content.
    pub bytes: Vec<u8>,
}

/// The files of a directory in a commit: paths below it, and ids of their contents.
type Listing = BTreeMap<String, ObjectId>;

/// A revert, as its message states it.
struct Revert {
    by: ObjectId,
    commit: ObjectId,
    before: Option<ObjectId>,
}

impl RevertReader {
    /// Opens the history of a commit, given in hexadecimal; `None` if it cannot be read.
    #[must_use]
    pub fn open(worktree: &Worktree, head: &str) -> Option<Self> {
        let mut repository = worktree.git().repository().ok()?;
        repository.object_cache_size(Some(16 << 20));
        let head = ObjectId::from_hex(head.as_bytes()).ok()?;
        Some(Self { repository, head })
    }

    /// The commits whose reverts hold, the newest revert first. Of a long history, commits before a time, in seconds since
    /// 1970, are not read.
    #[must_use]
    pub fn reverted(&self, since: i64) -> Vec<RevertedCommit> {
        let reverts = self.reverts(since);
        let mut undone: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
        let known: HashSet<ObjectId> = reverts.iter().map(|revert| revert.by).collect();
        for revert in &reverts {
            // A reverted merge takes the reverts of its side with it.
            let side = self.side(revert);
            for commit in side.into_iter().filter(|commit| known.contains(commit)) {
                undone.entry(commit).or_default().push(revert.by);
            }
        }
        let mut memo = HashMap::new();
        let holding = reverts
            .into_iter()
            .filter(|revert| holds(revert.by, &undone, &mut memo));
        let reverted = holding.map(|revert| RevertedCommit {
            revert: revert.by,
            commit: revert.commit,
            before: revert.before,
        });
        reverted.collect()
    }

    /// The files of a directory that a reverted commit added or changed, and all that were there before; `None` if it did
    /// not change the directory, or the history does not tell.
    #[must_use]
    pub fn brought(&self, reverted: &RevertedCommit, directory: &RelPath) -> Option<[Vec<CommitFile>; 2]> {
        let after = self.listing(reverted.commit, directory)?;
        let before = match reverted.before {
            Some(before) => self.listing(before, directory)?,
            None => Listing::new(),
        };
        let changed: Listing = after
            .into_iter()
            .filter(|(path, id)| before.get(path) != Some(id))
            .collect();
        if changed.is_empty() {
            return None;
        }
        Some([self.contents(&changed, directory)?, self.contents(&before, directory)?])
    }

    /// The files of a directory that are there after the revert, or were added by a commit that the revert does not know;
    /// `None` if the history does not tell.
    #[must_use]
    pub fn there_since(&self, reverted: &RevertedCommit, directory: &RelPath) -> Option<Vec<CommitFile>> {
        let left = self.listing(reverted.revert, directory)?;
        let mut files = self.contents(&left, directory)?;
        let walk = self.repository.rev_walk([self.head]).with_hidden([reverted.revert]);
        for (number, info) in walk.all().ok()?.enumerate() {
            let info = info.ok().filter(|_| number < MOST_COMMITS)?;
            let directory_in = |commit| self.tree(commit, directory);
            let tree = directory_in(info.id)?;
            let before: Option<Vec<_>> = info.parent_ids().map(|parent| directory_in(parent.detach())).collect();
            let before = before?;
            // Most commits leave the directory as it was.
            if before.contains(&tree) {
                continue;
            }
            let mut added = self.files_of(tree)?;
            for before in before {
                let before = self.files_of(before)?;
                added.retain(|path, id| before.get(path) != Some(id));
            }
            files.extend(self.contents(&added, directory)?);
        }
        Some(files)
    }

    /// All reverts in the history, the newest first.
    fn reverts(&self, since: i64) -> Vec<Revert> {
        let order = Sorting::ByCommitTime(CommitTimeOrder::NewestFirst);
        let Ok(walk) = self.repository.rev_walk([self.head]).sorting(order).all() else {
            return Vec::new();
        };
        let mut reverts = Vec::new();
        for (number, info) in walk.take(MOST_COMMITS).map_while(Result::ok).enumerate() {
            if number >= ALWAYS && info.commit_time() < since {
                break;
            }
            let Ok(commit) = info.object() else { break };
            let message = commit.message_raw_sloppy();
            if memchr::memmem::find(message, REVERTS.as_bytes()).is_none() {
                continue;
            }
            for (commit, side) in stated(&message.to_string()) {
                reverts.extend(self.revert(info.id, &commit, side.as_deref()));
            }
            if reverts.len() >= MOST_REVERTS {
                break;
            }
        }
        reverts
    }

    /// A revert of a commit that exists.
    fn revert(&self, by: ObjectId, commit: &str, side: Option<&str>) -> Option<Revert> {
        let commit = self
            .repository
            .find_commit(ObjectId::from_hex(commit.as_bytes()).ok()?)
            .ok()?;
        let mut parents = commit.parent_ids().map(gix::Id::detach);
        let before = match side {
            Some(side) => {
                let side = ObjectId::from_hex(side.as_bytes()).ok()?;
                Some(parents.find(|parent| *parent == side)?)
            }
            None => parents.next(),
        };
        Some(Revert {
            by,
            commit: commit.id,
            before,
        })
    }

    /// The commits that a revert takes back: one, or a merge with the commits of its side.
    fn side(&self, revert: &Revert) -> Vec<ObjectId> {
        let is_merge = |commit: gix::Commit<'_>| commit.parent_ids().count() > 1;
        if !self.repository.find_commit(revert.commit).is_ok_and(is_merge) {
            return vec![revert.commit];
        }
        let walk = self.repository.rev_walk([revert.commit]).with_hidden(revert.before);
        let commits = walk.all().into_iter().flatten().map_while(Result::ok);
        commits.take(MOST_COMMITS).map(|info| info.id).collect()
    }

    /// The files below a directory in a commit; `None` if they cannot be read.
    fn listing(&self, commit: ObjectId, directory: &RelPath) -> Option<Listing> {
        self.files_of(self.tree(commit, directory)?)
    }

    /// The tree of a directory in a commit, or `None` inside if it has no such directory.
    #[expect(
        clippy::option_option,
        reason = "a commit that cannot be read is not one without the directory"
    )]
    fn tree(&self, commit: ObjectId, directory: &RelPath) -> Option<Option<ObjectId>> {
        let tree = self.repository.find_commit(commit).ok()?.tree().ok()?;
        let entry = tree.lookup_entry_by_path(directory.as_str()).ok()?;
        Some(
            entry
                .filter(|entry| entry.mode().is_tree())
                .map(|entry| entry.object_id()),
        )
    }

    /// The files below a tree; `None` if it cannot be read, or has too many.
    fn files_of(&self, tree: Option<ObjectId>) -> Option<Listing> {
        let mut files = Listing::new();
        let mut next: Vec<(String, ObjectId)> = tree.map(|tree| (String::new(), tree)).into_iter().collect();
        while let Some((path, id)) = next.pop() {
            let tree = self.repository.find_tree(id).ok()?;
            for entry in tree.iter() {
                let entry = entry.ok()?;
                let path = format!("{path}/{}", entry.filename());
                match entry.mode() {
                    mode if mode.is_tree() => next.push((path, entry.object_id())),
                    mode if mode.is_blob() => _ = files.insert(path, entry.object_id()),
                    _ => {}
                }
            }
            if files.len() + next.len() > MOST_FILES {
                return None;
            }
        }
        Some(files)
    }

    /// The contents of files; `None` if one is missing, as in a partial clone, or too long.
    fn contents(&self, listing: &Listing, directory: &RelPath) -> Option<Vec<CommitFile>> {
        let mut files = Vec::with_capacity(listing.len());
        for (path, id) in listing {
            let length = self.repository.find_header(*id).ok()?.size();
            if length > MOST_BYTES {
                return None;
            }
            let Ok(path) = RelPath::new(&format!("{directory}{path}")) else {
                continue;
            };
            let bytes = self.repository.find_blob(*id).ok()?.take_data();
            files.push(CommitFile { path, bytes });
        }
        Some(files)
    }
}

/// Returns whether no holding revert undoes a revert. A revert is younger than what it reverts, so this ends.
fn holds(revert: ObjectId, undone: &HashMap<ObjectId, Vec<ObjectId>>, memo: &mut HashMap<ObjectId, bool>) -> bool {
    if let Some(known) = memo.get(&revert) {
        return *known;
    }
    let by = undone.get(&revert).map(Vec::as_slice).unwrap_or_default();
    let is_undone = by.iter().any(|by| holds(*by, undone, memo));
    memo.insert(revert, !is_undone);
    !is_undone
}

/// The ids in a message: of reverted commits, each with the parent whose side stays.
fn stated(message: &str) -> Vec<(String, Option<String>)> {
    let lines: Vec<&str> = message.lines().collect();
    let beginnings = (0..lines.len()).filter(|at| lines[*at].starts_with(REVERTS));
    let reverts = beginnings.filter_map(|at| {
        // Git wraps the sentence.
        let sentence = lines[at..].iter().take(2).flat_map(|line| line.split_whitespace());
        let sentence = sentence.collect::<Vec<_>>().join(" ");
        let (commit, rest) = id(sentence.strip_prefix(REVERTS)?)?;
        let side = rest.strip_prefix(SIDE).and_then(id);
        Some((commit.to_owned(), side.map(|(side, _)| side.to_owned())))
    });
    reverts.collect()
}

/// The whole object id at the beginning of a text, and the rest.
fn id(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(text.len());
    matches!(end, 40 | 64).then(|| text.split_at(end))
}
