//! The trailer `Was: COMMIT` of an entry that a merge has put on top of another journal.
//!
//! A remote's entry can have any trailer. It counts only if both commits are the same entry: same author, time, texts and
//! section. So a remote can neither replace an entry nor remove one.

use std::collections::{HashMap, HashSet};

use muninn_repo_tools::{ChainCommit, ChainError, CommitChain, ObjectId};

use super::entry::Entry;
use super::log::Log;
use super::seen::Seen;

/// The most claims that a merge compares. Entries whose claims are not compared are put on top again, so none is lost.
const MAX_COMPARED: usize = 10_000;

/// Whether a commit is the entry of another one.
fn is_same_entry(commit: &ChainCommit, other: &ChainCommit) -> bool {
    // As messages: blanks at the end of a text that was written by other means are lost when it is written again.
    let text = |commit: &ChainCommit| {
        let entry = Entry::parse(&commit.message)?;
        let was = Vec::new();
        Some(Entry { was, ..entry }.message())
    };
    commit.author == other.author && text(commit).is_some_and(|own| text(other) == Some(own))
}

/// Whether an entry may be named by a commit that it says to have been: it was that one, or the repository has no such
/// commit, because the merge was made elsewhere.
pub(super) fn may_be(chain: &CommitChain, entry: ObjectId, was: ObjectId) -> Result<bool, ChainError> {
    Ok(!chain.knows(was)? || is_same_entry(&chain.commit(entry)?, &chain.commit(was)?))
}

/// The commits of `commits` that entries of `others` were, each with the commit of that entry.
pub(super) fn moved(
    chain: &CommitChain,
    commits: &[Seen],
    others: &[Seen],
) -> Result<HashMap<ObjectId, ObjectId>, ChainError> {
    let commits: HashSet<ObjectId> = commits.iter().map(|seen| seen.id).collect();
    let mut moved = HashMap::new();
    let mut compared = 0;
    for other in others {
        for was in other.was.iter().filter(|was| commits.contains(was)) {
            if compared < MAX_COMPARED && !moved.contains_key(was) {
                compared += 1;
                if is_same_entry(&chain.commit(other.id)?, &chain.commit(*was)?) {
                    moved.insert(*was, other.id);
                }
            }
        }
    }
    Ok(moved)
}

/// The number of entries that say to have been another one, as far as the repository has those.
pub(super) fn count_false(chain: &CommitChain, log: &Log) -> Result<usize, ChainError> {
    let mut count = 0;
    let claims = log.entries.iter().filter(|entry| !entry.was.is_empty());
    for entry in claims.take(MAX_COMPARED) {
        for was in &entry.was {
            if !may_be(chain, entry.commit, *was)? {
                count += 1;
                break;
            }
        }
    }
    Ok(count)
}
