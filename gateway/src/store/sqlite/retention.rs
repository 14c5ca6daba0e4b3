//! What is forgotten, and when: by age and by size, and on a clock that a wrong time of day cannot drive.
//!
//! Retention runs on a clock of its own, which the ledger keeps. Each cleaning (at the start and every hour) compares the
//! machine's clock with what it was at the cleaning before. A step forward of at most a day is believed: the retention
//! clock follows by up to twice the step, until it has caught up with the machine's clock. At a longer step (the clock is
//! wrong, or nothing ran for that long) it follows by a day; at a step backwards it stays; and in both cases nothing is
//! deleted by age or size. The retention clock never goes back. A row is as old as the earlier of the two clocks says.
//! Rows from the future are brought back to the later of the two.

use std::ops::ControlFlow;

use rusqlite::{Connection, OptionalExtension, params};

/// How many receipts are kept.
const RECEIPTS_KEPT: u32 = 20_000;
/// So many rows are deleted at once: a request that wants to write waits for no more.
const AT_ONCE: u32 = 500;
pub(super) const DAY_MS: i64 = 86_400_000;

/// How long and how much is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) days: u32,
    pub(super) megabytes: u32,
}

/// What the ledger knows of time, in milliseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clock {
    /// The machine's clock at the last cleaning.
    pub(super) seen_ms: i64,
    /// The clock that retention goes by.
    pub(super) retention_ms: i64,
}

impl Clock {
    /// The clock as stored; in a ledger without one, the newest use that it knows of.
    pub(super) fn read(connection: &Connection, now_ms: i64) -> rusqlite::Result<Clock> {
        let stored = connection.query_row("SELECT seen_ms, retention_ms FROM clock", [], |row| {
            Ok(Clock {
                seen_ms: row.get(0)?,
                retention_ms: row.get(1)?,
            })
        });
        if let Some(clock) = stored.optional()? {
            return Ok(clock);
        }
        let newest: Option<i64> = connection.query_row("SELECT max(used_ms) FROM ledger", [], |row| row.get(0))?;
        let newest = newest.unwrap_or(now_ms);
        Ok(Clock {
            seen_ms: newest,
            retention_ms: newest,
        })
    }

    /// Whether the machine's clock may have gone on from the last cleaning to now.
    pub(super) fn is_plausible(&self, now_ms: i64) -> bool {
        (0..=DAY_MS).contains(&now_ms.saturating_sub(self.seen_ms))
    }

    fn at(&self, now_ms: i64) -> Clock {
        let step = now_ms.saturating_sub(self.seen_ms).clamp(0, DAY_MS);
        let followed = if self.is_plausible(now_ms) { 2 * step } else { step };
        let retention_ms = self.retention_ms.saturating_add(followed).min(now_ms);
        Clock {
            seen_ms: now_ms,
            retention_ms: retention_ms.max(self.retention_ms),
        }
    }
}

/// The times that a cleaning goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClockTimes {
    /// The earlier of the two clocks: rows are as old as it says.
    now_ms: i64,
    /// The later of the two: a row that was used a day after it is from the future.
    latest_ms: i64,
}

/// Sets the retention clock. Returns `None` where the machine's clock is not believed, and nothing may be deleted by it.
pub(super) fn set_clock(connection: &Connection, now_ms: i64) -> rusqlite::Result<Option<ClockTimes>> {
    let before = Clock::read(connection, now_ms)?;
    let clock = before.at(now_ms);
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
    Ok(Some(ClockTimes {
        now_ms: clock.retention_ms.min(now_ms),
        latest_ms: clock.retention_ms.max(now_ms),
    }))
}

/// One step of a cleaning, short enough to hold the write lock for. Returns whether it has to be repeated.
pub(super) type Step = Box<dyn FnMut(&Connection) -> rusqlite::Result<ControlFlow<()>>>;

/// What is to be done: forget what has not been used for long, and the oldest beyond the size limit, never what was used
/// today. Only reads.
pub(super) fn steps(connection: &Connection, bounds: Bounds, clock: Option<ClockTimes>) -> rusqlite::Result<Vec<Step>> {
    let newest_to_go = "SELECT seq FROM receipts ORDER BY seq DESC LIMIT 1 OFFSET ?1";
    let newest_to_go = connection.query_row(newest_to_go, [RECEIPTS_KEPT], |row| row.get::<_, i64>(0));
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
            params![latest_ms, AT_ONCE, DAY_MS],
        )?;
        Ok(more(changed))
    }));
    let oldest = now_ms - i64::from(bounds.days).max(1) * DAY_MS;
    steps.push(repeat(
        "DELETE FROM ledger WHERE id IN (SELECT id FROM ledger WHERE used_ms < ?1 LIMIT ?2)",
        oldest,
    ));
    let excess = excess(connection, i64::from(bounds.megabytes) << 20, (oldest, now_ms - DAY_MS))?;
    let mut chunks = excess
        .chunks(AT_ONCE as usize)
        .map(<[i64]>::to_vec)
        .collect::<Vec<_>>()
        .into_iter();
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

/// A statement that changes so many rows at a time, until there are no more.
fn repeat(sql: &'static str, value: i64) -> Step {
    Box::new(move |connection| Ok(more(connection.execute(sql, params![value, AT_ONCE])?)))
}

fn more(changed: usize) -> ControlFlow<()> {
    match changed < AT_ONCE as usize {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}

/// The rows that were used the longest ago, as many as exceed `limit` bytes, of those used within these times.
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
    use crate::store::sqlite::schema;

    const NOW: i64 = 1_700_000_000_000;
    const HOUR_MS: i64 = 3_600_000;
    const BOUNDS: Bounds = Bounds {
        days: 30,
        megabytes: 512,
    };

    /// A ledger that was last cleaned at [`NOW`], with rows used so many days before.
    fn ledger(used_days_ago: &[i64]) -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::upgrade(&mut connection).unwrap();
        for days in used_days_ago {
            insert(&connection, NOW - days * DAY_MS);
        }
        connection
            .execute("INSERT INTO clock VALUES (1, ?1, ?1)", [NOW])
            .unwrap();
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
        connection
            .query_row("SELECT count(*) FROM ledger", [], |row| row.get(0))
            .unwrap()
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
    fn a_clock_that_is_ahead_at_one_start_deletes_nothing() {
        let connection = ledger(&[0, 3, 28]);
        assert_eq!(clean(&connection, NOW + 40 * DAY_MS), 3);
        // The clock is right again.
        assert_eq!(clean(&connection, NOW + HOUR_MS), 3);
        assert_eq!(clean(&connection, NOW + 2 * HOUR_MS), 3);
    }

    #[test]
    fn a_clock_that_is_ahead_for_a_day_deletes_what_is_nearly_old_enough_alone() {
        let connection = ledger(&[0, 3, 20, 29]);
        for hour in 0..24 {
            clean(&connection, NOW + 40 * DAY_MS + hour * HOUR_MS);
        }
        assert_eq!(clean(&connection, NOW + HOUR_MS), 3);
    }

    #[test]
    fn a_clock_that_was_far_behind_deletes_nothing() {
        let connection = ledger(&[0, 3, 28]);
        for now_ms in [0, HOUR_MS, 2 * HOUR_MS, NOW + HOUR_MS, NOW + 2 * HOUR_MS] {
            assert_eq!(clean(&connection, now_ms), 3, "{now_ms}");
        }
    }

    #[test]
    fn after_a_real_gap_retention_catches_up() {
        let connection = ledger(&[0]);
        let back = NOW + 40 * DAY_MS;
        insert(&connection, back);
        assert_eq!(clean(&connection, back), 2);
        let hours = (1..24 * 60).find(|hour| clean(&connection, back + hour * HOUR_MS) == 1);
        assert!(hours.is_some(), "what nobody used for 100 days is deleted in the end");
    }

    #[test]
    fn rows_from_the_future_are_brought_back() {
        let connection = ledger(&[0]);
        insert(&connection, NOW + 40 * DAY_MS);
        assert_eq!(clean(&connection, NOW + HOUR_MS), 2);
        let newest: i64 = connection
            .query_row("SELECT max(max(used_ms, created_ms)) FROM ledger", [], |row| row.get(0))
            .unwrap();
        assert_eq!(newest, NOW + HOUR_MS);
    }

    #[test]
    fn the_oldest_beyond_the_size_are_deleted_and_nothing_of_today() {
        let connection = ledger(&[0, 1, 2, 3]);
        connection
            .execute("UPDATE ledger SET block = zeroblob(400000)", [])
            .unwrap();
        let bounds = Bounds { days: 30, megabytes: 1 };
        assert_eq!(clean_with(&connection, bounds, NOW + HOUR_MS), 2);
        let bounds = Bounds { days: 30, megabytes: 0 };
        assert_eq!(clean_with(&connection, bounds, NOW + HOUR_MS), 1);
    }

    #[test]
    fn a_ledger_without_a_clock_begins_with_its_newest_use() {
        let connection = ledger(&[0, 3]);
        connection.execute("DELETE FROM clock", []).unwrap();
        assert_eq!(clean(&connection, NOW + 40 * DAY_MS), 2);
    }
}
