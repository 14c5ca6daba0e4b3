//! Objects of another repository that are not accepted yet.
//!
//! git fetches them into a repository of their own, which lies in the folder of the target's objects, where `git gc` removes
//! it if its process was killed. It borrows the target's objects, and has a configuration of ours: no setting of the target
//! takes part in a fetch or a push. Objects that are refused go with it.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::{ChainError, CommitChain};
use crate::git_program::Remote;
use crate::object_id::ObjectId;

/// The most bytes that are fetched at once, packed.
const MAX_INCOMING_BYTES: u64 = 256 << 20;
/// The beginning of the folder's name. `git gc` removes folders and files that begin with `tmp_`.
const PREFIX: &str = "tmp_objdir-muninn-";
/// The ref of the repository that is fetched into.
const REFERENCE: &str = "refs/muninn/incoming";

/// Why objects cannot be taken in.
#[derive(Debug, thiserror::Error)]
pub enum IncomingError {
    /// The folder cannot be made, read or emptied.
    #[error("cannot use {}", path.display())]
    Io {
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The configuration cannot be written.
    #[error("`{0}` is no name of a remote")]
    Remote(String),
    /// An object is too large, or cannot be read.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// Another program damaged what was fetched.
    #[error("{} is not as git leaves it", .0.display())]
    Damaged(PathBuf),
}

/// A repository for objects that are not accepted yet. It is removed when it is dropped.
#[derive(Debug)]
pub struct IncomingObjects {
    /// A bare repository.
    folder: tempfile::TempDir,
    /// The folder of the target's objects.
    target: PathBuf,
}

impl IncomingObjects {
    /// An empty repository beside the objects of a chain. git asks a remote only for what the commits `known` lack. The remote
    /// has its addresses in it.
    pub fn beside(chain: &CommitChain, known: &[ObjectId], remote: &Remote) -> Result<Self, IncomingError> {
        let target = chain.repository().common_dir().join("objects");
        let target = target.canonicalize().map_err(failed(&target))?;
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&target);
        let folder = folder.map_err(failed(&target))?;
        let root = folder.path();
        for inner in ["refs/muninn/known", "objects/info", "objects/pack"] {
            let path = root.join(inner);
            fs::create_dir_all(&path).map_err(failed(&path))?;
        }
        // A line break would begin another path.
        let alternates = target.to_str().filter(|path| !path.contains('\n'));
        let alternates = alternates.ok_or_else(|| IncomingError::Damaged(target.clone()))?;
        let format = chain.repository().object_hash();
        let mut files = vec![
            ("HEAD".to_owned(), "ref: refs/heads/none\n".to_owned()),
            ("objects/info/alternates".to_owned(), format!("{alternates}\n")),
            (
                "config".to_owned(),
                format!(
                    "[core]\n\trepositoryFormatVersion = 1\n\tbare = true\n[extensions]\n\tobjectFormat = {format}\n{}",
                    remote_section(remote)
                        .ok_or_else(|| IncomingError::Remote(remote.name.escape_debug().to_string()))?
                ),
            ),
        ];
        let known = known.iter().enumerate();
        files.extend(known.map(|(number, id)| (format!("refs/muninn/known/{number}"), format!("{id}\n"))));
        for (file, text) in files {
            let path = root.join(file);
            fs::write(&path, text).map_err(failed(&path))?;
        }
        Ok(Self { folder, target })
    }

    /// The repository, for git.
    pub fn git_dir(&self) -> &Path {
        self.folder.path()
    }

    /// The ref that is fetched into.
    pub fn reference(&self) -> &'static str {
        REFERENCE
    }

    /// The fetched commits, on the objects of the target.
    pub fn chain(&self) -> Result<CommitChain, IncomingError> {
        Ok(CommitChain::open(self.folder.path(), REFERENCE)?)
    }

    /// Whether the packs, finished or not, are as large as is allowed.
    pub fn is_full(&self) -> bool {
        let packs = self.folder.path().join("objects/pack").read_dir();
        let sizes = packs.into_iter().flatten().flatten();
        let sizes = sizes.filter_map(|file| file.metadata().ok()).map(|file| file.len());
        sizes.sum::<u64>() > MAX_INCOMING_BYTES
    }

    /// Whether each fetched object is small enough to be read, reachable or not: one that nothing reaches can be the base of
    /// another.
    ///
    /// # Errors
    /// [`IncomingError::Chain`] with the first one that is not.
    pub fn check(&self) -> Result<(), IncomingError> {
        let chain = self.chain()?;
        for file in self.files()? {
            if file.extension().is_some_and(|extension| extension == "idx") {
                let index = gix::odb::pack::index::File::at(&file, chain.repository().object_hash());
                let index = index.map_err(|_| IncomingError::Damaged(file.clone()))?;
                for number in 0..index.num_objects() {
                    small(&chain, index.oid_at_index(number).to_owned())?;
                }
            } else if let Some(id) = loose_id(&file) {
                small(&chain, id)?;
            }
        }
        Ok(())
    }

    /// Moves the objects to those of the target.
    ///
    /// # Errors
    /// [`IncomingError::Io`]; objects that were moved stay, and nothing refers to them.
    pub fn accept(self) -> Result<(), IncomingError> {
        let from = self.folder.path().join("objects");
        let mut files = self.files()?;
        // git looks for a pack when it finds its index, which comes last.
        files.sort_by_key(|file| file.extension().is_some_and(|extension| extension == "idx"));
        for file in files {
            let Ok(inner) = file.strip_prefix(&from) else { continue };
            let to = self.target.join(inner);
            if to.exists() {
                continue;
            }
            if let Some(folder) = to.parent() {
                fs::create_dir_all(folder).map_err(failed(folder))?;
            }
            fs::rename(&file, &to).map_err(failed(&to))?;
        }
        Ok(())
    }

    /// The loose objects, and the files of packs.
    fn files(&self) -> Result<Vec<PathBuf>, IncomingError> {
        let objects = self.folder.path().join("objects");
        let mut files = Vec::new();
        for folder in list(&objects)? {
            let is_loose = folder.file_name().is_some_and(|name| name.len() == 2);
            if is_loose || folder.ends_with("pack") {
                files.extend(list(&folder)?);
            }
        }
        files.retain(|file| !file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("tmp_")));
        Ok(files)
    }
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, IncomingError> {
    let entries = folder.read_dir().map_err(failed(folder))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    paths.collect::<io::Result<_>>().map_err(failed(folder))
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> IncomingError {
    let path = path.to_owned();
    |source| IncomingError::Io { path, source }
}

fn small(chain: &CommitChain, id: gix::ObjectId) -> Result<(), ChainError> {
    chain.small(id.into()).map(drop)
}

fn loose_id(file: &Path) -> Option<gix::ObjectId> {
    let folder = file.parent()?.file_name()?.to_str()?;
    gix::ObjectId::from_hex(format!("{folder}{}", file.file_name()?.to_str()?).as_bytes()).ok()
}

/// The section of a remote in a configuration file; `None` if it cannot have one.
fn remote_section(remote: &Remote) -> Option<String> {
    let mut file = gix::config::File::default();
    if !remote.addresses.is_empty() {
        let mut section = file.new_section("remote", remote.name.as_str()).ok()?;
        for (key, address) in &remote.addresses {
            section.push(key, address.as_str()).ok()?;
        }
    }
    Some(file.to_string())
}
