use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use muninn_base::database::{self, write_ahead};
use muninn_base::private_file;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Transaction, TransactionBehavior, params};

use super::super::error::PersonalError;
use super::super::reminder::{CatchUp, Reminder};
use super::super::reminder_kind::ReminderKind;
use super::super::schedule::Schedule;
use super::approval;
use super::error::{FILE, FiringError};
use super::firings::{Firings, schedule_words};

/// A firing that is later than this is late, and is left out by [`CatchUp::Skip`]. A program looks every half minute.
const LATE: Duration = Duration::from_secs(90);

/// The most missed times that are counted.
const MOST_MISSED: u32 = 10_000;

/// How long firings are kept.
const KEPT: SignedDuration = SignedDuration::from_hours(400 * 24);

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS schedules (
    root TEXT NOT NULL, id TEXT NOT NULL, schedule TEXT NOT NULL, accounted INTEGER NOT NULL, PRIMARY KEY (root, id)
) STRICT;
CREATE TABLE IF NOT EXISTS firings (
    root TEXT NOT NULL, id TEXT NOT NULL, due INTEGER NOT NULL, claimed INTEGER NOT NULL, missed INTEGER NOT NULL,
    skipped INTEGER NOT NULL, finished INTEGER, result TEXT, inbox TEXT, PRIMARY KEY (root, id, due)
) STRICT;
CREATE INDEX IF NOT EXISTS open_firings ON firings (root) WHERE finished IS NULL;";

/// A due time that is to be acted on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The reminder.
    pub id: String,
    /// The time.
    pub due: Timestamp,
    /// Whether it passed while nobody looked.
    pub is_late: bool,
    /// The earlier times that passed as well.
    pub missed: u32,
}

/// A firing, as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Firing {
    /// The reminder.
    pub id: String,
    /// The time.
    pub due: Timestamp,
    /// When it was claimed.
    pub claimed: Timestamp,
    /// The earlier times that passed as well.
    pub missed: u32,
    /// Whether it was left out, being late.
    pub is_skipped: bool,
    /// When its result was noted.
    pub finished: Option<Timestamp>,
    /// What became of it; `None` while it runs, and for ever if its program was killed.
    pub result: Option<String>,
    /// The line that the inbox gets for it.
    pub inbox: Option<String>,
}

impl Firings {
    /// Opens the database in the state directory.
    pub fn open(state: &Path) -> Result<Self, FiringError> {
        let path = state.join(FILE);
        private_file::dir(state).and_then(|()| private_file::make(&path)).map_err(PersonalError::io(&path))?;
        let mut connection = database::open(&path, OpenFlags::default())?;
        write_ahead(&connection)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(SCHEMA)?;
        add_inbox_column(&connection)?;
        approval::create(&mut connection)?;
        Ok(Self { connection, next: HashMap::new() })
    }

    /// Whether there is a database in a state directory.
    pub fn exist(state: &Path) -> bool {
        state.join(FILE).is_file()
    }

    /// Claims the newest due time of a reminder, if there is one that no program has claimed and that passed before `grace`.
    ///
    /// # Errors
    /// [`FiringError`]; nothing is claimed then.
    pub fn claim(
        &mut self,
        root: &Path,
        reminder: &Reminder,
        now: Timestamp,
        grace: Duration,
    ) -> Result<Option<Claim>, FiringError> {
        let until = now.checked_sub(grace).unwrap_or(now);
        if self.is_before_next(root, reminder, until) {
            return Ok(None);
        }
        let schedule = reminder.schedule()?;
        let claim = self.claim_due(root, reminder, &schedule, (now, until))?;
        self.keep_next(root, reminder, schedule.after(until));
        Ok(claim)
    }

    /// Whether no time of a reminder passes up to an instant, as an earlier look has found.
    fn is_before_next(&self, root: &Path, reminder: &Reminder, instant: Timestamp) -> bool {
        let known = self.next.get(&(root.to_owned(), reminder.id.clone()));
        known.is_some_and(|(words, next)| *words == words_here(reminder) && instant < *next)
    }

    fn keep_next(&mut self, root: &Path, reminder: &Reminder, next: Option<Timestamp>) {
        let key = (root.to_owned(), reminder.id.clone());
        let next = next.unwrap_or(Timestamp::MAX);
        self.next.insert(key, (words_here(reminder), next));
    }

    /// Claims the newest time up to `until`.
    fn claim_due(
        &mut self,
        root: &Path,
        reminder: &Reminder,
        schedule: &Schedule,
        (now, until): (Timestamp, Timestamp),
    ) -> Result<Option<Claim>, FiringError> {
        let catch_up = reminder.muninn.as_ref().map_or(CatchUp::default(), |extras| extras.catch_up);
        let root = root.to_string_lossy();
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let since = accounted(&transaction, &root, reminder, now)?;
        let Some((due, missed)) = newest_due(schedule, since, until) else {
            transaction.commit()?;
            return Ok(None);
        };
        let late = until.duration_since(due);
        let is_late = late.unsigned_abs() > LATE;
        // A single time is never left out without a word.
        let is_skipped = is_late && catch_up == CatchUp::Skip && reminder.kind == ReminderKind::Cron;
        let result = is_skipped.then_some("skipped: late");
        transaction.execute(
            "INSERT INTO firings (root, id, due, claimed, missed, skipped, finished, result) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                root,
                reminder.id,
                due.as_second(),
                now.as_second(),
                missed,
                is_skipped,
                is_skipped.then(|| now.as_second()),
                result
            ],
        )?;
        let long_ago = now.as_second() - KEPT.as_secs();
        transaction.execute("DELETE FROM firings WHERE claimed < ?1", [long_ago])?;
        transaction.execute(
            "UPDATE schedules SET accounted = ?3 WHERE root = ?1 AND id = ?2",
            params![root, reminder.id, due.as_second()],
        )?;
        transaction.commit()?;
        Ok((!is_skipped).then(|| Claim { id: reminder.id.clone(), due, is_late, missed }))
    }

    /// Accounts for the times of a recurring reminder that have passed: they fire no more.
    pub fn pass(&mut self, root: &Path, reminder: &Reminder, now: Timestamp) -> Result<(), FiringError> {
        if reminder.kind == ReminderKind::Once || self.is_before_next(root, reminder, now) {
            return Ok(());
        }
        let schedule = reminder.schedule()?;
        self.connection.execute(
            "INSERT INTO schedules (root, id, schedule, accounted) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (root, id)
            DO UPDATE SET schedule = excluded.schedule, accounted = max(accounted, excluded.accounted)",
            params![root.to_string_lossy(), reminder.id, schedule_words(reminder), now.as_second()],
        )?;
        self.keep_next(root, reminder, schedule.after(now));
        Ok(())
    }

    /// The next time of a reminder; `None` before [`Self::claim`] has looked at it, and if there is none.
    pub fn next(&self, root: &Path, reminder: &Reminder) -> Option<Timestamp> {
        let (_, next) = self.next.get(&(root.to_owned(), reminder.id.clone()))?;
        Some(*next).filter(|next| *next < Timestamp::MAX)
    }

    /// Notes the line that the inbox is about to get for a claimed time, so that it can be written later if it is not now.
    pub fn note_inbox_line(&self, root: &Path, claim: &Claim, line: &str) -> Result<(), FiringError> {
        self.connection.execute(
            "UPDATE firings SET inbox = ?4 WHERE root = ?1 AND id = ?2 AND due = ?3",
            params![root.to_string_lossy(), claim.id, claim.due.as_second(), line],
        )?;
        Ok(())
    }

    /// Notes what became of a claimed time. Returns whether nobody has noted it before.
    pub fn finish(&self, root: &Path, claim: &Claim, result: &str, now: Timestamp) -> Result<bool, FiringError> {
        let changed = self.connection.execute(
            "UPDATE firings SET finished = ?4, result = ?5 WHERE root = ?1 AND id = ?2 AND due = ?3 AND finished IS NULL",
            params![root.to_string_lossy(), claim.id, claim.due.as_second(), now.as_second(), result],
        )?;
        Ok(changed > 0)
    }

    /// The claims of a reminder since an instant: their number, and whether one has no result yet.
    pub fn claims_since(&self, root: &Path, id: &str, since: Timestamp) -> Result<(u32, bool), FiringError> {
        let mut select = self.connection.prepare_cached(
            "SELECT count(*), count(*) > count(finished) FROM firings WHERE root = ?1 AND id = ?2 AND claimed >= ?3",
        )?;
        let row = select
            .query_row(params![root.to_string_lossy(), id, since.as_second()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(row)
    }

    /// The firings of a directory, the newest first.
    pub fn list(&self, root: &Path) -> Result<Vec<Firing>, FiringError> {
        self.select(root, "1 = 1")
    }

    /// The firings of a directory without a result, the newest first.
    pub fn open_claims(&self, root: &Path) -> Result<Vec<Firing>, FiringError> {
        self.select(root, "finished IS NULL")
    }

    fn select(&self, root: &Path, condition: &str) -> Result<Vec<Firing>, FiringError> {
        let mut select = self.connection.prepare_cached(&format!(
            "SELECT id, due, claimed, missed, skipped, finished, result, inbox FROM firings
            WHERE root = ?1 AND {condition} ORDER BY due DESC, id"
        ))?;
        let rows = select.query_map([root.to_string_lossy()], |row| {
            Ok(Firing {
                id: row.get(0)?,
                due: second(row.get(1)?),
                claimed: second(row.get(2)?),
                missed: row.get(3)?,
                is_skipped: row.get(4)?,
                finished: row.get::<_, Option<i64>>(5)?.map(second),
                result: row.get(6)?,
                inbox: row.get(7)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

/// Databases of earlier versions have no column for the lines of the inbox.
fn add_inbox_column(connection: &Connection) -> rusqlite::Result<()> {
    let has_column = || {
        let select = "SELECT count(*) > 0 FROM pragma_table_info('firings') WHERE name = 'inbox'";
        connection.query_row(select, [], |row| row.get::<_, bool>(0))
    };
    if has_column()? {
        return Ok(());
    }
    let added = connection.execute_batch("ALTER TABLE firings ADD COLUMN inbox TEXT");
    // Another process may have added it meanwhile.
    added.or_else(|error| if has_column()? { Ok(()) } else { Err(error) })
}

/// The time up to which a reminder's times are accounted for. A new one begins when it was made, one with another schedule when
/// it was made anew, or when the change is first seen.
fn accounted(
    transaction: &Transaction<'_>,
    root: &str,
    reminder: &Reminder,
    now: Timestamp,
) -> rusqlite::Result<Timestamp> {
    let schedule = schedule_words(reminder);
    let known: Option<(String, i64)> = transaction
        .prepare_cached("SELECT schedule, accounted FROM schedules WHERE root = ?1 AND id = ?2")?
        .query_row(params![root, reminder.id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if let Some((known, accounted)) = &known
        && *known == schedule
    {
        return Ok(second(*accounted));
    }
    let made = reminder.created_at.as_deref().and_then(|made| made.parse::<Timestamp>().ok());
    let made = made.unwrap_or(now).min(now);
    let since = match known {
        // A single time is never left out, whenever its file was made.
        Some((_, accounted)) if reminder.kind == ReminderKind::Once => second(accounted),
        None if reminder.kind == ReminderKind::Once => Timestamp::MIN,
        // A person changed the file, nobody knows when: times before are not made up for.
        Some((known, _)) if made_words(&known) == made_words(&schedule) => now,
        Some((_, accounted)) => made.max(second(accounted)),
        // Nobody knows which times of another program's reminder have fired.
        None if reminder.muninn.is_none() => now,
        None => made,
    };
    transaction
        .prepare_cached("INSERT OR REPLACE INTO schedules (root, id, schedule, accounted) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![root, reminder.id, schedule, since.as_second()])?;
    Ok(second(since.as_second()))
}

/// [`schedule_words`] with the zone of this process, which follows a person who travels. Processes can name it differently.
fn words_here(reminder: &Reminder) -> String {
    let zone = TimeZone::system();
    format!("{} {}", schedule_words(reminder), zone.iana_name().unwrap_or_default())
}

/// When the reminder with these words was made.
fn made_words(words: &str) -> Option<&str> {
    words.rsplit_once('|').map(|(_, made)| made)
}

/// The newest time of a schedule after `since` and up to `now`, and the number of those before it.
///
/// Times are followed forwards: where clocks go back, a search backwards can find the other one of two equal hours.
fn newest_due(schedule: &Schedule, since: Timestamp, now: Timestamp) -> Option<(Timestamp, u32)> {
    let mut due = None;
    let mut count = 0u32;
    let mut next = schedule.after(since);
    while let Some(time) = next.filter(|time| *time <= now) {
        (due, count) = (Some(time), count.saturating_add(1));
        next = schedule.after(match count {
            // So many times are close together: the last ones are within an hour.
            MOST_MISSED => time.max(now.checked_sub(SignedDuration::from_hours(1)).unwrap_or(time)),
            _ => time,
        });
    }
    due.map(|due| (due, count.saturating_sub(1)))
}

fn second(value: i64) -> Timestamp {
    Timestamp::from_second(value).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests;
