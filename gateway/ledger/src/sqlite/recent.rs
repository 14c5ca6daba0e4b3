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
    known: VecDeque<Known>,
}

struct Known {
    seq: i64,
    conversation: Option<String>,
    first_words: String,
}

/// A part of a receipt; see [`Receipt::conversation`](super::Receipt::conversation).
#[derive(Default, Deserialize)]
struct Named {
    session: Option<String>,
    derived: Option<String>,
    #[serde(default)]
    first_words: String,
}

/// Whether a receipt has these first words, or none.
fn is_about(first_words: &str, about: &str) -> bool {
    first_words.is_empty() || first_words == about
}

impl RecentReceipts {
    /// The ids and bodies of a conversation's receipts, or of those `about` words, among the newest `among`, at most [`KEPT`],
    /// newest first.
    pub(super) fn of(
        &mut self,
        connection: &Connection,
        (conversation, about): (&str, Option<&str>),
        among: usize,
    ) -> rusqlite::Result<Vec<(String, String)>> {
        self.read_on(connection)?;
        let mut select = connection.prepare_cached("SELECT id, body FROM receipts WHERE seq = ?1")?;
        let newest = self.known.iter().rev().take(among);
        let of_conversation = newest.filter(|known| known.conversation.as_deref() == Some(conversation));
        let mut found = Vec::new();
        for known in of_conversation.filter(|known| about.is_none_or(|about| is_about(&known.first_words, about))) {
            // A receipt may have been deleted since.
            let rows = select.query_map([known.seq], |row| Ok((row.get(0)?, row.get(1)?)))?;
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
            self.newest = row.get(0)?;
            // A damaged receipt has no conversation here; reading it whole reports the error.
            let named = serde_json::from_slice::<Named>(row.get_ref(1)?.as_bytes()?).unwrap_or_default();
            let Named { session, derived, first_words } = named;
            self.known.push_back(Known { seq: self.newest, conversation: session.or(derived), first_words });
        }
        self.known.drain(..self.known.len().saturating_sub(KEPT));
        Ok(())
    }
}
