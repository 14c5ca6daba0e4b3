//! Retention: deletes rows by age and by size, and tolerates a wrong system clock.
//!
//! The ledger stores a retention clock. Each cleaning (at the start and every hour) compares the system clock with its
//! value at the previous cleaning:
//!
//! - A step forward of at most a day is plausible. The retention clock advances by up to twice the step, until it has
//!   caught up with the system clock.
//! - After a longer step (the clock is wrong, or nothing ran for that long) the retention clock advances by a day, and
//!   nothing is deleted by age or size.
//! - After a step backwards the retention clock stays, and nothing is deleted by age or size.
//!
//! The retention clock never goes back. The age of a row is measured from the earlier of the two clocks. Rows with a
//! time in the future are dated back to the later of the two.

use std::ops::ControlFlow;

use rusqlite::{Connection, OptionalExtension, params};

/// Maximum number of receipts.
const MAX_RECEIPTS: u32 = 20_000;
/// Maximum number of rows in one deletion, so that a request waits for a short write only.
const DELETION_BATCH: u32 = 500;
pub(super) const DAY_MS: i64 = 86_400_000;

/// The limits of age and size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) days: u32,
    pub(super) megabytes: u32,
}

/// The clocks that the ledger stores, in milliseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clock {
    /// The system clock at the last cleaning.
    pub(super) seen_ms: i64,
    pub(super) retention_ms: i64,
}

impl Clock {
    /// Reads the clocks. In a ledger without them, both are the newest use of a row.
    pub(super) fn read(connection: &Connection, now_ms: i64) -> rusqlite::Result<Clock> {
        let stored = connection.query_row("SELECT seen_ms, retention_ms FROM clock", [], |row| {
            Ok(Clock { seen_ms: row.get(0)?, retention_ms: row.get(1)? })
        });
        if let Some(clock) = stored.optional()? {
            return Ok(clock);
        }
        let newest: Option<i64> = connection.query_row("SELECT max(used_ms) FROM ledger", [], |row| row.get(0))?;
        let newest = newest.unwrap_or(now_ms);
        Ok(Clock { seen_ms: newest, retention_ms: newest })
    }

    /// Whether the step of the system clock since the last cleaning is between zero and one day.
    pub(super) fn is_plausible(&self, now_ms: i64) -> bool {
        (0..=DAY_MS).contains(&now_ms.saturating_sub(self.seen_ms))
    }

    fn advanced_to(&self, now_ms: i64) -> Clock {
        let step = now_ms.saturating_sub(self.seen_ms).clamp(0, DAY_MS);
        let advance = if self.is_plausible(now_ms) { 2 * step } else { step };
        let retention_ms = self.retention_ms.saturating_add(advance).min(now_ms);
        Clock { seen_ms: now_ms, retention_ms: retention_ms.max(self.retention_ms) }
    }
}

/// The reference times of a cleaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClockTimes {
    /// The earlier of the two clocks, from which the age of rows is measured.
    now_ms: i64,
    /// The later of the two clocks. A row used more than a day after it has a time in the future.
    latest_ms: i64,
}

/// Advances the retention clock. Returns `None` if the step of the system clock is implausible; then nothing may be
/// deleted by age or size.
pub(super) fn set_clock(connection: &Connection, now_ms: i64) -> rusqlite::Result<Option<ClockTimes>> {
    let before = Clock::read(connection, now_ms)?;
    let clock = before.advanced_to(now_ms);
    connection.execute(
        "INSERT INTO clock (id, seen_ms, retention_ms) VALUES (1, ?1, ?2)
         ON CONFLICT (id) DO UPDATE SET seen_ms = excluded.seen_ms, retention_ms = excluded.retention_ms",
        [clock.seen_ms, clock.retention_ms],
    )?;
    if !before.is_plausible(now_ms) {
        let days = now_ms.saturating_sub(before.seen_ms) / DAY_MS;
        tracing::warn!("the clock has moved by {days} days since the ledger was last cleaned: nothing is deleted yet");
        return Ok(None);
    }
    Ok(Some(ClockTimes { now_ms: clock.retention_ms.min(now_ms), latest_ms: clock.retention_ms.max(now_ms) }))
}

/// One step of a cleaning, which holds the write lock for a short time. Returns whether it must be repeated.
pub(super) type Step = Box<dyn FnMut(&Connection) -> rusqlite::Result<ControlFlow<()>>>;

/// The steps of a cleaning: delete the oldest receipts, rows that were not used for the configured days, and the least
/// recently used rows beyond the size limit, except those used within the last day. Reads only.
pub(super) fn steps(connection: &Connection, bounds: Bounds, clock: Option<ClockTimes>) -> rusqlite::Result<Vec<Step>> {
    let newest_to_go = "SELECT seq FROM receipts ORDER BY seq DESC LIMIT 1 OFFSET ?1";
    let newest_to_go = connection.query_row(newest_to_go, [MAX_RECEIPTS], |row| row.get::<_, i64>(0));
    let mut steps = vec![repeat(
        "DELETE FROM receipts WHERE seq IN (SELECT seq FROM receipts WHERE seq <= ?1 LIMIT ?2)",
        newest_to_go.optional()?.unwrap_or(0),
    )];
    let Some(ClockTimes { now_ms, latest_ms }) = clock else {
        return Ok(steps);
    };
    steps.push(Box::new(move |connection| {
        let changed = connection.execute(
            "UPDATE ledger SET used_ms = ?1, created_ms = min(created_ms, ?1)
             WHERE id IN (SELECT id FROM ledger WHERE used_ms > ?1 + ?3 LIMIT ?2)",
            params![latest_ms, DELETION_BATCH, DAY_MS],
        )?;
        Ok(more(changed))
    }));
    let oldest = now_ms - i64::from(bounds.days).max(1) * DAY_MS;
    steps.push(repeat("DELETE FROM ledger WHERE id IN (SELECT id FROM ledger WHERE used_ms < ?1 LIMIT ?2)", oldest));
    let excess = excess(connection, i64::from(bounds.megabytes) << 20, (oldest, now_ms - DAY_MS))?;
    let mut chunks = excess.chunks(DELETION_BATCH as usize).map(<[i64]>::to_vec).collect::<Vec<_>>().into_iter();
    steps.push(Box::new(move |connection| {
        let Some(chunk) = chunks.next() else {
            return Ok(ControlFlow::Break(()));
        };
        let mut delete = connection.prepare_cached("DELETE FROM ledger WHERE id = ?1")?;
        for id in chunk {
            delete.execute([id])?;
        }
        Ok(ControlFlow::Continue(()))
    }));
    Ok(steps)
}

/// A step that deletes [`DELETION_BATCH`] rows at a time, until none is left.
fn repeat(sql: &'static str, value: i64) -> Step {
    Box::new(move |connection| Ok(more(connection.execute(sql, params![value, DELETION_BATCH])?)))
}

fn more(changed: usize) -> ControlFlow<()> {
    if changed < DELETION_BATCH as usize { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// The least recently used rows beyond `limit` bytes of blocks. Counts rows used since `from_ms`, and returns only rows
/// used before `before_ms`.
fn excess(connection: &Connection, limit: i64, (from_ms, before_ms): (i64, i64)) -> rusqlite::Result<Vec<i64>> {
    let bytes = "SELECT coalesce(sum(octet_length(block)), 0) FROM ledger WHERE used_ms >= ?1";
    let mut excess: i64 = connection.query_row(bytes, [from_ms], |row| row.get(0))?;
    excess -= limit;
    let mut ids = Vec::new();
    let mut select = connection.prepare(
        "SELECT id, coalesce(octet_length(block), 0) FROM ledger WHERE used_ms >= ?1 AND used_ms < ?2 ORDER BY used_ms, id",
    )?;
    let mut rows = select.query([from_ms, before_ms])?;
    while excess > 0
        && let Some(row) = rows.next()?
    {
        ids.push(row.get(0)?);
        excess -= row.get::<_, i64>(1)?;
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::schema;

    const NOW: i64 = 1_700_000_000_000;
    const HOUR_MS: i64 = 3_600_000;
    const BOUNDS: Bounds = Bounds { days: 30, megabytes: 512 };

    /// A ledger that was last cleaned at [`NOW`], with one row for each number of days since its last use.
    fn ledger(used_days_ago: &[i64]) -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::upgrade(&mut connection).unwrap();
        for days in used_days_ago {
            insert(&connection, NOW - days * DAY_MS);
        }
        connection.execute("INSERT INTO clock VALUES (1, ?1, ?1)", [NOW]).unwrap();
        connection
    }

    fn insert(connection: &Connection, used_ms: i64) {
        let sql = "INSERT INTO ledger (key, block, tokens, before, created_ms, used_ms) VALUES (x'00', 'block', 1, '', ?1, ?1)";
        connection.execute(sql, [used_ms]).unwrap();
    }

    fn clean_with(connection: &Connection, bounds: Bounds, now_ms: i64) -> i64 {
        let clock = set_clock(connection, now_ms).unwrap();
        for mut step in steps(connection, bounds, clock).unwrap() {
            while step(connection).unwrap().is_continue() {}
        }
        connection.query_row("SELECT count(*) FROM ledger", [], |row| row.get(0)).unwrap()
    }

    fn clean(connection: &Connection, now_ms: i64) -> i64 {
        clean_with(connection, BOUNDS, now_ms)
    }

    #[test]
    fn rows_that_were_not_used_for_the_configured_days_are_deleted() {
        let connection = ledger(&[0, 29, 31]);
        assert_eq!(clean(&connection, NOW + HOUR_MS), 2);
    }

    #[test]
    fn clock_ahead_at_one_start_deletes_nothing() {
        let connection = ledger(&[0, 3, 28]);
        assert_eq!(clean(&connection, NOW + 40 * DAY_MS), 3);
        // The clock is right again.
        assert_eq!(clean(&connection, NOW + HOUR_MS), 3);
        assert_eq!(clean(&connection, NOW + 2 * HOUR_MS), 3);
    }

    #[test]
    fn clock_ahead_for_a_day_deletes_only_rows_close_to_the_age_limit() {
        let connection = ledger(&[0, 3, 20, 29]);
        for hour in 0..24 {
            clean(&connection, NOW + 40 * DAY_MS + hour * HOUR_MS);
        }
        assert_eq!(clean(&connection, NOW + HOUR_MS), 3);
    }

    #[test]
    fn clock_far_behind_deletes_nothing() {
        let connection = ledger(&[0, 3, 28]);
        for now_ms in [0, HOUR_MS, 2 * HOUR_MS, NOW + HOUR_MS, NOW + 2 * HOUR_MS] {
            assert_eq!(clean(&connection, now_ms), 3, "{now_ms}");
        }
    }

    #[test]
    fn retention_catches_up_after_a_real_gap() {
        let connection = ledger(&[0]);
        let back = NOW + 40 * DAY_MS;
        insert(&connection, back);
        assert_eq!(clean(&connection, back), 2);
        let hours = (1..24 * 60).find(|hour| clean(&connection, back + hour * HOUR_MS) == 1);
        assert!(hours.is_some(), "a row unused for 100 days is deleted in the end");
    }

    #[test]
    fn rows_dated_in_the_future_are_dated_back() {
        let connection = ledger(&[0]);
        insert(&connection, NOW + 40 * DAY_MS);
        assert_eq!(clean(&connection, NOW + HOUR_MS), 2);
        let newest: i64 =
            connection.query_row("SELECT max(max(used_ms, created_ms)) FROM ledger", [], |row| row.get(0)).unwrap();
        assert_eq!(newest, NOW + HOUR_MS);
    }

    #[test]
    fn oldest_rows_beyond_the_size_are_deleted_except_those_of_today() {
        let connection = ledger(&[0, 1, 2, 3]);
        connection.execute("UPDATE ledger SET block = zeroblob(400000)", []).unwrap();
        let bounds = Bounds { days: 30, megabytes: 1 };
        assert_eq!(clean_with(&connection, bounds, NOW + HOUR_MS), 2);
        let bounds = Bounds { days: 30, megabytes: 0 };
        assert_eq!(clean_with(&connection, bounds, NOW + HOUR_MS), 1);
    }

    #[test]
    fn ledger_without_a_clock_starts_at_its_newest_use() {
        let connection = ledger(&[0, 3]);
        connection.execute("DELETE FROM clock", []).unwrap();
        assert_eq!(clean(&connection, NOW + 40 * DAY_MS), 2);
    }
}
