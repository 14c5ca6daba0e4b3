//! Due reminders with real programs: what is done, once, and what is left behind.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Instant;

use muninn_config::{AgentClient, load_text};
use muninn_notebooks::personal::{NewReminder, ReminderExtras};
use tempfile::TempDir;

use super::*;

mod agents;
mod recovery;

const NOW: &str = "2027-03-01T09:00:00Z";

/// A personal directory with reminders, and a clock that the test sets.
struct Desk {
    folder: TempDir,
    clock: Clock,
    personal: Arc<Personal>,
    settings: ReminderSettings,
    maker: Maker,
}

impl Desk {
    fn new() -> Desk {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::fixed(NOW.parse().unwrap());
        let root = folder.path().join("me");
        let personal = Arc::new(Personal::new(&root, clock.clone()));
        personal.set_up(&Default::default()).unwrap();
        let settings = ReminderSettings { config: load_text("").unwrap().personal, gateway: None };
        Desk { folder, clock, personal, settings, maker: Maker::Person }
    }

    /// Has agent `claude` run a shell script.
    fn with_agent(mut self, script: &str) -> Desk {
        let program = self.folder.path().join("agent");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        self.settings.config.agents = BTreeMap::from([("claude".to_owned(), agent(program.to_str().unwrap()))]);
        self
    }

    fn agent(&mut self) -> &mut AgentConfig {
        self.settings.config.agents.get_mut("claude").unwrap()
    }

    fn remind(&self, kind: ReminderKind, expression: &str, extras: ReminderExtras) {
        let new = NewReminder {
            id: "water".to_owned(),
            kind,
            expression: expression.to_owned(),
            description: "Water the plants".to_owned(),
            payload: "all; of $(them) `now` --help".to_owned(),
            extras: ReminderExtras { zone: Some("UTC".to_owned()), ..extras },
        };
        self.reminders().remind(new, self.maker).unwrap();
    }

    fn remind_once(&self, action: Action) {
        let extras = ReminderExtras { action, ..ReminderExtras::default() };
        self.remind(ReminderKind::Once, "2027-03-01T09:10:00Z", extras);
    }

    /// Says yes to the reminders that wait.
    fn accept_all(&self) {
        let reminders = self.reminders();
        for reminder in reminders.waiting().unwrap() {
            reminders.accept(&reminder).unwrap();
        }
    }

    fn wait(&self, minutes: u64) {
        self.clock.advance(Duration::from_mins(minutes));
    }

    fn reminders(&self) -> Arc<Reminders> {
        let state = self.folder.path().join("state");
        Arc::new(Reminders::open(&self.personal, &state, self.clock.clone()).unwrap())
    }

    /// One look, and the end of what it starts.
    fn run(&self) -> LookReport {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(self.reminders().run_due(&self.settings, &CancellationToken::new()))
    }

    fn fired(&self) -> Vec<String> {
        self.run().fired
    }

    fn inbox(&self) -> String {
        fs::read_to_string(self.personal.root().join("state/inbox.md")).unwrap()
    }

    fn journal(&self) -> Vec<String> {
        let entries = self.personal.recent(10, None).unwrap().into_iter();
        let source = |metadata: Option<muninn_notebooks::personal::EntryMetadata>| metadata.and_then(|it| it.source);
        entries.map(|entry| format!("{} {:?} {}", entry.topic, source(entry.metadata), entry.content)).collect()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn agent(program: &str) -> AgentConfig {
    AgentConfig {
        client: AgentClient::Claude,
        allow_from_tools: false,
        program: program.to_owned(),
        model: None,
        allowed_tools: vec!["Read".to_owned(), "Grep".to_owned()],
        permission_mode: None,
        max_turns: 3,
        max_budget_usd: Some(0.5),
        timeout: Duration::from_secs(60),
        max_runs_per_hour: 2,
        environment: Vec::new(),
    }
}

#[test]
fn single_time_is_told_once_and_its_file_goes() {
    let desk = Desk::new();
    desk.remind_once(Action::Inbox);
    let look = desk.run();
    assert!(look.fired.is_empty());
    assert_eq!(look.next.unwrap().to_string(), "2027-03-01T09:10:00Z");
    desk.wait(10);
    assert_eq!(desk.fired(), ["water: in the inbox"]);
    assert!(desk.fired().is_empty());
    let line =
        "- 2027-03-01 09:10 Water the plants: all; of $(them) `now` --help [reminder water, due 2027-03-01T09:10:00Z]";
    assert_eq!(desk.inbox(), format!("# Inbox\n\n{line}\n"));
    assert!(desk.personal.reminders().unwrap().reminders.is_empty());
}

#[test]
fn missed_times_are_told_as_one_that_is_late() {
    let desk = Desk::new();
    desk.remind(ReminderKind::Cron, "0 * * * *", ReminderExtras::default());
    desk.wait(3 * 60 + 30);
    assert_eq!(desk.fired(), ["water: in the inbox"]);
    let inbox = desk.inbox();
    assert!(inbox.contains("- 2027-03-01 12:00, 30 minutes late, 2 earlier times missed Water"), "{inbox}");
}

#[test]
fn single_time_that_was_missed_is_never_dropped() {
    let desk = Desk::new().with_agent("echo ran > \"$0.ran\"");
    let extras = ReminderExtras { action: Action::Agent, catch_up: CatchUp::Skip, ..ReminderExtras::default() };
    desk.remind(ReminderKind::Once, "2027-03-01T09:10:00Z", extras);
    desk.wait(300);
    assert_eq!(desk.fired(), ["water: in the inbox (it was missed)"]);
    assert!(!desk.path("agent.ran").exists());
}

#[test]
fn secrets_in_files_of_others_are_not_told() {
    let desk = Desk::new();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let folder = desk.personal.root().join("reminders");
    fs::create_dir_all(&folder).unwrap();
    let text = format!(
        r#"{{"id":"water","type":"once","expression":"2027-03-01T09:10:00.500Z","description":"d {secret}","payload":"p",
        "muninn":{{"action":"session","timeoutSeconds":18446744073709551615}}}}"#
    );
    fs::write(folder.join("water.json"), text).unwrap();
    desk.accept_all();
    desk.wait(10);
    let mut told = Vec::new();
    let mut tell = |line: &str| {
        told.push(line.to_owned());
        true
    };
    let stopping = CancellationToken::new();
    let reminders = desk.reminders();
    let look = reminders.look(Part::Session, &desk.settings, (&mut JoinSet::new(), &stopping), &mut tell);
    assert_eq!(look.fired, ["water: told a session"], "{look:?}");
    assert!(told[0].starts_with("Muninn reminder `water`") && !told[0].contains(&secret), "{told:?}");
    assert!(reminders.report(&desk.settings.config).unwrap().reminders[0].last.is_some());
}

#[test]
fn session_is_told_first_and_the_inbox_if_there_is_none() {
    let desk = Desk::new();
    desk.remind_once(Action::Session);
    desk.wait(10);
    assert!(desk.fired().is_empty(), "a session may still take it");
    let reminders = desk.reminders();
    let mut told = Vec::new();
    let look = |told: &mut Vec<String>, is_read: bool| {
        let mut tell = |line: &str| {
            told.push(line.to_owned());
            is_read
        };
        let mut runs = JoinSet::new();
        reminders.look(Part::Session, &desk.settings, (&mut runs, &CancellationToken::new()), &mut tell).fired
    };
    assert_eq!(look(&mut told, true), ["water: told a session"]);
    assert_eq!(told, ["Muninn reminder `water`, due 2027-03-01 09:10: Water the plants: all; of $(them) `now` --help"]);
    assert!(look(&mut told, true).is_empty());
    desk.remind(
        ReminderKind::Once,
        "2027-03-01T09:20:00Z",
        ReminderExtras { action: Action::Session, ..ReminderExtras::default() },
    );
    desk.wait(12);
    assert_eq!(desk.fired(), ["water: in the inbox"]);
}
