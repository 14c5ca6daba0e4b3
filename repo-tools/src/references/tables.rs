//! References in tables, read and changed by the user's `git`.
//!
//! One call lists what Muninn needs. The list is kept until the tables change, so that a request starts no program
//! unless a reference moved. Which tables are in force is itself a small file, `tables.list`, whose names are never used
//! twice. A worktree has tables of its own for its HEAD.
//!
//! The repository is not trusted: `git` runs without hooks and monitors, fetches nothing, and ends after a few seconds,
//! because a configuration can include a pipe.

use std::collections::HashMap;
use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use muninn_base::beginning;
use parking_lot::Mutex;

use super::{Expected, Head, ReferenceChange, ReferenceError};
use crate::discovery::GitDir;
use crate::git_program::{GitRunError, RunLimits, git, run_git};

/// The references that are listed. With a hundred thousand remote branches all would be megabytes.
const LISTED: [&str; 4] = ["HEAD", "refs/heads", "refs/remotes/origin/HEAD", "refs/muninn"];
const TIME: Duration = Duration::from_secs(3);
/// Maximum time, and length of the output, of a call.
const LIMITS: RunLimits = RunLimits { total: TIME, silence: TIME, output: 64 << 20 };
/// Maximum length of `tables.list`; git merges tables so that there are few.
const MAX_LIST: u64 = 1 << 20;
/// A failure is kept so long, if the tables do not change.
const RETRY: Duration = Duration::from_secs(30);
/// The repositories whose references are kept.
const KEPT: usize = 32;

/// The references of a repository, as seen from one worktree.
#[derive(Debug)]
pub(super) struct RefTable {
    pub(super) head: Head,
    references: HashMap<String, Reference>,
    /// The log of HEAD and of the branches, read when it is needed.
    log: OnceLock<Vec<LogLine>>,
}

#[derive(Debug)]
struct Reference {
    id: gix::ObjectId,
    /// The reference that a symbolic one names.
    target: Option<String>,
}

#[derive(Debug)]
struct LogLine {
    /// `HEAD`, or the full name of a branch.
    reference: String,
    new: gix::ObjectId,
    message: String,
}

/// The tables in force: those of the repository and of the worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Signature {
    shared: Vec<u8>,
    own: Vec<u8>,
}

/// The last result of a repository, and the tables that it belongs to.
struct Kept {
    signature: Signature,
    read: Result<Arc<RefTable>, (String, Instant)>,
}

/// The result of a worktree. Its lock is held during a call, so that others wait for the result.
struct Slot {
    git_dir: PathBuf,
    common_dir: PathBuf,
    kept: Arc<Mutex<Option<Kept>>>,
}

/// The worktrees, the most recently read one last. Journals, worktrees and memories of a process share them.
static SLOTS: Mutex<Vec<Slot>> = Mutex::new(Vec::new());

/// Returns the references of a repository. `git` is called if the tables have changed since the last call.
pub(super) fn read(git: &GitDir) -> Result<Arc<RefTable>, ReferenceError> {
    let slot = slot(git);
    let mut kept = slot.lock();
    let signature = Signature::of(git)?;
    if let Some(last) = kept.as_ref().filter(|last| last.signature == signature) {
        match &last.read {
            Ok(table) => return Ok(Arc::clone(table)),
            Err((message, time)) if time.elapsed() < RETRY => {
                return Err(failed("for-each-ref", &git.path, message.clone()));
            }
            Err(_) => {}
        }
    }
    let read = RefTable::read(&git.path).map(Arc::new);
    *kept = match &read {
        Ok(table) => Some(Kept { signature, read: Ok(Arc::clone(table)) }),
        Err(ReferenceError::Git { message, .. }) => {
            Some(Kept { signature, read: Err((message.clone(), Instant::now())) })
        }
        // Another try costs nothing, and the user can put git on PATH.
        Err(_) => None,
    };
    read
}

/// Returns the references that all worktrees of a repository share, from the worktree that was read last: its next reader
/// finds the same result.
pub(super) fn read_shared(git: &GitDir) -> Result<Arc<RefTable>, ReferenceError> {
    let last = {
        let slots = SLOTS.lock();
        let last = slots.iter().rfind(|slot| slot.common_dir == git.common_dir);
        last.map(|slot| slot.git_dir.clone())
    };
    // The worktree can have been removed since.
    let of_last = last.and_then(|path| read(&GitDir { path, ..git.clone() }).ok());
    of_last.map_or_else(|| read(git), Ok)
}

fn slot(git: &GitDir) -> Arc<Mutex<Option<Kept>>> {
    let mut slots = SLOTS.lock();
    let at = slots.iter().position(|slot| slot.git_dir == git.path);
    let slot = at.map(|at| slots.remove(at)).unwrap_or_else(|| Slot {
        git_dir: git.path.clone(),
        common_dir: git.common_dir.clone(),
        kept: Arc::default(),
    });
    let kept = Arc::clone(&slot.kept);
    slots.push(slot);
    let surplus = slots.len().saturating_sub(KEPT);
    slots.drain(..surplus);
    kept
}

/// Makes changes in one transaction.
pub(super) fn change(git_dir: &Path, changes: &[ReferenceChange]) -> Result<(), ReferenceError> {
    let mut input = String::new();
    for change in changes {
        let name = &change.name;
        let before = match (change.expected, change.to) {
            (Expected::At(Some(from)), _) => Some(from),
            (Expected::At(None), to) => to.map(|to| to.kind().null()),
            (Expected::Any, _) => None,
        };
        let before = before.map_or_else(String::new, |id| id.to_string());
        // Each part ends with a zero byte, an absent one, too.
        input += &match change.to {
            Some(to) => format!("update {name}\0{to}\0{before}\0"),
            None => format!("delete {name}\0{before}\0"),
        };
    }
    let arguments = ["--no-deref", "-m", "muninn", "-z", "--stdin"];
    // A file never blocks the writer, as a pipe does.
    let file = tempfile::tempfile().and_then(|mut file| {
        file.write_all(input.as_bytes())?;
        file.rewind()?;
        Ok(file)
    });
    let file = file.map_err(|error| failed("update-ref", git_dir, error.to_string()))?;
    call_with(git_dir, "update-ref", &arguments, file.into()).map(drop)
}

/// Where a reference is now, whatever was read before.
pub(super) fn now(git_dir: &Path, name: &str) -> Result<Option<gix::ObjectId>, ReferenceError> {
    Ok(RefTable::read(git_dir)?.find(name))
}

impl Signature {
    fn of(git: &GitDir) -> Result<Self, ReferenceError> {
        let list = |directory: &Path| {
            let path = directory.join("reftable/tables.list");
            beginning(&path, MAX_LIST).map_err(|source| ReferenceError::Reference {
                reference: "reftable/tables.list".to_owned(),
                path: directory.to_owned(),
                source: source.into(),
            })
        };
        let shared = list(&git.common_dir)?;
        let own = if git.path == git.common_dir { Vec::new() } else { list(&git.path)? };
        Ok(Self { shared, own })
    }
}

impl RefTable {
    fn read(git_dir: &Path) -> Result<Self, ReferenceError> {
        let format = "--format=%(refname)%00%(objectname)%00%(symref)";
        let listed = call(git_dir, "for-each-ref", &[&["--include-root-refs", format, "--"], &LISTED[..]].concat())?;
        let mut references = HashMap::new();
        for line in listed.lines() {
            let mut parts = line.split('\0');
            let (Some(name), Some(id), Some(target)) = (parts.next(), parts.next(), parts.next()) else {
                continue;
            };
            let Ok(id) = gix::ObjectId::from_hex(id.as_bytes()) else {
                continue;
            };
            let target = Some(target.to_owned()).filter(|target| !target.is_empty());
            references.insert(name.to_owned(), Reference { id, target });
        }
        let head = match references.get("HEAD") {
            Some(head) => Head { name: head.target.clone(), commit: Some(head.id) },
            // A HEAD that leads to no commit is not listed.
            None => Head { name: Some(call(git_dir, "symbolic-ref", &["HEAD"])?.trim_end().to_owned()), commit: None },
        };
        Ok(Self { head, references, log: OnceLock::new() })
    }

    pub(super) fn find(&self, name: &str) -> Option<gix::ObjectId> {
        self.references.get(name).map(|reference| reference.id)
    }

    pub(super) fn below(&self, prefix: &str) -> Vec<(String, gix::ObjectId)> {
        let below = self.references.iter().filter(|(name, _)| name.starts_with(prefix));
        below.map(|(name, reference)| (name.clone(), reference.id)).collect()
    }

    pub(super) fn target(&self, name: &str) -> Option<String> {
        self.references.get(name)?.target.clone()
    }

    /// The first line of a branch's log.
    pub(super) fn creation(
        &self,
        git_dir: &Path,
        branch: &str,
    ) -> Result<Option<(gix::ObjectId, String)>, ReferenceError> {
        let name = format!("refs/heads/{branch}");
        let log = self.log(git_dir)?;
        let first = log.iter().rfind(|line| line.reference == name);
        Ok(first.map(|line| (line.new, line.message.clone())))
    }

    /// The commit of HEAD before the last move with this message.
    pub(super) fn last_left(&self, git_dir: &Path, message: &str) -> Result<Option<gix::ObjectId>, ReferenceError> {
        let log = self.log(git_dir)?;
        let mut of_head = log.iter().filter(|line| line.reference == "HEAD");
        let left = of_head.by_ref().find(|line| line.message.starts_with(message));
        Ok(left.and_then(|_| of_head.next()).map(|before| before.new))
    }

    /// The logs, the newest line first.
    fn log(&self, git_dir: &Path) -> Result<&[LogLine], ReferenceError> {
        if let Some(log) = self.log.get() {
            return Ok(log);
        }
        let log = match self.head.commit {
            Some(_) => {
                let arguments = [
                    "--walk-reflogs",
                    // The repository's configuration names the program that would check signatures.
                    "--no-show-signature",
                    "--no-patch",
                    "--no-notes",
                    "--no-mailmap",
                    "--no-color",
                    "--format=%gD%x00%H%x00%gs",
                    "HEAD",
                    // `--branches` would shorten the names.
                    "--glob=refs/heads",
                    "--",
                ];
                let text = call(git_dir, "log", &arguments)?;
                text.lines().filter_map(LogLine::parse).collect()
            }
            None => Vec::new(),
        };
        Ok(self.log.get_or_init(|| log))
    }
}

impl LogLine {
    /// Reads a line such as `refs/heads/main@{0}`, an id and a message, separated by zero bytes.
    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.split('\0');
        let (place, id, message) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Self {
            reference: place.rsplit_once("@{")?.0.to_owned(),
            new: gix::ObjectId::from_hex(id.as_bytes()).ok()?,
            message: message.to_owned(),
        })
    }
}

/// Runs git on a repository, and returns its output.
fn call(git_dir: &Path, command: &'static str, arguments: &[&str]) -> Result<String, ReferenceError> {
    call_with(git_dir, command, arguments, Stdio::null())
}

fn call_with(
    git_dir: &Path,
    command: &'static str,
    arguments: &[&str],
    input: Stdio,
) -> Result<String, ReferenceError> {
    let mut call: Command = git();
    call.arg("--git-dir").arg(git_dir);
    // The worktree is not needed, and a configured one may be missing.
    call.arg("--work-tree").arg(git_dir);
    call.args(["-c", "reftable.lockTimeout=2000", command]).args(arguments);
    // Not in the repository: PATH can name the current directory, and a repository can hold a program named git.
    call.current_dir("/");
    call.env("LC_ALL", "C").stdin(input);
    match run_git(call, LIMITS, &|| false) {
        Ok(output) if output.len() < LIMITS.output => Ok(output),
        Ok(_) => Err(failed(command, git_dir, format!("its output is longer than {} bytes", LIMITS.output))),
        Err(GitRunError::Start(source)) => Err(ReferenceError::NoGit { path: git_dir.to_owned(), source }),
        Err(error) => Err(failed(command, git_dir, error.to_string())),
    }
}

fn failed(command: &'static str, git_dir: &Path, message: String) -> ReferenceError {
    ReferenceError::Git { command, path: git_dir.to_owned(), message }
}
