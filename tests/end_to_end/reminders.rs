//! Reminders through the product: commands, tools, a daemon and a gateway that fire them, and what comes of it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use muninn_tests::wait_until;
use serde_json::{Value, json};

use crate::daemon::{Home, PATIENT};
use crate::mcp::Client;

/// A home with a personal directory.
struct Desk {
    home: Home,
    root: PathBuf,
}

impl Desk {
    fn new() -> Desk {
        let home = Home::new();
        home.env.stdout_of(&home.root, &["personal", "init", "--name", "Ann"]);
        let context = home.env.stdout_of(&home.root, &["personal", "context", "--json"]);
        let context: Value = serde_json::from_str(&context).unwrap();
        let root = PathBuf::from(context["paths"]["root"].as_str().unwrap());
        Desk { home, root }
    }

    fn muninn(&self, arguments: &[&str]) -> String {
        self.home.env.stdout_of(&self.home.root, arguments)
    }

    fn inbox(&self) -> String {
        fs::read_to_string(self.root.join("state/inbox.md")).unwrap()
    }

    fn wait_for_inbox(&self, words: &str) {
        wait_until("the line in the inbox", || self.inbox().contains(words).then_some(()));
    }

    fn list(&self) -> Value {
        serde_json::from_str(&self.muninn(&["remind", "list", "--json"])).unwrap()
    }
}

#[test]
fn daemon_tells_a_reminder_that_another_process_makes_and_shows_it() {
    let desk = Desk::new();
    desk.home.start();
    desk.muninn(&["remind", "once", "tea", "+1s", "The tea is ready"]);
    desk.wait_for_inbox("The tea is ready [reminder tea, due ");
    // The inbox has the text before the reminder is over, so that a crash between both loses nothing.
    wait_until("the end of the reminder", || (desk.list()["reminders"] == json!([])).then_some(()));
    wait_until("the state of the reminder", || {
        let status: Value = serde_json::from_str(&desk.muninn(&["daemon", "status", "--json"])).unwrap();
        let last = &status["reminders"][0]["last"];
        (last["result"] == "in the inbox" && last["seconds"].is_u64()).then_some(())
    });
    // A session reads it.
    assert!(desk.muninn(&["personal", "context"]).contains("The tea is ready"));
}

#[test]
fn gateway_fires_reminders_and_commits_changes() {
    let desk = Desk::new();
    desk.muninn(&["personal", "init", "--git"]);
    let log = || desk.home.env.git(&desk.root, &["log", "--format=%s", "--name-only"]);
    assert!(log().contains("Update identity.md\n\nidentity.md"), "{}", log());
    let gateway = desk.home.env.serve(&desk.home.root, &[]);
    // git cannot add a repository without a commit.
    fs::create_dir(desk.root.join("entities/nested")).unwrap();
    desk.home.env.git(&desk.root.join("entities/nested"), &["init", "--quiet"]);
    fs::write(desk.root.join("entities/people/jörg.md"), "# Jörg\n").unwrap();
    desk.muninn(&["remind", "once", "call", "+1s", "Call Jörg"]);
    desk.wait_for_inbox("Call Jörg");
    wait_until("the commits", || {
        let log = log();
        (log.contains("Update entities/people/j") && log.contains("Update state/inbox.md")).then_some(())
    });
    gateway.stop_cleanly();
    let status = desk.home.env.git(&desk.root, &["status", "--porcelain"]);
    assert!(!status.contains("identity"), "{status}");
    for entry in walkdir(&desk.root) {
        let mode = fs::symlink_metadata(&entry).unwrap().permissions().mode();
        // The test made folders of entities, and git a few files without texts.
        let is_open = [".git/COMMIT_EDITMSG", "entities"].map(|name| desk.root.join(name));
        let is_private = mode & 0o077 == 0;
        assert!(
            is_private || is_open.iter().any(|open| entry.starts_with(open)),
            "{} has mode {mode:o}",
            entry.display()
        );
    }
}

/// All files and directories below a directory.
fn walkdir(directory: &Path) -> Vec<PathBuf> {
    let mut found = vec![directory.to_owned()];
    let mut at = 0;
    while let Some(path) = found.get(at).cloned() {
        if path.is_dir() {
            found.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        at += 1;
    }
    found
}

#[test]
fn tools_make_list_and_remove_reminders_and_run_no_agent_unasked() {
    let desk = Desk::new();
    let mut client = Client::start(&desk.home.env, &desk.home.root, |command| {
        command.args(["--tools", "personal"]);
    });
    let weekly = json!({"id": "review", "cronExpression": "0 9 * * 1", "description": "Review", "payload": "Read the week", "zone": "Europe/Berlin"});
    let (made, text) = client.call("schedule_reminder", &weekly);
    assert_eq!(made["structuredContent"]["cronExpression"], "0 9 * * 1", "{made}");
    assert!(text.starts_with("scheduled `review`: At 09:00, only on Monday") || text.contains("Monday"), "{text}");
    let once = json!({"id": "dentist", "datetime": "2199-01-01T10:00:00Z", "description": "Dentist", "payload": "Go"});
    client.call("schedule_once", &once);
    let (listed, _) = client.call("list_reminders", &json!({}));
    let reminders = listed["structuredContent"]["reminders"].as_array().unwrap();
    let ids: Vec<&str> = reminders.iter().filter_map(|reminder| reminder["id"].as_str()).collect();
    assert_eq!(ids, ["dentist", "review"], "{listed}");
    assert_eq!(reminders[0]["type"], "once");
    let (context, _) = client.call("get_context", &json!({}));
    assert_eq!(context["structuredContent"]["schedules"].as_array().map(Vec::len), Some(2));
    for (tool, arguments, expected) in [
        (
            "schedule_reminder",
            json!({"id": "x", "cronExpression": "0 0 31 2 *", "description": "d", "payload": "p"}),
            "no such date",
        ),
        (
            "schedule_reminder",
            json!({"id": "x", "cronExpression": "x".repeat(1_000_000), "description": "d", "payload": "p"}),
            "200 bytes",
        ),
        (
            "schedule_reminder",
            json!({"id": "../x", "cronExpression": "0 0 * * *", "description": "d", "payload": "p"}),
            "cannot be an id",
        ),
        (
            "schedule_once",
            json!({"id": "x", "datetime": "2020-01-01", "description": "d", "payload": "p"}),
            "in the past",
        ),
        (
            "schedule_once",
            json!({"id": "x", "datetime": "2199-01-01", "description": "d", "payload": "p", "action": "agent"}),
            "allow_from_tools",
        ),
        (
            "schedule_once",
            json!({"id": "x", "datetime": "2199-01-01", "description": "d", "payload": "p", "action": "shell"}),
            "no action",
        ),
        ("remove_reminder", json!({"id": "nothing"}), "no reminder"),
    ] {
        let (refused, text) = client.call(tool, &arguments);
        assert!(refused["isError"] == true && text.contains(expected), "{expected}: {refused}");
    }
    client.call("remove_reminder", &json!({"id": "review"}));
    let file: Value = serde_json::from_slice(&fs::read(desk.root.join("reminders/dentist.json")).unwrap()).unwrap();
    assert_eq!((&file["type"], &file["expression"]), (&json!("once"), &json!("2199-01-01T10:00:00Z")));
    assert!(file.get("agent").is_none(), "macrodata would run an agent: {file}");
    assert_eq!(desk.list()["reminders"].as_array().map(Vec::len), Some(1));
}

/// An agent that a reminder runs makes no further reminders.
#[test]
fn run_of_a_reminder_is_offered_no_tool_that_makes_reminders() {
    let desk = Desk::new();
    for is_run in [false, true] {
        let mut client = Client::start(&desk.home.env, &desk.home.root, |command| {
            command.args(["--tools", "personal"]);
            if is_run {
                command.env("MUNINN_REMINDER", "tea");
            }
        });
        let listed = client.request("tools/list", &json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        for name in ["schedule_reminder", "schedule_once"] {
            assert_eq!(names.contains(&name), !is_run, "{names:?}");
        }
        assert!(names.contains(&"list_reminders"));
        assert!(tools.iter().all(|tool| tool["outputSchema"]["type"] == "object"), "{listed}");
    }
}

#[test]
fn open_session_gets_a_line_for_each_reminder_and_nothing_else() {
    let desk = Desk::new();
    let mut command = desk.home.env.muninn();
    command.current_dir(&desk.home.root).args(["remind", "--follow"]);
    let mut session = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(session.stdout.take().unwrap()).lines();
    // Due before the look of a session that has begun, or soon after it.
    desk.muninn(&["remind", "once", "stand", "+1s", "Stand\nup", "--action", "session"]);
    let line = lines.next().unwrap().unwrap();
    let start = "Muninn reminder `stand`, due 20";
    assert!(line.ends_with("Stand up") && line.starts_with(start), "{line}");
    assert!(!desk.inbox().contains("Stand"));
    // The session ends without ending its monitor, which would take the reminders of the next one.
    drop(lines);
    wait_until("the end of the monitor", || session.try_wait().unwrap());
}

#[test]
fn agent_runs_from_the_daemon_and_through_its_gateway() {
    let desk = Desk::new();
    let program = desk.home.env.path("agent");
    let script = "#!/bin/sh\ncat > \"$0.input\"; echo \"$ANTHROPIC_BASE_URL\" > \"$0.url\"; echo '{\"result\":\"Three pull requests.\"}'\n";
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    desk.home
        .env
        .write_config(&format!("{PATIENT}[personal.agents.claude]\nenabled = true\nprogram = {}\n", json!(program)));
    let gateway = desk.home.env.serve(&desk.home.root, &[]);
    desk.muninn(&["remind", "once", "review", "+1s", "Review", "Count them; $(touch x)", "--action", "agent"]);
    let recent = wait_until("the answer in the journal", || {
        let recent = desk.muninn(&["personal", "recent", "--json"]);
        recent.contains("Three pull requests.").then_some(recent)
    });
    let recent: Value = serde_json::from_str(&recent).unwrap();
    assert_eq!(recent[0]["metadata"], json!({"source": "cron", "intent": "review"}), "{recent}");
    let read = |name: &str| fs::read_to_string(desk.home.env.path(name)).unwrap();
    assert!(read("agent.input").contains("Count them; $(touch x)"));
    assert_eq!(read("agent.url").trim(), format!("http://{}", gateway.address));
    gateway.stop_cleanly();
}

#[test]
fn archive_moves_the_memory_to_another_home() {
    let (here, there) = (Desk::new(), Desk::new());
    here.muninn(&["personal", "log", "boat", "the varnish"]);
    let archive = here.home.env.path("me.tar.zst");
    let archive = archive.to_str().unwrap();
    assert!(here.muninn(&["personal", "export", archive]).contains("wrote 5 files"));
    fs::write(there.root.join("state/today.md"), "# Mine\n").unwrap();
    let imported = there.muninn(&["personal", "import", archive]);
    assert!(imported.contains("state/today.md differs and stays"), "{imported}");
    assert!(there.muninn(&["personal", "search", "varnish"]).contains("the varnish"));
    assert_eq!(fs::read_to_string(there.root.join("state/today.md")).unwrap(), "# Mine\n");
}

/// What a read-only home and a full disk do is said, and nothing is lost.
#[test]
fn line_that_cannot_be_written_stays_due() {
    let desk = Desk::new();
    desk.muninn(&["remind", "once", "tea", "+1s", "The tea is ready"]);
    let inbox = desk.root.join("state/inbox.md");
    fs::remove_file(&inbox).unwrap();
    fs::create_dir(&inbox).unwrap();
    let fired = wait_until("the due time", || {
        let fired = desk.muninn(&["remind", "run-due"]);
        (!fired.is_empty()).then_some(fired)
    });
    assert!(fired.contains("cannot use"), "{fired}");
    assert!(desk.root.join("reminders/tea.json").exists());
}
