//! Reads and writes ledger rows in SQL. A conversation has at most one row for each key.

use rusqlite::{Connection, Statement, Transaction, params};

use super::journal::Noted;
use super::{Entry, EntryId, NewEntry, TurnKey, UNNAMED_SESSION_MEMORY, Use, is_recent};

/// The rows of a key, each once for every continuation and at least once, without a gap between its own.
const SELECT: &str = "SELECT id, session, block, tokens, before, created_ms, chain FROM ledger \
     LEFT JOIN continuations ON entry = id WHERE key = ?1";

/// The rows of each key, also those of `noted`, with what `noted` adds to them, oldest first.
///
/// The caller reads `noted` from the journal before the table, so that a row that moves between them is found.
pub(super) fn look_up(connection: &Connection, noted: &Noted, keys: &[TurnKey]) -> rusqlite::Result<Vec<Vec<Entry>>> {
    let mut select = connection.prepare_cached(SELECT)?;
    let rows = keys.iter().map(|key| rows(&mut select, *key));
    let mut found: Vec<_> = rows.collect::<Result<_, _>>()?;
    for (key, entry) in &noted.rows {
        for (rows, _) in found.iter_mut().zip(keys).filter(|(_, asked)| *asked == key) {
            if !rows.iter().any(|row| row.session == entry.session) {
                rows.push(entry.clone());
            }
        }
    }
    for (key, used, noted_ms) in &noted.uses {
        for (rows, _) in found.iter_mut().zip(keys).filter(|(_, asked)| *asked == key) {
            add_use(rows, used, *noted_ms);
        }
    }
    found.iter_mut().for_each(|rows| rows.sort_by_key(|row| row.created_ms));
    Ok(found)
}

/// Adds to the rows of a key what [`note_use`] will add to them in the database. The copy of an adopted row has no id of its own
/// yet, so it has the row's.
fn add_use(rows: &mut Vec<Entry>, used: &Use, noted_ms: i64) {
    let Some(origin) = rows.iter_mut().find(|row| row.id == used.entry) else {
        return;
    };
    origin.continuations.extend(used.continuation.filter(|chain| !origin.continuations.contains(chain)));
    let Some(session) = &used.adopted_by else {
        return;
    };
    let session = Some(session.clone()).filter(|session| !session.is_empty());
    let adopted = Entry { session, created_ms: noted_ms, continuations: Vec::new(), ..origin.clone() };
    let is_adopted =
        |row: &Entry| row.session == adopted.session && (row.session.is_some() || is_recent(row.created_ms, noted_ms));
    if !rows.iter().any(is_adopted) {
        rows.push(adopted);
    }
}

/// All rows of a key, oldest first.
fn rows(select: &mut Statement<'_>, key: TurnKey) -> rusqlite::Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut rows = select.query([key.as_bytes()])?;
    while let Some(row) = rows.next()? {
        let id = EntryId(row.get(0)?);
        if entries.last().is_none_or(|last| last.id != id) {
            entries.push(Entry {
                id,
                session: row.get(1)?,
                block: row.get(2)?,
                tokens: row.get(3)?,
                before: ids(row.get_ref(4)?.as_str()?),
                created_ms: row.get(5)?,
                continuations: Vec::new(),
            });
        }
        let chain: Option<[u8; 32]> = row.get(6)?;
        if let (Some(chain), Some(entry)) = (chain, entries.last_mut()) {
            entry.continuations.push(TurnKey::from_bytes(chain));
        }
    }
    entries.sort_by_key(|entry| (entry.created_ms, entry.id));
    Ok(entries)
}

/// Writes a row unless the conversation has one, and returns the conversation's row. The transaction must be immediate,
/// so that no other connection writes the same row.
pub(super) fn insert(transaction: &Transaction<'_>, key: TurnKey, new: &NewEntry) -> rusqlite::Result<Entry> {
    let is_same_conversation = |entry: &Entry| {
        entry.session == new.session && (new.session.is_some() || is_recent(entry.created_ms, new.now_ms))
            || Some(entry.id) == new.id
    };
    if let Some(existing) =
        rows(&mut *transaction.prepare_cached(SELECT)?, key)?.into_iter().rev().find(is_same_conversation)
    {
        return Ok(existing);
    }
    // Plain inserts: SQLite keeps a journal of its own for each statement that selects what it inserts.
    let mut insert = transaction.prepare_cached(
        "INSERT INTO ledger (id, key, session, block, tokens, before, created_ms, used_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)",
    )?;
    let id = unused(transaction, new.id)?;
    let (session, now_ms) = (&new.session, new.now_ms);
    insert.execute(params![id, key.as_bytes(), session, new.block, new.tokens, text(&new.before()), now_ms])?;
    let id = transaction.last_insert_rowid();
    for used in &new.before {
        note_use(transaction, used, now_ms)?;
    }
    let mut find = transaction.prepare_cached("SELECT 1 FROM ledger WHERE key = ?1 AND session IS ?2")?;
    for (absent, id, before) in new.absent() {
        if !find.exists(params![absent.as_bytes(), session])? {
            let id = unused(transaction, id)?;
            insert.execute(params![id, absent.as_bytes(), session, None::<&str>, 0, text(before), now_ms])?;
        }
    }
    Ok(new.row(EntryId(id)))
}

/// The id, unless another row has it.
fn unused(transaction: &Transaction<'_>, id: Option<EntryId>) -> rusqlite::Result<Option<i64>> {
    let Some(EntryId(id)) = id else { return Ok(None) };
    let is_used = transaction.prepare_cached("SELECT 1 FROM ledger WHERE id = ?1")?.exists([id])?;
    Ok((!is_used).then_some(id))
}

/// Stores a new continuation of a row, and a copy of the row for a session that adopts it.
pub(super) fn note_use(transaction: &Transaction<'_>, used: &Use, now_ms: i64) -> rusqlite::Result<()> {
    if let Some(session) = &used.adopted_by {
        let memory_ms = i64::try_from(UNNAMED_SESSION_MEMORY.as_millis()).unwrap_or(i64::MAX);
        transaction
            .prepare_cached(
                "INSERT INTO ledger (key, session, block, tokens, before, created_ms, used_ms)
                 SELECT key, nullif(?2, ''), block, tokens, before, ?3, ?3 FROM ledger AS origin WHERE id = ?1
                 AND NOT EXISTS (SELECT 1 FROM ledger AS own WHERE own.key = origin.key AND own.session IS nullif(?2, '')
                 AND (own.session IS NOT NULL OR abs(?3 - own.created_ms) <= ?4))",
            )?
            .execute(params![used.entry.0, session, now_ms, memory_ms])?;
    }
    if let Some(continuation) = used.continuation {
        transaction
            .prepare_cached(
                "INSERT OR IGNORE INTO continuations (entry, chain) SELECT id, ?2 FROM ledger WHERE id = ?1",
            )?
            .execute(params![used.entry.0, continuation.as_bytes()])?;
    }
    Ok(())
}

fn ids(text: &str) -> Vec<EntryId> {
    text.split(' ').filter_map(|id| id.parse().ok().map(EntryId)).collect()
}

fn text(before: &[EntryId]) -> String {
    let ids: Vec<_> = before.iter().map(|id| id.0.to_string()).collect();
    ids.join(" ")
}
