use serde::{Deserialize, Serialize};

use super::moment::Moment;

/// The end of a record's validity, and its successor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Superseded {
    /// End of validity, RFC 3339; empty if not given.
    pub until: Moment,
    /// The successor's id; `None` if not given.
    pub by: Option<String>,
    /// The person who decided it; `None` for rules.
    pub author: Option<String>,
    /// The evidence, or the person's note.
    pub reason: Option<String>,
}

impl Superseded {
    pub(crate) fn order(&self) -> (&Moment, bool, Option<&str>) {
        (&self.until, self.by.is_none(), self.by.as_deref())
    }
}
