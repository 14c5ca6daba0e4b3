//! Looking up the ledger rows of a conversation.

use muninn_ledger::{Entry, EntryId, Store, StoreError, Use, is_recent};
use muninn_wire::{Insertion, Prompt, Site};

use super::{Boundary, Chain};

/// A turn of the conversation with its ledger entry.
#[derive(Debug, Clone)]
pub struct ReplayedTurn {
    /// The point of the conversation.
    pub boundary: Boundary,
    /// Its ledger entry.
    pub entry: Entry,
}

/// The ledger entries of a conversation.
#[derive(Debug, Default)]
pub struct Replay {
    /// The turns that have an entry, in order.
    pub turns: Vec<ReplayedTurn>,
    /// All sites where this session has a row, including rows outside of this history.
    pub recorded: Vec<Site>,
}

impl Replay {
    /// The insertions that replay every earlier block.
    pub fn insertions(&self, prompt: &Prompt<'_>) -> Vec<Insertion> {
        let with_block = self.turns.iter().filter_map(|turn| Some((turn, turn.entry.block.as_deref()?)));
        with_block.flat_map(|(turn, block)| prompt.insert(turn.boundary.site, block)).collect()
    }

    /// The blocks, in order.
    pub fn each_block(&self) -> impl Iterator<Item = &str> {
        self.turns.iter().filter_map(|turn| turn.entry.block.as_deref())
    }

    /// Tokens of all blocks.
    pub fn tokens(&self) -> u32 {
        self.turns.iter().filter(|turn| turn.entry.block.is_some()).map(|turn| turn.entry.tokens).sum()
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.each_block().count()
    }

    /// The uses of all entries, with each new continuation.
    pub fn uses(&self, session: Option<&str>) -> Vec<Use> {
        let used = |turn: &ReplayedTurn| {
            let ReplayedTurn { boundary, entry } = turn;
            let continuation = boundary.continuation.filter(|chain| !entry.continuations.contains(chain));
            let is_adopted = entry.session.as_deref() != session;
            Use {
                entry: entry.id,
                key: (is_adopted || continuation.is_some()).then_some(boundary.key),
                continuation,
                adopted_by: is_adopted.then(|| session.unwrap_or_default().to_owned()),
            }
        };
        self.turns.iter().map(used).collect()
    }

    /// The entries of all turns before a site.
    pub fn before(&self, site: Site) -> Vec<EntryId> {
        let before = self.turns.iter().filter(|turn| turn.boundary.site < site);
        before.map(|turn| turn.entry.id).collect()
    }

    /// Whether a site has neither a row of this session nor a block of another session. Another session's row without a
    /// block does not count: a row of this session is written, because the other may not be in the database yet.
    pub fn is_unknown(&self, site: Site) -> bool {
        let has_block = self.at(site).is_some_and(|entry| entry.block.is_some());
        !self.recorded.contains(&site) && !has_block
    }

    pub fn within(&self, message: usize) -> impl Iterator<Item = &Entry> {
        let within = self.turns.iter().filter(move |turn| turn.boundary.site.message == message);
        within.map(|turn| &turn.entry)
    }

    /// The entry of one turn.
    pub fn at(&self, site: Site) -> Option<&Entry> {
        self.turns.iter().find(|turn| turn.boundary.site == site).map(|turn| &turn.entry)
    }
}

/// Looks up the ledger entries of a conversation.
///
/// Each row lists the rows before it, so the newest row of this session decides the whole history up to it: a block that
/// was sent once is sent again, even if other sessions, or this one on another branch, had other blocks at the same text.
/// A conversation without a row of its own (a fork, or a session resumed under a new id) continues another session's
/// history in the same way.
///
/// # Errors
/// [`StoreError`] if the ledger cannot be read; the conversation must then be forwarded without replay.
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

fn history(chain: &Chain, rows: &[Vec<Entry>], session: Option<&str>, now_ms: i64) -> Vec<ReplayedTurn> {
    let newest = |own: bool| {
        let places = chain.boundaries.iter().zip(rows).enumerate().rev();
        places
            .filter_map(|(index, (boundary, rows))| Some((index, choose(rows, boundary, session, own, now_ms)?)))
            .find(|(index, row)| own || shares_history(row, &chain.boundaries[..=*index], rows))
    };
    let Some((last, newest)) = newest(true).or_else(|| newest(false)) else {
        return Vec::new();
    };
    let before = chain.boundaries.iter().zip(rows).take(last).filter_map(|(boundary, rows)| {
        let entry = rows.iter().find(|row| newest.before.contains(&row.id))?;
        Some(ReplayedTurn { boundary: *boundary, entry: entry.clone() })
    });
    let mut turns: Vec<_> = before.collect();
    turns.push(ReplayedTurn { boundary: chain.boundaries[last], entry: newest.clone() });
    turns
}

/// Whether another session's row, at the last of the boundaries, may belong to this history. Answers without text change no
/// key, so two conversations with different answers may have the same keys. The row is rejected if, at a boundary before it,
/// a row with this conversation's continuation exists while its own history has another row there. Its history may have none
/// there only if the row itself, or a row before it, has this conversation's continuation. The rows of absent turns, which are
/// written directly after it, belong to its history, too; without a continuation they say nothing. An answer with text needs no
/// such evidence: the keys of all later boundaries contain it.
fn shares_history(row: &Entry, boundaries: &[Boundary], rows: &[Vec<Entry>]) -> bool {
    let continues_alike = |boundary: &Boundary, row: &Entry| {
        let went = boundary.continuation;
        went.is_some_and(|went| row.continuations.contains(&went))
    };
    let is_absent_turn = |other: &Entry| {
        other.block.is_none()
            && other.id > row.id
            && (&other.session, other.created_ms) == (&row.session, row.created_ms)
    };
    let Some((own, before)) = boundaries.split_last() else {
        return true;
    };
    // At each boundary, the row of its history there, and whether a row continues as this conversation does.
    let places = before.iter().zip(rows).map(|(boundary, rows)| {
        let listed = rows.iter().find(|other| row.before.contains(&other.id));
        let absent = || rows.iter().find(|other| is_absent_turn(other) && !other.continuations.is_empty());
        let is_alike = listed.or_else(absent).map(|stood| continues_alike(boundary, stood));
        let is_alike = if boundary.has_text_answer { Some(true) } else { is_alike };
        (is_alike, rows.iter().any(|other| continues_alike(boundary, other)))
    });
    let places: Vec<(Option<bool>, bool)> = places.collect();
    let is_known = continues_alike(own, row) || places.iter().any(|(is_alike, _)| *is_alike == Some(true));
    places.iter().all(|(is_alike, any_alike)| is_alike.unwrap_or(is_known) || !any_alike)
}

/// Picks a row among those under one key: of this session (`own`), or of any.
///
/// Many conversations open with the same text, so an unanswered turn matches only within its own session, or for ten
/// minutes if the client names no session. An answered turn matches by its key; among several rows the one with the same
/// continuation wins, then one without a continuation, then the newest.
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
        if own { same && (boundary.answered || alive(entry)) } else { boundary.answered }
    };
    let rank = |entry: &&Entry| {
        let continues_alike =
            boundary.continuation.is_some_and(|continuation| entry.continuations.contains(&continuation));
        (boundary.answered && continues_alike, boundary.answered && entry.continuations.is_empty())
    };
    // `max_by_key` returns the last of equal rows, which is the newest.
    rows.iter().filter(eligible).max_by_key(rank)
}

#[cfg(test)]
mod tests {
    use super::*;
    use muninn_config::LimitsConfig;
    use muninn_ledger::{NewEntry, SqliteStore, TurnKey};

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
            has_text_answer: false,
        }
    }

    fn chosen(rows: Vec<Entry>, continuation: Option<u8>, session: Option<&str>) -> Option<i64> {
        let boundary = boundary(continuation);
        choose(&rows, &boundary, session, true, 1_000_000)
            .or_else(|| choose(&rows, &boundary, session, false, 1_000_000))
            .map(|entry| entry.id.number())
    }

    #[test]
    fn unanswered_turn_matches_only_its_own_session() {
        let rows = || vec![entry(1, Some("a"), 0, &[]), entry(2, None, 999_000, &[])];
        assert_eq!(chosen(rows(), None, Some("a")), Some(1));
        assert_eq!(chosen(rows(), None, Some("b")), None);
        assert_eq!(chosen(rows(), None, None), Some(2));
    }

    #[test]
    fn unanswered_turn_without_a_session_matches_for_ten_minutes() {
        assert_eq!(chosen(vec![entry(1, None, 1_000_000 - 600_000, &[])], None, None), Some(1));
        assert_eq!(chosen(vec![entry(1, None, 1_000_000 - 600_001, &[])], None, None), None);
        assert_eq!(chosen(vec![entry(1, None, 1_000_000 + 600_001, &[])], None, None), None);
    }

    #[test]
    fn answered_turn_matches_by_its_continuation() {
        let rows = || vec![entry(1, None, 0, &[7]), entry(2, None, 1, &[8]), entry(3, Some("s"), 2, &[])];
        assert_eq!(chosen(rows(), Some(7), None), Some(1));
        assert_eq!(chosen(rows(), Some(8), None), Some(2));
        assert_eq!(chosen(rows(), Some(9), None), Some(2), "the session's own, newest");
        assert_eq!(chosen(rows(), Some(9), Some("fork")), Some(3), "by elimination");
        assert_eq!(chosen(rows(), Some(7), Some("s")), Some(3), "the session's own");
        assert_eq!(chosen(rows(), Some(7), Some("fork")), Some(1));
    }

    /// A fork opened with a turn that had no block. The row that it wrote for that turn has no continuation. A second fork of
    /// the fork gets the fork's block.
    #[test]
    fn absent_turn_without_a_continuation_does_not_end_the_history() {
        let row = |id, session, block: Option<&str>, created_ms, continuations: &[u8]| Entry {
            block: block.map(str::to_owned),
            ..entry(id, Some(session), created_ms, continuations)
        };
        let chain = Chain { boundaries: vec![boundary(Some(7)), boundary(Some(8)), boundary(None)] };
        let rows = [
            vec![row(1, "first", None, 1, &[7]), row(3, "fork", None, 2, &[])],
            vec![row(2, "fork", Some("block"), 2, &[8])],
            Vec::new(),
        ];
        let found = history(&chain, &rows, Some("second fork"), 3);
        assert_eq!(found.iter().filter_map(|turn| turn.entry.block.as_deref()).collect::<Vec<_>>(), ["block"]);
    }

    /// A session continued another one's history and then goes back, before the rows that it adopted are written.
    #[test]
    fn session_that_goes_back_finds_the_block_that_it_adopted_a_moment_ago() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let store = SqliteStore::open(folder.path(), &LimitsConfig::default()).unwrap();
            let answered = Chain { boundaries: vec![boundary(Some(7))] };
            let row =
                NewEntry { session: Some("a".to_owned()), block: Some("first".to_owned()), ..NewEntry::default() };
            store.record(answered.boundaries[0].key, row).await.unwrap();
            for unwritten in [true, false] {
                let session = Some(if unwritten { "b" } else { "c" });
                let continued = replay(&answered, session, &store, 0).await.unwrap();
                if unwritten {
                    let without = NewEntry {
                        session: session.map(str::to_owned),
                        before: continued.uses(session),
                        ..NewEntry::default()
                    };
                    store.record_without_block(TurnKey::for_test(9), without).await;
                } else {
                    store.note_uses(continued.uses(session));
                }
                let back = Chain { boundaries: vec![boundary(None)] };
                let replayed = replay(&back, session, &store, 0).await.unwrap();
                assert_eq!(replayed.each_block().collect::<Vec<_>>(), ["first"]);
            }
        });
    }

    /// Two sessions had different blocks at the same words, and the first one's continuation was noted a moment ago.
    #[test]
    fn fork_finds_its_history_by_a_continuation_that_is_not_written_yet() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let store = SqliteStore::open(folder.path(), &LimitsConfig::default()).unwrap();
            let chain = Chain { boundaries: vec![boundary(Some(7))] };
            let key = chain.boundaries[0].key;
            let mut rows = Vec::new();
            for (session, block) in [("a", "first"), ("b", "second")] {
                let row = NewEntry {
                    session: Some(session.to_owned()),
                    block: Some(block.to_owned()),
                    ..NewEntry::default()
                };
                rows.push(store.record(key, row).await.unwrap());
            }
            let continuation = Some(TurnKey::for_test(7));
            store.note_uses(vec![Use { key: Some(key), continuation, ..Use::of(rows[0].id) }]);
            let replayed = replay(&chain, Some("fork"), &store, 0).await.unwrap();
            assert_eq!(replayed.each_block().collect::<Vec<_>>(), ["first"]);
        });
    }
}
