use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use muninn_base::{RelPath, Until, with_causes};
use muninn_config::paths;
use muninn_notebooks::worklog::{
    Appended, Archived, FILE, HANDOVER_LINES, Mutation, ParsedWorklog, SessionHeader, Tail, Worklog,
};
use muninn_repo_tools::ReferenceError;
use muninn_repo_tools::history::CommitReader;
use muninn_team::knowledge::metis::current_task;
use muninn_text::redact;
use serde::Serialize;

use super::super::Workspace;
use super::super::memory::{Fact, FactKind};
use super::exclude;
use super::session::{SessionWorklog, WorklogUseError};
use super::sessions::{Place, SessionState, SessionsFile};

/// The confidence of a discovery that a worklog tells.
const GOSSIP_CONFIDENCE: f64 = 0.6;

/// The confidence of one that came with the file.
const FOREIGN_CONFIDENCE: f64 = 0.3;

/// The most discoveries that are taken from a file at once. The last ones count.
const MOST_FOREIGN: usize = 50;

/// The most commits, and the time, in which the author of a line is looked for.
const MOST_COMMITS: usize = 2_000;

const BLAME_TIME: Duration = Duration::from_secs(1);

/// The session of a caller that names none.
const NO_SESSION: &str = "unnamed";

/// The longest intent, in characters.
const MOST_INTENT: usize = 200;

/// The state of a worklog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorklogStatus {
    pub file: PathBuf,
    /// Whether it exists.
    pub exists: bool,
    pub content: ParsedWorklog,
    /// The sessions that changed files and wrote nothing.
    pub silent: Vec<String>,
    /// Whether the task is a branch that was merged into the current one, so that the worklog can be archived.
    pub is_merged: bool,
    /// The removed worktrees of this repository whose worklogs were not archived.
    pub removed: Vec<PathBuf>,
}

impl Workspace {
    /// The worklog.
    ///
    /// # Errors
    /// [`WorklogUseError`] if it is not enabled, or the worktree was not set up.
    pub fn worklog(&self) -> Result<SessionWorklog, WorklogUseError> {
        let settings = self.settings().worklog;
        if !settings.enabled {
            return Err(WorklogUseError::Disabled);
        }
        let engine = self.engine.as_ref().ok_or(WorklogUseError::NoRepository)?;
        if !paths::is_initialised(&self.root) {
            return Err(WorklogUseError::NotInitialised);
        }
        let name = blake3::hash(self.root.as_os_str().as_encoded_bytes()).to_hex();
        let state = self.state_dir.join("worklog").join(&name[..16]);
        Ok(SessionWorklog {
            worklog: Worklog::new(&self.root, &state, self.clock().clone()),
            worktree: engine.worktree().clone(),
            sessions: SessionsFile::new(
                &state,
                Place { worktree: self.root.clone(), repository: engine.worktree().common_dir().to_owned() },
            ),
            state,
            track: settings.track,
        })
    }

    /// The worklog, if it is in use here; a fault is logged.
    pub(crate) fn worklog_in_use(&self) -> Option<SessionWorklog> {
        match self.worklog() {
            Err(WorklogUseError::Disabled | WorklogUseError::NotInitialised | WorklogUseError::NoRepository) => None,
            found => logged(found),
        }
    }

    /// Remembers the discoveries of the worklog that are not remembered yet. Returns their number.
    ///
    /// Those that this user's sessions appended are the user's. All others came with the file, from a clone or from an
    /// editor, and belong to its author: they stay on this machine, with less confidence.
    pub fn remember_gossip(&self, worklog: &SessionWorklog) -> Result<usize, WorklogUseError> {
        if !worklog.worklog.exists() {
            return Ok(0);
        }
        let known = worklog.sessions.read();
        let gossip = worklog.worklog.parsed()?.gossip.into_iter().map(|text| (hash_of(&text), text));
        let mut gossip: Vec<(String, String)> =
            gossip.filter(|(hash, text)| !text.is_empty() && !known.gossip.contains(hash)).collect();
        let foreign = gossip.iter().filter(|(hash, _)| !known.own_gossip.contains(hash)).count();
        let mut skipped = foreign.saturating_sub(MOST_FOREIGN);
        gossip.retain(|(hash, _)| {
            let is_skipped = skipped > 0 && !known.own_gossip.contains(hash);
            skipped -= usize::from(is_skipped);
            !is_skipped
        });
        for (hash, text) in &gossip {
            let memory = self.writable_memory()?;
            if known.own_gossip.contains(hash) {
                memory.remember(&Fact {
                    text: text.clone(),
                    answers: Vec::new(),
                    kind: FactKind::Learning,
                    cites: Vec::new(),
                    reason: None,
                    task: None,
                    confidence: GOSSIP_CONFIDENCE,
                    session: None,
                })?;
            } else {
                memory.quote(text, &worklog.author_of(text), FOREIGN_CONFIDENCE)?;
            }
            worklog.sessions.update(|sessions| sessions.gossip.insert(hash.clone()))?;
        }
        Ok(gossip.len())
    }
}

impl SessionWorklog {
    /// Begins a session, unless it has begun: what others wrote before is the handover, then its header is appended. The
    /// intent is the first sentence of `question`. Returns the handover, if the session has not had it yet.
    pub fn begin(
        &self,
        session: Option<&str>,
        agent: Option<&str>,
        task: Option<&str>,
        question: &str,
    ) -> Result<Option<Tail>, WorklogUseError> {
        let handover = self.handover(session)?;
        let id = session.unwrap_or(NO_SESSION);
        let is_new = self.sessions.change(id, |state| !std::mem::replace(&mut state.begun, true))?;
        if !is_new && session.is_some() {
            return Ok(handover);
        }
        if !self.track
            && let Err(error) = exclude::exclude(&self.worktree)
        {
            tracing::warn!("{error}");
        }
        let header = SessionHeader {
            intent: first_sentence(question),
            approach: None,
            agent: agent.map(str::to_owned),
            session: session.map(str::to_owned),
        };
        self.worklog.begin(&self.task(task)?, &header)?;
        Ok(handover)
    }

    /// The last lines of what others wrote, if the session has not had them; it has then.
    pub fn handover(&self, session: Option<&str>) -> Result<Option<Tail>, WorklogUseError> {
        let is_delivered = |id: &str| self.sessions.read().of(id).is_some_and(|state| state.delivered);
        if session.is_some_and(is_delivered) { Ok(None) } else { self.deliver(session) }
    }

    /// The last lines for a session, also if it had them before, as after a compaction.
    pub fn deliver(&self, session: Option<&str>) -> Result<Option<Tail>, WorklogUseError> {
        let tail = self.worklog.tail(HANDOVER_LINES)?;
        if let Some(id) = session {
            self.sessions.change(id, |state| state.delivered = true)?;
        }
        Ok(tail)
    }

    /// The last lines.
    pub fn tail(&self, lines: usize) -> Result<Option<Tail>, WorklogUseError> {
        Ok(self.worklog.tail(lines)?)
    }

    /// Appends a text of one or two lines. A worklog that does not exist yet is begun.
    pub fn append(&self, session: Option<&str>, agent: Option<&str>, text: &str) -> Result<Appended, WorklogUseError> {
        if !self.worklog.exists() {
            self.begin(session, agent, None, "")?;
        }
        let appended = self.worklog.append(text)?;
        self.sessions.change(session.unwrap_or(NO_SESSION), |state| state.wrote = true)?;
        if !appended.gossip.is_empty() {
            let hashes = appended.gossip.iter().map(|gossip| hash_of(gossip));
            self.sessions.update(|sessions| sessions.own_gossip.extend(hashes))?;
        }
        Ok(appended)
    }

    /// Declares a mutation: what was held may be tried again.
    pub fn mutate(&self, session: Option<&str>, mutation: &Mutation) -> Result<(), WorklogUseError> {
        if !self.worklog.exists() {
            self.begin(session, None, None, "")?;
        }
        self.worklog.mutate(mutation)?;
        let kind = mutation.kind.to_string();
        self.sessions.change(session.unwrap_or(NO_SESSION), |state| {
            state.wrote = true;
            state.declare(&kind);
        })?;
        Ok(())
    }

    /// The state.
    pub fn status(&self) -> Result<WorklogStatus, WorklogUseError> {
        let exists = self.worklog.exists();
        let content = if exists { self.worklog.parsed()? } else { ParsedWorklog::default() };
        let sessions = self.sessions.read();
        let silent = |state: &&SessionState| state.changed_files && !state.wrote;
        let silent = sessions.all().iter().filter(silent).map(|state| state.id.clone());
        let branch = self.worktree.branch()?;
        let of_other = content.task.as_ref().filter(|task| branch.as_ref() != Some(task));
        let is_merged = match of_other {
            Some(task) => self.worktree.has_branch(task)?,
            None => false,
        };
        Ok(WorklogStatus {
            file: self.worklog.path(),
            exists,
            content,
            silent: silent.collect(),
            is_merged,
            removed: self.removed().into_iter().map(|worklog| worklog.sessions.place().worktree.clone()).collect(),
        })
    }

    /// The worklogs of the repository's removed worktrees. They are archived in this one.
    pub fn removed(&self) -> Vec<SessionWorklog> {
        let beside = self.state.parent().and_then(|parent| fs::read_dir(parent).ok());
        let mut states: Vec<PathBuf> = beside.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        states.sort();
        let removed = states.into_iter().filter(|state| state.join(FILE).exists()).filter_map(|state| {
            let sessions = SessionsFile::existing(&state)?;
            let place = sessions.place();
            let is_removed = place.repository == self.worktree.common_dir() && !place.worktree.exists();
            is_removed.then(|| SessionWorklog {
                worklog: self.worklog.moved(&state),
                worktree: self.worktree.clone(),
                sessions,
                state,
                track: self.track,
            })
        });
        removed.collect()
    }

    /// Archives the worklog; see [`Worklog::archive`].
    pub fn archive(&self, task: Option<&str>, keep: bool) -> Result<Archived, WorklogUseError> {
        Ok(self.worklog.archive(&self.worktree, task, keep)?)
    }

    /// Who brought a line into the file: the author of its commit, if git tracks it. The file's name keeps the author apart
    /// from the user of this program, whose name a commit can claim.
    fn author_of(&self, line: &str) -> String {
        let author = || {
            let path = RelPath::new(FILE).ok()?;
            let reader = CommitReader::open(&self.worktree).ok()?;
            reader.author_of_line(&path, line, MOST_COMMITS, &Until::within(BLAME_TIME))
        };
        author().map_or_else(|| FILE.to_owned(), |author| format!("{author} in {FILE}"))
    }

    /// The task: the given one, that of Metis, the branch, or the worktree's name.
    fn task(&self, given: Option<&str>) -> Result<String, ReferenceError> {
        let name = || {
            let name = self.worktree.root().file_name()?;
            Some(name.to_string_lossy().into_owned())
        };
        let task = given.map(str::to_owned).or_else(|| current_task(&self.worktree));
        let task = match task {
            Some(task) => Some(task),
            None => self.worktree.branch()?.or_else(name),
        };
        Ok(task.unwrap_or_else(|| FILE.to_owned()))
    }
}

fn hash_of(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

/// A result without its error, which is logged: a fault of the worklog must not stop an agent.
pub(crate) fn logged<T>(result: Result<T, WorklogUseError>) -> Option<T> {
    result.inspect_err(|error| tracing::warn!("worklog: {}", with_causes(error))).ok()
}

/// The first sentence of a human turn, without secrets.
fn first_sentence(question: &str) -> String {
    let text = redact(question.trim()).into_owned();
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let end = [". ", "! ", "? "].iter().filter_map(|end| line.find(end)).min();
    let sentence = end.map_or(line, |end| &line[..=end]);
    sentence.chars().take(MOST_INTENT).collect()
}

#[cfg(test)]
mod tests {
    use super::first_sentence;

    #[test]
    fn intent_is_the_first_sentence() {
        for (question, intent) in [
            ("Fix the bucket. It leaks.", "Fix the bucket."),
            ("\n\nWhy does v1.2 fail?\nLog: ...", "Why does v1.2 fail?"),
            ("", ""),
        ] {
            assert_eq!(first_sentence(question), intent);
        }
        assert_eq!(first_sentence(&"é".repeat(500)).chars().count(), 200);
    }
}
