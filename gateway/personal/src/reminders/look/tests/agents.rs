//! Reminders that run an agent.

use super::*;

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
    assert_eq!(read("agent.directory").trim(), desk.personal.root().canonicalize().unwrap().to_str().unwrap());
    let log = read("state/reminders/water-20270301T091000Z.log");
    assert!(log.contains("exit status: 0") && log.contains("Watered."), "{log}");
}

#[test]
fn failed_and_missing_agents_leave_a_line_in_the_inbox() {
    for (script, expected) in [
        ("echo broken >&2; exit 3", "the agent failed: exit status: 3: broken, log"),
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
    assert!(inbox.contains("the agent failed: there is no program `muninn-test-no-such-program`)"), "{inbox}");
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
    assert!(log.contains("ended after its timeout") && log.contains("began"), "{log}");
}

/// Muninn waits half a second for its tasks when it ends.
#[test]
fn agent_that_does_not_end_is_ended_with_muninn() {
    let desk = Desk::new().with_agent("trap '' TERM; echo $$ > \"$0.id\"; while :; do sleep 1; done");
    desk.remind_once(Action::Agent);
    desk.wait(10);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
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

#[test]
fn no_agent_runs_beside_settings_that_a_memory_brought() {
    for name in [".claude", ".mcp.json", ".codex", ".opencode", "opencode.json", "opencode.jsonc"] {
        let desk = Desk::new().with_agent("touch \"$0.ran\"; echo '{\"result\":\"done\"}'");
        fs::write(desk.personal.root().join(name), "").unwrap();
        desk.remind_once(Action::Agent);
        desk.wait(10);
        let fired = desk.fired().remove(0);
        assert!(fired.contains("settings of clients name programs"), "{name}: {fired}");
        assert!(!desk.path("agent.ran").exists(), "{name}");
    }
}

/// Whether a process exists and has not ended. One that nobody waits for stays as a zombie where no init process does.
fn is_alive(id: &str) -> bool {
    let state = fs::read_to_string(format!("/proc/{id}/stat"));
    state.is_ok_and(|state| !state.rsplit(')').next().unwrap_or_default().trim().starts_with('Z'))
}

#[test]
fn agents_run_only_where_the_user_allows_it() {
    let run = |mut desk: Desk, maker: Maker, name: Option<&str>| {
        desk.maker = maker;
        let extras = ReminderExtras {
            action: Action::Agent,
            agent: name.map(str::to_owned),
            // Its file says the opposite of what is so.
            from_tools: maker == Maker::Person,
            ..ReminderExtras::default()
        };
        desk.remind(ReminderKind::Once, "2027-03-01T09:10:00Z", extras);
        desk.wait(10);
        desk.fired().remove(0)
    };
    let answers = "echo '{\"result\":\"done\"}'";
    assert_eq!(run(Desk::new(), Maker::Person, None), "water: in the inbox (agent `claude` is not enabled)");
    assert_eq!(
        run(Desk::new().with_agent(answers), Maker::Tool, None),
        "water: in the inbox (agent `claude` does not run for reminders that a tool made)"
    );
    assert_eq!(
        run(Desk::new().with_agent(answers), Maker::Person, Some("codex")),
        "water: in the inbox (agent `codex` is not enabled)"
    );
    let mut desk = Desk::new().with_agent(answers);
    desk.agent().allow_from_tools = true;
    assert!(run(desk, Maker::Tool, None).contains("the agent answered"));
}

#[test]
fn reminder_of_macrodata_waits_for_a_yes() {
    let text = r#"{"id":"water","type":"once","expression":"2027-03-01T09:10:00Z","description":"d","payload":"p",
        "agent":"claude","createdAt":"2027-03-01T08:00:00.000Z"}"#;
    for allowed in [false, true] {
        let mut desk = Desk::new().with_agent("echo '{\"result\":\"done\"}'");
        desk.agent().allow_from_tools = allowed;
        let folder = desk.personal.root().join("reminders");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("water.json"), text).unwrap();
        desk.wait(10);
        assert!(desk.fired().is_empty());
        desk.accept_all();
        assert!(desk.fired()[0].contains("the agent answered"));
    }
}

#[test]
fn runs_of_an_hour_are_limited_and_the_rest_waits() {
    let desk = Desk::new().with_agent("echo '{\"result\":\"done\"}'");
    let extras = ReminderExtras { action: Action::Agent, ..ReminderExtras::default() };
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
