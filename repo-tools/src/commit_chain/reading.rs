//! Reading a chain, with bounds. The size of an object is known from its header before it is decoded.

use gix::bstr::ByteSlice as _;
use gix::objs::Kind;

use super::limits::{
    ChainLimit, DELTA_BYTES, MAX_CACHED_BYTES, MAX_COMMIT_BYTES, MAX_COMMITS, MAX_DELTAS, MAX_DEPTH, MAX_ENTRIES,
    MAX_OBJECT_BYTES, MAX_PATH_BYTES, MAX_TREE_BYTES,
};
use super::{ChainCommit, ChainError, ChainFile, CommitChain, Signature};
use crate::object_id::ObjectId;

/// The commits of a chain, the newest first. It ends with [`ChainError::Limit`] where the chain is too long.
pub struct History<'c> {
    chain: &'c CommitChain,
    next: Option<ObjectId>,
    commits: usize,
    bytes: u64,
}

impl Iterator for History<'_> {
    type Item = Result<ChainCommit, ChainError>;

    fn next(&mut self) -> Option<Self::Item> {
        let id = self.next.take()?;
        if self.commits == MAX_COMMITS {
            return Some(Err(self.chain.beyond(ChainLimit::Commits)));
        }
        self.commits += 1;
        let commit = self.chain.small(id).and_then(|header| {
            self.bytes = self.bytes.saturating_add(header.cost());
            if self.bytes > MAX_COMMIT_BYTES {
                return Err(self.chain.beyond(ChainLimit::CommitBytes));
            }
            self.chain.commit(id)
        });
        self.next = commit.as_ref().ok().and_then(|commit| commit.parent);
        Some(commit)
    }
}

/// What is known of an object before it is decoded.
pub(super) struct Header {
    pub(super) kind: Kind,
    bytes: u64,
    /// The deltas between it and its base in a pack.
    deltas: u32,
}

impl Header {
    /// The bytes that decoding it reads and writes. Bases of deltas that are small are cached at times, so that only the
    /// work for the deltas counts.
    fn cost(&self) -> u64 {
        let each = if self.bytes > MAX_CACHED_BYTES { self.bytes } else { DELTA_BYTES };
        self.bytes + each * u64::from(self.deltas)
    }
}

/// A tree that is open while the files of a commit are listed.
struct OpenTree {
    above: String,
    depth: usize,
    id: ObjectId,
}

impl CommitChain {
    /// The header of an object; `None` if it is not in the repository.
    pub(super) fn header(&self, id: ObjectId) -> Result<Option<Header>, ChainError> {
        // A message or a file can name an id of the other kind, which gix cannot look up.
        if id.gix().kind() != self.repository().object_hash() {
            return Ok(None);
        }
        let header = self.repository().try_find_header(id.gix());
        let Some(header) = header.map_err(|error| self.failed(error))? else {
            return Ok(None);
        };
        let deltas = header.num_deltas().unwrap_or_default();
        if deltas > MAX_DELTAS {
            return Err(self.beyond(ChainLimit::Deltas));
        }
        Ok(Some(Header { kind: header.kind(), bytes: header.size(), deltas }))
    }

    /// The header of an object that is small enough to be decoded.
    pub(super) fn small(&self, id: ObjectId) -> Result<Header, ChainError> {
        let reference = || self.reference.clone();
        match self.header(id)? {
            None => Err(ChainError::Missing { reference: reference(), id }),
            Some(Header { bytes, .. }) if bytes > MAX_OBJECT_BYTES => {
                Err(ChainError::TooLarge { reference: reference(), id, bytes })
            }
            Some(found) => Ok(found),
        }
    }

    /// The bytes to read for a file; `None` if the object is no file.
    ///
    /// # Errors
    /// [`ChainError`], also if the file is too large to be read.
    pub fn file_cost(&self, blob: ObjectId) -> Result<Option<u64>, ChainError> {
        let header = self.small(blob)?;
        Ok((header.kind == Kind::Blob).then(|| header.cost()))
    }

    /// The bytes to read for a commit.
    pub fn commit_cost(&self, commit: ObjectId) -> Result<u64, ChainError> {
        self.small(commit).map(|header| header.cost())
    }

    /// Decodes an object, unless it is too large.
    fn object(&self, id: ObjectId) -> Result<gix::Object<'_>, ChainError> {
        self.small(id)?;
        let object = self.repository().find_object(id.gix());
        object.map_err(|error| self.failed(error))
    }

    fn find(&self, id: ObjectId) -> Result<gix::Commit<'_>, ChainError> {
        let object = self.object(id)?;
        object.try_into_commit().map_err(|_| ChainError::NoCommit { reference: format!("{} ({id})", self.reference) })
    }

    fn find_tree(&self, id: ObjectId) -> Result<gix::Tree<'_>, ChainError> {
        let object = self.object(id)?;
        object.try_into_tree().map_err(|error| self.failed(error))
    }

    pub(super) fn tree_id(&self, commit: ObjectId) -> Result<gix::ObjectId, ChainError> {
        let commit = self.find(commit)?;
        let tree = commit.tree_id().map_err(|error| self.failed(error))?;
        Ok(tree.detach())
    }

    fn root(&self, commit: ObjectId) -> Result<ObjectId, ChainError> {
        Ok(self.tree_id(commit)?.into())
    }

    fn beyond(&self, limit: ChainLimit) -> ChainError {
        ChainError::Limit { reference: self.reference.clone(), limit }
    }

    /// Reads a commit.
    ///
    /// # Errors
    /// [`ChainError`] if there is no such commit.
    pub fn commit(&self, id: ObjectId) -> Result<ChainCommit, ChainError> {
        let commit = self.find(id)?;
        let decoded = commit.decode().map_err(|error| self.failed(error))?;
        let author = decoded.author().map_err(|error| self.failed(error))?;
        let time = author.time().unwrap_or_default();
        Ok(ChainCommit {
            id,
            parent: decoded.parents().next().map(ObjectId::from),
            author: Signature {
                name: author.name.to_str_lossy().into_owned(),
                email: author.email.to_str_lossy().into_owned(),
                seconds: time.seconds,
                offset: time.offset,
            },
            message: decoded.message.to_str_lossy().into_owned(),
        })
    }

    /// Whether the repository has a commit with this id, on this chain or elsewhere.
    pub fn knows(&self, id: ObjectId) -> Result<bool, ChainError> {
        Ok(self.header(id)?.is_some_and(|header| header.kind == Kind::Commit))
    }

    /// The text of a file; bytes that are no UTF-8 are replaced. `None` if there is no such file, or it is too large.
    pub fn text(&self, blob: ObjectId) -> Option<String> {
        let object = self.object(blob).ok()?;
        (object.kind == Kind::Blob).then(|| object.data.to_str_lossy().into_owned())
    }

    /// The commits from one back to the first, the newest first, by their first parents.
    pub fn history(&self, from: Option<ObjectId>) -> History<'_> {
        History { chain: self, next: from, commits: 0, bytes: 0 }
    }

    /// A file at a commit; `None` if there is none.
    pub fn file(&self, commit: ObjectId, path: &str) -> Result<Option<ChainFile>, ChainError> {
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut tree = self.find_tree(self.root(commit)?)?;
        for folder in folders.split('/').filter(|folder| !folder.is_empty()) {
            let entry = tree.find_entry(folder).filter(|entry| entry.mode().is_tree());
            let Some(id) = entry.map(|entry| ObjectId::from(entry.oid().to_owned())) else {
                return Ok(None);
            };
            tree = self.find_tree(id)?;
        }
        let entry = tree.find_entry(name).filter(|entry| entry.mode().is_blob());
        let Some(id) = entry.map(|entry| ObjectId::from(entry.oid().to_owned())) else {
            return Ok(None);
        };
        let object = self.object(id)?;
        Ok((object.kind == Kind::Blob).then(|| ChainFile { id, text: object.data.to_str_lossy().into_owned() }))
    }

    /// The paths of all files at a commit with the ids of their contents, sorted. Names that are no UTF-8 are left out.
    ///
    /// # Errors
    /// [`ChainError`], and [`ChainError::Limit`] if there are too many files and folders.
    pub fn files(&self, commit: ObjectId) -> Result<Vec<(String, ObjectId)>, ChainError> {
        let (mut entries, mut bytes) = (0, 0);
        let mut files = Vec::new();
        let mut open = vec![OpenTree { above: String::new(), depth: 1, id: self.root(commit)? }];
        while let Some(OpenTree { above, depth, id }) = open.pop() {
            bytes += self.small(id)?.cost();
            if bytes > MAX_TREE_BYTES {
                return Err(self.beyond(ChainLimit::TreeBytes));
            }
            let tree = self.find_tree(id)?;
            for entry in tree.iter() {
                let entry = entry.map_err(|error| self.failed(error))?;
                entries += 1;
                if entries > MAX_ENTRIES {
                    return Err(self.beyond(ChainLimit::Entries));
                }
                if above.len() + entry.filename().len() > MAX_PATH_BYTES {
                    return Err(self.beyond(ChainLimit::PathBytes));
                }
                let Ok(name) = entry.filename().to_str() else { continue };
                let id = ObjectId::from(entry.oid().to_owned());
                let path = format!("{above}{name}");
                if entry.mode().is_tree() {
                    if depth == MAX_DEPTH {
                        return Err(self.beyond(ChainLimit::Depth));
                    }
                    open.push(OpenTree { above: format!("{path}/"), depth: depth + 1, id });
                } else if entry.mode().is_blob() {
                    files.push((path, id));
                }
            }
        }
        files.sort();
        Ok(files)
    }
}
