//! The record of what was installed, in the state directory: `installs/installs.json` and a backup of each file.
//!
//! A record is written before the files that it describes. If Muninn is stopped in between, uninstalling finds nothing to
//! take back and removes the record.

use std::fs::File;
use std::path::{Path, PathBuf};

use muninn_base::private_file;
use serde::{Deserialize, Serialize};

use super::file::io;
use super::{
    Applied, Change, Client, ClientFile, EditError, FileError, Format, Part, Scope, Setup, Undone, apply, undo,
};

const NAME: &str = "installs.json";

/// One `muninn install`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Install {
    pub(crate) client: Client,
    pub(crate) scope: Scope,
    /// The repository, for [`Scope::Project`].
    pub(crate) root: Option<PathBuf>,
    pub parts: Vec<Part>,
    pub files: Vec<InstalledFile>,
}

/// A file that an install changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InstalledFile {
    pub path: PathBuf,
    pub(crate) format: Format,
    /// The name of the backup, or nothing if the file did not exist.
    pub backup: Option<String>,
    /// The hash of the file after the install.
    pub(crate) after: String,
    pub applied: Vec<Applied>,
    /// The directories that were created, the innermost first.
    #[serde(default)]
    pub(crate) directories: Vec<PathBuf>,
}

impl InstalledFile {
    /// Notes the text that was written, which a client's own command may have formatted.
    pub fn note_text(&mut self, text: Option<&str>) {
        self.after = hash(text.unwrap_or_default());
    }
}

/// The journal, locked while it exists.
pub struct Journal {
    folder: PathBuf,
    installs: Vec<Install>,
    _lock: Option<File>,
}

/// What an install changes: the files, and its record.
pub struct Plan {
    pub changes: Vec<Change>,
    pub install: Install,
    /// The texts that become backups.
    backups: Vec<String>,
}

impl Journal {
    /// Opens the journal. Without `lock` nothing is created, and nothing can be saved.
    pub fn open(state_dir: &Path, lock: bool) -> Result<Journal, FileError> {
        let folder = state_dir.join("installs");
        let made = || {
            private_file::own_dir(state_dir)?;
            private_file::own_dir(&folder)?;
            private_file::lock(&folder.join("lock"))
        };
        let lock = lock.then(made).transpose().map_err(io("create", &folder))?;
        let path = folder.join(NAME);
        let installs = match private_file::read_whole(&path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| FileError::Invalid {
                path,
                format: "JSON",
                message: error.to_string(),
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(io("read", &path)(error)),
        };
        Ok(Journal { folder, installs, _lock: lock })
    }

    pub fn find(&self, client: Client, scope: Scope, root: Option<&Path>) -> Option<&Install> {
        let is_it =
            |install: &&Install| install.client == client && install.scope == scope && install.root.as_deref() == root;
        self.installs.iter().find(is_it)
    }

    /// Plans an install on top of an earlier one.
    ///
    /// # Errors
    /// If a file cannot be edited, or belongs to the install of another scope.
    pub fn plan(&self, setup: &Setup) -> Result<Plan, FileError> {
        let root = setup.root.as_deref();
        let old = self.find(setup.client, setup.scope, root);
        let mut plan = Plan {
            changes: Vec::new(),
            backups: Vec::new(),
            install: Install {
                client: setup.client,
                scope: setup.scope,
                root: setup.root.clone(),
                parts: setup.parts.clone(),
                files: Vec::new(),
            },
        };
        for target in &setup.files {
            let file = ClientFile::read(&target.path, root)?;
            let at = |error: EditError| error.at(target.path.clone(), target.format);
            let text = file.text.as_deref();
            let old = old.and_then(|old| old.files.iter().find(|file| file.path == target.path));
            let earlier = old.map(|old| old.applied.as_slice()).unwrap_or_default();
            let (stale, mut applied): (Vec<_>, Vec<_>) =
                earlier.iter().cloned().partition(|applied| !target.edits.contains(&applied.edit));
            let cleaned = match text {
                Some(text) if !stale.is_empty() => undo(target.format, text, &stale).map_err(at)?.text,
                _ => text.map(str::to_owned),
            };
            let (new_text, new) = apply(target.format, cleaned.as_deref(), &target.edits).map_err(at)?;
            applied.retain(|applied| new.iter().all(|new| new.edit != applied.edit));
            applied.extend(new);
            if applied.is_empty() {
                continue;
            }
            let (backup, mut directories) = match old {
                Some(old) => (self.before(old, &file)?.text, old.directories.clone()),
                None => (file.text.clone(), Vec::new()),
            };
            directories.extend(file.missing_directories());
            plan.install.files.push(InstalledFile {
                path: target.path.clone(),
                format: target.format,
                backup: backup.as_deref().map(backup_name),
                after: hash(&new_text),
                applied,
                directories,
            });
            plan.backups.extend(backup);
            plan.changes.push(Change { file, text: Some(new_text) });
        }
        Ok(plan)
    }

    /// The text that a file has without an install: the backup if nothing else has changed it, else its text without
    /// the install's edits.
    fn before(&self, installed: &InstalledFile, file: &ClientFile) -> Result<Undone, FileError> {
        let Some(text) = &file.text else {
            return Ok(Undone { text: None, kept: Vec::new() });
        };
        if hash(text) == installed.after {
            let text = installed.backup.as_deref().map(|name| self.read_backup(name)).transpose()?;
            return Ok(Undone { text, kept: Vec::new() });
        }
        let mut undone = undo(installed.format, text, &installed.applied)
            .map_err(|error| error.at(installed.path.clone(), installed.format))?;
        let is_blank = |text: &str| text.split_whitespace().collect::<String>().trim_start_matches("{}").is_empty();
        if installed.backup.is_none() && undone.text.as_deref().is_some_and(is_blank) {
            undone.text = None;
        }
        Ok(undone)
    }

    /// Plans the removal of an install. Returns the changes, and the settings that somebody has changed since.
    pub fn plan_removal(&self, install: &Install) -> Result<(Vec<Change>, Vec<String>), FileError> {
        let (mut changes, mut kept) = (Vec::new(), Vec::new());
        for installed in &install.files {
            let file = ClientFile::read(&installed.path, install.root.as_deref())?;
            let undone = self.before(installed, &file)?;
            let names = undone.kept.iter();
            kept.extend(names.map(|name| format!("{name} in {}", installed.path.display())));
            changes.push(Change { file, text: undone.text });
        }
        Ok((changes, kept))
    }

    /// Records an install, with the backups of its files, in place of an earlier one.
    pub fn record(&mut self, plan: &Plan) -> Result<(), FileError> {
        for text in &plan.backups {
            let path = self.folder.join(backup_name(text));
            private_file::replace(&path, text.as_bytes()).map_err(io("write", &path))?;
        }
        self.put(&plan.install)
    }

    /// Replaces the record of an install.
    pub fn put(&mut self, install: &Install) -> Result<(), FileError> {
        self.drop_record(install);
        self.installs.push(install.clone());
        self.save()
    }

    /// Removes the record of an install, and the backups and directories that nothing needs any more.
    pub fn forget(&mut self, install: &Install) -> Result<(), FileError> {
        for directory in install.files.iter().flat_map(|file| &file.directories) {
            // Only an empty one is removed.
            std::fs::remove_dir(directory).ok();
        }
        self.drop_record(install);
        self.save()
    }

    fn drop_record(&mut self, install: &Install) {
        self.installs
            .retain(|other| (other.client, other.scope, &other.root) != (install.client, install.scope, &install.root));
    }

    fn save(&self) -> Result<(), FileError> {
        let path = self.folder.join(NAME);
        let write = || {
            private_file::replace(&path, &serde_json::to_vec_pretty(&self.installs)?)?;
            let files = self.installs.iter().flat_map(|install| &install.files);
            let needed: Vec<_> = files.filter_map(|file| file.backup.as_deref()).collect();
            for entry in std::fs::read_dir(&self.folder)? {
                let path = entry?.path();
                let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                if name.ends_with(".backup") && !needed.contains(&name) {
                    std::fs::remove_file(&path)?;
                }
            }
            Ok(())
        };
        write().map_err(io("write", &path))
    }

    fn read_backup(&self, name: &str) -> Result<String, FileError> {
        let path = self.folder.join(name);
        let text =
            private_file::read_whole(&path).and_then(|text| String::from_utf8(text).map_err(std::io::Error::other));
        text.map_err(io("read", &path))
    }

    /// The path of a file's backup.
    pub fn backup_path(&self, file: &InstalledFile) -> Option<PathBuf> {
        file.backup.as_deref().map(|name| self.folder.join(name))
    }
}

/// Applies the edits of a file to what a client's own command left. Returns nothing if the command did not set `keys`.
pub fn apply_rest(file: ClientFile, setup: &Setup, keys: &[String]) -> Result<Option<Change>, FileError> {
    let Some(target) = setup.files.iter().find(|target| target.path == file.path) else {
        return Ok(None);
    };
    let (text, applied) = apply(target.format, file.text.as_deref(), &target.edits)
        .map_err(|error| error.at(target.path.clone(), target.format))?;
    if applied.iter().any(|applied| applied.edit.keys == keys) {
        return Ok(None);
    }
    Ok(Some(Change { file, text: Some(text) }))
}

/// The hash of a file's text.
fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

fn backup_name(text: &str) -> String {
    format!("{}.backup", &hash(text)[..32])
}
