use std::collections::HashMap;
use std::path::PathBuf;

use jiff::Timestamp;
use rusqlite::Connection;

use super::super::reminder::Reminder;

/// The firings of all personal directories of this machine.
pub struct Firings {
    pub(crate) connection: Connection,
    /// The next time of each schedule, before which nothing is looked up.
    pub(crate) next: HashMap<(PathBuf, String), (String, Timestamp)>,
}

/// The expression and the zone, which a schedule follows from, and when the reminder was made.
pub(crate) fn schedule_words(reminder: &Reminder) -> String {
    let zone = reminder.muninn.as_ref().and_then(|extras| extras.zone.as_deref());
    let made = reminder.created_at.as_deref();
    format!("{} {}|{}", reminder.expression, zone.unwrap_or_default(), made.unwrap_or_default())
}
