//! The sessions whose adopted rows may not be in the database yet.
//!
//! A session adopts the rows of a history that it continues. They are written in the background, and the session's next request
//! may come before: it must wait for them, or its turns would look as if they had no rows.

use std::collections::HashMap;
use std::sync::Mutex;

use super::Use;
use super::database::lock;

/// The most sessions that are remembered. Rows of earlier ones were written long ago.
const MOST: usize = 4_096;

/// The sessions, each with the number of its last adoption.
#[derive(Default)]
pub(super) struct Adoptions(Mutex<(u64, HashMap<String, u64>)>);

impl Adoptions {
    /// Notes the sessions that adopt rows.
    pub(super) fn note<'u>(&self, uses: impl IntoIterator<Item = &'u Use>) {
        for session in uses.into_iter().filter_map(|used| used.adopted_by.as_ref()) {
            let mut noted = lock(&self.0);
            let (number, sessions) = &mut *noted;
            if sessions.len() >= MOST {
                sessions.clear();
            }
            *number += 1;
            sessions.insert(session.clone(), *number);
        }
    }

    /// The number of a session's last adoption; `None` if all are written.
    pub(super) fn pending(&self, session: Option<&str>) -> Option<u64> {
        lock(&self.0).1.get(session.unwrap_or_default()).copied()
    }

    /// Notes that a session's rows up to an adoption are written.
    pub(super) fn written(&self, session: Option<&str>, number: u64) {
        let sessions = &mut lock(&self.0).1;
        let session = session.unwrap_or_default();
        if sessions.get(session) == Some(&number) {
            sessions.remove(session);
        }
    }
}
