//! Due reminders with real programs: what is done, once, and what is left behind.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Instant;

use muninn_memory::personal::{NewReminder, ReminderExtras};
use tempfile::TempDir;

use super::*;
use crate::config::AgentClient;

const NOW: &str = "2027-03-01T09:00:00Z";

/// A personal directory with reminders, and a clock that the test sets.
struct Desk {
    folder: TempDir,
    clock: Clock,
    personal: Arc<Personal>,
    settings: ReminderSettings,
}

impl Desk {
    fn new() -> Desk {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::fixed(NOW.parse().unwrap());
        let root = folder.path().join("me");
        let personal = Arc::new(Personal::new(&root, clock.clone()));
        personal.set_up(&Default::default()).unwrap();
        Desk {
            folder,
            clock,
            personal,
            settings: ReminderSettings::default(),
        }
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
            extras: ReminderExtras {
                zone: Some("UTC".to_owned()),
                ..extras
            },
        };
        self.personal.remind(new).unwrap();
    }

    fn remind_once(&self, action: Action) {
        let extras = ReminderExtras {
            action,
            ..ReminderExtras::default()
        };
        self.remind(ReminderKind::Once, "2027-03-01T09:10:00Z", extras);
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
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
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
        let source = |metadata: Option<muninn_memory::personal::EntryMetadata>| metadata.and_then(|it| it.source);
        entries
            .map(|entry| format!("{} {:?} {}", entry.topic, source(entry.metadata), entry.content))
            .collect()
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
    assert!(
        inbox.contains("- 2027-03-01 12:00, 30 minutes late, 2 earlier times missed Water"),
        "{inbox}"
    );
}

#[test]
fn single_time_that_was_missed_is_never_dropped() {
    let desk = Desk::new().with_agent("echo ran > \"$0.ran\"");
    let extras = ReminderExtras {
        action: Action::Agent,
        catch_up: CatchUp::Skip,
        ..ReminderExtras::default()
    };
    desk.remind(ReminderKind::Once, "2027-03-01T09:10:00Z", extras);
    desk.wait(300);
    assert_eq!(desk.fired(), ["water: in the inbox (it was missed)"]);
    assert!(!desk.path("agent.ran").exists());
}

#[test]
fn agent_answers_into_the_journal_and_gets_few_variables() {
    let mut desk = Desk::new().with_agent(
        r#"env > "$0.env"; printf '%s\n' "$@" > "$0.arguments"; cat > "$0.input"; pwd > "$0.directory"
        echo '{"subtype":"success","is_error":false,"result":"Watered."}'"#,
    );
    desk.settings.gateway = Some("http://127.0.0.1:4747".to_owned());
    desk.remind_once(Action::Agent);
    desk.wait(10);
    assert_eq!(desk.fired(), ["water: the agent answered; see the journal"]);
    assert_eq!(desk.journal(), [r#"reminder Some("cron") Water the plants: Watered."#]);
    let read = |name: &str| fs::read_to_string(desk.path(name)).unwrap();
    let input = read("agent.input");
    assert!(
        input.starts_with("Muninn reminder `water`, due 2027-03-01 09:10: Water the plants\n\n")
            && input.contains("all; of $(them) `now` --help")
    );
    let arguments = "-p\n--output-format\njson\n--permission-mode\ndontAsk\n--max-turns\n3\n--max-budget-usd\n0.5\n\
        --allowedTools\nRead Grep\n";
    assert_eq!(read("agent.arguments"), arguments);
    let environment = read("agent.env");
    assert!(
        environment.contains("MUNINN_REMINDER=water")
            && environment.contains("ANTHROPIC_BASE_URL=http://127.0.0.1:4747")
    );
    // Cargo sets it for tests, and it is none of those that agents get.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some() && !environment.contains("CARGO_MANIFEST_DIR"));
    assert_eq!(
        read("agent.directory").trim(),
        desk.personal.root().canonicalize().unwrap().to_str().unwrap()
    );
    let log = read("state/reminders/water-20270301T091000Z.log");
    assert!(log.contains("exit status: 0") && log.contains("Watered."), "{log}");
}

#[test]
fn failed_and_missing_agents_leave_a_line_in_the_inbox() {
    for (script, expected) in [
        (
            "echo broken >&2; exit 3",
            "the agent failed: exit status: 3: broken, log",
        ),
        (
            "echo '{\"subtype\":\"error_max_turns\",\"is_error\":true}'; exit 1",
            "the agent failed: error_max_turns, log",
        ),
        ("true", "the agent failed: the agent printed no answer, log"),
    ] {
        let desk = Desk::new().with_agent(script);
        desk.remind_once(Action::Agent);
        desk.wait(10);
        assert!(desk.fired()[0].contains(expected));
        assert!(desk.inbox().contains(expected), "{}", desk.inbox());
        assert!(desk.journal().is_empty());
    }
    let mut desk = Desk::new().with_agent("");
    desk.agent().program = "muninn-test-no-such-program".to_owned();
    desk.remind_once(Action::Agent);
    desk.wait(10);
    desk.run();
    let inbox = desk.inbox();
    assert!(
        inbox.contains("the agent failed: there is no program `muninn-test-no-such-program`)"),
        "{inbox}"
    );
}

#[test]
fn agent_that_hangs_is_ended_with_all_that_it_started() {
    let mut desk = Desk::new().with_agent("sleep 600 & echo $! > \"$0.child\"; echo began; sleep 600");
    desk.agent().timeout = Duration::from_millis(500);
    desk.remind_once(Action::Agent);
    desk.wait(10);
    let began = Instant::now();
    let fired = desk.fired();
    assert!(fired[0].contains("it did not end within 0 s"), "{fired:?}");
    assert!(began.elapsed() < Duration::from_secs(30));
    let child = fs::read_to_string(desk.path("agent.child")).unwrap();
    assert!(!is_alive(child.trim()), "{child}");
    let log = fs::read_to_string(desk.path("state/reminders/water-20270301T091000Z.log")).unwrap();
    assert!(
        log.contains("ended after its timeout") && log.contains("began"),
        "{log}"
    );
}

/// Muninn waits half a second for its tasks when it ends.
#[test]
fn agent_that_does_not_end_is_ended_with_muninn() {
    let desk = Desk::new().with_agent("trap '' TERM; echo $$ > \"$0.id\"; while :; do sleep 1; done");
    desk.remind_once(Action::Agent);
    desk.wait(10);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let stopping = CancellationToken::new();
    let fired = runtime.block_on(async {
        let began = async {
            while !desk.path("agent.id").exists() {
                tokio::task::yield_now().await;
            }
            stopping.cancel();
        };
        let reminders = desk.reminders();
        let run = reminders.run_due(&desk.settings, &stopping);
        tokio::pin!(run);
        tokio::select! {
            look = &mut run => look.fired,
            () = began => run.await.fired,
        }
    });
    assert!(fired[0].contains("Muninn stopped during the run"), "{fired:?}");
    assert!(desk.inbox().contains("Muninn stopped during the run"));
    let id = fs::read_to_string(desk.path("agent.id")).unwrap();
    assert!(!is_alive(id.trim()), "{id}");
}

#[test]
fn agent_that_ends_leaves_no_process_behind() {
    let desk = Desk::new().with_agent("sleep 600 & echo $! > \"$0.child\"; echo '{\"result\":\"done\"}'");
    desk.remind_once(Action::Agent);
    desk.wait(10);
    assert_eq!(desk.fired(), ["water: the agent answered; see the journal"]);
    let child = fs::read_to_string(desk.path("agent.child")).unwrap();
    assert!(!is_alive(child.trim()), "{child}");
}

/// Whether a process exists and has not ended. One that nobody waits for stays as a zombie where no init process does.
fn is_alive(id: &str) -> bool {
    let state = fs::read_to_string(format!("/proc/{id}/stat"));
    state.is_ok_and(|state| !state.rsplit(')').next().unwrap_or_default().trim().starts_with('Z'))
}

#[test]
fn agents_run_only_where_the_user_allows_it() {
    let with = |from_tools: bool, name: Option<&str>| ReminderExtras {
        action: Action::Agent,
        agent: name.map(str::to_owned),
        from_tools,
        ..ReminderExtras::default()
    };
    let run = |desk: &Desk, extras: ReminderExtras| {
        desk.remind(ReminderKind::Once, "2027-03-01T09:10:00Z", extras);
        desk.wait(10);
        desk.fired().remove(0)
    };
    let answers = "echo '{\"result\":\"done\"}'";
    assert_eq!(
        run(&Desk::new(), with(false, None)),
        "water: in the inbox (agent `claude` is not enabled)"
    );
    assert_eq!(
        run(&Desk::new().with_agent(answers), with(true, None)),
        "water: in the inbox (agent `claude` does not run for reminders that a tool made)"
    );
    assert_eq!(
        run(&Desk::new().with_agent(answers), with(false, Some("codex"))),
        "water: in the inbox (agent `codex` is not enabled)"
    );
    let mut desk = Desk::new().with_agent(answers);
    desk.agent().allow_from_tools = true;
    assert!(run(&desk, with(true, None)).contains("the agent answered"));
}

#[test]
fn reminder_of_macrodata_is_an_agent_only_if_tools_may_run_it() {
    let text = r#"{"id":"water","type":"once","expression":"2027-03-01T09:10:00Z","description":"d","payload":"p",
        "agent":"claude","createdAt":"2027-03-01T08:00:00.000Z"}"#;
    for allowed in [false, true] {
        let mut desk = Desk::new().with_agent("echo '{\"result\":\"done\"}'");
        desk.agent().allow_from_tools = allowed;
        let folder = desk.personal.root().join("reminders");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("water.json"), text).unwrap();
        desk.wait(10);
        assert_eq!(desk.fired()[0].contains("the agent answered"), allowed);
    }
}

#[test]
fn runs_of_an_hour_are_limited_and_the_rest_waits() {
    let desk = Desk::new().with_agent("echo '{\"result\":\"done\"}'");
    let extras = ReminderExtras {
        action: Action::Agent,
        ..ReminderExtras::default()
    };
    desk.remind(ReminderKind::Cron, "*/10 * * * *", extras);
    let mut runs = Vec::new();
    for minutes in (10..=120).step_by(10) {
        desk.wait(10);
        if !desk.fired().is_empty() {
            runs.push(minutes);
        }
    }
    // Two an hour.
    assert_eq!(runs, [10, 20, 80, 90]);
}

#[test]
fn killed_claim_is_made_up_for_once_if_it_was_a_line() {
    for action in [Action::Inbox, Action::Agent] {
        let desk = Desk::new().with_agent("echo '{\"result\":\"done\"}'");
        desk.remind_once(action);
        desk.wait(10);
        let reminders = desk.reminders();
        let reminder = desk.personal.reminder("water").unwrap();
        // Claimed, and then the process is gone.
        assert!(
            reminders
                .claim(&reminder, &desk.settings.config, Duration::ZERO)
                .unwrap()
                .is_some()
        );
        reminders.recover().unwrap();
        assert!(
            !desk.inbox().contains("water"),
            "it may be under way in another process"
        );
        desk.wait(10);
        for _ in 0..2 {
            desk.reminders().recover().unwrap();
            assert_eq!(
                desk.inbox().matches("[reminder water").count(),
                usize::from(action == Action::Inbox)
            );
        }
        assert!(desk.fired().is_empty(), "nothing is run again");
    }
}

/// The process ends, or the disk is full, after the claim and before the line is in the inbox, whatever the action was.
#[test]
fn line_that_could_not_be_written_is_written_by_a_later_look() {
    for action in [Action::Inbox, Action::Agent] {
        let desk = Desk::new().with_agent("exit 1");
        desk.remind_once(action);
        desk.wait(10);
        let inbox = desk.personal.root().join("state/inbox.md");
        let text = desk.inbox();
        fs::remove_file(&inbox).unwrap();
        fs::create_dir(&inbox).unwrap();
        desk.run();
        assert_eq!(desk.personal.reminders().unwrap().reminders.len(), 1, "its file stays");
        fs::remove_dir(&inbox).unwrap();
        fs::write(&inbox, text).unwrap();
        desk.wait(2);
        for _ in 0..2 {
            desk.run();
            assert_eq!(desk.inbox().matches("[reminder water").count(), 1, "{}", desk.inbox());
        }
        assert_eq!(desk.inbox().contains("the agent failed"), action == Action::Agent);
        assert!(desk.personal.reminders().unwrap().reminders.is_empty());
    }
}

#[test]
fn new_reminder_with_the_name_of_a_killed_one_stays() {
    let desk = Desk::new();
    desk.remind_once(Action::Inbox);
    desk.wait(10);
    let reminder = desk.personal.reminder("water").unwrap();
    let claimed = desk
        .reminders()
        .claim(&reminder, &desk.settings.config, Duration::ZERO)
        .unwrap();
    assert!(claimed.is_some());
    desk.remind(ReminderKind::Once, "2027-03-01T12:00:00Z", ReminderExtras::default());
    desk.wait(10);
    desk.run();
    assert!(desk.inbox().contains("due 2027-03-01T09:10:00Z]"), "{}", desk.inbox());
    assert_eq!(
        desk.personal.reminder("water").unwrap().expression,
        "2027-03-01T12:00:00Z"
    );
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
    desk.wait(10);
    let mut told = Vec::new();
    let mut tell = |line: &str| {
        told.push(line.to_owned());
        true
    };
    let stopping = CancellationToken::new();
    let reminders = desk.reminders();
    let look = reminders.look(
        Part::Session,
        &desk.settings,
        (&mut JoinSet::new(), &stopping),
        &mut tell,
    );
    assert_eq!(look.fired, ["water: told a session"], "{look:?}");
    assert!(
        told[0].starts_with("Muninn reminder `water`") && !told[0].contains(&secret),
        "{told:?}"
    );
    assert!(
        reminders.report(&desk.settings.config).unwrap().reminders[0]
            .last
            .is_some()
    );
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
        reminders
            .look(
                Part::Session,
                &desk.settings,
                (&mut runs, &CancellationToken::new()),
                &mut tell,
            )
            .fired
    };
    assert_eq!(look(&mut told, true), ["water: told a session"]);
    assert_eq!(
        told,
        ["Muninn reminder `water`, due 2027-03-01 09:10: Water the plants: all; of $(them) `now` --help"]
    );
    assert!(look(&mut told, true).is_empty());
    desk.remind(
        ReminderKind::Once,
        "2027-03-01T09:20:00Z",
        ReminderExtras {
            action: Action::Session,
            ..ReminderExtras::default()
        },
    );
    desk.wait(12);
    assert_eq!(desk.fired(), ["water: in the inbox"]);
}

/// A process that looks like macrodata's daemon.
struct OtherDaemon(std::process::Child);

impl OtherDaemon {
    fn start(file: &Path) -> OtherDaemon {
        let child = std::process::Command::new("sh")
            .args(["-c", "read line", "macrodata-daemon"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        fs::write(file, child.id().to_string()).unwrap();
        // For a moment, a new process has no arguments.
        let line = format!("/proc/{}/cmdline", child.id());
        while fs::read(&line).is_ok_and(|line| line.is_empty()) {
            std::thread::yield_now();
        }
        OtherDaemon(child)
    }
}

impl Drop for OtherDaemon {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

#[test]
fn nothing_fires_beside_the_daemon_of_macrodata() {
    let desk = Desk::new();
    desk.remind_once(Action::Inbox);
    desk.wait(10);
    let file = desk.personal.root().join(".daemon.pid");
    let other = OtherDaemon::start(&file);
    let look = desk.run();
    assert!(look.fired.is_empty());
    assert!(
        look.problems[0].starts_with("macrodata's daemon (process"),
        "{:?}",
        look.problems
    );
    drop(other);
    assert_eq!(desk.fired(), ["water: in the inbox"], "its file alone says nothing");
    // The file of a killed daemon names another program.
    desk.remind(ReminderKind::Once, "2027-03-01T09:20:00Z", ReminderExtras::default());
    desk.wait(10);
    fs::write(&file, std::process::id().to_string()).unwrap();
    assert_eq!(desk.fired(), ["water: in the inbox"]);
}

#[test]
fn times_that_macrodata_fired_are_not_made_up_for() {
    let desk = Desk::new();
    let folder = desk.personal.root().join("reminders");
    fs::create_dir_all(&folder).unwrap();
    let text = r#"{"id":"water","type":"cron","expression":"0 * * * *","description":"d","payload":"p",
        "createdAt":"2026-01-01T00:00:00.000Z"}"#;
    fs::write(folder.join("water.json"), text).unwrap();
    let fired = |minutes: u64| {
        desk.wait(minutes);
        desk.fired()
    };
    assert!(fired(1).is_empty(), "nobody knows what it fired in the year before");
    assert_eq!(fired(60), ["water: in the inbox"]);
    let file = desk.personal.root().join(".daemon.pid");
    // It does not fire those that Muninn wrote.
    let own = NewReminder {
        id: "own".to_owned(),
        kind: ReminderKind::Cron,
        expression: "0 * * * *".to_owned(),
        description: "d".to_owned(),
        payload: "p".to_owned(),
        extras: ReminderExtras::default(),
    };
    desk.personal.remind(own).unwrap();
    let other = OtherDaemon::start(&file);
    assert!(fired(65).is_empty());
    drop(other);
    assert_eq!(fired(1), ["own: in the inbox"]);
    assert_eq!(fired(60), ["own: in the inbox", "water: in the inbox"]);
}

#[test]
fn bad_files_are_reported_and_the_others_fire() {
    let desk = Desk::new();
    desk.remind_once(Action::Inbox);
    let folder = desk.personal.root().join("reminders");
    fs::write(folder.join("bad.json"), "{").unwrap();
    fs::write(
        folder.join("never.json"),
        r#"{"id":"never","type":"cron","expression":"x","description":"d","payload":"p"}"#,
    )
    .unwrap();
    desk.wait(10);
    let look = desk.run();
    assert_eq!(look.fired, ["water: in the inbox"]);
    assert_eq!(look.problems.len(), 2, "{:?}", look.problems);
    assert!(folder.join("bad.json").exists() && folder.join("never.json").exists());
    fs::write(
        desk.personal.root().join("macrodata.json"),
        r#"{"daemon":{"enabled":false}}"#,
    )
    .unwrap();
    assert_eq!(desk.run().problems, ["`daemon.enabled` in macrodata.json is false"]);
}

#[test]
fn two_processes_fire_a_time_once() {
    let desk = Desk::new();
    desk.remind_once(Action::Inbox);
    desk.wait(10);
    let fired: usize = std::thread::scope(|scope| {
        let looks: Vec<_> = (0..8).map(|_| scope.spawn(|| desk.fired().len())).collect();
        looks.into_iter().map(|look| look.join().unwrap()).sum()
    });
    assert_eq!((fired, desk.inbox().matches("[reminder water").count()), (1, 1));
}
