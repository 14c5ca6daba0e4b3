use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use gix::ObjectId;
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;
use muninn_base::RelPath;

use super::change::{Changes, FileEntry, TakenBack};
use super::graph::{CommitGraph, CommitNode};
use super::state::{Listing, RevertReader};
use super::stated::{REVERTS, StatedRevert, stated};
use crate::worktree::Worktree;

/// Number of commits that are read whatever their time, because clocks differ.
const ALWAYS: usize = 2_000;

/// Maximum number of commits that are read for reverts.
const MOST_COMMITS: usize = 50_000;

/// Maximum number of stated reverts whose changes are compared, the newest first.
const MOST_STATED: usize = 10_000;

/// Maximum number of reverts that count, the newest first.
const MOST_REVERTS: usize = 1_000;

/// Maximum number of files of the directory in a commit, and the maximum length of each in bytes.
const MOST_FILES: usize = 20_000;

const MOST_BYTES: u64 = 64 << 20;

/// Maximum number of entries of trees that are read, of files that are kept in memory, and of bytes of files, for all reverts
/// together. A message can name any commit, so these bound the time that strangers' commits take. The newest reverts come
/// first.
const ALL_ENTRIES: usize = 4_000_000;

const ALL_KEPT: usize = 400_000;

const ALL_BYTES: u64 = 256 << 20;

/// A commit that a later one reverted, and whose revert holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RevertedCommit {
    revert: ObjectId,
    commit: ObjectId,
    /// The parent whose side stays; `None` for the first commit of a history.
    before: Option<ObjectId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitFile {
    pub path: RelPath,
    /// The id of the content.
    pub blob: crate::ObjectId,
}

/// A revert, as its message states it and its changes confirm it.
struct Revert {
    by: ObjectId,
    commit: ObjectId,
    before: Option<ObjectId>,
    taken: Vec<TakenBack>,
}

impl RevertReader {
    /// Opens the history of a commit, given in hexadecimal; `None` if it cannot be read.
    pub fn open(worktree: &Worktree, head: &str) -> Option<Self> {
        let mut repository = worktree.git().repository().ok()?;
        repository.object_cache_size(Some(16 << 20));
        let head = ObjectId::from_hex(head.as_bytes()).ok()?;
        Some(Self {
            repository,
            head,
            graph: CommitGraph::default(),
            listings: HashMap::new(),
            added: HashMap::new(),
            entries_left: ALL_ENTRIES,
            kept_left: ALL_KEPT,
            bytes_left: ALL_BYTES,
        })
    }

    /// The commits whose reverts hold, the newest revert first. A revert no longer holds if another one took it back, or if
    /// all that it took back outside of the directory is there again. Of a long history, commits before a time, in seconds
    /// since 1970, are not read.
    pub fn reverted(&mut self, since: i64, directory: &RelPath) -> Vec<RevertedCommit> {
        let mut reverts = self.reverts(since);
        reverts.retain(|revert| !self.is_there_again(revert, directory));
        let mut undone: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
        let known: HashSet<ObjectId> = reverts.iter().map(|revert| revert.by).collect();
        for revert in &reverts {
            // A reverted merge takes the reverts of its side with it.
            for commit in self.side(revert).into_iter().filter(|commit| known.contains(commit)) {
                undone.entry(commit).or_default().push(revert.by);
            }
        }
        let mut memo = HashMap::new();
        let holding = reverts.into_iter().filter(|revert| holds(revert.by, &undone, &mut memo));
        let reverted =
            holding.map(|revert| RevertedCommit { revert: revert.by, commit: revert.commit, before: revert.before });
        reverted.collect()
    }

    /// The files of a directory that a reverted commit added or changed, and all that were there before; `None` if it did
    /// not change the directory, or the history does not tell.
    pub fn brought(&mut self, reverted: &RevertedCommit, directory: &RelPath) -> Option<[Vec<CommitFile>; 2]> {
        let after = self.listing(reverted.commit, directory)?;
        let before = match reverted.before {
            Some(before) => self.listing(before, directory)?,
            None => Rc::default(),
        };
        let changed = after.iter().filter(|(path, id)| before.get(*path) != Some(id));
        let changed = self.files(changed, directory)?;
        if changed.is_empty() {
            return None;
        }
        Some([changed, self.files(before.iter(), directory)?])
    }

    /// The files of a directory that are there after the revert, or were added by a commit that the revert does not know;
    /// `None` if the history does not tell.
    pub fn there_since(&mut self, reverted: &RevertedCommit, directory: &RelPath) -> Option<Vec<CommitFile>> {
        let left = self.listing(reverted.revert, directory)?;
        let mut files = self.files(left.iter(), directory)?;
        let graph = std::mem::take(&mut self.graph);
        let added = self.added_since(&graph, reverted.revert, directory);
        self.graph = graph;
        for added in added? {
            files.extend(self.files(added.iter(), directory)?);
        }
        Some(files)
    }

    /// The content of a file; `None` if it is missing, as in a partial clone, or too long.
    pub fn content(&mut self, file: &CommitFile) -> Option<Vec<u8>> {
        self.blob(file.blob.gix(), MOST_BYTES)
    }

    fn added_since(&mut self, graph: &CommitGraph, revert: ObjectId, directory: &RelPath) -> Option<Vec<Rc<Listing>>> {
        let mut all = Vec::new();
        for commit in graph.since(self.head, Some(revert)) {
            if graph.is_cut && !commit.parents.iter().all(|parent| graph.has(parent)) {
                return None;
            }
            let added = if let Some(known) = self.added.get(&commit.id) {
                known.clone()
            } else {
                let added = self.added_by(commit, directory);
                self.added.insert(commit.id, added.clone());
                added
            };
            let added = added?;
            if !added.is_empty() {
                all.push(added);
            }
        }
        Some(all)
    }

    /// The files that a commit added to a directory, and none of its parents has.
    fn added_by(&mut self, commit: &CommitNode, directory: &RelPath) -> Option<Rc<Listing>> {
        let tree = self.tree(commit.id, directory)?;
        let before: Option<Vec<_>> = commit.parents.iter().map(|parent| self.tree(*parent, directory)).collect();
        let before = before?;
        // Most commits leave the directory as it was.
        if before.contains(&tree) {
            return Some(Rc::default());
        }
        let mut added = self.files_of(tree)?.as_ref().clone();
        for before in before {
            let before = self.files_of(before)?;
            added.retain(|path, id| before.get(path) != Some(id));
        }
        Some(Rc::new(added))
    }

    /// All reverts in the history, the newest first. Keeps the graph of the commits that were read.
    fn reverts(&mut self, since: i64) -> Vec<Revert> {
        let (mut stating, mut commits) = (Vec::new(), Vec::new());
        let mut number_of_stated = 0;
        let order = Sorting::ByCommitTime(CommitTimeOrder::NewestFirst);
        let Ok(walk) = self.repository.rev_walk([self.head]).sorting(order).all() else {
            return Vec::new();
        };
        for (number, info) in walk.take(MOST_COMMITS).map_while(Result::ok).enumerate() {
            if number >= ALWAYS && info.commit_time() < since {
                break;
            }
            commits.push(CommitNode { id: info.id, parents: info.parent_ids.iter().copied().collect() });
            let Ok(commit) = info.object() else { break };
            let message = commit.message_raw_sloppy();
            if number_of_stated < MOST_STATED && memchr::memmem::find(message, REVERTS.as_bytes()).is_some() {
                let message = message.to_string();
                number_of_stated += stated(&message).len();
                stating.push((info.id, message));
            }
        }
        if stating.is_empty() {
            return Vec::new();
        }
        let is_cut = commits.len() == MOST_COMMITS;
        self.graph = CommitGraph::of(commits, is_cut);
        let mut changed = HashMap::new();
        let mut reverts = Vec::new();
        for (by, message) in stating {
            let Some(own) = self.own_changes(by).filter(|own| !own.by_path.is_empty()) else {
                continue;
            };
            for revert in stated(&message) {
                reverts.extend(self.revert(by, &own, &revert, &mut changed));
            }
            if reverts.len() >= MOST_REVERTS {
                break;
            }
        }
        reverts
    }

    /// A revert of a commit that exists, if its changes take back some of the commit's: a message can name any commit.
    fn revert(
        &mut self,
        by: ObjectId,
        own: &Changes,
        stated: &StatedRevert<'_>,
        changed: &mut HashMap<(ObjectId, Option<ObjectId>), Option<Changes>>,
    ) -> Option<Revert> {
        let commit = self.whole_id(stated.commit)?;
        let mut parents = self.parents(commit)?.into_iter();
        let before = match stated.side {
            Some(side) => Some(parents.find(|parent| parent.to_hex().to_string().starts_with(side))?),
            None => parents.next(),
        };
        let reverted = match changed.entry((commit, before)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(entry) => entry.insert(self.changes(before, commit)),
        };
        let taken = self.taken_back(own, reverted.as_ref()?);
        let revert = Revert { by, commit, before, taken };
        Some(revert).filter(|revert| !revert.taken.is_empty())
    }

    /// The id of the only commit whose id begins with these digits.
    fn whole_id(&self, digits: &str) -> Option<ObjectId> {
        // gix takes 40 digits and fewer for those of a repository with SHA-1.
        let length = self.repository.object_hash().len_in_hex();
        let padded = ObjectId::from_hex(format!("{digits:0<length$}").as_bytes()).ok()?;
        if digits.len() >= length {
            return Some(padded).filter(|_| digits.len() == length);
        }
        let prefix = gix::hash::Prefix::new(&padded, digits.len()).ok()?;
        self.repository.objects.lookup_prefix(prefix, None).ok()??.ok()
    }

    /// Returns whether all files that a revert took back outside of a directory are in HEAD again, as after a reapplied commit
    /// that was rebased: its message names no commit of this history.
    fn is_there_again(&mut self, revert: &Revert, directory: &RelPath) -> bool {
        let Some(Some(head)) = self.root(Some(self.head)) else {
            return false;
        };
        let below = format!("{directory}/");
        let mut code = revert.taken.iter().filter(|taken| !taken.path.starts_with(below.as_bytes()));
        let mut any = false;
        code.all(|taken| {
            any = true;
            let Ok(head) = self.repository.find_tree(head) else {
                return false;
            };
            let there = head.lookup_entry(taken.path.split(|byte| *byte == b'/'));
            let there = there.map(|entry| entry.map(|entry| (entry.mode(), entry.object_id())));
            there.is_ok_and(|there| taken.with_change.contains(&there))
        }) && any
    }

    /// The commits that a revert takes back: one, or a merge with the commits of its side.
    fn side(&self, revert: &Revert) -> Vec<ObjectId> {
        if self.parents(revert.commit).is_none_or(|parents| parents.len() < 2) {
            return vec![revert.commit];
        }
        let side = self.graph.since(revert.commit, revert.before);
        side.map(|commit| commit.id).collect()
    }

    /// The files below a directory in a commit; `None` if they cannot be read.
    fn listing(&mut self, commit: ObjectId, directory: &RelPath) -> Option<Rc<Listing>> {
        let tree = self.tree(commit, directory)?;
        self.files_of(tree)
    }

    /// The tree of a directory in a commit, or `None` inside if it has no such directory.
    #[expect(clippy::option_option, reason = "a commit that cannot be read is not one without the directory")]
    fn tree(&self, commit: ObjectId, directory: &RelPath) -> Option<Option<ObjectId>> {
        let tree = self.repository.find_commit(commit).ok()?.tree().ok()?;
        let entry = tree.lookup_entry_by_path(directory.as_str()).ok()?;
        Some(entry.filter(|entry| entry.mode().is_tree()).map(|entry| entry.object_id()))
    }

    /// The files below a tree; `None` if it cannot be read, or has too many.
    fn files_of(&mut self, tree: Option<ObjectId>) -> Option<Rc<Listing>> {
        let Some(tree) = tree else { return Some(Rc::default()) };
        if let Some(known) = self.listings.get(&tree) {
            return known.clone();
        }
        let files = self.read_files(tree).map(Rc::new);
        self.listings.insert(tree, files.clone());
        files
    }

    fn read_files(&mut self, tree: ObjectId) -> Option<Listing> {
        let mut files = Listing::new();
        let mut next = vec![(String::new(), tree)];
        while let Some((path, id)) = next.pop() {
            for (name, (mode, id)) in self.entries(Some(id))? {
                let path = format!("{path}/{}", String::from_utf8_lossy(&name));
                if mode.is_tree() {
                    next.push((path, id));
                } else if mode.is_blob() {
                    self.kept_left = self.kept_left.checked_sub(1)?;
                    files.insert(path, id);
                }
            }
            if files.len() + next.len() > MOST_FILES {
                return None;
            }
        }
        Some(files)
    }

    /// The names and entries of a tree, none without a tree; `None` if it cannot be read, or too many were read.
    pub(crate) fn entries(&mut self, tree: Option<ObjectId>) -> Option<Vec<(Vec<u8>, FileEntry)>> {
        let mut entries = Vec::new();
        let Some(tree) = tree else { return Some(entries) };
        self.entries_left = self.entries_left.checked_sub(1)?;
        let tree = self.repository.find_tree(tree).ok()?;
        for entry in tree.iter() {
            self.entries_left = self.entries_left.checked_sub(1)?;
            let entry = entry.ok()?;
            entries.push((entry.filename().to_vec(), (entry.mode(), entry.object_id())));
        }
        Some(entries)
    }

    fn files<'l>(
        &mut self,
        listed: impl Iterator<Item = (&'l String, &'l ObjectId)>,
        directory: &RelPath,
    ) -> Option<Vec<CommitFile>> {
        let mut files = Vec::new();
        for (path, id) in listed {
            self.entries_left = self.entries_left.checked_sub(1)?;
            if let Ok(path) = RelPath::new(&format!("{directory}{path}")) {
                files.push(CommitFile { path, blob: (*id).into() });
            }
        }
        Some(files)
    }

    pub(crate) fn blob(&mut self, id: ObjectId, most: u64) -> Option<Vec<u8>> {
        let length = self.repository.find_header(id).ok()?.size();
        self.bytes_left = self.bytes_left.checked_sub(length).filter(|_| length <= most)?;
        Some(self.repository.find_blob(id).ok()?.take_data())
    }
}

/// Returns whether no holding revert undoes a revert. Two reverts with abbreviated ids can name each other, so a revert under
/// examination counts as holding.
fn holds(revert: ObjectId, undone: &HashMap<ObjectId, Vec<ObjectId>>, memo: &mut HashMap<ObjectId, bool>) -> bool {
    if let Some(known) = memo.get(&revert) {
        return *known;
    }
    memo.insert(revert, true);
    let by = undone.get(&revert).map(Vec::as_slice).unwrap_or_default();
    let is_undone = by.iter().any(|by| holds(*by, undone, memo));
    memo.insert(revert, !is_undone);
    !is_undone
}
