use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use gix::ObjectId;

use super::graph::CommitGraph;

/// Reads the reverts in the history of one commit.
pub struct RevertReader {
    pub(crate) repository: gix::Repository,
    pub(crate) head: ObjectId,
    pub(crate) graph: CommitGraph,
    /// The files below each tree that was read; `None` for a tree that cannot be read.
    pub(crate) listings: HashMap<ObjectId, Option<Rc<Listing>>>,
    /// The files that each commit added to the directory; `None` if the history does not tell.
    pub(crate) added: HashMap<ObjectId, Option<Rc<Listing>>>,
    pub(crate) entries_left: usize,
    pub(crate) kept_left: usize,
    pub(crate) bytes_left: u64,
}

/// The files of a directory in a commit: paths below it, and ids of their contents.
pub(crate) type Listing = BTreeMap<String, ObjectId>;
