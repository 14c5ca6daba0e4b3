//! Which blocks were made for this conversation.

use crate::store::{Entry, EntryId, Store, StoreError, Use, is_recent};
use crate::wire::{Insertion, Prompt, Site};

use super::{Boundary, Chain};

/// A turn of this conversation that has an entry in the ledger.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// The point of the conversation.
    pub boundary: Boundary,
    /// What was done there.
    pub entry: Entry,
}

/// Everything that the ledger knows about a conversation.
#[derive(Debug, Default)]
pub struct Replay {
    /// The turns that have an entry, in order.
    pub turns: Vec<Replayed>,
    /// All places where this session has a row, also those that count for nothing in this history.
    pub recorded: Vec<Site>,
}

impl Replay {
    /// The insertions that put every earlier block back.
    #[must_use]
    pub fn insertions(&self, prompt: &Prompt<'_>) -> Vec<Insertion> {
        let with_block = self
            .turns
            .iter()
            .filter_map(|turn| Some((turn, turn.entry.block.as_deref()?)));
        with_block
            .flat_map(|(turn, block)| prompt.insert(turn.boundary.site, block))
            .collect()
    }

    /// The blocks, in order.
    pub fn each_block(&self) -> impl Iterator<Item = &str> {
        self.turns.iter().filter_map(|turn| turn.entry.block.as_deref())
    }

    /// Tokens of all blocks.
    #[must_use]
    pub fn tokens(&self) -> u32 {
        self.turns
            .iter()
            .filter(|turn| turn.entry.block.is_some())
            .map(|turn| turn.entry.tokens)
            .sum()
    }

    /// Number of blocks.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.each_block().count()
    }

    /// All rows, and how the conversation went on after each where that is new.
    #[must_use]
    pub fn uses(&self, session: Option<&str>) -> Vec<Use> {
        let used = |turn: &Replayed| Use {
            entry: turn.entry.id,
            continuation: turn
                .boundary
                .continuation
                .filter(|continuation| !turn.entry.continuations.contains(continuation)),
            adopted_by: (turn.entry.session.as_deref() != session).then(|| session.unwrap_or_default().to_owned()),
        };
        self.turns.iter().map(used).collect()
    }

    /// The rows of all turns before a place.
    #[must_use]
    pub fn before(&self, site: Site) -> Vec<EntryId> {
        let before = self.turns.iter().filter(|turn| turn.boundary.site < site);
        before.map(|turn| turn.entry.id).collect()
    }

    /// Whether a place has no row of this session, and no block of another's to be taken over. That another session went
    /// without is not taken over but written again, since it may not be in the database yet.
    #[must_use]
    pub fn is_unknown(&self, site: Site) -> bool {
        let has_block = self.at(site).is_some_and(|entry| entry.block.is_some());
        !self.recorded.contains(&site) && !has_block
    }

    /// The entries within one message.
    pub fn within(&self, message: usize) -> impl Iterator<Item = &Entry> {
        let within = self
            .turns
            .iter()
            .filter(move |turn| turn.boundary.site.message == message);
        within.map(|turn| &turn.entry)
    }

    /// The entry of one turn.
    #[must_use]
    pub fn at(&self, site: Site) -> Option<&Entry> {
        self.turns
            .iter()
            .find(|turn| turn.boundary.site == site)
            .map(|turn| &turn.entry)
    }
}

/// Looks a conversation up.
///
/// Each row tells which rows stood before it, so the newest one of this session decides about all of the history up to
/// it: whatever was sent once is sent again, also where other sessions, or this one on another branch, had something
/// else at the same words. A conversation without a row of its own goes on from another session's (a fork, a resumed
/// session under a new id), and has its history from there in the same way.
///
/// # Errors
/// [`StoreError`] where the ledger cannot be read; the conversation then has to go on unreplayed.
pub async fn replay(
    chain: &Chain,
    session: Option<&str>,
    store: &dyn Store,
    now_ms: i64,
) -> Result<Replay, StoreError> {
    let keys: Vec<_> = chain.boundaries.iter().map(|boundary| boundary.key).collect();
    let rows = store.entries(&keys).await?;
    let is_recorded = |rows: &[Entry]| rows.iter().any(|row| row.session.as_deref() == session);
    let recorded = chain.boundaries.iter().zip(&rows).filter(|(_, rows)| is_recorded(rows));
    Ok(Replay {
        turns: history(chain, &rows, session, now_ms),
        recorded: recorded.map(|(boundary, _)| boundary.site).collect(),
    })
}

fn history(chain: &Chain, rows: &[Vec<Entry>], session: Option<&str>, now_ms: i64) -> Vec<Replayed> {
    let newest = |own: bool| {
        let places = chain.boundaries.iter().zip(rows).enumerate().rev();
        places
            .filter_map(|(index, (boundary, rows))| Some((index, choose(rows, boundary, session, own, now_ms)?)))
            .find(|(index, row)| own || is_of_this_history(row, &chain.boundaries[..*index], rows))
    };
    let Some((last, newest)) = newest(true).or_else(|| newest(false)) else {
        return Vec::new();
    };
    let before = chain
        .boundaries
        .iter()
        .zip(rows)
        .take(last)
        .filter_map(|(boundary, rows)| {
            let entry = rows.iter().find(|row| newest.before.contains(&row.id))?;
            Some(Replayed {
                boundary: *boundary,
                entry: entry.clone(),
            })
        });
    let mut turns: Vec<_> = before.collect();
    turns.push(Replayed {
        boundary: chain.boundaries[last],
        entry: newest.clone(),
    });
    turns
}

/// Whether another session's row may have this history before it. Answers without a text leave no trace in a key, so the
/// same words may follow each other in two conversations that went on in different ways; then a row that stood before
/// this one is not the one that went on as this conversation did.
fn is_of_this_history(row: &Entry, before: &[Boundary], rows: &[Vec<Entry>]) -> bool {
    before.iter().zip(rows).all(|(boundary, rows)| {
        let went_on_so = |other: &Entry| {
            boundary
                .continuation
                .is_some_and(|went| other.continuations.contains(&went))
        };
        let stood_here = rows.iter().find(|other| row.before.contains(&other.id));
        stood_here.is_none_or(|stood| went_on_so(stood) || !rows.iter().any(went_on_so))
    })
}

/// Picks a row among those under one key: of this session (`own`), or of any.
///
/// Many conversations open with the same words, so a turn that the model has not answered counts only within its own
/// session, or for a short time where the client names none. Once answered, the words themselves tell the conversation;
/// if several still share them, the one that went on in the same way is meant, then one of which nothing further is
/// known, then the newest.
#[must_use]
pub fn choose<'r>(
    rows: &'r [Entry],
    boundary: &Boundary,
    session: Option<&str>,
    own: bool,
    now_ms: i64,
) -> Option<&'r Entry> {
    let alive = |entry: &Entry| session.is_some() || is_recent(entry.created_ms, now_ms);
    let eligible = |entry: &&Entry| {
        let same = entry.session.as_deref() == session;
        if own {
            same && (boundary.answered || alive(entry))
        } else {
            boundary.answered
        }
    };
    let rank = |entry: &&Entry| {
        let went_on_so = boundary
            .continuation
            .is_some_and(|continuation| entry.continuations.contains(&continuation));
        (
            boundary.answered && went_on_so,
            boundary.answered && entry.continuations.is_empty(),
        )
    };
    // Of several that rank alike the last, which is the newest.
    rows.iter().filter(eligible).max_by_key(rank)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::TurnKey;

    fn entry(id: i64, session: Option<&str>, created_ms: i64, continuations: &[u8]) -> Entry {
        Entry {
            id: EntryId::for_test(id),
            session: session.map(str::to_owned),
            block: Some(format!("block {id}")),
            tokens: 1,
            before: Vec::new(),
            created_ms,
            continuations: continuations.iter().map(|byte| TurnKey::for_test(*byte)).collect(),
        }
    }

    fn boundary(continuation: Option<u8>) -> Boundary {
        Boundary {
            site: Site { message: 0, block: 0 },
            key: TurnKey::for_test(0),
            answered: continuation.is_some(),
            continuation: continuation.map(TurnKey::for_test),
        }
    }

    fn chosen(rows: Vec<Entry>, continuation: Option<u8>, session: Option<&str>) -> Option<i64> {
        let boundary = boundary(continuation);
        choose(&rows, &boundary, session, true, 1_000_000)
            .or_else(|| choose(&rows, &boundary, session, false, 1_000_000))
            .map(|entry| entry.id.number())
    }

    #[test]
    fn an_opening_turn_belongs_to_its_own_session() {
        let rows = || vec![entry(1, Some("a"), 0, &[]), entry(2, None, 999_000, &[])];
        assert_eq!(chosen(rows(), None, Some("a")), Some(1));
        assert_eq!(chosen(rows(), None, Some("b")), None);
        assert_eq!(chosen(rows(), None, None), Some(2));
    }

    #[test]
    fn an_unnamed_opening_turn_is_remembered_for_ten_minutes() {
        assert_eq!(
            chosen(vec![entry(1, None, 1_000_000 - 600_000, &[])], None, None),
            Some(1)
        );
        assert_eq!(chosen(vec![entry(1, None, 1_000_000 - 600_001, &[])], None, None), None);
        assert_eq!(chosen(vec![entry(1, None, 1_000_000 + 600_001, &[])], None, None), None);
    }

    #[test]
    fn an_answered_turn_is_told_by_how_it_went_on() {
        let rows = || {
            vec![
                entry(1, None, 0, &[7]),
                entry(2, None, 1, &[8]),
                entry(3, Some("s"), 2, &[]),
            ]
        };
        assert_eq!(chosen(rows(), Some(7), None), Some(1));
        assert_eq!(chosen(rows(), Some(8), None), Some(2));
        assert_eq!(chosen(rows(), Some(9), None), Some(2), "the session's own, newest");
        assert_eq!(chosen(rows(), Some(9), Some("fork")), Some(3), "by elimination");
        assert_eq!(chosen(rows(), Some(7), Some("s")), Some(3), "the session's own");
        assert_eq!(chosen(rows(), Some(7), Some("fork")), Some(1));
    }
}
