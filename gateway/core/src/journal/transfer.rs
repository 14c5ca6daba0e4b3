//! Exchanging a journal with a remote, by the user's git: it knows the transports and the credentials.
//!
//! git runs without hooks and without prompts, with bounds, and in a repository of Muninn's own, so that no setting of the
//! user's repository takes part. The fetched objects are checked before the journal gets it.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use muninn_notebooks::journal::{Condition, IntakeError, Journal, Merged, REFERENCE, Undone};
use muninn_notebooks::wiki::PagePath;
use muninn_repo_tools::{IncomingObjects, ObjectId, Remote, RunLimits, git, run_git, transfer_git};
use serde::Serialize;

use super::transfer_error::TransferError;
use super::{JournalUseError, SessionJournal};

/// How often a push is tried, if others push at the same time.
const TRIES: usize = 5;

/// The most time of a command of git. A peer that accepts a connection and never answers is given up after the silence.
const LIMITS: RunLimits =
    RunLimits { total: Duration::from_mins(10), silence: Duration::from_mins(1), output: 1 << 20 };
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

/// An exchange with a remote.
struct Transfer<'j> {
    journal: &'j Journal,
    remote: Remote,
    limits: RunLimits,
}

impl Transfer<'_> {
    /// An empty repository for git.
    fn repository(&self) -> Result<IncomingObjects, TransferError> {
        self.journal.incoming(&self.remote).map_err(TransferError::Incoming)
    }

    fn run(
        &self,
        repository: &IncomingObjects,
        what: &'static str,
        arguments: &[&str],
    ) -> Result<String, TransferError> {
        let mut command = transfer_git(repository.git_dir());
        if let Some(directory) = &self.remote.directory {
            command.current_dir(directory);
        }
        command.arg(what).args(arguments);
        run_git(command, self.limits, &|| repository.is_full()).map_err(|source| TransferError::Git {
            what,
            remote: self.remote.name.clone(),
            source,
        })
    }

    /// The newest commit of the remote's journal.
    fn tip(&self) -> Result<Option<ObjectId>, TransferError> {
        let listed = self.run(&self.repository()?, "ls-remote", &["--", &self.remote.name, REFERENCE])?;
        let mut lines = listed.lines().filter_map(|line| line.split_once('\t'));
        let found = lines.find(|(_, name)| *name == REFERENCE);
        Ok(found.and_then(|(id, _)| ObjectId::from_hex(id)))
    }

    /// Takes in the remote's journal.
    fn fetch(&self) -> Result<Option<Merged>, JournalUseError> {
        let repository = self.repository()?;
        let arguments = [
            "--progress",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            // A partial clone would leave out the sections' files, which only git itself fetches later.
            "--no-filter",
            "--refmap=",
            "--",
            &self.remote.name,
            &format!("+{REFERENCE}:{}", repository.reference()),
        ];
        self.run(&repository, "fetch", &arguments)?;
        self.journal.take_in(repository, &self.remote).map_err(|error| match error {
            IntakeError::Merge(error) => JournalUseError::Journal(*error),
            source => JournalUseError::Transfer(TransferError::Refused { remote: self.remote.name.clone(), source }),
        })
    }

    /// Pushes a commit, if the remote still is where it was. Returns whether it was.
    fn push(&self, to: ObjectId, from: Option<ObjectId>) -> Result<bool, TransferError> {
        let expected = from.map(|from| from.to_string()).unwrap_or_default();
        let lease = format!("--force-with-lease={REFERENCE}:{expected}");
        let spec = format!("{to}:{REFERENCE}");
        let receive = self.remote.receive_pack().map(|program| format!("--receive-pack={program}"));
        let mut arguments = vec!["--progress", "--no-verify", &lease];
        arguments.extend(receive.as_deref());
        arguments.extend(["--", &self.remote.name, &spec]);
        match self.run(&self.repository()?, "push", &arguments) {
            Ok(_) => Ok(true),
            Err(_) if self.tip()? != from => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl SessionJournal {
    fn transfer(&self, remote: &str) -> Result<Transfer<'_>, JournalUseError> {
        let remote = self.journal.remote(remote, &self.directory)?;
        Ok(Transfer { journal: &self.journal, remote: remote.map_err(TransferError::from)?, limits: LIMITS })
    }

    /// Whether the journal can be read; see [`Journal::condition`].
    pub fn condition(&self) -> Result<Condition, JournalUseError> {
        Ok(self.journal.condition()?)
    }

    /// Whether there is a fetch to undo.
    pub fn can_undo_fetch(&self) -> bool {
        self.journal.can_undo_fetch().unwrap_or(false)
    }

    /// Returns to where the journal was before the last fetch; see [`Journal::undo_fetch`].
    pub fn undo_fetch(&self) -> Result<Undone, JournalUseError> {
        Ok(self.journal.undo_fetch()?)
    }

    /// Takes in the entries of a remote. A remote without a journal has none.
    ///
    /// # Errors
    /// [`JournalUseError`]; the journal stays as it is then.
    pub fn fetch(&self, remote: &str) -> Result<Synced, JournalUseError> {
        let transfer = self.transfer(remote)?;
        let mut synced = Synced::default();
        self.take_in(&transfer, transfer.tip()?, &mut synced)?;
        Ok(synced)
    }

    /// Gives a remote the entries of this journal. It must have no others.
    pub fn push(&self, remote: &str) -> Result<Synced, JournalUseError> {
        let transfer = self.transfer(remote)?;
        let (there, here) = (transfer.tip()?, self.journal.tip()?);
        let mut synced = Synced::default();
        let Some(here) = here.filter(|here| Some(*here) != there) else {
            return Ok(synced);
        };
        if !there.is_none_or(|there| self.journal.has(there)) {
            return Err(TransferError::Behind(remote.to_owned()).into());
        }
        synced.pushed = transfer.push(here, there)?;
        if synced.pushed { Ok(synced) } else { Err(TransferError::Busy(remote.to_owned()).into()) }
    }

    /// Takes in the entries of a remote, and gives it those of this journal.
    ///
    /// # Errors
    /// [`JournalUseError`]; entries that were taken in stay.
    pub fn sync(&self, remote: &str) -> Result<Synced, JournalUseError> {
        let transfer = self.transfer(remote)?;
        let mut synced = Synced::default();
        for _ in 0..TRIES {
            let there = transfer.tip()?;
            self.take_in(&transfer, there, &mut synced)?;
            let Some(here) = self.journal.tip()?.filter(|here| Some(*here) != there) else {
                return Ok(synced);
            };
            if transfer.push(here, there)? {
                synced.pushed = true;
                return Ok(synced);
            }
        }
        Err(TransferError::Busy(remote.to_owned()).into())
    }

    fn take_in(
        &self,
        transfer: &Transfer<'_>,
        there: Option<ObjectId>,
        synced: &mut Synced,
    ) -> Result<(), JournalUseError> {
        // Others can have pushed since: what is fetched counts.
        let Some(merged) = there.and_then(|_| transfer.fetch().transpose()).transpose()? else {
            return Ok(());
        };
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
        let mut command = git();
        command.arg("--git-dir").arg(git_dir).args(["gc", "--auto", "--quiet"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        match command.spawn() {
            // A process that stays must wait for its children.
            Ok(mut started) => drop(std::thread::spawn(move || started.wait())),
            Err(error) => tracing::warn!(%error, "the journal is not packed: git does not start"),
        }
    }
}
