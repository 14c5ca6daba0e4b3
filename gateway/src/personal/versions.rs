//! Versions of the personal memory in a git repository of its own: a commit for each changed file, whoever changed it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use muninn_memory::personal::{Personal, PersonalError};
use muninn_memory::private_file;
use muninn_repo_tools::{git, is_remote};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::process::{End, Ended, run};

/// The files that are not kept: what can be rebuilt, and what belongs to running programs.
const IGNORED: &str = ".index/\n.daemon.*\n.pending-context\n";
/// More changed files than this are one commit: somebody copied them here.
const MOST_COMMITS: usize = 50;
/// What git leaves in its directory while a person is in the middle of something.
const UNDER_WAY: [&str; 7] = [
    "MERGE_HEAD",
    "BISECT_LOG",
    "sequencer",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "rebase-merge",
    "rebase-apply",
];
/// The longest time of a command of git; a push to a host that does not answer takes longer.
const MOST_TIME: Duration = Duration::from_secs(60);
/// The author where git knows none.
const NOBODY: [&str; 4] = ["-c", "user.name=Muninn", "-c", "user.email=muninn@localhost"];

/// Why a change is not committed.
#[derive(Debug, Error)]
pub enum VersionError {
    /// git cannot be started.
    #[error("cannot run git: {0}")]
    Start(std::io::Error),
    /// git failed.
    #[error("git {what}: {message}")]
    Git {
        /// The command.
        what: &'static str,
        /// The error output of git.
        message: String,
    },
    /// git took too long, or Muninn ends.
    #[error("git {0} did not end in time")]
    Ended(&'static str),
    /// Another git works in the repository.
    #[error("another git works in the repository")]
    Busy,
    /// A person is in the middle of something.
    #[error("the repository has {0}: changes are committed when it is gone")]
    UnderWay(&'static str),
    /// The name of the remote is an option or has blanks.
    #[error("`git.remote` in macrodata.json: `{0}` is no name of a remote")]
    Remote(String),
    /// The settings, or a file.
    #[error(transparent)]
    Personal(#[from] PersonalError),
}

/// The result of a look for changes.
#[derive(Debug, Default)]
pub struct Committed {
    /// The subjects of the commits.
    pub subjects: Vec<String>,
    /// Whether commits wait to be pushed.
    pub is_unpushed: bool,
    /// Why a change, or all of them, waits.
    pub error: Option<VersionError>,
}

/// Makes a repository of the directory, if it is none, and has changes committed from now on.
///
/// # Errors
/// [`VersionError`].
pub async fn begin(personal: &Personal) -> Result<(), VersionError> {
    let git = Git::of(personal, &CancellationToken::new());
    let io = |path: &Path| {
        let path = path.to_owned();
        |source| PersonalError::Io { path, source }
    };
    // The files of git are as private as those that they keep.
    private_file::own_dir(&git.root).map_err(io(&git.root))?;
    if !git.root.join(".git").exists() {
        git.run("init", &["--quiet", "--shared=0600"]).await?;
    }
    let ignored = git.root.join(".gitignore");
    if !ignored.exists() {
        private_file::replace(&ignored, IGNORED.as_bytes()).map_err(io(&ignored))?;
    }
    personal.commit_changes()?;
    let committed = commit(personal, false, &CancellationToken::new()).await;
    match committed.error {
        // A daemon or a gateway commits the same changes.
        None | Some(VersionError::Busy) => Ok(()),
        Some(error) => Err(error),
    }
}

/// Commits what has changed, and pushes it if the settings name a remote. Nothing happens unless the user's settings ask for
/// it, and while the repository is in the middle of a merge or the like. `is_unpushed`: whether earlier commits wait to be pushed.
pub async fn commit(personal: &Personal, is_unpushed: bool, stopping: &CancellationToken) -> Committed {
    let mut committed = Committed {
        is_unpushed,
        ..Committed::default()
    };
    let git = Git::of(personal, stopping);
    if let Err(error) = git.commit_and_push(personal, &mut committed).await {
        committed.error.get_or_insert(error);
    }
    committed
}

/// The repository of a personal memory.
struct Git {
    root: PathBuf,
    stopping: CancellationToken,
}

impl Git {
    fn of(personal: &Personal, stopping: &CancellationToken) -> Git {
        Git {
            root: personal.root().to_owned(),
            stopping: stopping.clone(),
        }
    }

    async fn commit_and_push(&self, personal: &Personal, committed: &mut Committed) -> Result<(), VersionError> {
        let settings = personal.settings()?.git;
        let directory = self.root.join(".git");
        if !settings.enabled || !settings.auto_commit || !directory.is_dir() {
            committed.is_unpushed = false;
            return Ok(());
        }
        if directory.join("index.lock").exists() {
            return Err(VersionError::Busy);
        }
        if let Some(name) = UNDER_WAY.iter().find(|name| directory.join(name).exists()) {
            return Err(VersionError::UnderWay(name));
        }
        let changed = self.changed().await?;
        if changed.len() > MOST_COMMITS {
            let (subject, error) = self.commit_together(&changed).await?;
            committed.subjects.extend(subject);
            committed.error = error;
        } else {
            for change in &changed {
                match self.commit_one(change).await {
                    Ok(subject) => committed.subjects.extend(subject),
                    Err(error @ VersionError::Ended(_)) => return Err(error),
                    // The other files are committed all the same.
                    Err(error) => drop(committed.error.get_or_insert(error)),
                }
            }
        }
        let Some(remote) = settings.remote else {
            committed.is_unpushed = false;
            return Ok(());
        };
        committed.is_unpushed |= !committed.subjects.is_empty();
        if committed.is_unpushed {
            if !is_remote(&remote) {
                return Err(VersionError::Remote(remote));
            }
            let arguments = ["--quiet", "--no-verify", "--", &remote, "HEAD"];
            self.run("push", &arguments).await?;
            committed.is_unpushed = false;
        }
        Ok(())
    }

    /// The changed files.
    async fn changed(&self) -> Result<Vec<Change>, VersionError> {
        let status = [
            "--porcelain=v1",
            "-z",
            "--no-renames",
            "--untracked-files=all",
            "--",
            ".",
            ":(exclude).index",
            ":(exclude).daemon.*",
            ":(exclude).pending-context",
        ];
        let changed = self.run("status", &status).await?;
        let change = |entry: &str| {
            let (state, path) = (entry.get(..2)?, entry.get(3..)?);
            Some(Change {
                path: path.to_owned(),
                is_new: state == "??",
                is_removed: state.contains('D'),
            })
        };
        // Of a very long list only the beginning is kept, and its last path may be a part of one.
        let (complete, _) = changed.rsplit_once('\0').unwrap_or_default();
        Ok(complete.split('\0').filter_map(change).collect())
    }

    /// Commits one file. Other files that a person has staged stay staged.
    async fn commit_one(&self, change: &Change) -> Result<Option<String>, VersionError> {
        let path = &*change.path;
        let subject = match change.is_removed {
            true => format!("Remove {path}"),
            false => format!("Update {path}"),
        };
        if change.is_new {
            self.run("add", &["--", path]).await?;
        }
        let arguments = ["--quiet", "--no-verify", "-m", &subject, "--only", "--", path];
        self.commit_staged(&arguments, &subject).await
    }

    /// Commits many files at once, but for those that git cannot add: the first of their errors is returned.
    async fn commit_together(
        &self,
        changes: &[Change],
    ) -> Result<(Option<String>, Option<VersionError>), VersionError> {
        let paths: Vec<&str> = changes.iter().map(|change| &*change.path).collect();
        let mut first = None;
        for paths in paths.chunks(MOST_COMMITS) {
            match self.run("add", &[&["--ignore-errors", "--"], paths].concat()).await {
                Err(error @ VersionError::Ended(_)) => return Err(error),
                Err(error) => drop(first.get_or_insert(error)),
                Ok(_) => {}
            }
        }
        let subject = format!("Update {} files", paths.len());
        let arguments = ["--quiet", "--no-verify", "-m", &subject];
        let committed = self.commit_staged(&arguments, &subject).await?;
        Ok((committed, first))
    }

    /// Returns the subject of the commit; `None` if another process has committed the same.
    async fn commit_staged(&self, arguments: &[&str], subject: &str) -> Result<Option<String>, VersionError> {
        match self.run("commit", arguments).await {
            Ok(_) => Ok(Some(subject.to_owned())),
            // git says on its standard output that nothing is left to commit.
            Err(VersionError::Git { message, .. }) if message.is_empty() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Runs a command of git. Its arguments after `--` are paths, not patterns, except for `status`.
    async fn run(&self, what: &'static str, arguments: &[&str]) -> Result<String, VersionError> {
        let mut command = git();
        command.args(["-c", "commit.gpgSign=false"]);
        if what == "commit" && !self.knows_author().await {
            command.args(NOBODY);
        }
        if what != "status" {
            command.arg("--literal-pathspecs");
        }
        command.arg(what).args(arguments);
        let ended = self.output_of(command).await?;
        match ended.end {
            End::Exited(status) if status.success() => Ok(ended.stdout),
            End::Exited(_) => Err(VersionError::Git {
                what,
                message: ended.stderr.trim().to_owned(),
            }),
            End::TimedOut | End::Stopped => Err(VersionError::Ended(what)),
        }
    }

    async fn knows_author(&self) -> bool {
        let has_variable = std::env::var_os("GIT_AUTHOR_EMAIL").is_some_and(|email| email != OsStr::new(""));
        let mut command = git();
        command.args(["config", "user.email"]);
        let asked = self.output_of(command).await;
        has_variable || asked.is_ok_and(|asked| matches!(asked.end, End::Exited(status) if status.success()))
    }

    async fn output_of(&self, mut command: Command) -> Result<Ended, VersionError> {
        command.current_dir(&self.root);
        let ended = run(command.into(), "", MOST_TIME, &self.stopping).await;
        ended.map_err(VersionError::Start)
    }
}

/// A changed file.
struct Change {
    path: String,
    is_new: bool,
    is_removed: bool,
}
