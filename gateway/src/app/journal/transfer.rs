//! Exchanging a journal with a remote, by the user's git: it knows the transports and the credentials.
//!
//! git runs without hooks and without prompts, and touches no other ref than the journal's and its copy of the remote's.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use muninn_memory::journal::REFERENCE;
use muninn_memory::wiki::PagePath;
use muninn_repo_tools::{ObjectId, git, is_remote};
use serde::Serialize;
use thiserror::Error;

use super::{JournalUseError, SessionJournal};

/// How often a push is tried, if others push at the same time.
const TRIES: usize = 5;

/// The loose objects of one of 256 folders from which git packs: 6,700 of all, git's default.
const LOOSE_OF_256: usize = 27;

/// An exchange with a remote.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Synced {
    /// The number of entries that came from the remote.
    pub received: usize,
    /// The number of entries that were put on top of them.
    pub moved: usize,
    /// Whether the remote has this journal's entries now.
    pub pushed: bool,
    /// The sections with two overviews since.
    pub conflicts: Vec<PagePath>,
}

/// Why nothing was exchanged.
#[derive(Debug, Error)]
pub enum TransferError {
    /// git cannot be started.
    #[error("cannot run git: {0}")]
    Start(std::io::Error),
    /// The name of the remote is an option or has blanks.
    #[error("`{0}` is no name of a remote")]
    Remote(String),
    /// git failed.
    #[error("git {what} {remote}: {message}")]
    Git {
        /// The command.
        what: &'static str,
        /// The remote.
        remote: String,
        /// The error output of git.
        message: String,
    },
    /// git refused the push each time, because others pushed.
    #[error("others keep pushing to {0}: try again")]
    Busy(String),
}

/// Runs git on a journal's repository for a remote.
struct Git<'r> {
    git_dir: PathBuf,
    remote: &'r str,
}

/// git on a repository.
fn git_on(git_dir: &Path) -> Command {
    let mut command = git();
    command.arg("--git-dir").arg(git_dir);
    command
}

impl Git<'_> {
    fn run(&self, what: &'static str, arguments: &[&str]) -> Result<String, TransferError> {
        let mut command = git_on(&self.git_dir);
        command.args(["-c", "fetch.writeCommitGraph=false", "-c", "gc.auto=0", what]);
        let output = command.args(arguments).output().map_err(TransferError::Start)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        match output.status.success() {
            true => Ok(text(&output.stdout)),
            false => Err(TransferError::Git {
                what,
                remote: self.remote.to_owned(),
                message: text(&output.stderr),
            }),
        }
    }

    /// The newest commit of the remote's journal.
    fn tip(&self) -> Result<Option<ObjectId>, TransferError> {
        let listed = self.run("ls-remote", &["--", self.remote, REFERENCE])?;
        Ok(listed.split_whitespace().next().and_then(ObjectId::from_hex))
    }

    /// Fetches the remote's journal into a copy of its ref.
    fn fetch(&self, tip: ObjectId) -> Result<(), TransferError> {
        let copy = format!("+{tip}:refs/muninn/remotes/{}/journal", folder(self.remote));
        let arguments = [
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            // A partial clone would leave out the sections' files, which only git itself fetches later.
            "--no-filter",
            "--",
            self.remote,
        ];
        let by_commit = self.run("fetch", &[&arguments[..], &[&copy]].concat());
        if by_commit.is_ok() {
            return by_commit.map(drop);
        }
        // Old servers give refs only.
        let copy = format!("+{REFERENCE}:refs/muninn/remotes/{}/journal", folder(self.remote));
        self.run("fetch", &[&arguments[..], &[&copy]].concat()).map(drop)
    }

    /// Pushes a commit, if the remote still is where it was. Returns whether it was.
    fn push(&self, to: ObjectId, from: Option<ObjectId>) -> Result<bool, TransferError> {
        let expected = from.map(|from| from.to_string()).unwrap_or_default();
        let lease = format!("--force-with-lease={REFERENCE}:{expected}");
        let spec = format!("{to}:{REFERENCE}");
        match self.run("push", &["--quiet", "--no-verify", &lease, "--", self.remote, &spec]) {
            Ok(_) => Ok(true),
            Err(_) if self.tip()? != from => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// A remote's name, or its address, as a part of a ref's name.
fn folder(remote: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    match remote.chars().all(is_plain) {
        true => remote.to_owned(),
        false => blake3::hash(remote.as_bytes()).to_hex()[..16].to_owned(),
    }
}

impl SessionJournal {
    fn git<'r>(&self, remote: &'r str) -> Result<Git<'r>, TransferError> {
        if !is_remote(remote) {
            return Err(TransferError::Remote(remote.escape_debug().to_string()));
        }
        Ok(Git {
            git_dir: self.journal.git_dir().to_owned(),
            remote,
        })
    }

    /// Takes in the entries of a remote. A remote without a journal has none.
    ///
    /// # Errors
    /// [`JournalUseError`]; the journal stays as it is then.
    pub fn fetch(&self, remote: &str) -> Result<Synced, JournalUseError> {
        let git = self.git(remote)?;
        let mut synced = Synced::default();
        self.take_in(&git, git.tip()?, &mut synced)?;
        Ok(synced)
    }

    /// Gives a remote the entries of this journal. It must have no others.
    ///
    /// # Errors
    /// [`JournalUseError`].
    pub fn push(&self, remote: &str) -> Result<Synced, JournalUseError> {
        let git = self.git(remote)?;
        let (there, here) = (git.tip()?, self.journal.tip()?);
        let mut synced = Synced::default();
        let Some(here) = here.filter(|here| Some(*here) != there) else {
            return Ok(synced);
        };
        if !there.is_none_or(|there| self.journal.has(there)) {
            return Err(TransferError::Git {
                what: "push",
                remote: remote.to_owned(),
                message: "the remote has entries that this journal lacks: `muninn journal sync` takes them in"
                    .to_owned(),
            }
            .into());
        }
        synced.pushed = git.push(here, there)?;
        match synced.pushed {
            true => Ok(synced),
            false => Err(TransferError::Busy(remote.to_owned()).into()),
        }
    }

    /// Takes in the entries of a remote, and gives it those of this journal.
    ///
    /// # Errors
    /// [`JournalUseError`]; entries that were taken in stay.
    pub fn sync(&self, remote: &str) -> Result<Synced, JournalUseError> {
        let git = self.git(remote)?;
        let mut synced = Synced::default();
        for _ in 0..TRIES {
            let there = git.tip()?;
            self.take_in(&git, there, &mut synced)?;
            let Some(here) = self.journal.tip()?.filter(|here| Some(*here) != there) else {
                return Ok(synced);
            };
            if git.push(here, there)? {
                synced.pushed = true;
                return Ok(synced);
            }
        }
        Err(TransferError::Busy(remote.to_owned()).into())
    }

    fn take_in(&self, git: &Git<'_>, there: Option<ObjectId>, synced: &mut Synced) -> Result<(), JournalUseError> {
        let Some(there) = there else { return Ok(()) };
        git.fetch(there)?;
        let merged = self.journal.merge(there)?;
        synced.received += merged.received;
        synced.moved += merged.moved;
        for section in merged.conflicts {
            if !synced.conflicts.contains(&section) {
                synced.conflicts.push(section);
            }
        }
        Ok(())
    }
}

/// Lets git pack a repository in the background, if it has as many loose objects as `git gc --auto` packs.
pub(super) fn pack_in_background(git_dir: &Path) {
    // git's own estimate: the objects of one of 256 folders.
    let loose = git_dir.join("objects").join("17").read_dir();
    if loose.is_ok_and(|loose| loose.count() > LOOSE_OF_256) {
        let mut command = git_on(git_dir);
        command.args(["gc", "--auto", "--quiet"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        match command.spawn() {
            // A process that stays must wait for its children.
            Ok(mut started) => drop(std::thread::spawn(move || started.wait())),
            Err(error) => tracing::warn!(%error, "the journal is not packed: git does not start"),
        }
    }
}
