//! Cases of our own about the formats of the program that this one continues, and about damage.

mod reminders;
mod search;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::*;
use muninn_base::clock::Clock;

const NOW: &str = "2026-03-10T12:00:00Z";

struct Place {
    directory: tempfile::TempDir,
    clock: Clock,
}

impl Place {
    fn new() -> Place {
        Place { directory: tempfile::tempdir().unwrap(), clock: Clock::fixed(NOW.parse().unwrap()) }
    }

    fn open(&self) -> Personal {
        Personal::new(self.directory.path(), self.clock.clone())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.directory.path().join(name)).unwrap()
    }
}

fn remind(personal: &Personal, new: NewReminder) -> Result<ScheduleView, PersonalError> {
    let reminder = personal.planned(new)?;
    personal.write_reminder(&reminder)?;
    Ok(reminder.view(personal.clock.now()))
}

fn all(limit: usize) -> SearchOptions {
    SearchOptions { kind: None, since: None, limit }
}

fn contents(personal: &Personal, query: &str, options: &SearchOptions) -> Vec<String> {
    let found = personal.search(query, options).unwrap();
    found.into_iter().map(|item| item.content).collect()
}

fn reminder(id: &str, kind: ReminderKind, expression: &str) -> NewReminder {
    NewReminder {
        id: id.to_owned(),
        kind,
        expression: expression.to_owned(),
        description: "the daily look".to_owned(),
        payload: "look at the mail".to_owned(),
        extras: ReminderExtras { zone: Some("Europe/Berlin".to_owned()), ..ReminderExtras::default() },
    }
}

#[test]
fn empty_directory_is_a_first_run_with_an_empty_context() {
    let place = Place::new();
    let personal = Personal::new(&place.directory.path().join("not/there"), place.clock.clone());
    let context = personal.context();
    assert!(context.is_first_run && context.notes.is_empty(), "{context:?}");
    assert!(personal.search("anything", &all(5)).unwrap().is_empty());
    assert!(personal.reminders().unwrap().reminders.is_empty());
    let written = serde_json::to_value(&context).unwrap();
    let keys: Vec<&str> = written.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = ["identity", "isFirstRun", "paths", "recentJournal", "schedules", "state"];
    assert_eq!(keys, expected);
    assert!(!place.directory.path().join("not").exists(), "reading makes nothing");
}

#[test]
fn both_layouts_of_the_files_are_read() {
    let place = Place::new();
    place.write("state/identity.md", "# Test Identity\n");
    place.write("state/today.md", "# Today\n\nRunning tests.\n");
    place.write("state/human.md", "# Human\n\nA user.\n");
    place.write("state/workspace.md", "# Workspace\n");
    let context = place.open().context();
    assert!(!context.is_first_run);
    assert_eq!((&*context.identity, &*context.state.today), ("# Test Identity", "# Today\n\nRunning tests."));
    assert_eq!(context.state.human.as_deref(), Some("# Human\n\nA user."));
    place.write("identity.md", "# Ann\n");
    assert_eq!(place.open().context().identity, "# Ann", "the file at the root counts first");
    place.write("state/inbox.md", &"a line\n".repeat(21));
    assert!(place.open().context().notes[0].contains("state/inbox.md has 21 lines; the limit is 20"));
}

#[test]
fn entries_have_the_format_of_the_other_program() {
    let place = Place::new();
    let personal = place.open();
    let metadata = EntryMetadata { source: Some("conversation".to_owned()), intent: None };
    personal.log("topic1", "First entry", metadata).unwrap();
    personal.log("topic2", "Second entry", EntryMetadata::default()).unwrap();
    let written = place.read("journal/2026-03-10.jsonl");
    assert_eq!(
        written,
        concat!(
            r#"{"timestamp":"2026-03-10T12:00:00.000Z","topic":"topic1","content":"First entry","metadata":{"source":"conversation"}}"#,
            "\n",
            r#"{"timestamp":"2026-03-10T12:00:00.000Z","topic":"topic2","content":"Second entry"}"#,
            "\n"
        )
    );
    let topics = |count, topic| {
        let recent = personal.recent(count, topic).unwrap();
        recent.into_iter().map(|entry| entry.topic).collect::<Vec<_>>()
    };
    assert_eq!(topics(10, None), ["topic2", "topic1"]);
    assert_eq!((topics(1, None).len(), topics(10, Some("topic1"))), (1, vec!["topic1".to_owned()]));
    assert!(matches!(personal.log(" ", "x", EntryMetadata::default()), Err(PersonalError::Empty("topic"))));
    let long = personal.log("x", &"y".repeat(200_000), EntryMetadata::default());
    assert!(matches!(long, Err(PersonalError::TooLong { .. })));
    let secret = personal.log("x", "key ghp_0123456789abcdefghijABCDEFGHIJ012345", EntryMetadata::default());
    assert!(secret.unwrap().redacted && !place.read("journal/2026-03-10.jsonl").contains("ghp_"));
}

#[cfg(unix)]
#[test]
fn files_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let personal = place.open();
    personal.log("x", "y", EntryMetadata::default()).unwrap();
    personal.log_signal("search", None, None, 90).unwrap();
    remind(&personal, reminder("daily", ReminderKind::Cron, "0 9 * * *")).unwrap();
    for name in ["journal", "journal/2026-03-10.jsonl", "signals/2026-03-10.jsonl", "reminders/daily.json"] {
        let mode = fs::metadata(place.directory.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name}");
    }
}

#[test]
fn damaged_lines_are_kept_reported_and_passed_over() {
    let place = Place::new();
    let torn = "{\"timestamp\":\"2026-03-10T11:00:00Z\",\"topic\":\"a\",\"content\":\"kept bucket\"}\nnot json\n{\"topic\":\"b\"";
    place.write("journal/2026-03-10.jsonl", torn);
    place.write("journal/notes.txt", "not ours");
    let personal = place.open();
    assert_eq!(contents(&personal, "bucket", &all(5)), ["[a] kept bucket"]);
    personal.log("c", "after the torn line", EntryMetadata::default()).unwrap();
    assert!(place.read("journal/2026-03-10.jsonl").starts_with(&format!("{torn}\n")));
    assert_eq!(personal.recent(10, None).unwrap().len(), 2);
    let bad = personal.check_journal().unwrap();
    assert_eq!(bad.lines.iter().map(|bad| bad.line).collect::<Vec<_>>(), [2, 3]);
    assert_eq!((bad.count, bad.ended_in), (2, None));
    assert_eq!(contents(&personal, "torn line", &all(1)), ["[c] after the torn line"]);
}

/// 24 kB of an archive can hold a hundred million of such lines.
#[test]
fn lines_that_say_nothing_cost_a_bounded_time() {
    let place = Place::new();
    let bomb = "{}\n".repeat(1_000_000);
    for day in 1..5 {
        place.write(&format!("journal/2026-02-0{day}.jsonl"), &bomb);
        place.write(&format!("signals/2026-03-0{day}.jsonl"), &bomb);
    }
    let personal = place.open();
    let begun = std::time::Instant::now();
    assert_eq!(personal.recent(10, None).unwrap(), []);
    let bad = personal.check_journal().unwrap();
    assert_eq!((bad.lines.len(), bad.count), (20, 100_000));
    assert_eq!(bad.ended_in.as_deref(), Some("journal/2026-02-01.jsonl"));
    assert!(contents(&personal, "bucket", &all(5)).is_empty());
    assert_eq!(personal.recent_signals(10).unwrap(), []);
    assert_eq!(personal.summarize_signals(30).unwrap().bad_lines, 100_000);
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
    // The newest lines come first.
    personal.log("a", "tea", EntryMetadata::default()).unwrap();
    assert_eq!(personal.recent(1, None).unwrap().len(), 1);
}

#[test]
fn day_never_grows_beyond_what_exports_take() {
    let place = Place::new();
    let personal = place.open();
    personal.log("a", "first", EntryMetadata::default()).unwrap();
    let path = "journal/2026-03-10.jsonl";
    let filler = "x".repeat((16 << 20) - 50);
    place.write(path, &filler);
    let full = personal.log("a", &"y".repeat(100), EntryMetadata::default());
    let message = full.unwrap_err().to_string();
    assert!(message.contains(path) && message.contains("16777216"), "{message}");
    assert_eq!(place.read(path), filler, "nothing is written");
    place.write("signals/2026-03-10.jsonl", &filler);
    assert!(personal.log_signal("search", None, None, 90).is_err());
}

#[test]
fn signals_are_kept_for_some_days_and_added_up() {
    let place = Place::new();
    place.write("signals/2025-01-01.jsonl", "{}\n");
    let personal = place.open();
    let context = |query: &str| Some(SignalContext { query: Some(query.to_owned()), ..SignalContext::default() });
    personal
        .log_signal("search", context("tea"), Some(json!({"found": ["ghp_0123456789abcdefghijABCDEFGHIJ012345"]})), 90)
        .unwrap();
    personal.log_signal("search", context("tea"), None, 90).unwrap();
    personal.log_signal("file_edit", None, None, 90).unwrap();
    assert!(!place.directory.path().join("signals/2025-01-01.jsonl").exists());
    let written = place.read("signals/2026-03-10.jsonl");
    assert!(
        written.contains("\"type\":\"search\",\"context\":{\"query\":\"tea\"}") && !written.contains("ghp_"),
        "{written}"
    );
    place.write("signals/2026-03-09.jsonl", "not json\n");
    let summary = personal.summarize_signals(30).unwrap();
    assert_eq!((summary.signals, summary.bad_lines, summary.kinds["search"]), (3, 1, 2));
    assert_eq!(summary.queries, [("tea".to_owned(), 2)]);
    assert!(personal.log_signal("x", None, Some(json!("y".repeat(100_000))), 90).is_err());
}

#[test]
fn settings_of_the_other_program_are_read() {
    let place = Place::new();
    assert_eq!(PersonalSettings::read(place.directory.path()).unwrap(), PersonalSettings::default());
    place.write(
        "macrodata.json",
        r#"{"git":{"enabled":true,"autoCommit":true,"remote":null},"daemon":{"checkInterval":1000},"x":1}"#,
    );
    let settings = PersonalSettings::read(place.directory.path()).unwrap();
    assert!(settings.git.auto_commit && settings.daemon.enabled);
    assert_eq!(settings.daemon.check_interval, 1_000);
    place.write("macrodata.json", "{");
    assert!(PersonalSettings::read(place.directory.path()).unwrap_err().to_string().contains("macrodata.json"));
}

#[test]
fn a_directory_inside_a_worktree_is_warned_of() {
    let place = Place::new();
    fs::create_dir(place.directory.path().join(".git")).unwrap();
    let inside = Personal::new(&place.directory.path().join("me"), place.clock.clone());
    assert!(inside.context().notes[0].contains("git worktree"), "{:?}", inside.context().notes);
    // A repository of its own is what versions are kept in.
    assert!(place.open().worktree_around().is_none_or(|around| around != place.directory.path()));
}
