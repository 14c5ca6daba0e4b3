//! Cases of our own about the formats of the program that this one continues, and about damage.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::*;
use crate::clock::Clock;

const NOW: &str = "2026-03-10T12:00:00Z";

struct Place {
    directory: tempfile::TempDir,
    clock: Clock,
}

impl Place {
    fn new() -> Place {
        Place {
            directory: tempfile::tempdir().unwrap(),
            clock: Clock::fixed(NOW.parse().unwrap()),
        }
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

fn all(limit: usize) -> SearchOptions {
    SearchOptions {
        kind: None,
        since: None,
        limit,
    }
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
        extras: ReminderExtras {
            zone: Some("Europe/Berlin".to_owned()),
            ..ReminderExtras::default()
        },
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
    assert_eq!(
        (&*context.identity, &*context.state.today),
        ("# Test Identity", "# Today\n\nRunning tests.")
    );
    assert_eq!(context.state.human.as_deref(), Some("# Human\n\nA user."));
    place.write("identity.md", "# Ann\n");
    assert_eq!(
        place.open().context().identity,
        "# Ann",
        "the file at the root counts first"
    );
    place.write("state/inbox.md", &"a line\n".repeat(21));
    assert!(place.open().context().notes[0].contains("state/inbox.md has 21 lines, and 20"));
}

#[test]
fn entries_have_the_format_of_the_other_program() {
    let place = Place::new();
    let personal = place.open();
    let metadata = EntryMetadata {
        source: Some("conversation".to_owned()),
        intent: None,
    };
    personal.log("topic1", "First entry", metadata).unwrap();
    personal
        .log("topic2", "Second entry", EntryMetadata::default())
        .unwrap();
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
    assert_eq!(
        (topics(1, None).len(), topics(10, Some("topic1"))),
        (1, vec!["topic1".to_owned()])
    );
    assert!(matches!(
        personal.log(" ", "x", EntryMetadata::default()),
        Err(PersonalError::Empty("topic"))
    ));
    let long = personal.log("x", &"y".repeat(200_000), EntryMetadata::default());
    assert!(matches!(long, Err(PersonalError::TooLong { .. })));
    let secret = personal.log(
        "x",
        "key ghp_0123456789abcdefghijABCDEFGHIJ012345",
        EntryMetadata::default(),
    );
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
    personal
        .remind(reminder("daily", ReminderKind::Cron, "0 9 * * *"))
        .unwrap();
    for name in [
        "journal",
        "journal/2026-03-10.jsonl",
        "signals/2026-03-10.jsonl",
        "reminders/daily.json",
    ] {
        let mode = fs::metadata(place.directory.path().join(name))
            .unwrap()
            .permissions()
            .mode();
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
    personal
        .log("c", "after the torn line", EntryMetadata::default())
        .unwrap();
    assert!(place.read("journal/2026-03-10.jsonl").starts_with(&format!("{torn}\n")));
    assert_eq!(personal.recent(10, None).unwrap().len(), 2);
    let bad = personal.check_journal().unwrap();
    assert_eq!(bad.iter().map(|bad| bad.line).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(contents(&personal, "torn line", &all(1)), ["[c] after the torn line"]);
}

#[test]
fn entries_and_entities_are_found_at_once_and_by_type() {
    let place = Place::new();
    let personal = place.open();
    personal
        .log(
            "cooking",
            "Made a pasta carbonara with fresh eggs",
            EntryMetadata::default(),
        )
        .unwrap();
    assert_eq!(
        contents(&personal, "pasta", &all(5)),
        ["[cooking] Made a pasta carbonara with fresh eggs"]
    );
    place.write(
        "entities/people/bob.md",
        "# Bob\n\n## About\n\nBackend developer of systems in Rust.\n",
    );
    place.write(
        "entities/projects/auth.md",
        "# Auth\n\n## Description\n\nAuthentication service.\n",
    );
    place.write("entities/topics/tea.md", "# Tea\n\nGreen tea at four.\n");
    let found = personal.search("rust systems", &all(5)).unwrap();
    assert_eq!(
        (&found[0].kind, found[0].section.as_deref()),
        (&ItemType::Person, Some("About"))
    );
    assert_eq!(found[0].source, "entities/people/bob.md");
    let projects = SearchOptions {
        kind: Some(ItemType::Project),
        ..all(5)
    };
    assert!(
        personal
            .search("authentication service", &projects)
            .unwrap()
            .iter()
            .all(|item| item.kind == ItemType::Project)
    );
    let topics = SearchOptions {
        kind: Some(ItemType::from("topics".to_owned())),
        ..all(5)
    };
    assert_eq!(personal.search("green tea", &topics).unwrap().len(), 1);
    let written = serde_json::to_value(&found[0]).unwrap();
    assert_eq!(written["type"], "person");
}

#[test]
fn changed_renamed_and_removed_files_are_followed() {
    let place = Place::new();
    let personal = place.open();
    let path = place.write("entities/people/ann.md", "# Ann\n\nLikes zebras.\n");
    let journal = place.write(
        "journal/2026-03-09.jsonl",
        "{\"timestamp\":\"2026-03-09T11:00:00Z\",\"topic\":\"a\",\"content\":\"saw an okapi\"}\n",
    );
    assert_eq!(contents(&personal, "zebras", &all(1)).len(), 1);
    fs::write(&path, "# Ann\n\nLikes tapirs.\n").unwrap();
    assert_eq!(contents(&personal, "tapirs", &all(1)).len(), 1);
    assert!(
        contents(&personal, "zebras", &all(5))
            .iter()
            .all(|text| !text.contains("zebras"))
    );
    // An older line is edited by hand, so that the file is read anew.
    fs::write(
        &journal,
        place.read("journal/2026-03-09.jsonl").replace("okapi", "quagga"),
    )
    .unwrap();
    assert_eq!(contents(&personal, "quagga", &all(1)), ["[a] saw an quagga"]);
    assert_eq!(
        contents(&personal, "okapi", &all(5))
            .iter()
            .filter(|text| text.contains("okapi"))
            .count(),
        0
    );
    fs::rename(&path, path.with_file_name("anna.md")).unwrap();
    let found = personal.search("tapirs", &all(5)).unwrap();
    assert_eq!(found.iter().filter(|item| item.content.contains("tapirs")).count(), 1);
    assert!(found[0].source.ends_with("anna.md"));
    fs::remove_file(path.with_file_name("anna.md")).unwrap();
    assert!(
        personal
            .search("tapirs", &all(5))
            .unwrap()
            .iter()
            .all(|item| !item.content.contains("tapirs"))
    );
}

#[test]
fn next_process_reads_the_kept_index_and_only_what_is_new() {
    let place = Place::new();
    let line = |at: usize| {
        let entry = json!({"timestamp": format!("2026-03-01T10:{:02}:00Z", at % 60), "topic": "n", "content": format!("number{at} of them")});
        format!("{entry}\n")
    };
    let path = place.write("journal/2026-03-01.jsonl", &(0..700).map(line).collect::<String>());
    let long_ago = SystemTime::now() - Duration::from_secs(600);
    fs::File::options()
        .append(true)
        .open(&path)
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    assert_eq!(contents(&place.open(), "number642", &all(1)), ["[n] number642 of them"]);
    assert!(fs::read_dir(place.directory.path().join(".index")).unwrap().count() > 0);
    // A damaged file with the old time: the index is believed, and the text is no longer there.
    fs::write(
        &path,
        fs::read_to_string(&path).unwrap().replace("number642", "numb#r642"),
    )
    .unwrap();
    fs::File::options()
        .append(true)
        .open(&path)
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    let next = place.open();
    assert_eq!(contents(&next, "number642", &all(1)), ["[n] numb#r642 of them"]);
    for at in 700..710 {
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str(&line(at));
        fs::write(&path, text).unwrap();
    }
    assert_eq!(contents(&next, "number709", &all(1)), ["[n] number709 of them"]);
    assert_eq!(contents(&next, "number3", &all(1)), ["[n] number3 of them"]);
}

#[test]
fn since_is_a_date_or_a_time() {
    let place = Place::new();
    for year in ["2024", "2025"] {
        place.write(
            &format!("journal/{year}-06-01.jsonl"),
            &format!("{{\"timestamp\":\"{year}-06-01T10:00:00Z\",\"topic\":\"y\",\"content\":\"entry of {year}\"}}\n"),
        );
    }
    let personal = place.open();
    let since = |text: &str| {
        let since = Some(time(text, &TimeZone::UTC).unwrap());
        contents(&personal, "entry", &SearchOptions { since, ..all(9) })
    };
    assert_eq!(since("2025-01-01"), ["[y] entry of 2025"]);
    assert_eq!(since("2025-06-01T10:00:01Z"), Vec::<String>::new());
    assert_eq!(since("2024-06-01T00:00").len(), 2);
    assert!(time("yesterday", &TimeZone::UTC).is_err());
}

#[test]
fn reminders_are_files_that_the_other_program_reads_and_does_not_run() {
    let place = Place::new();
    let personal = place.open();
    let made = personal
        .remind(reminder("daily.look", ReminderKind::Cron, "0 9 * * 1-5"))
        .unwrap();
    assert_eq!(made.next[0], "2026-03-11 09:00 CET");
    assert_eq!(made.next.len(), 3);
    let written: Value = serde_json::from_str(&place.read("reminders/daily.look.json")).unwrap();
    assert_eq!(written["type"], "cron");
    assert_eq!(written["expression"], "0 9 * * 1-5");
    assert_eq!(written["createdAt"], "2026-03-10T12:00:00.000Z");
    assert!(written.get("agent").is_none(), "{written}");
    let once = personal
        .remind(reminder("once", ReminderKind::Once, "2026-03-15T14:30:00"))
        .unwrap();
    assert_eq!(
        (once.next, once.datetime.as_deref()),
        (vec!["2026-03-15 14:30 CET".to_owned()], Some("2026-03-15T14:30:00"))
    );
    assert_eq!(personal.reminders().unwrap().reminders.len(), 2);
    personal.remove_reminder("once").unwrap();
    assert!(matches!(
        personal.remove_reminder("once"),
        Err(PersonalError::NoReminder(_))
    ));
}

#[test]
fn reminders_of_the_other_program_are_read_and_damaged_ones_reported() {
    let place = Place::new();
    let theirs = json!({"id": "standup", "type": "cron", "expression": "30 8 * * 1-5", "description": "Weekday mornings",
        "payload": "Start", "agent": "claude", "createdAt": NOW, "later": {"x": 1}});
    place.write("reminders/standup.json", &theirs.to_string());
    place.write("reminders/broken.json", "{");
    place.write("reminders/renamed.json", &theirs.to_string());
    place.write(
        "reminders/never.json",
        &json!({"id": "never", "type": "cron", "expression": "0 0 31 2 *", "description": "d", "payload": "p"})
            .to_string(),
    );
    let Reminders { reminders, problems } = place.open().reminders().unwrap();
    assert_eq!(
        reminders.iter().map(|one| &*one.id).collect::<Vec<_>>(),
        ["never", "standup"]
    );
    assert_eq!(
        (reminders[1].action(), &reminders[1].others["later"]["x"]),
        (Action::Agent, &json!(1))
    );
    assert_eq!(
        serde_json::to_value(&reminders[1]).unwrap(),
        theirs,
        "nothing is lost in reading"
    );
    assert!(
        problems.len() == 2 && problems[0].contains("broken.json"),
        "{problems:?}"
    );
    assert!(reminders[0].view(NOW.parse().unwrap()).next.is_empty());
}

#[test]
fn ids_and_expressions_that_cannot_be_are_refused() {
    let place = Place::new();
    let personal = place.open();
    for id in ["", "../x", "a/b", ".hidden", "a\\b", &"x".repeat(101), "a\0b"] {
        let refused = personal.remind(reminder(id, ReminderKind::Cron, "0 9 * * *"));
        assert!(matches!(refused, Err(PersonalError::Id(_))), "{id:?}: {refused:?}");
    }
    let long = format!("0 9 * * {}", "1,".repeat(500_000));
    for expression in [
        "",
        "x",
        "0 9 * *",
        "0 0 9 * * *",
        "60 * * * *",
        "0 0 31 2 *",
        "*/0 * * * *",
        &long,
    ] {
        let refused = personal.remind(reminder("a", ReminderKind::Cron, expression));
        assert!(matches!(refused, Err(PersonalError::Schedule { .. })), "{refused:?}");
    }
    for expression in ["tomorrow", "2026-13-01T10:00:00", "2020-01-01T10:00:00"] {
        assert!(
            personal.remind(reminder("a", ReminderKind::Once, expression)).is_err(),
            "{expression}"
        );
    }
    let mut elsewhere = reminder("a", ReminderKind::Cron, "0 9 * * *");
    elsewhere.extras.zone = Some("Mars/Olympus".to_owned());
    assert!(matches!(personal.remind(elsewhere), Err(PersonalError::Zone(_))));
    assert!(personal.reminders().unwrap().reminders.is_empty());
}

#[test]
fn clock_changes_are_those_of_cron() {
    let zone = zone(Some("Europe/Berlin")).unwrap();
    let due = |expression: &str, from: &str, count: usize| -> Vec<String> {
        let schedule = Schedule::parse(ReminderKind::Cron, expression, zone.clone()).unwrap();
        let first: Timestamp = from.parse().unwrap();
        let times = std::iter::successors(schedule.after(first), |time| schedule.after(*time));
        times.take(count).map(|time| time.to_string()).collect()
    };
    // 02:30 does not exist on 28 March 2027, and exists twice on 31 October.
    assert_eq!(
        due("30 2 * * *", "2027-03-27T12:00:00Z", 2),
        ["2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"]
    );
    assert_eq!(
        due("30 2 * * *", "2027-10-30T12:00:00Z", 2),
        ["2027-10-31T00:30:00Z", "2027-11-01T01:30:00Z"]
    );
    assert_eq!(due("0,30 * * * *", "2027-10-30T23:59:00Z", 4).len(), 4);
}

#[test]
fn signals_are_kept_for_some_days_and_added_up() {
    let place = Place::new();
    place.write("signals/2025-01-01.jsonl", "{}\n");
    let personal = place.open();
    let context = |query: &str| {
        Some(SignalContext {
            query: Some(query.to_owned()),
            ..SignalContext::default()
        })
    };
    personal
        .log_signal(
            "search",
            context("tea"),
            Some(json!({"found": ["ghp_0123456789abcdefghijABCDEFGHIJ012345"]})),
            90,
        )
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
    assert!(
        personal
            .log_signal("x", None, Some(json!("y".repeat(100_000))), 90)
            .is_err()
    );
}

#[test]
fn settings_of_the_other_program_are_read() {
    let place = Place::new();
    assert_eq!(
        PersonalSettings::read(place.directory.path()).unwrap(),
        PersonalSettings::default()
    );
    place.write(
        "macrodata.json",
        r#"{"git":{"enabled":true,"autoCommit":true,"remote":null},"daemon":{"checkInterval":1000},"x":1}"#,
    );
    let settings = PersonalSettings::read(place.directory.path()).unwrap();
    assert!(settings.git.auto_commit && settings.daemon.enabled);
    assert_eq!(settings.daemon.check_interval, 1_000);
    place.write("macrodata.json", "{");
    assert!(
        PersonalSettings::read(place.directory.path())
            .unwrap_err()
            .to_string()
            .contains("macrodata.json")
    );
}

#[test]
fn a_directory_inside_a_worktree_is_warned_of() {
    let place = Place::new();
    fs::create_dir(place.directory.path().join(".git")).unwrap();
    let inside = Personal::new(&place.directory.path().join("me"), place.clock.clone());
    assert!(
        inside.context().notes[0].contains("git worktree"),
        "{:?}",
        inside.context().notes
    );
    // A repository of its own is what versions are kept in.
    assert!(
        place
            .open()
            .worktree_around()
            .is_none_or(|around| around != place.directory.path())
    );
}

#[test]
fn huge_entity_is_searched_in_its_first_part() {
    let place = Place::new();
    place.write(
        "entities/people/long.md",
        &format!("# Long\n\nzebra\n\n{}", "filler words\n".repeat(1_600_000)),
    );
    let found = place.open().search("zebra", &all(1)).unwrap();
    assert_eq!(found[0].kind, ItemType::Person);
}

/// From so many files on, the directory is watched, and a search looks at none of them as long as nothing changes.
#[test]
fn many_files_are_watched_and_not_looked_at() {
    let place = Place::new();
    for number in 0..600 {
        place.write(&format!("entities/people/p{number}.md"), "# P\n\nA sailor.\n");
    }
    let personal = place.open();
    let supervisor = muninn_repo_tools::Supervisor::default();
    personal.watch(&supervisor);
    assert_eq!(contents(&personal, "sailor", &all(1)).len(), 1);
    assert!(personal.is_watched(Duration::from_secs(30)), "nothing reports changes");
    let _ = contents(&personal, "sailor", &all(1));
    assert!(personal.sees_no_change());
    place.write("entities/people/new.md", "# N\n\nA lighthouse keeper.\n");
    assert!(!personal.sees_no_change());
    assert_eq!(contents(&personal, "lighthouse", &all(1)).len(), 1);
    personal.log("x", "note", EntryMetadata::default()).unwrap();
    assert!(!contents(&personal, "note", &all(1)).is_empty());
    assert!(personal.sees_no_change());
}
