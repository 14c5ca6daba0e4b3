//! The git repository of a personal memory, which may have been copied from elsewhere.
//!
//! Git follows whatever its directory says: programs in the configuration, a configuration in another directory, links in
//! place of its logs. So git runs only after a look at that directory, and only with commands that never read the files of
//! the memory's directory by themselves: no attributes, filters, nested repositories or submodules take part.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{fs, io};

use muninn_base::private_file;
use muninn_notebooks::personal::layout::is_folder;
use muninn_repo_tools::git;
use tokio_util::sync::CancellationToken;

use super::VersionError;
use crate::process::{End, Ended, MOST_KEPT, run};

/// The longest time of a command of git; a push to a host that does not answer takes longer.
const MOST_TIME: Duration = Duration::from_secs(60);
/// The most bytes of the configuration.
const MOST_CONFIG: u64 = 64 << 10;
/// The most files of the git directory. One that is packed now and then has some thousands.
const MOST_FILES: usize = 100_000;
/// The author where git knows none.
const NOBODY: [&str; 4] = ["-c", "user.name=Muninn", "-c", "user.email=muninn@localhost"];
/// Settings beside those of every git of Muninn. Objects stay private whatever the repository says.
const SETTINGS: [&str; 6] =
    ["-c", "core.sharedRepository=0600", "-c", "core.attributesFile=/dev/null", "-c", "gc.autoDetach=false"];
/// The settings of a repository with which git runs, in the form of `git config --list`: those that git writes by itself, and
/// names. Any other one may name a program.
const ALLOWED: [&str; 13] = [
    "core.repositoryformatversion",
    "core.filemode",
    "core.logallrefupdates",
    "core.sharedrepository",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.symlinks",
    "core.hidedotfiles",
    "receive.denynonfastforwards",
    "user.name",
    "user.email",
    "extensions.objectformat",
    "extensions.refstorage",
];
/// Files with which a git directory takes its configuration, objects or attributes from elsewhere.
const ELSEWHERE: [&str; 6] = [
    "commondir",
    "config.worktree",
    "objects/info/alternates",
    "objects/info/http-alternates",
    "info/attributes",
    "info/grafts",
];
/// Directories of an old form of remotes.
const OLD_REMOTES: [&str; 2] = ["remotes", "branches"];

/// Whether git runs with a setting of the repository.
fn is_allowed(key: &str, value: &str) -> bool {
    if key == "core.bare" {
        return value == "false";
    }
    let is_branch = key.starts_with("branch.");
    let remote = key.strip_prefix("remote.").and_then(|rest| rest.rsplit_once('.'));
    // A remote with the name of an address would be taken for it.
    let is_nick = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let is_remote = remote.is_some_and(|(name, key)| is_nick(name) && ["url", "fetch", "pushurl"].contains(&key));
    is_branch || is_remote || ALLOWED.contains(&key)
}

/// The checked repository.
pub(super) struct Repository<'a> {
    root: &'a Path,
    /// Its git directory.
    directory: PathBuf,
    stopping: &'a CancellationToken,
}

impl<'a> Repository<'a> {
    /// Makes a repository of a directory.
    pub(super) async fn init(root: &'a Path, stopping: &'a CancellationToken) -> Result<(), VersionError> {
        let mut command = git();
        command.args(["init", "--quiet", "--shared=0600"]).arg(root).current_dir(root);
        let ended = output_of(command, b"", MOST_KEPT, stopping).await?;
        succeeded("init", ended).map(drop)
    }

    /// Opens the repository of a directory; `None` if there is none.
    ///
    /// # Errors
    /// [`VersionError`] if it could have git run a program, or write elsewhere.
    pub(super) async fn open(
        root: &'a Path,
        stopping: &'a CancellationToken,
    ) -> Result<Option<Repository<'a>>, VersionError> {
        let directory = root.join(".git");
        let metadata = match directory.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            metadata => metadata.map_err(file_error(&directory))?,
        };
        if !metadata.is_dir() {
            return Err(VersionError::Elsewhere(directory));
        }
        #[cfg(unix)]
        muninn_config::ownership::check_owner(&directory, &metadata, (true, "directory"), "[personal] path")?;
        check_files(&directory)?;
        check_patterns(root)?;
        let repository = Repository { root, directory, stopping };
        repository.check_settings().await?;
        Ok(Some(repository))
    }

    /// The git directory.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Reads the configuration with git's own parser, from outside of the repository, so that nothing in it counts yet.
    async fn check_settings(&self) -> Result<(), VersionError> {
        let path = self.directory.join("config");
        match private_file::read(&path, MOST_CONFIG) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            read => drop(read.map_err(file_error(&path))?),
        }
        let mut command = git();
        command
            .args(["config", "--no-includes", "--null", "--list", "--file"])
            .arg(&path)
            .current_dir(self.root.ancestors().last().unwrap_or(self.root));
        let listed = succeeded("config", output_of(command, b"", MOST_KEPT, self.stopping).await?)?;
        for entry in listed.split_terminator('\0') {
            // A key without a value counts as true.
            let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
            if !is_allowed(key, value) {
                return Err(VersionError::Setting { path, key: key.to_owned() });
            }
        }
        Ok(())
    }

    /// Runs a command of git and returns what it prints.
    ///
    /// # Errors
    /// [`VersionError`] if it fails.
    pub(super) async fn run(
        &self,
        what: &'static str,
        arguments: &[&str],
        input: &str,
    ) -> Result<String, VersionError> {
        succeeded(what, self.output(&[&[what], arguments].concat(), input, MOST_KEPT).await?)
    }

    /// Runs a command of git, of which up to `kept` bytes are kept.
    ///
    /// # Errors
    /// [`VersionError`] if it cannot be started, or takes too long.
    pub(super) async fn output(&self, arguments: &[&str], input: &str, kept: usize) -> Result<Ended, VersionError> {
        self.output_in(self.root, arguments, input, kept).await
    }

    /// Enters objects into the index, in the language of `git update-index --index-info`.
    ///
    /// Git compares files that have just been added with their objects before it writes an index, and runs the filters that
    /// attributes of the directory name for them. In an empty work tree it finds no file.
    ///
    /// # Errors
    /// [`VersionError`] if it fails.
    pub(super) async fn update_index(&self, entries: &str) -> Result<(), VersionError> {
        let empty = tempfile::tempdir().map_err(VersionError::Start)?;
        let arguments = ["update-index", "--add", "--replace", "-z", "--index-info"];
        let ended = self.output_in(empty.path(), &arguments, entries, MOST_KEPT).await?;
        succeeded("update-index", ended).map(drop)
    }

    async fn output_in(
        &self,
        work_tree: &Path,
        arguments: &[&str],
        input: &str,
        kept: usize,
    ) -> Result<Ended, VersionError> {
        let mut command = git();
        command
            .args(SETTINGS)
            .args(arguments)
            .current_dir(work_tree)
            .env("GIT_DIR", &self.directory)
            .env("GIT_WORK_TREE", work_tree)
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1");
        output_of(command, input.as_bytes(), kept, self.stopping).await
    }

    /// The name, the address and the time of a commit: those of git's configuration, or of nobody.
    pub(super) async fn ident(&self, role: &'static str) -> Result<String, VersionError> {
        let known = ["-c", "user.useConfigOnly=true", "var", role];
        let asked = self.output(&known, "", MOST_KEPT).await?;
        let ident = match succeeded("var", asked) {
            Err(VersionError::Git { .. }) => {
                let nobody = [&NOBODY[..], &["var", role]].concat();
                succeeded("var", self.output(&nobody, "", MOST_KEPT).await?)?
            }
            ident => ident?,
        };
        Ok(ident.trim().to_owned())
    }
}

async fn output_of(
    command: Command,
    input: &[u8],
    kept: usize,
    stopping: &CancellationToken,
) -> Result<Ended, VersionError> {
    run(command.into(), input, kept, MOST_TIME, stopping).await.map_err(VersionError::Start)
}

/// What a command printed.
pub(super) fn succeeded(what: &'static str, ended: Ended) -> Result<String, VersionError> {
    match ended.end {
        End::Exited(status) if status.success() => Ok(ended.stdout),
        End::Exited(_) => Err(VersionError::Git { what, message: ended.stderr.trim().to_owned() }),
        End::TimedOut | End::Stopped => Err(VersionError::Ended(what)),
    }
}

/// Refuses a git directory with files that lead elsewhere. Git appends to its logs, and replaces its index, through links.
fn check_files(directory: &Path) -> Result<(), VersionError> {
    for name in ELSEWHERE {
        let path = directory.join(name);
        if path.symlink_metadata().is_ok_and(|metadata| metadata.len() > 0) {
            return Err(VersionError::Elsewhere(path));
        }
    }
    for name in OLD_REMOTES {
        let path = directory.join(name);
        if fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(VersionError::Elsewhere(path));
        }
    }
    let mut looked = 0;
    let mut open = vec![directory.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).map_err(file_error(&folder))? {
            let entry = entry.map_err(file_error(&folder))?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(file_error(&folder))?);
            looked += 1;
            // Hooks do not run.
            if path == directory.join("hooks") {
                continue;
            }
            if looked > MOST_FILES {
                return Err(VersionError::TooMany);
            }
            // Git would wait for a named pipe, also in place of an object, of a pack or of their lists.
            if kind.is_dir() {
                open.push(path);
            } else if !kind.is_file() {
                return Err(VersionError::Elsewhere(path));
            }
        }
    }
    Ok(())
}

/// Refuses files with patterns that are no plain files. Git reads those of all folders with new files, and waits for a named
/// pipe.
fn check_patterns(root: &Path) -> Result<(), VersionError> {
    let mut open = vec![String::new()];
    while let Some(folder) = open.pop() {
        let directory = root.join(&folder);
        let patterns = directory.join(IGNORE_FILE);
        if patterns.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Err(VersionError::Elsewhere(patterns));
        }
        for entry in fs::read_dir(&directory).map_err(file_error(&directory))? {
            let entry = entry.map_err(file_error(&directory))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            if is_folder(&path) && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(path);
            }
        }
    }
    Ok(())
}

pub(super) fn file_error(path: &Path) -> impl FnOnce(io::Error) -> VersionError {
    let path = path.to_owned();
    |source| VersionError::File { path, source }
}

/// The file with patterns of files that are not kept. It is no part of a memory, but of its versions.
pub(super) const IGNORE_FILE: &str = ".gitignore";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_that_name_no_program_and_no_place_are_allowed() {
        for (key, value) in [
            ("core.repositoryformatversion", "1"),
            ("core.bare", "false"),
            ("core.sharedrepository", "0600"),
            ("extensions.objectformat", "sha256"),
            ("extensions.refstorage", "reftable"),
            ("user.email", "ann@example.org"),
            ("branch.main.remote", "origin"),
            ("remote.origin.url", "git@host:me/memory.git"),
            ("remote.my-host_1.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        ] {
            assert!(is_allowed(key, value), "{key}");
        }
        for (key, value) in [
            ("core.bare", "true"),
            ("core.fsmonitor", "./evil"),
            ("core.sshcommand", "evil"),
            ("core.editor", "evil"),
            ("core.pager", "evil"),
            ("core.hookspath", "hooks"),
            ("core.worktree", "/"),
            ("core.attributesfile", "x"),
            ("core.excludesfile", "/etc/passwd"),
            ("core.gitproxy", "evil"),
            ("core.alternaterefscommand", "evil"),
            ("gpg.program", "evil"),
            ("user.signingkey", "x"),
            ("commit.gpgsign", "true"),
            ("credential.helper", "!evil"),
            ("credential.https://host.helper", "!evil"),
            ("include.path", "x"),
            ("includeif.gitdir:/.path", "x"),
            ("filter.x.clean", "evil"),
            ("filter.x.process", "evil"),
            ("diff.x.textconv", "evil"),
            ("merge.x.driver", "evil"),
            ("submodule.x.update", "!evil"),
            ("alias.status", "!evil"),
            ("url.evil:.insteadof", "git@host:"),
            ("remote.origin.uploadpack", "evil"),
            ("remote.origin.receivepack", "evil"),
            ("remote.origin.vcs", "evil"),
            ("remote.origin.proxy", "evil"),
            ("remote.git@host:me/memory.git.url", "evil"),
            ("remote./srv/memory.git.pushurl", "evil"),
            ("remote.pushdefault", "evil"),
            ("extensions.worktreeconfig", "true"),
            ("extensions.partialclone", "origin"),
            ("uploadpack.packobjectshook", "evil"),
            ("gc.recentobjectshook", "evil"),
            ("trailer.x.command", "evil"),
            ("sequence.editor", "evil"),
            ("protocol.ext.allow", "always"),
            ("http.proxy", "evil"),
            ("unknown", "true"),
        ] {
            assert!(!is_allowed(key, value), "{key}");
        }
    }
}
