//! The way back from a fetch.
//!
//! A merge keeps where the journal was in a ref, which is moved in the same transaction: a commit whose parent is the newest
//! commit before, and whose message names the remote. Undoing puts the entries that were written since on top of that one.

use muninn_repo_tools::{ChainCommit, ChainError, CommitChain, ObjectId, Signature};
use muninn_text::redact::redact;
use serde::Serialize;

use super::error::JournalError;
use super::limits::COMMITTER;
use super::merge::{self, Merged};
use super::store::Journal;

/// The refs are numbered below it.
const BEFORE: &str = "refs/muninn/before-fetch/";
/// The most fetches that can be undone.
const MOST_KEPT: usize = 5;
const SUBJECT: &str = "Before the fetch from ";
const AFTER: &str = "After: ";
const RECEIVED: &str = "Received: ";

/// A fetch that was undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Undone {
    pub remote: String,
    /// The number of entries that came from it, and are gone.
    pub removed: usize,
    /// The number of entries that were written since, and are kept.
    pub kept: usize,
}

/// A fetch that can be undone.
struct Fetch {
    reference: String,
    remote: String,
    before: Option<ObjectId>,
    after: ObjectId,
    received: usize,
}

impl Fetch {
    fn read(chain: &CommitChain, reference: String, id: ObjectId) -> Result<Option<Self>, ChainError> {
        let ChainCommit { parent, message, .. } = chain.commit(id)?;
        let line = |name: &str| message.lines().find_map(|line| line.strip_prefix(name));
        let after = line(AFTER).and_then(ObjectId::from_hex);
        Ok(after.map(|after| Self {
            reference,
            remote: line(SUBJECT).unwrap_or_default().to_owned(),
            before: parent,
            after,
            received: line(RECEIVED).and_then(|count| count.parse().ok()).unwrap_or_default(),
        }))
    }
}

/// The refs of fetches with their numbers, the oldest first.
fn kept(chain: &CommitChain) -> Result<Vec<(u64, String, ObjectId)>, ChainError> {
    let refs = chain.refs_below(BEFORE)?.into_iter();
    let mut kept: Vec<_> =
        refs.filter_map(|(name, id)| Some((name.strip_prefix(BEFORE)?.parse().ok()?, name, id))).collect();
    kept.sort();
    Ok(kept)
}

/// The refs to set and to remove with a merge, so that it can be undone.
pub(super) fn keep(
    chain: &CommitChain,
    before: Option<ObjectId>,
    merged: &Merged,
    remote: &str,
    now: i64,
) -> Result<Vec<(String, Option<ObjectId>)>, ChainError> {
    let who = Signature { name: COMMITTER.0.to_owned(), email: COMMITTER.1.to_owned(), seconds: now, offset: 0 };
    let remote = redact(remote);
    let message = format!("{SUBJECT}{remote}\n\n{AFTER}{}\n{RECEIVED}{}\n", merged.tip, merged.received);
    let commit = chain.write(before, &[], (&who, &who), &message)?;
    let kept = kept(chain)?;
    let number = kept.last().map_or(1, |(last, ..)| last.saturating_add(1));
    let too_many = (kept.len() + 1).saturating_sub(MOST_KEPT);
    let old = kept.into_iter().take(too_many).map(|(_, name, _)| (name, None));
    Ok(old.chain([(format!("{BEFORE}{number}"), Some(commit))]).collect())
}

impl Journal {
    /// Whether there is a fetch to undo.
    pub fn can_undo_fetch(&self) -> Result<bool, JournalError> {
        Ok(!kept(&self.chain()?)?.is_empty())
    }

    /// Returns the journal to where it was before the last fetch that changed it. Entries that were written since are put on
    /// top. Repeated, it undoes the fetch before.
    ///
    /// # Errors
    /// [`JournalError`]; the journal stays as it is then.
    pub fn undo_fetch(&self) -> Result<Undone, JournalError> {
        let _lock = self.lock()?;
        loop {
            let chain = self.chain()?;
            let tip = chain.tip()?;
            let last = kept(&chain)?.pop();
            let fetch = last.map(|(_, name, id)| Fetch::read(&chain, name, id)).transpose()?;
            let fetch = fetch.flatten().ok_or(JournalError::NoFetch)?;
            let mut since = Vec::new();
            for commit in chain.history(tip) {
                let commit = commit?;
                if commit.id == fetch.after {
                    break;
                }
                // Another program has moved the ref: which entries came from the remote is not known.
                if commit.parent.is_none() {
                    let before = fetch.before.map_or_else(|| "nothing".to_owned(), |before| before.to_string());
                    return Err(JournalError::Replaced { before });
                }
                since.push(commit.id);
            }
            let (to, kept) = merge::put_on_top(&chain, &since, Some(fetch.after), fetch.before)?;
            if chain.advance(tip, to, &[(fetch.reference, None)])? {
                return Ok(Undone { remote: fetch.remote, removed: fetch.received, kept: kept.moved });
            }
        }
    }
}
