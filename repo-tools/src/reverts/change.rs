//! The changes of commits, and what one commit takes back of another one's.

use std::collections::{BTreeMap, HashMap, HashSet};

use gix::ObjectId;
use gix::objs::tree::EntryMode;

use super::RevertReader;

/// Maximum length of a file whose lines are compared, in bytes.
const MOST_COMPARED: u64 = 1 << 20;

/// A file of a tree.
pub(super) type FileEntry = (EntryMode, ObjectId);

/// A file before and after a commit; `None` where it is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FileChange {
    pub(super) before: Option<FileEntry>,
    pub(super) after: Option<FileEntry>,
}

/// The changes of a commit, by path.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) by_path: BTreeMap<Vec<u8>, FileChange>,
    all: HashSet<FileChange>,
}

/// A path that a revert took back.
#[derive(Debug)]
pub(super) struct TakenBack {
    pub(super) path: Vec<u8>,
    /// The file with the reverted change, in the reverted commit and before the revert.
    pub(super) with_change: [Option<FileEntry>; 2],
}

impl FileChange {
    fn inverse(self) -> Self {
        Self { before: self.after, after: self.before }
    }

    /// Returns whether one content is replaced. Empty files, and modes, are too common to tell a file that was moved.
    fn is_distinctive(self) -> bool {
        let [before, after] = [self.before, self.after].map(|file| file.map(|(_, id)| id));
        before != after && ![before, after].iter().flatten().any(ObjectId::is_empty_blob)
    }
}

impl RevertReader {
    /// The paths at which a commit took back the changes of another: a file is as it was before them, elsewhere too if it was
    /// moved, or exactly the changed lines are as they were.
    pub(super) fn taken_back(&mut self, own: &Changes, reverted: &Changes) -> Vec<TakenBack> {
        let mut taken = Vec::new();
        for (path, change) in &own.by_path {
            let stated = reverted.by_path.get(path);
            let is_moved = stated.is_none() && change.is_distinctive() && reverted.all.contains(&change.inverse());
            let is_taken = is_moved
                || stated.is_some_and(|stated| stated.before == change.after || self.is_inverse(*stated, *change));
            if is_taken {
                taken.push(TakenBack {
                    path: path.clone(),
                    with_change: [stated.map_or(change.before, |stated| stated.after), change.before],
                });
            }
        }
        taken
    }

    /// Returns whether a change of a file takes back exactly the lines of another one. Other lines can differ: somebody
    /// edited them between the two changes.
    fn is_inverse(&mut self, stated: FileChange, change: FileChange) -> bool {
        let mut balance: HashMap<Vec<u8>, [i64; 2]> = HashMap::new();
        let sides = [(stated.before, 0, -1), (stated.after, 0, 1), (change.before, 1, -1), (change.after, 1, 1)];
        for (file, number, sign) in sides {
            let Some(content) = self.compared(file) else {
                return false;
            };
            for line in content.split(|byte| *byte == b'\n') {
                balance.entry(line.to_vec()).or_default()[number] += sign;
            }
        }
        balance.values().all(|[one, other]| *one == -other) && balance.values().any(|[one, _]| *one != 0)
    }

    fn compared(&mut self, file: Option<FileEntry>) -> Option<Vec<u8>> {
        let (_, id) = file.filter(|(mode, _)| mode.is_blob())?;
        self.blob(id, MOST_COMPARED)
    }

    /// The changes of a commit: those that none of its parents has.
    pub(super) fn own_changes(&mut self, commit: ObjectId) -> Option<Changes> {
        let parents = self.parents(commit)?;
        let mut parents = parents.into_iter();
        let mut changes = self.changes(parents.next(), commit)?;
        for other in parents {
            let other = self.changes(Some(other), commit)?;
            changes.by_path.retain(|path, _| other.by_path.contains_key(path));
        }
        changes.all = changes.by_path.values().copied().collect();
        Some(changes)
    }

    /// The changes between two commits.
    pub(super) fn changes(&mut self, before: Option<ObjectId>, after: ObjectId) -> Option<Changes> {
        let trees = [self.root(before)?, self.root(Some(after))?];
        let by_path = self.changed_files(trees)?;
        let all = by_path.values().copied().collect();
        Some(Changes { by_path, all })
    }

    pub(super) fn parents(&self, commit: ObjectId) -> Option<Vec<ObjectId>> {
        let commit = self.repository.find_commit(commit).ok()?;
        Some(commit.parent_ids().map(gix::Id::detach).collect())
    }

    /// The tree of a commit; `None` inside without a commit.
    #[expect(clippy::option_option, reason = "a commit that cannot be read is not one without files")]
    pub(super) fn root(&self, commit: Option<ObjectId>) -> Option<Option<ObjectId>> {
        let Some(commit) = commit else { return Some(None) };
        Some(Some(self.repository.find_commit(commit).ok()?.tree_id().ok()?.detach()))
    }

    /// The changes between two trees; `None` if they cannot be read, or are too many.
    fn changed_files(&mut self, trees: [Option<ObjectId>; 2]) -> Option<BTreeMap<Vec<u8>, FileChange>> {
        let mut changes = BTreeMap::new();
        let mut next = vec![(Vec::new(), trees)];
        while let Some((folder, trees)) = next.pop() {
            if trees[0] == trees[1] {
                continue;
            }
            let mut entries: BTreeMap<Vec<u8>, [Option<FileEntry>; 2]> = BTreeMap::new();
            for (side, tree) in trees.into_iter().enumerate() {
                for (name, entry) in self.entries(tree)? {
                    entries.entry(name).or_default()[side] = Some(entry);
                }
            }
            for (name, sides) in entries.into_iter().filter(|(_, sides)| sides[0] != sides[1]) {
                let path = if folder.is_empty() { name } else { [&folder[..], b"/", &name].concat() };
                let [before, after] = sides.map(|side| side.filter(|(mode, _)| !mode.is_tree()));
                if before != after {
                    self.kept_left = self.kept_left.checked_sub(1)?;
                    changes.insert(path.clone(), FileChange { before, after });
                }
                let trees = sides.map(|side| side.filter(|(mode, _)| mode.is_tree()).map(|(_, id)| id));
                next.push((path, trees));
            }
        }
        Some(changes)
    }
}
