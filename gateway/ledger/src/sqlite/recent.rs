//! The conversations of the newest receipts, so that those of one conversation are found without reading the others.

use std::collections::VecDeque;

use rusqlite::Connection;
use serde::Deserialize;

/// The most receipts that are known.
pub(super) const KEPT: usize = 400;

/// The newest receipts of a database, oldest first. Those that any process has written since are read when they are asked for.
#[derive(Default)]
pub(super) struct RecentReceipts {
    newest: i64,
    known: VecDeque<(i64, Option<String>)>,
}

/// A part of a receipt; see [`Receipt::conversation`](super::Receipt::conversation).
#[derive(Deserialize)]
struct Named {
    session: Option<String>,
    derived: Option<String>,
}

impl RecentReceipts {
    /// The ids and bodies of a conversation's receipts among the newest `among`, at most [`KEPT`], newest first.
    pub(super) fn of(
        &mut self,
        connection: &Connection,
        conversation: &str,
        among: usize,
    ) -> rusqlite::Result<Vec<(String, String)>> {
        self.read_on(connection)?;
        let mut select = connection.prepare_cached("SELECT id, body FROM receipts WHERE seq = ?1")?;
        let newest = self.known.iter().rev().take(among);
        let mut found = Vec::new();
        for (seq, _) in newest.filter(|(_, name)| name.as_deref() == Some(conversation)) {
            // A receipt may have been deleted since.
            let rows = select.query_map([seq], |row| Ok((row.get(0)?, row.get(1)?)))?;
            found.extend(rows.collect::<rusqlite::Result<Vec<_>>>()?);
        }
        Ok(found)
    }

    fn read_on(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut select = connection.prepare_cached(
            "SELECT seq, body FROM (SELECT seq, body FROM receipts WHERE seq > ?1 ORDER BY seq DESC LIMIT ?2) ORDER BY seq",
        )?;
        let mut rows = select.query((self.newest, KEPT as i64))?;
        while let Some(row) = rows.next()? {
            let named = serde_json::from_slice(row.get_ref(1)?.as_bytes()?).ok();
            let name = named.and_then(|Named { session, derived }| session.or(derived));
            self.newest = row.get(0)?;
            self.known.push_back((self.newest, name));
        }
        self.known.drain(..self.known.len().saturating_sub(KEPT));
        Ok(())
    }
}
