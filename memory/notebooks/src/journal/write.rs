//! Writing entries, and taking in those of other journals.

use std::fs;
use std::time::{Duration, SystemTime};

use muninn_base::private_file;
use muninn_repo_tools::{CommitChain, ObjectId, Signature};
use muninn_text::neutral::{Ground, restore};
use muninn_text::redact::redact;
use serde::Serialize;

use super::entry::{Entry, own_context};
use super::error::JournalError;
use super::limits::{COMMITTER, MOST_BYTES};
use super::log::LogEntry;
use super::merge::{self, Merged};
use super::store::{Journal, section_at, sections_at};
use super::version::Version;
use super::{REFERENCE, conflict, undo};
use crate::wiki::PagePath;

/// The most entries that a refused write names.
const MOST_NAMED: usize = 50;
/// The age at which the lock of a ref was left behind by a killed process: git holds it for milliseconds.
const LOCK_ABANDONED: Duration = Duration::from_secs(30);

/// An entry to write.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    pub text: String,
    /// The new understanding; it stays as it is without.
    pub overview: Option<String>,
    /// A line about it.
    pub summary: Option<String>,
    /// The kind of work; without, the text's own `work_context:` line, else the section.
    pub work_context: Option<String>,
    pub session: Option<String>,
    pub agent: Option<String>,
    pub task: Option<String>,
}

/// A written entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Written {
    /// Its name.
    pub id: String,
    /// The version of the section now.
    pub version: Version,
    /// The number of entries now.
    pub entry_count: u64,
    /// Whether a secret was removed.
    pub redacted: bool,
}

impl Journal {
    /// Writes an entry. The section must be as the writer has `seen` it; other sections may change meanwhile.
    ///
    /// # Errors
    /// [`JournalError`]; nothing is written then.
    pub fn write(&self, section: &PagePath, draft: &Draft, seen: Option<Version>) -> Result<Written, JournalError> {
        let (entry, overview, redacted) = self.checked(section, draft)?;
        let seen = seen.ok_or_else(|| JournalError::NotRead(section.clone()))?;
        let _lock = self.lock()?;
        loop {
            let chain = self.chain()?;
            let tip = chain.tip()?;
            let (mut file, version) = section_at(&chain, tip, section)?;
            let current = self.version(version, tip);
            if current != seen {
                return Err(self.changed(&chain, section, seen, current)?);
            }
            if version == Version::New {
                refuse_case(&chain, tip, section)?;
            }
            file.count = file.count.saturating_add(1);
            if let Some(overview) = &overview {
                // An agent has read the overview without markers.
                file.overview = restore(overview, &file.overview, Ground::Prose).into_owned();
            }
            let (text, now) = (file.render(), self.clock.now().as_second());
            let (path, beside) = (section.file(), conflict::file(section));
            let mut files = vec![(&*path, Some(&*text))];
            // A new overview settles a conflict, which its writer has read.
            if overview.is_some() && conflict::of(&chain, tip, section)?.is_some() {
                files.push((&*beside, None));
            }
            let signature = |(name, email): (&str, &str)| Signature {
                name: name.to_owned(),
                email: email.to_owned(),
                seconds: now,
                offset: 0,
            };
            let author = signature((&self.settings.author.0, &self.settings.author.1));
            let commit = chain.write(tip, &files, (&author, &signature(COMMITTER)), &entry.message())?;
            if version == Version::New {
                // One more file can be one too many to read.
                chain.files(commit)?;
            }
            // A program that is not Muninn can have moved the ref.
            if chain.advance(tip, Some(commit), &[])? {
                let named = LogEntry {
                    commit,
                    section: section.clone(),
                    seconds: now,
                    headline: String::new(),
                    was: Vec::new(),
                };
                let (_, version) = section_at(&chain, Some(commit), section)?;
                return Ok(Written {
                    id: named.name(),
                    version: self.version(version, Some(commit)),
                    entry_count: file.count,
                    redacted,
                });
            }
        }
    }

    /// Takes in the entries of another chain of commits, that of a remote: those that only this journal has are put on top of
    /// it. If both changed an overview, both are kept. [`Journal::undo_fetch`] is the way back.
    ///
    /// # Errors
    /// [`JournalError`]; the journal stays as it is then.
    pub fn merge(&self, other: ObjectId, remote: &str) -> Result<Merged, JournalError> {
        let _lock = self.lock()?;
        loop {
            let chain = self.chain()?;
            let tip = chain.tip()?;
            let merged = merge::onto(&chain, tip, other)?;
            if Some(merged.tip) == tip {
                return Ok(merged);
            }
            // Each side can be within the limits of reading, and both together not.
            chain.files(merged.tip)?;
            let kept = undo::keep(&chain, tip, &merged, remote, self.clock.now().as_second())?;
            if chain.advance(tip, Some(merged.tip), &kept)? {
                return Ok(merged);
            }
        }
    }

    /// The entry and the overview without secrets, and whether there were any.
    fn checked(&self, section: &PagePath, draft: &Draft) -> Result<(Entry, Option<String>, bool), JournalError> {
        let texts = [("entry", Some(&draft.text)), ("overview", draft.overview.as_ref())];
        let others = [("summary", draft.summary.as_ref()), ("work context", draft.work_context.as_ref())];
        for (what, text) in texts.into_iter().chain(others) {
            let text = text.map_or("", String::as_str);
            if text.len() > MOST_BYTES {
                let bytes = text.len();
                return Err(JournalError::TooLong { what, bytes });
            }
            if text.contains('\0') {
                return Err(JournalError::Nul { what });
            }
        }
        if draft.text.trim().is_empty() {
            return Err(JournalError::Empty);
        }
        let mut redacted = false;
        let mut clean = |text: &str| {
            let clean = redact(text).into_owned();
            redacted |= clean != text;
            clean
        };
        let text = clean(&draft.text);
        let own = || own_context(&text).map(str::to_owned);
        let context = draft.work_context.clone().filter(|context| !context.trim().is_empty());
        let context = context.or_else(own).unwrap_or_else(|| section.to_string());
        let entry = Entry {
            section: section.clone(),
            summary: draft.summary.as_deref().map(&mut clean),
            work_context: clean(&context),
            session: draft.session.clone(),
            agent: draft.agent.clone(),
            task: draft.task.clone(),
            was: Vec::new(),
            text,
        };
        let overview = draft.overview.as_deref().map(&mut clean);
        Ok((entry, overview, redacted))
    }

    /// The error that names the entries since a version.
    fn changed(
        &self,
        chain: &CommitChain,
        section: &PagePath,
        seen: Version,
        version: Version,
    ) -> Result<JournalError, JournalError> {
        let log = self.log(chain)?;
        let mut entries = Vec::new();
        let concerned = |entry: &&LogEntry| self.settings.strict || entry.section == *section;
        for entry in log.entries.iter().rev().filter(concerned).take(MOST_NAMED) {
            let (_, then) = section_at(chain, Some(entry.commit), section)?;
            if self.version(then, Some(entry.commit)) == seen {
                break;
            }
            entries.push(entry.listed());
        }
        Ok(JournalError::Changed { section: section.clone(), version, entries })
    }

    /// Waits for other writers. The lock of the ref that a killed one left is removed.
    pub(super) fn lock(&self) -> Result<fs::File, JournalError> {
        let path = self.state.join("journal.lock");
        let lock = private_file::dir(&self.state).and_then(|()| private_file::lock(&path));
        let lock = lock.map_err(|source| JournalError::State { path, source })?;
        let left = self.git_dir.join(format!("{REFERENCE}.lock"));
        let age = left.metadata().and_then(|metadata| metadata.modified());
        let age = age.map(|modified| SystemTime::from(self.clock.now()).duration_since(modified));
        if age.is_ok_and(|age| age.is_ok_and(|age| age > LOCK_ABANDONED)) {
            // If it stays, moving the ref names it.
            fs::remove_file(&left).ok();
        }
        Ok(lock)
    }
}

/// Refuses a section that a file system without case would take for another one.
fn refuse_case(chain: &CommitChain, tip: Option<ObjectId>, section: &PagePath) -> Result<(), JournalError> {
    let Some(tip) = tip else { return Ok(()) };
    let parts: Vec<&str> = section.as_str().split('/').collect();
    for (other, _) in sections_at(chain, tip)? {
        for (part, there) in parts.iter().zip(other.as_str().split('/')) {
            let same = PagePath::new(part).ok().map(|part| part.folded())
                == PagePath::new(there).ok().map(|there| there.folded());
            match (*part == there, same) {
                (true, _) => {}
                (false, true) => return Err(JournalError::Case(other.to_string())),
                (false, false) => break,
            }
        }
    }
    Ok(())
}
