//! Records that held once. They stay where they are, with the time until which they did.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::records::{Body, Record, Same};
use crate::redact::redact;

/// Until when a record held, and what took its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Superseded {
    /// When it ceased to hold, RFC 3339; empty where nobody said.
    pub until: String,
    /// The id of the record that holds since; `None` where nobody said.
    pub by: Option<String>,
}

impl Superseded {
    /// What a record says so of: the id of the older one.
    pub(crate) fn told_by(record: &Record) -> Option<(String, Self)> {
        let Body::Supersedes { older, newer, since } = &record.body else {
            return None;
        };
        let superseded = Self {
            until: redact(since.as_ref().unwrap_or(&record.ts)).into_owned(),
            by: newer.as_ref().map(|newer| redact(newer).into_owned()),
        };
        Some((older.clone(), superseded))
    }

    fn order(&self) -> (&str, bool, Option<&str>) {
        (&self.until, self.by.is_none(), self.by.as_deref())
    }

    /// By the record that stands for the older one and all that says the same. Of several the earliest counts: it did not
    /// hold any more when the next came.
    pub(super) fn by_kept(told: Vec<(String, Self)>, same: &Same) -> HashMap<String, Self> {
        let mut by_kept: HashMap<String, Self> = HashMap::new();
        for (older, superseded) in told {
            let known = by_kept
                .entry(same.kept(&older).to_owned())
                .or_insert_with(|| superseded.clone());
            if superseded.order() < known.order() {
                *known = superseded;
            }
        }
        by_kept
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{Fixture, main_alone};
    use crate::recall::{Memories, RecallOptions};
    use crate::records::MAIN;

    #[test]
    fn what_held_once_is_told_with_its_time_and_only_where_that_is_asked() {
        let learning = |id: &str| {
            format!(
                "{{\"id\":\"{id}\",\"ts\":\"2026-01-0{id}\",\"type\":\"learning\",\"text\":\"the port is {id}\"}}\n"
            )
        };
        let main = ["1", "2", "3", "4", "5"].map(learning).concat()
            + r#"{"id":"6","ts":"2026-01-06","type":"supersedes","older":"1","newer":"3","since":"2026-01-03"}
{"id":"7","ts":"2026-01-06","type":"supersedes","older":"2","newer":"4","since":"2026-01-04"}
{"id":"8","ts":"2026-01-06","type":"same","kept":"1","folded":"2"}
{"id":"9","ts":"2026-01-09","type":"supersedes","older":"3"}
{"id":"a","ts":"2026-01-09","type":"supersedes","older":"4"}
{"id":"b","ts":"2026-01-09","type":"tombstone","forget":"4"}
"#;
        let repo = Fixture::with(&[(MAIN, &main)]);
        let ids = |memories: &Memories| -> Vec<String> {
            let items = memories.items().iter();
            items.map(|item| item.source.clone()).collect()
        };
        assert_eq!(ids(&Memories::load(&repo.worktree())), ["5"]);
        let superseded = Memories::superseded(&repo.worktree(), &main_alone());
        let told: Vec<_> = superseded
            .items()
            .iter()
            .map(|item| {
                let superseded = item.superseded.as_ref().unwrap();
                (&*item.source, &*superseded.until, superseded.by.as_deref())
            })
            .collect();
        assert_eq!(told, [("1", "2026-01-03", Some("3")), ("3", "2026-01-09", None)]);
        assert_eq!(superseded.recall("which port", &RecallOptions::default()).len(), 2);
    }
}
