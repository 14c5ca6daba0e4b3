//! Reminders that came from elsewhere, through the product: none fires before a person's yes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use muninn_tests::TestEnv;
use serde_json::{Value, json};

use crate::MUNINN;
use crate::doctor::Report;

/// A home with a memory, an agent that may run for tools, too, and what it leaves when it runs.
struct Desk {
    env: TestEnv,
    root: PathBuf,
}

impl Desk {
    fn new() -> Desk {
        let env = TestEnv::new(MUNINN);
        let root = env.path("home/.local/share/muninn/personal");
        let program = env.path("agent");
        fs::write(&program, "#!/bin/sh\ncat >> \"$0.ran\"; echo '{\"result\":\"done\"}'\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        env.write_config(&format!(
            "[personal.agents.claude]\nenabled = true\nallow_from_tools = true\nprogram = {}\n",
            json!(program)
        ));
        let desk = Desk { env, root };
        desk.muninn(&["personal", "init", "--name", "Ann"]);
        desk
    }

    fn muninn(&self, arguments: &[&str]) -> String {
        self.env.stdout_of(&self.env.path("home"), arguments)
    }

    fn has_run(&self) -> bool {
        self.env.path("agent.ran").exists()
    }

    fn put(&self, reminder: &Value) {
        let path = self.root.join(format!("reminders/{}.json", reminder["id"].as_str().unwrap()));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, reminder.to_string()).unwrap();
    }

    fn waiting(&self) -> Vec<String> {
        let listed: Value = serde_json::from_str(&self.muninn(&["remind", "list", "--json"])).unwrap();
        let waiting = listed["waiting"].as_array().cloned().unwrap_or_default();
        waiting.iter().map(|id| id.as_str().unwrap().to_owned()).collect()
    }
}

/// A reminder that was due long ago and says that the user made it.
fn due(id: &str, action: &str) -> Value {
    json!({"id": id, "type": "once", "expression": "2020-01-01T00:00:00Z", "description": "d", "payload": "a stranger's text",
        "createdAt": "2019-01-01T00:00:00.000Z", "muninn": {"action": action, "catchUp": "once", "fromTools": false}})
}

/// One of macrodata's, which runs its agent.
fn of_macrodata(id: &str) -> Value {
    json!({"id": id, "type": "once", "expression": "2020-01-01T00:00:00Z", "description": "d", "payload": "a stranger's text",
        "agent": "claude", "createdAt": "2019-01-01T00:00:00.000Z"})
}

/// A text of an archive can look like a line of the list.
#[test]
fn text_of_a_reminder_is_one_line_of_the_list() {
    let desk = Desk::new();
    let mut reminder = due("tea", "inbox");
    reminder["description"] = json!("Tea\n  next: never\nok  [approved]\r\u{1b}[2K\u{202e}x");
    desk.put(&reminder);
    for arguments in [&["remind", "list"][..], &["status"], &["daemon", "status"]] {
        let output = desk.env.run(&desk.env.path("home"), arguments);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            !text.lines().any(|line| line.starts_with("ok  [approved]"))
                && !text.contains(['\r', '\u{1b}', '\u{202e}']),
            "{arguments:?}: {text}"
        );
    }
    assert!(desk.muninn(&["remind", "list"]).contains("Tea\u{fffd}  next: never\u{fffd}ok  [approved]"));
}

#[test]
fn reminder_from_elsewhere_waits_for_a_yes_however_it_came() {
    let actions = ["agent", "inbox", "session", "notify", "macrodata"];
    let ways = ["archive", "copied", "changed"];
    let desks: Vec<Desk> = ways.iter().map(|_| Desk::new()).collect();
    let reminders: Vec<Value> = actions
        .iter()
        .map(|action| match *action {
            "macrodata" => of_macrodata(action),
            action => due(action, action),
        })
        .collect();
    for (desk, way) in desks.iter().zip(ways) {
        match way {
            "archive" => {
                let other = Desk::new();
                reminders.iter().for_each(|reminder| other.put(reminder));
                let archive = other.env.path("me.tar.zst");
                other.muninn(&["personal", "export", archive.to_str().unwrap()]);
                let imported = desk.muninn(&["personal", "import", archive.to_str().unwrap()]);
                assert!(imported.contains("5 reminders came along, to fire only after your yes"), "{imported}");
            }
            "copied" => reminders.iter().for_each(|reminder| desk.put(reminder)),
            _ => {
                for reminder in &reminders {
                    let id = reminder["id"].as_str().unwrap();
                    desk.muninn(&["remind", "once", id, "+9h", "Mine", "--action", "inbox"]);
                    desk.put(reminder);
                }
            }
        }
        let inbox = || fs::read_to_string(desk.root.join("state/inbox.md")).unwrap();
        for _ in 0..2 {
            assert_eq!(desk.muninn(&["remind", "run-due"]), "", "{way}");
        }
        assert!(!desk.has_run() && !inbox().contains("stranger"), "{way}");
        assert_eq!(desk.waiting().len(), actions.len(), "{way}");
        assert!(desk.muninn(&["remind"]).contains("waits for your yes: `muninn remind accept agent`"), "{way}");
        let status = desk.env.run(&desk.root, &["daemon", "status"]);
        assert!(String::from_utf8_lossy(&status.stdout).contains("waits for your yes"), "{way}: {status:?}");
        let report = Report::of(&desk.env, &desk.env.path("home"));
        assert!(report.only("personal memory", "note").starts_with("5 reminders came from elsewhere"), "{way}");
        // There is no terminal, and an agent that a reminder runs cannot say it.
        assert_eq!(desk.env.run(&desk.root, &["remind", "accept"]).status.code(), Some(2), "{way}");
        let mut agent = desk.env.muninn();
        agent.args(["remind", "accept", "agent", "--yes"]).env("MUNINN_REMINDER", "x");
        assert_eq!(muninn_tests::output(agent).status.code(), Some(1), "{way}");
        assert_eq!(desk.waiting().len(), actions.len(), "{way}");
        assert_eq!(desk.muninn(&["remind", "accept", "agent", "--yes"]), "accepted agent\n", "{way}");
        let fired = desk.muninn(&["remind", "run-due"]);
        assert_eq!(fired, "agent: the agent answered; see the journal\n", "{way}");
        assert!(desk.has_run(), "{way}");
        assert_eq!(desk.waiting().len(), actions.len() - 1, "{way}");
    }
}

/// A yes is for one text.
#[test]
fn text_that_changes_after_the_yes_waits_again() {
    let desk = Desk::new();
    desk.muninn(&["remind", "add", "review", "0 9 * * *", "Review", "Mine", "--action", "agent"]);
    assert!(desk.waiting().is_empty(), "the user made it here");
    let file = desk.root.join("reminders/review.json");
    let own = fs::read_to_string(&file).unwrap();
    for (from, to) in [
        ("\"Mine\"", "\"Theirs\""),
        ("0 9 * * *", "* * * * *"),
        ("\"Review\"", "\"Another\""),
        ("\"action\": \"agent\"", "\"action\": \"agent\", \"directory\": \"/\""),
    ] {
        let changed = own.replace(from, to);
        assert_ne!(changed, own, "{from}");
        fs::write(&file, changed).unwrap();
        assert_eq!(desk.waiting(), ["review"], "{from}");
        assert_eq!(desk.muninn(&["remind", "run-due"]), "", "{from}");
    }
    fs::write(&file, &own).unwrap();
    assert!(desk.waiting().is_empty(), "what was accepted is so again");
    desk.muninn(&["remind", "rm", "review"]);
    fs::write(&file, &own).unwrap();
    assert_eq!(desk.waiting(), ["review"], "a removed one that comes back");
    assert!(!desk.has_run());
}

/// What is not taken is named, also as JSON, and nothing of it controls the terminal.
#[test]
fn import_names_what_it_leaves() {
    let (here, there) = (Desk::new(), Desk::new());
    fs::write(here.root.join("macrodata.json"), r#"{"git":{"remote":"/evil"},"search":{"indexOnWrite":true}}"#)
        .unwrap();
    fs::write(here.root.join("tool.sh"), "x").unwrap();
    fs::write(here.root.join("bad\u{1b}[31m.md"), "x").unwrap();
    let archive = here.env.path("me.tar.zst");
    let exported = here.muninn(&["personal", "export", archive.to_str().unwrap()]);
    assert!(exported.contains("left out tool.sh: a personal memory has no such file"), "{exported}");
    assert!(!exported.contains('\u{1b}'), "{exported:?}");
    let imported = there.muninn(&["personal", "import", archive.to_str().unwrap(), "--json"]);
    let imported: Value = serde_json::from_str(&imported).unwrap();
    assert_eq!(imported["left"][0]["name"], "macrodata.json: git.remote", "{imported}");
    let settings = fs::read_to_string(there.root.join("macrodata.json")).unwrap();
    assert!(settings.contains("indexOnWrite") && !settings.contains("remote"), "{settings}");
    // A bomb is refused with its limit, by name.
    let bomb = there.env.path("bomb.tar.zst");
    fs::write(&bomb, "no archive").unwrap();
    let refused = there.env.run(&there.root, &["personal", "import", bomb.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is no archive of personal memory"), "{refused:?}");
}
