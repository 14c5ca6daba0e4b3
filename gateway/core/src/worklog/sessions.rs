//! What the sessions of a worktree have done with its worklog. It is kept in the state directory, because each hook is a
//! process of its own.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use muninn_base::private_file;
use serde::{Deserialize, Serialize};

/// The most sessions that are kept; the oldest are forgotten first.
const MOST_SESSIONS: usize = 100;
/// The most approaches and edits of a session that are kept.
const MOST_OF_A_SESSION: usize = 50;

/// The sessions of a worktree.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Sessions {
    #[serde(default, flatten)]
    pub(super) place: Place,
    /// The last one is the one that did something last.
    sessions: Vec<SessionState>,
    /// The hashes of gossip that became learnings.
    #[serde(default)]
    pub(super) gossip: BTreeSet<String>,
    /// The hashes of gossip that this user's sessions appended. All other gossip came with the file.
    #[serde(default)]
    pub(super) own_gossip: BTreeSet<String>,
}

/// The worktree of sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Place {
    /// Its root.
    pub(super) worktree: PathBuf,
    /// The git directory that all worktrees of the repository share.
    pub(super) repository: PathBuf,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SessionState {
    pub(super) id: String,
    /// Whether its header is in the worklog.
    pub(super) begun: bool,
    /// Whether it has seen what others wrote before it.
    pub(super) delivered: bool,
    /// Whether it changed a file.
    pub(super) changed_files: bool,
    /// Whether it wrote a line.
    pub(super) wrote: bool,
    /// The ids of the last calls that were observed: a gateway and a hook can see the same one.
    pub(super) seen: Vec<String>,
    /// What it tried, and how often that failed in succession.
    pub(super) attempts: Vec<Attempt>,
    /// Its last edits, to recognise one that is taken back.
    pub(super) edits: Vec<EditDone>,
}

/// An approach that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Attempt {
    /// The command, or the file with the error.
    pub(super) what: String,
    /// The failures in succession.
    pub(super) failures: u32,
    /// Whether a line about it was written since it last worked.
    pub(super) noted: bool,
    /// Whether the agent was told to declare a mutation, and has not yet.
    pub(super) is_due: bool,
    /// Whether it was told.
    pub(super) told: bool,
    /// Whether a further try was held once.
    pub(super) held: bool,
    /// The mutation that was declared after it failed.
    pub(super) mutation: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EditDone {
    pub(super) file: String,
    /// The hashes of the text before and after.
    pub(super) before: String,
    pub(super) after: String,
}

#[derive(Debug, Clone)]
pub(crate) struct SessionsFile {
    path: PathBuf,
    place: Place,
}

impl SessionsFile {
    /// The file in the directory `state`.
    pub(super) fn new(state: &Path, place: Place) -> Self {
        Self { path: state.join("sessions.json"), place }
    }

    /// The file that is in the directory `state`, if there is one.
    pub(super) fn existing(state: &Path) -> Option<Self> {
        let mut file = Self::new(state, Place::default());
        file.place = file.path.exists().then(|| file.read().place)?;
        Some(file)
    }

    /// The worktree.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// The sessions. A damaged file has none, with a warning.
    pub(super) fn read(&self) -> Sessions {
        let bytes = private_file::read_whole(&self.path).unwrap_or_default();
        if bytes.is_empty() {
            return Sessions::default();
        }
        serde_json::from_slice(&bytes).unwrap_or_else(|error| {
            tracing::warn!("{}: {error}; it is begun anew", self.path.display());
            Sessions::default()
        })
    }

    /// Changes a session, and returns what `change` returns.
    pub(super) fn change<T>(&self, id: &str, change: impl FnOnce(&mut SessionState) -> T) -> io::Result<T> {
        self.update(|sessions| {
            let at = sessions.sessions.iter().position(|session| session.id == id);
            let mut session = match at {
                Some(at) => sessions.sessions.remove(at),
                None => SessionState { id: id.to_owned(), ..SessionState::default() },
            };
            let result = change(&mut session);
            keep_last(&mut session.attempts, MOST_OF_A_SESSION);
            keep_last(&mut session.edits, MOST_OF_A_SESSION);
            keep_last(&mut session.seen, MOST_OF_A_SESSION);
            sessions.sessions.push(session);
            keep_last(&mut sessions.sessions, MOST_SESSIONS);
            result
        })
    }

    pub(super) fn update<T>(&self, change: impl FnOnce(&mut Sessions) -> T) -> io::Result<T> {
        private_file::dir(self.path.parent().unwrap_or(Path::new(".")))?;
        let _lock = private_file::lock(&self.path.with_extension("lock"))?;
        let mut sessions = self.read();
        sessions.place.clone_from(&self.place);
        let result = change(&mut sessions);
        private_file::replace(&self.path, &serde_json::to_vec(&sessions)?)?;
        Ok(result)
    }
}

impl Sessions {
    pub(super) fn of(&self, id: &str) -> Option<&SessionState> {
        self.sessions.iter().find(|session| session.id == id)
    }

    pub(super) fn all(&self) -> &[SessionState] {
        &self.sessions
    }
}

impl SessionState {
    /// The attempt at something; a new one if it was not tried before.
    pub(super) fn attempt(&mut self, what: &str) -> &mut Attempt {
        let at = match self.attempts.iter().position(|attempt| attempt.what == what) {
            Some(at) => at,
            None => {
                self.attempts.push(Attempt { what: what.to_owned(), ..Attempt::default() });
                self.attempts.len() - 1
            }
        };
        &mut self.attempts[at]
    }
}

fn keep_last<T>(values: &mut Vec<T>, most: usize) {
    let extra = values.len().saturating_sub(most);
    values.drain(..extra);
}
