//! The file: appending lines, and reading its end.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use muninn_base::clock::Clock;
use muninn_base::{Links, open_regular, private_file};
use muninn_text::redact::redact;
use serde::Serialize;
use thiserror::Error;

use super::gossip::gossip;
use super::mutation::Mutation;
use super::{FAILURES_BEFORE_MUTATION, FILE};

/// The most lines and characters of one text.
const MOST_LINES: usize = 2;
const MOST_CHARACTERS: usize = 400;
/// The end of the file that is read for its last lines, in bytes.
const MOST_TAIL: u64 = 64 << 10;
/// The beginning of the file in which a line end is looked for, in bytes.
const LINE_END_WITHIN: u64 = 64 << 10;

/// The worklog of a worktree. It need not exist.
#[derive(Debug, Clone)]
pub struct Worklog {
    root: PathBuf,
    /// The directory of the file that writers lock, and of a second name of the worklog.
    state: PathBuf,
    clock: Clock,
}

/// Why nothing was read or written.
#[derive(Debug, Error)]
pub enum WorklogError {
    /// A file system error.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is a directory or a symbolic link.
    #[error("{} is not an ordinary file", .0.display())]
    NotAFile(PathBuf),
    /// There is no worklog.
    #[error("there is no {FILE} in {}", .0.display())]
    Missing(PathBuf),
    /// A text is empty.
    #[error("the text is empty")]
    Empty,
    /// A text is too long.
    #[error(
        "the text has {lines} lines and {characters} characters, and {MOST_LINES} lines of {MOST_CHARACTERS} are the most: \
         write what was decided, failed or found, and leave the details out"
    )]
    TooLong { lines: usize, characters: usize },
    /// A line begins like a heading, which begins a session or a mutation.
    #[error("a line must not begin with `#`: headings begin sessions and mutations")]
    Heading,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionHeader {
    /// What the session is to do: the first sentence of the first human turn; empty if unknown.
    pub intent: String,
    /// How, if the agent has told.
    pub approach: Option<String>,
    pub agent: Option<String>,
    pub session: Option<String>,
}

/// An appended text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Appended {
    /// Whether a secret was removed from it.
    pub redacted: bool,
    /// The discoveries in it, as they were written.
    #[serde(skip)]
    pub gossip: Vec<String>,
}

/// The last lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tail {
    /// The lines.
    pub text: String,
    /// Whether git's conflict markers are among them.
    pub has_conflict_markers: bool,
}

impl Worklog {
    /// The worklog of the worktree at `root`. The directory `state` has the lock of its writers, and a second name of the file,
    /// by which it can be read after the worktree was removed.
    pub fn new(root: &Path, state: &Path, clock: Clock) -> Self {
        Self { root: root.to_owned(), state: state.to_owned(), clock }
    }

    /// The worklog of a worktree that was removed, whose second name is in the directory `state`.
    pub fn moved(&self, state: &Path) -> Self {
        Self::new(state, state, self.clock.clone())
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.root.join(FILE)
    }

    /// Whether the file exists.
    pub fn exists(&self) -> bool {
        self.path().symlink_metadata().is_ok()
    }

    /// Begins a session: appends its header, after the title if the file is new. Returns whether it is.
    pub fn begin(&self, task: &str, header: &SessionHeader) -> Result<bool, WorklogError> {
        let _lock = self.lock()?;
        let is_new = !self.exists();
        let mut lines = Vec::new();
        if is_new {
            lines.push(format!("# JOURNAL — {}", one_line(task)));
        }
        let words = first_words(&header.intent);
        let words = if words.is_empty() { "session".to_owned() } else { words };
        lines.push(String::new());
        lines.push(format!("## {} — {words}", self.time()));
        if !header.intent.trim().is_empty() {
            lines.push(format!("Intent: {}", one_line(&header.intent)));
        }
        let approach = header.approach.as_deref().map(one_line);
        lines.push(format!("Approach: {}", approach.as_deref().unwrap_or("open")));
        let session = header.session.as_deref().map(|session| format!("session {}", one_line(session)));
        let who: Vec<String> = header.agent.as_deref().map(one_line).into_iter().chain(session).collect();
        if !who.is_empty() {
            lines.push(format!("Agent: {}", who.join(", ")));
        }
        lines.push(String::new());
        self.write(&lines)?;
        Ok(is_new)
    }

    /// Appends a text of one or two lines.
    ///
    /// # Errors
    /// [`WorklogError`]; nothing is written then.
    pub fn append(&self, text: &str) -> Result<Appended, WorklogError> {
        let clean = redact(text.trim());
        let redacted = matches!(clean, Cow::Owned(_));
        let lines: Vec<&str> = clean.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        if lines.is_empty() {
            return Err(WorklogError::Empty);
        }
        let characters = clean.chars().count();
        if lines.len() > MOST_LINES || characters > MOST_CHARACTERS * lines.len() {
            return Err(WorklogError::TooLong { lines: lines.len(), characters });
        }
        if lines.iter().any(|line| line.starts_with('#')) {
            return Err(WorklogError::Heading);
        }
        let kept: Vec<String> = lines.iter().map(|line| one_line(line)).collect();
        let _lock = self.lock()?;
        if !self.exists() {
            return Err(WorklogError::Missing(self.root.clone()));
        }
        self.write(&kept)?;
        let gossip = kept.iter().filter_map(|line| gossip(line));
        Ok(Appended { redacted, gossip: gossip.map(str::to_owned).collect() })
    }

    /// Declares a mutation.
    ///
    /// # Errors
    /// [`WorklogError`]; nothing is written then.
    pub fn mutate(&self, mutation: &Mutation) -> Result<(), WorklogError> {
        let texts = [&mutation.failed_on, &mutation.switching_to, &mutation.rationale];
        if texts.iter().any(|text| text.trim().is_empty()) {
            return Err(WorklogError::Empty);
        }
        let longest = texts.iter().map(|text| text.chars().count()).max().unwrap_or_default();
        if longest > MOST_CHARACTERS {
            return Err(WorklogError::TooLong { lines: 1, characters: longest });
        }
        let [failed_on, switching_to, rationale] = texts.map(|text| one_line(text));
        let kind = mutation.kind;
        let lines = [
            String::new(),
            format!("## MUTATION: {kind} ({})", kind.words()),
            format!("Failed {FAILURES_BEFORE_MUTATION}x on: {failed_on}"),
            format!("Switching to: {switching_to}"),
            format!("Rationale: {rationale}"),
            String::new(),
        ];
        let _lock = self.lock()?;
        if !self.exists() {
            return Err(WorklogError::Missing(self.root.clone()));
        }
        self.write(&lines)
    }

    /// The last lines; `None` if there is no worklog, or nothing in it.
    pub fn tail(&self, most_lines: usize) -> Result<Option<Tail>, WorklogError> {
        if !self.exists() {
            return Ok(None);
        }
        let mut file = self.open()?;
        let read = || -> io::Result<(Vec<u8>, bool)> {
            let size = file.metadata()?.len();
            let start = size.saturating_sub(MOST_TAIL);
            file.seek(SeekFrom::Start(start))?;
            let mut bytes = Vec::new();
            file.take(MOST_TAIL).read_to_end(&mut bytes)?;
            Ok((bytes, start > 0))
        };
        let (bytes, is_cut) = { read }().map_err(|source| self.failed(source))?;
        let text = String::from_utf8_lossy(&bytes);
        let mut lines: Vec<&str> = text.lines().collect();
        if is_cut && lines.len() > 1 {
            // It began before the part that was read.
            lines.remove(0);
        }
        let lines = &lines[lines.len().saturating_sub(most_lines)..];
        let text = lines.join("\n").trim().to_owned();
        let is_marker = |line: &&str| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ");
        Ok((!text.is_empty())
            .then(|| Tail { has_conflict_markers: lines.iter().any(is_marker), text: redact(&text).into_owned() }))
    }

    /// Opens the file, which must be an ordinary one.
    pub(super) fn open(&self) -> Result<File, WorklogError> {
        let path = self.path();
        match open_regular(&path, Links::Refuse) {
            Ok((file, _)) => Ok(file),
            Err(error) if error.kind() == ErrorKind::InvalidInput => Err(WorklogError::NotAFile(path)),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(WorklogError::Missing(self.root.clone())),
            Err(source) => Err(self.failed(source)),
        }
    }

    pub(super) fn failed(&self, source: io::Error) -> WorklogError {
        WorklogError::Io { path: self.path(), source }
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The time in the system's time zone.
    fn time(&self) -> String {
        let zoned = self.clock.now().to_zoned(TimeZone::system());
        zoned.strftime("%Y-%m-%d %H:%M").to_string()
    }

    /// Waits for other writers.
    pub(super) fn lock(&self) -> Result<File, WorklogError> {
        let path = self.state.join("worklog.lock");
        let locked = private_file::dir(&self.state).and_then(|()| private_file::lock(&path));
        locked.map_err(|source| WorklogError::Io { path, source })
    }

    /// Appends lines in one write, with the line ends of the file. A last line without an end gets one.
    fn write(&self, lines: &[String]) -> Result<(), WorklogError> {
        let path = self.path();
        if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Err(WorklogError::NotAFile(path));
        }
        let write = || -> io::Result<()> {
            let mut file = fs::OpenOptions::new().read(true).append(true).create(true).open(&path)?;
            let end = line_end(&mut file)?;
            let mut text = String::new();
            if private_file::ends_within_a_line(&path)? {
                text.push_str(end);
            }
            for line in lines {
                text.push_str(line);
                text.push_str(end);
            }
            file.write_all(text.as_bytes())?;
            file.sync_data()
        };
        write().map_err(|source| self.failed(source))?;
        // The line is written: without a second name it is only lost with the worktree.
        self.link().ok();
        Ok(())
    }

    /// Gives the file its second name, in the state directory. On another file system it is a copy.
    fn link(&self) -> io::Result<()> {
        let new = self.state.join(format!("{FILE}.new"));
        match fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        if fs::hard_link(self.path(), &new).is_err() {
            fs::copy(self.path(), &new)?;
        }
        // The renaming of a name to another one of the same file does nothing, and leaves both.
        fs::rename(&new, self.state.join(FILE))?;
        fs::remove_file(&new).or(Ok(()))
    }

    /// Removes the file and its second name.
    pub(super) fn remove(&self) -> io::Result<()> {
        fs::remove_file(self.path())?;
        fs::remove_file(self.state.join(FILE)).or(Ok(()))
    }
}

/// The line end of the file's first line.
fn line_end(file: &mut File) -> io::Result<&'static str> {
    file.seek(SeekFrom::Start(0))?;
    let mut beginning = Vec::new();
    file.take(LINE_END_WITHIN).read_to_end(&mut beginning)?;
    let first = memchr::memchr(b'\n', &beginning);
    let is_crlf = first.is_some_and(|at| at > 0 && beginning.get(at - 1) == Some(&b'\r'));
    Ok(if is_crlf { "\r\n" } else { "\n" })
}

fn without_controls(text: &str) -> String {
    let kept = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c });
    kept.collect()
}

/// A text on one line, without secrets.
fn one_line(text: &str) -> String {
    // Blanks instead of line ends could hide a secret.
    without_controls(&redact(text))
}

/// The first words of a text, for a heading.
fn first_words(text: &str) -> String {
    const MOST: usize = 8;
    let text = one_line(text);
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let is_cut = words.len() > MOST;
    words.truncate(MOST);
    let words = words.join(" ");
    let words = words.trim_end_matches(['.', ',', ';', ':', '!', '?']);
    if is_cut { format!("{words} ...") } else { words.to_owned() }
}
