//! The conversations of the newest receipts, so that those of one conversation are found without reading the others.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use rusqlite::Connection;
use serde::Deserialize;

use super::ReceiptsOf;
use super::file_id::FileId;

/// The most receipts that are known.
pub(super) const KEPT: usize = 400;

/// The newest receipts of a database, oldest first. Those that any process has written since are read when they are asked for.
#[derive(Default)]
pub(super) struct RecentReceipts {
    newest: i64,
    known: VecDeque<Known>,
    /// The number of known receipts of each conversation.
    counts: HashMap<String, usize>,
    read: Option<ReadState>,
}

/// A state of the database.
#[derive(Clone, Copy)]
pub(super) struct ReadState {
    pub(super) file: FileId,
    /// The journal's generation.
    pub(super) generation: u64,
    /// A time after which nothing else had been written.
    pub(super) as_of: Instant,
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
    /// Whether there are none of those in a file, without reading it: it was read at this generation or later, and as of that time
    /// or later.
    pub(super) fn lack(&self, (asked, file, generation): (&ReceiptsOf<'_>, FileId, u64)) -> bool {
        let is_read = |read: ReadState| read.file == file && read.generation >= generation && read.as_of >= asked.as_of;
        self.read.is_some_and(is_read)
            && (!self.counts.contains_key(asked.conversation) || self.among_known(asked).next().is_none())
    }

    /// The ids and bodies of those that are asked for, among at most [`KEPT`], newest first. `state` is that of the connection's
    /// transaction.
    pub(super) fn of(
        &mut self,
        (connection, state): (&Connection, ReadState),
        asked: &ReceiptsOf<'_>,
    ) -> rusqlite::Result<Vec<(String, String)>> {
        if self.read.is_some_and(|read| read.file != state.file) {
            *self = RecentReceipts::default();
        }
        self.read_on(connection)?;
        self.read = Some(state);
        let mut select = connection.prepare_cached("SELECT id, body FROM receipts WHERE seq = ?1")?;
        let mut found = Vec::new();
        for known in self.among_known(asked) {
            // A receipt may have been deleted since.
            let rows = select.query_map([known.seq], |row| Ok((row.get(0)?, row.get(1)?)))?;
            found.extend(rows.collect::<rusqlite::Result<Vec<_>>>()?);
        }
        Ok(found)
    }

    fn among_known<'k>(&'k self, asked: &ReceiptsOf<'k>) -> impl Iterator<Item = &'k Known> {
        let ReceiptsOf { conversation, among, about, .. } = *asked;
        let newest = self.known.iter().rev().take(among);
        let of_conversation = newest.filter(move |known| known.conversation.as_deref() == Some(conversation));
        of_conversation.filter(move |known| about.is_none_or(|about| is_about(&known.first_words, about)))
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
            let conversation = session.or(derived);
            if let Some(name) = &conversation {
                *self.counts.entry(name.clone()).or_default() += 1;
            }
            self.known.push_back(Known { seq: self.newest, conversation, first_words });
        }
        for forgotten in self.known.drain(..self.known.len().saturating_sub(KEPT)) {
            if let Some(Entry::Occupied(mut count)) = forgotten.conversation.map(|name| self.counts.entry(name)) {
                *count.get_mut() -= 1;
                if *count.get() == 0 {
                    count.remove();
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::super::Receipt;
    use super::*;

    #[test]
    fn what_is_missing_is_known_only_of_the_state_that_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = FileId::of(folder.path()).unwrap();
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE receipts (seq INTEGER PRIMARY KEY, id TEXT, body TEXT)").unwrap();
        let write = |id: &str, session: &str| {
            let session = Some(session.to_owned());
            let receipt = Receipt { session, ..Receipt::of(id.to_owned(), Path::new("/w"), "why?") };
            let body = serde_json::to_string(&receipt).unwrap();
            connection.execute("INSERT INTO receipts (id, body) VALUES (?1, ?2)", [id, &body]).unwrap();
        };
        write("1", "a");
        let (mut recent, as_of) = (RecentReceipts::default(), Instant::now());
        let of = |conversation, as_of| ReceiptsOf { as_of, ..ReceiptsOf::conversation(conversation, KEPT) };
        let state = |generation| ReadState { file, generation, as_of };
        assert!(!recent.lack((&of("b", as_of), file, 1)), "nothing was read");
        assert_eq!(recent.of((&connection, state(1)), &of("b", as_of)).unwrap(), []);
        // Another process writes.
        write("2", "b");
        assert!(recent.lack((&of("b", as_of), file, 1)));
        assert!(!recent.lack((&of("a", as_of), file, 1)), "there is one");
        assert!(!recent.lack((&of("b", as_of), file, 2)), "this process has written since");
        assert!(
            !recent.lack((&of("b", as_of + Duration::from_nanos(1)), file, 1)),
            "another process may have written since"
        );
        let other = FileId::of(&std::env::current_dir().unwrap()).unwrap();
        assert!(!recent.lack((&of("b", as_of), other, 1)), "another file");
        assert_eq!(recent.of((&connection, state(2)), &of("b", as_of)).unwrap().len(), 1);
    }
}
