//! The history of a record: how it was written, found again, contradicted, decided about and deleted.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufReader;

use muninn_base::ids;
use muninn_text::redact::redact;
use serde::Serialize;

use crate::Store;
use crate::records::{
    Body, Decisions, Moment, NoteUse, PRUNED, RULES, Record, RecordFile, RecordStatus, WithdrawnRecords, kinds, lines,
};
use crate::store::RecordIdError;

/// An event in the history of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HistoryEvent {
    /// The time, RFC 3339.
    pub date: Moment,
    /// The type of the record that states the event, such as `learning`, `conflict` or `decision`.
    pub event: String,
    /// The id of that record.
    pub id: String,
    /// The author: a person, `rules`, or a model.
    pub author: Option<String>,
    /// The branch on which it was written.
    pub branch: Option<String>,
    pub text: String,
}

/// A decision about memories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoggedDecision {
    #[serde(flatten)]
    pub event: HistoryEvent,
    /// The memories that it is about.
    pub sides: Vec<LoggedSide>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoggedSide {
    pub id: String,
    pub text: String,
}

/// What people, agents and models decided about memories, the newest first.
pub fn decisions(store: &Store) -> Result<Vec<LoggedDecision>, RecordIdError> {
    let records = Records::of(store)?;
    let is_decision = |record: &&Record| match &record.body {
        Body::Decision(_) => true,
        Body::Same(kinds::Same { by, .. })
        | Body::Distinct(kinds::Distinct { by, .. })
        | Body::Conflict(kinds::Conflict { by, .. }) => by != RULES,
        _ => false,
    };
    let text = |id: &str| records.by_id.get(id).and_then(event).map(|event| event.text);
    let side = |id: &str| LoggedSide { id: id.to_owned(), text: text(id).unwrap_or_default() };
    let logged = |record: &Record| {
        let event = records.described(record)?;
        Some(LoggedDecision { event, sides: mentioned(record).into_iter().map(side).collect() })
    };
    let mut decided: Vec<&Record> = records.by_id.values().filter(is_decision).collect();
    decided.sort_by_key(|record| Reverse((&record.ts, &record.id)));
    Ok(decided.into_iter().filter_map(logged).collect())
}

/// The events of a record, the oldest first: of the record whose id `part` is or is in, of its duplicates, and of the
/// records that it was in conflict with.
pub fn history(store: &Store, part: &str) -> Result<Vec<HistoryEvent>, RecordIdError> {
    let all = Records::of(store)?;
    let records = &all.by_id;
    let id = ids::find("record", part, records.keys().map(|id| (id.as_str(), id.clone())))?;
    let status = RecordStatus::of(records.values());
    let mut about: BTreeSet<&str> = [status.kept(&id)].into();
    // A conflict's or a decision's id names its sides.
    about.extend(records.get(&id).into_iter().flat_map(mentioned).map(|id| status.kept(id)));
    let is_about = |about: &BTreeSet<&str>, id: &str| about.contains(status.kept(id));
    let opponents = records.values().filter(|record| {
        matches!(record.body, Body::Conflict(_) | Body::Decision(_) | Body::Supersedes(_))
            && mentioned(record).into_iter().any(|id| is_about(&about, id))
    });
    let opponents: Vec<&str> = opponents.flat_map(mentioned).map(|id| status.kept(id)).collect();
    about.extend(opponents);
    let of_record =
        |record: &&Record| is_about(&about, &record.id) || mentioned(record).into_iter().any(|id| is_about(&about, id));
    // A conflict has the date of its newer side.
    let mut found: Vec<&Record> = records.values().filter(of_record).collect();
    found.sort_by_key(|record| (&record.ts, !mentioned(record).is_empty(), &record.id));
    let last_use = found.iter().rev().find(|record| matches!(record.body, Body::Use(_)));
    let uses = last_use.map(|last| use_event(last, &status.use_of(&id)));
    Ok(found.into_iter().filter_map(|record| all.described(record)).chain(uses).collect())
}

/// All records of a store, deleted ones too.
struct Records {
    by_id: BTreeMap<String, Record>,
    /// The ids of the decisions that hold.
    holding: BTreeSet<String>,
    withdrawn: WithdrawnRecords,
}

impl Records {
    fn of(store: &Store) -> Result<Self, RecordIdError> {
        let mut files = store.files()?;
        files.extend(store.shared_segments()?);
        files.extend(RecordFile::of(store.home(), PRUNED));
        let mut by_id: BTreeMap<String, Record> = BTreeMap::new();
        for file in &files {
            if let Ok(opened) = file.open(store.home()) {
                let take = |_: usize, record: Record| _ = by_id.entry(record.id.clone()).or_insert(record);
                lines::read(BufReader::new(opened), take, |_| {}).ok();
            }
        }
        let mut decisions = Decisions::default();
        by_id.values().for_each(|record| decisions.take(record));
        let holding = decisions.holding().map(|decision| decision.id.clone()).collect();
        Ok(Self { holding, withdrawn: RecordFile::withdrawn(&files), by_id })
    }

    /// A record as an event, with what became of it.
    fn described(&self, record: &Record) -> Option<HistoryEvent> {
        let mut event = event(record)?;
        if self.withdrawn.has(&record.id) {
            event.text.push_str(" (withdrawn: the commit that brought it was reverted)");
        }
        if matches!(record.body, Body::Decision(_)) && !self.holding.contains(&record.id) {
            event.text.push_str(" (a later decision holds)");
        }
        Some(event)
    }
}

/// What became of a note in all prompts, as one event.
fn use_event(last: &Record, of: &NoteUse) -> HistoryEvent {
    let times = |count: u32| if count == 1 { "once".to_owned() } else { format!("{count} times") };
    let mut text = format!("in a prompt {}", times(of.shown));
    match &of.last_used {
        Some(moment) => text.push_str(&format!(", last used on {}", moment.chars().take(10).collect::<String>())),
        None => text.push_str(", never used"),
    }
    if of.contradicted > 0 {
        text.push_str(&format!(", contradicted {}", times(of.contradicted)));
    }
    if of.is_retired() {
        text.push_str(&format!("; no longer in prompts, after {} without use", times(of.unused)));
    }
    HistoryEvent {
        date: last.ts.clone(),
        event: last.body.kind().to_owned(),
        id: last.id.clone(),
        author: None,
        branch: None,
        text,
    }
}

/// The ids of the records that a record is about.
fn mentioned(record: &Record) -> Vec<&str> {
    match &record.body {
        Body::Same(kinds::Same { kept, folded, .. }) => vec![kept, folded],
        Body::Distinct(kinds::Distinct { left, right, .. }) | Body::Conflict(kinds::Conflict { left, right, .. }) => {
            vec![left, right]
        }
        Body::Supersedes(kinds::Supersedes { older, newer, .. }) => {
            std::iter::once(older.as_str()).chain(newer.as_deref()).collect()
        }
        Body::Decision(kinds::Decision { keep, drop, .. }) => keep.iter().chain(drop).map(String::as_str).collect(),
        Body::Tombstone(kinds::Tombstone { forget }) => vec![forget],
        Body::Questions(kinds::Questions { of, .. }) => vec![of],
        Body::Use(kinds::Use { shown, .. }) => shown.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

fn event(record: &Record) -> Option<HistoryEvent> {
    let rules = Some(RULES.to_owned());
    let list = |ids: &[String]| {
        if ids.is_empty() { "none".to_owned() } else { ids.join(", ") }
    };
    let (author, text) = match &record.body {
        Body::Learning(kinds::Learning { text, author, .. }) => (author.clone(), text.clone()),
        Body::Pattern(kinds::Pattern { pattern, author, .. }) => (author.clone(), pattern.clone()),
        Body::Failure(kinds::Failure { attempt, author, .. }) => (author.clone(), attempt.clone()),
        Body::Questions(kinds::Questions { of, author }) => {
            (author.clone(), format!("{of} answers: {}", record.origin.answers.join("; ")))
        }
        Body::Same(kinds::Same { kept, folded, by, reason, .. }) => {
            (Some(by.clone()), format!("{folded} is a duplicate of {kept}: {reason}"))
        }
        Body::Distinct(kinds::Distinct { left, right, by, reason }) => {
            (Some(by.clone()), format!("{left} and {right} are both true: {reason}"))
        }
        Body::Conflict(conflict @ kinds::Conflict { left, right, by, reason, .. }) => {
            let may = if conflict.is_judged() { "" } else { "may " };
            (Some(by.clone()), format!("{left} and {right} {may}contradict each other: {reason}"))
        }
        Body::Supersedes(kinds::Supersedes { older, newer, reason, .. }) => {
            let newer = newer.as_deref().unwrap_or("a later record");
            let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            (rules, format!("{newer} supersedes {older}{reason}"))
        }
        Body::Decision(kinds::Decision { keep, drop, note, author, .. }) => {
            let note = note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
            (author.clone(), format!("kept {}; dropped {}{note}", list(keep), list(drop)))
        }
        Body::Tombstone(kinds::Tombstone { forget }) => (None, format!("{forget} was deleted")),
        _ => return None,
    };
    Some(HistoryEvent {
        date: record.ts.clone(),
        event: record.body.kind().to_owned(),
        id: record.id.clone(),
        author: author.map(|author| redact(&author).into_owned()),
        branch: record.origin.branch.as_deref().map(|branch| redact(branch).into_owned()),
        text: redact(&text).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use crate::records::MAIN;
    use crate::store::StoreSettings;
    use muninn_base::Clock;

    #[test]
    fn history_tells_who_decided_what_and_why() {
        let main = r#"{"id":"A1","ts":"2026-01-01T00:00:00Z","type":"learning","text":"The limit is 64.","author":"Ann"}
{"id":"B1","ts":"2026-01-02T00:00:00Z","type":"learning","text":"The limit is 32.","author":"Ben"}
{"id":"0C","ts":"2026-01-02T00:00:00Z","type":"conflict","left":"A1","right":"B1","by":"rules","reason":"`64` against `32`"}
{"id":"D1","ts":"2026-01-04T00:00:00Z","type":"decision","conflict":"0C","keep":["B1"],"drop":["A1"],"note":"halved in May","author":"Cy"}
{"id":"D0","ts":"2026-01-03T12:00:00Z","type":"decision","conflict":"0C","keep":["A1"],"drop":["B1"],"author":"Ann"}
{"id":"E1","ts":"2026-01-05T00:00:00Z","type":"learning","text":"Unrelated.","author":"Ann"}
"#;
        let repo = Fixture::with(&[(MAIN, main)]);
        let state = tempfile::tempdir().unwrap();
        let store = Store::at(repo.home(), state.path(), StoreSettings::default(), Clock::system());
        let expected = [
            ("A1", Some("Ann"), "The limit is 64."),
            ("B1", Some("Ben"), "The limit is 32."),
            ("0C", Some("rules"), "A1 and B1 may contradict each other: `64` against `32`"),
            ("D0", Some("Ann"), "kept A1; dropped B1 (a later decision holds)"),
            ("D1", Some("Cy"), "kept B1; dropped A1: halved in May"),
        ];
        for id in ["a1", "B1", "0c", "d1"] {
            let events = history(&store, id).unwrap();
            let found: Vec<_> =
                events.iter().map(|event| (&*event.id, event.author.as_deref(), &*event.text)).collect();
            assert_eq!(found, expected, "{id}");
        }
        assert_eq!(history(&store, "E1").unwrap().len(), 1);
        assert!(history(&store, "none").is_err());
        let logged = decisions(&store).unwrap();
        let logged: Vec<_> =
            logged.iter().map(|one| (&*one.event.id, &*one.sides[0].text, &*one.sides[1].text)).collect();
        let (half, whole) = ("The limit is 32.", "The limit is 64.");
        assert_eq!(logged, [("D1", half, whole), ("D0", whole, half)], "what rules found is no decision");
    }
}
