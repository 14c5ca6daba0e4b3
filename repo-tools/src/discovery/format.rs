//! The repository's own configuration, as far as git reads it before anything else: its format, and where its files are.
//!
//! git stops at a repository whose version or extension it does not know, because such a repository can mean something
//! else by the same files. So does Muninn, with git's words.

use std::io;
use std::path::Path;

use gix::bstr::{BString, ByteSlice as _};
use gix::config::file::init;
use muninn_base::beginning;

use super::error::{FormatError, NEWEST_VERSION};

/// Extensions that git obeys whatever the version.
const ANY_VERSION: [&str; 4] = ["noop", "partialclone", "preciousobjects", "worktreeconfig"];
/// Extensions that need version 1. git knows the last one since version 2.48.
const VERSION_1: [&str; 5] = ["noop-v1", "objectformat", "compatobjectformat", "refstorage", "relativeworktrees"];
/// Maximum size of a configuration file. A file with thousands of branches has half a megabyte.
const MAX_CONFIG: u64 = 4 << 20;

/// How a repository stores its references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefStorage {
    /// Files below `refs/`, and `packed-refs`.
    Files,
    /// Binary tables below `reftable/`.
    Reftable,
}

/// The format of a repository, and what its configuration says about the worktree.
#[derive(Debug)]
pub(crate) struct RepositoryFormat {
    /// The hash of object ids.
    pub(crate) object_hash: gix::hash::Kind,
    pub(crate) ref_storage: RefStorage,
    /// `core.bare`, if it applies to this worktree.
    pub(super) is_bare: bool,
    /// `core.worktree`, as written, if it applies to this worktree.
    pub(super) worktree: Option<BString>,
    /// `init.defaultBranch`.
    pub(crate) default_branch: Option<String>,
}

impl Default for RepositoryFormat {
    fn default() -> Self {
        Self {
            object_hash: gix::hash::Kind::Sha1,
            ref_storage: RefStorage::Files,
            is_bare: false,
            worktree: None,
            default_branch: None,
        }
    }
}

impl RepositoryFormat {
    /// Reads the configuration of a repository, and of the worktree with this git directory.
    pub(super) fn read(common_dir: &Path, git_dir: &Path) -> Result<Self, FormatError> {
        let Some(config) = ConfigFile::read(common_dir, "config")? else {
            return Ok(Self::default());
        };
        // git ignores the whole file if it has no version.
        let Some(version) = config.version()? else {
            return Ok(Self::default());
        };
        config.boolean("extensions.preciousObjects")?;
        let mut format = config.format(version)?;
        format.default_branch = config.content.string("init.defaultBranch").map(|name| name.to_string());
        let has_own_config = config.boolean("extensions.worktreeConfig")?.unwrap_or(false);
        let own = if has_own_config { ConfigFile::read(git_dir, "config.worktree")? } else { None };
        // Bare or not, and where: that is said of the main worktree, unless worktrees have configurations of their own.
        if !has_own_config && common_dir != git_dir {
            return Ok(format);
        }
        for file in [Some(&config), own.as_ref()].into_iter().flatten() {
            format.is_bare = file.boolean("core.bare")?.unwrap_or(format.is_bare);
            format.worktree = file.text("core.worktree")?.or(format.worktree);
        }
        Ok(format)
    }
}

/// A configuration file. Files that it includes are not read.
struct ConfigFile {
    name: &'static str,
    content: gix::config::File,
}

impl ConfigFile {
    /// Reads a file of a git directory; `None` if it does not exist.
    fn read(directory: &Path, name: &'static str) -> Result<Option<Self>, FormatError> {
        let path = directory.join(name);
        let mut text = match beginning(&path, MAX_CONFIG + 1) {
            Ok(text) if text.len() as u64 > MAX_CONFIG => {
                let source = io::Error::other(format!("it is larger than {MAX_CONFIG} bytes"));
                return Err(FormatError::Read { file: name, source });
            }
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(FormatError::Read { file: name, source }),
        };
        let metadata = gix::config::file::Metadata::from(gix::config::Source::Local).at(path);
        let content = gix::config::File::from_bytes_owned(&mut text, metadata, init::Options::default());
        let content = content.map_err(|error| malformed(name, error))?;
        Ok(Some(Self { name, content }))
    }

    fn boolean(&self, key: &str) -> Result<Option<bool>, FormatError> {
        self.content.boolean(key).map_err(|error| malformed(self.name, error))
    }

    /// The last value of a key. A key without a value is malformed.
    fn text(&self, key: &str) -> Result<Option<BString>, FormatError> {
        match self.content.string_implicit(key) {
            Some(None) => Err(malformed(self.name, io::Error::other(format!("missing value for '{key}'")))),
            text => Ok(text.flatten()),
        }
    }

    /// The version of the repository; `None` if the file has none.
    fn version(&self) -> Result<Option<i64>, FormatError> {
        let version = self.content.integer("core.repositoryFormatVersion");
        let version = version.map_err(|error| malformed(self.name, error))?;
        Ok(version.filter(|version| *version >= 0))
    }

    /// The extensions that the file names, in lower case, each once.
    fn extensions(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for section in self.content.sections_by_name("extensions").into_iter().flatten() {
            let header = section.header();
            let above = header.subsection_name().map(|name| format!("{}.", name.to_str_lossy()));
            for key in section.value_names() {
                let name = format!("{}{}", above.as_deref().unwrap_or_default(), key.to_ascii_lowercase());
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }

    /// The format that the extensions describe, if git knows the version and all of them.
    fn format(&self, version: i64) -> Result<RepositoryFormat, FormatError> {
        let mut format = RepositoryFormat::default();
        if let Some(value) = self.text("extensions.objectFormat")? {
            format.object_hash = object_hash("objectformat", &value)?;
        }
        if let Some(value) = self.text("extensions.compatObjectFormat")? {
            object_hash("compatobjectformat", &value)?;
        }
        if let Some(value) = self.text("extensions.refStorage")? {
            format.ref_storage = match value.to_str_lossy().as_ref() {
                "files" => RefStorage::Files,
                "reftable" => RefStorage::Reftable,
                _ => return Err(unknown_value("refstorage", &value)),
            };
        }
        if version > NEWEST_VERSION {
            return Err(FormatError::Version(version));
        }
        let mut extensions = self.extensions();
        extensions.retain(|name| !ANY_VERSION.contains(&name.as_str()));
        let is_new = |name: &String| VERSION_1.contains(&name.as_str());
        let (known, unknown): (Vec<String>, Vec<String>) = extensions.into_iter().partition(is_new);
        if version >= 1 && !unknown.is_empty() {
            return Err(FormatError::Unknown(unknown));
        }
        if version == 0 && !known.is_empty() {
            return Err(FormatError::NeedsVersion1(known));
        }
        Ok(format)
    }
}

fn object_hash(name: &'static str, value: &BString) -> Result<gix::hash::Kind, FormatError> {
    match value.to_str_lossy().as_ref() {
        "sha1" => Ok(gix::hash::Kind::Sha1),
        "sha256" => Ok(gix::hash::Kind::Sha256),
        _ => Err(unknown_value(name, value)),
    }
}

fn unknown_value(name: &'static str, value: &BString) -> FormatError {
    let value = value.to_str_lossy().into_owned();
    FormatError::Value { name, value }
}

fn malformed(file: &'static str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> FormatError {
    FormatError::Malformed { file, source: source.into() }
}
