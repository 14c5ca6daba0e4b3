//! The newest commits of a history, and which of them others contain.

use std::collections::HashMap;

use gix::ObjectId;

#[derive(Default)]
pub(crate) struct CommitGraph {
    commits: Vec<CommitNode>,
    positions: HashMap<ObjectId, usize>,
    /// Whether there are more commits than were read.
    pub(super) is_cut: bool,
}

pub(super) struct CommitNode {
    pub(super) id: ObjectId,
    pub(super) parents: Box<[ObjectId]>,
}

impl CommitGraph {
    pub(super) fn of(commits: Vec<CommitNode>, is_cut: bool) -> Self {
        let positions = commits.iter().map(|commit| commit.id).zip(0..).collect();
        Self { commits, positions, is_cut }
    }

    /// Returns whether a commit was read.
    pub(super) fn has(&self, commit: &ObjectId) -> bool {
        self.positions.contains_key(commit)
    }

    /// The commits that one contains and another does not, the first included.
    pub(super) fn since(&self, one: ObjectId, other: Option<ObjectId>) -> impl Iterator<Item = &CommitNode> {
        let mut seen = vec![false; self.commits.len()];
        if let Some(other) = other {
            self.mark(other, &mut seen);
        }
        self.mark(one, &mut seen).into_iter().map(|at| &self.commits[at])
    }

    /// Marks a commit and all that it contains; returns those that were not marked before.
    fn mark(&self, from: ObjectId, seen: &mut [bool]) -> Vec<usize> {
        let mut marked = Vec::new();
        let mut next = vec![from];
        while let Some(id) = next.pop() {
            let Some(at) = self.positions.get(&id).copied().filter(|at| !seen[*at]) else {
                continue;
            };
            seen[at] = true;
            marked.push(at);
            next.extend_from_slice(&self.commits[at].parents);
        }
        marked
    }
}
