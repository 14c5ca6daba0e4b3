//! Personal memory: commands, tools, what goes into prompts, and that nothing of it is learned.

use std::fs;
use std::path::{Path, PathBuf};

use muninn_tests::{TestEnv, Upstream, wait_until};
use serde_json::{Value, json};

use crate::MUNINN;
use crate::agent::{Conversation, gather};
use crate::hooks::{PATIENT, context, hook};
use crate::learning::Team;
use crate::mcp::Client;
use crate::stage::QUESTION;

/// A word of personal memory that must be nowhere else.
const MARKER: &str = "zanzibar-orchid";

fn directory(env: &TestEnv) -> PathBuf {
    let shown = env.stdout_of(&env.path("home"), &["personal", "context", "--json"]);
    let context: Value = serde_json::from_str(&shown).unwrap();
    PathBuf::from(context["paths"]["root"].as_str().unwrap())
}

fn set_up(env: &TestEnv) {
    let home = env.path("home");
    env.stdout_of(&home, &["personal", "init", "--name", "Ann", "--work", "a boat"]);
    env.stdout_of(&home, &["personal", "log", "boat", &format!("the varnish of the mast is {MARKER}")]);
}

#[test]
fn first_run_makes_files_that_a_second_one_leaves_alone() {
    let env = TestEnv::new(MUNINN);
    let home = env.path("home");
    assert!(env.stdout_of(&home, &["personal", "context"]).contains("`muninn personal init`"));
    set_up(&env);
    let root = directory(&env);
    let identity = fs::read_to_string(root.join("identity.md")).unwrap();
    assert!(identity.contains("Name: Ann"), "{identity}");
    fs::write(root.join("identity.md"), "# Ann\n\nMine.\n").unwrap();
    let again = env.stdout_of(&home, &["personal", "init", "--name", "Eve"]);
    assert!(again.contains("nothing was changed"), "{again}");
    let shown = env.stdout_of(&home, &["personal", "context"]);
    assert!(shown.contains("Mine.") && shown.contains("a boat") && shown.contains(MARKER), "{shown}");
    let found = env.stdout_of(&home, &["personal", "search", "which varnish has the mast"]);
    assert!(found.contains(MARKER), "{found}");
    fs::write(root.join("journal/2020-01-01.jsonl"), "not json\n").unwrap();
    let checked = env.run(&home, &["personal", "check"]);
    assert_eq!(checked.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&checked.stdout).contains("journal/2020-01-01.jsonl:1:"), "{checked:?}");
    assert_eq!(env.run(&home, &["personal", "search", "x", "--since", "soon"]).status.code(), Some(2));
}

#[test]
fn nothing_but_the_setup_creates_the_directory() {
    let env = TestEnv::new(MUNINN);
    let home = env.path("home");
    let root = directory(&env);
    for arguments in [
        &["personal", "log", "boat", "varnish"][..],
        &["remind", "once", "tea", "+1h", "tea"],
        &["remind", "add", "daily", "0 9 * * *", "stand up"],
        &["remind", "list"],
        &["personal", "search", "boat"],
        &["personal", "recent"],
        &["personal", "check"],
        &["doctor"],
    ] {
        let output = env.run(&home, arguments);
        let told = String::from_utf8_lossy(&output.stderr).contains("`muninn personal init` sets it up");
        let writes = matches!(arguments, ["personal", "log", ..] | ["remind", "once" | "add", ..]);
        assert_eq!(told, writes, "{arguments:?}: {output:?}");
        assert!(!root.exists(), "{arguments:?} created it");
    }
    let repository = env.repository("demo", &[("a.rs", "fn a() {}\n")]);
    let mut client = Client::start(&env, &repository, |command| {
        command.args(["--tools", "personal"]);
    });
    for (name, arguments) in [
        ("log_journal", json!({"topic": "boat", "content": "varnish"})),
        ("log_signal", json!({"type": "x", "context": {}})),
        ("schedule_once", json!({"id": "a", "datetime": "+1h", "description": "tea", "payload": "tea"})),
        ("get_context", json!({})),
        ("search_memory", json!({"query": "boat"})),
    ] {
        client.request("tools/call", &json!({"name": name, "arguments": arguments}));
        assert!(!root.exists(), "{name} created it");
    }
    env.stdout_of(&home, &["personal", "init", "--name", "Ann"]);
    env.stdout_of(&home, &["personal", "log", "boat", "varnish"]);
}

#[test]
fn place_is_that_of_the_other_program_if_it_is_used() {
    let env = TestEnv::new(MUNINN);
    let home = env.path("home");
    let theirs = home.join(".config/macrodata");
    fs::create_dir_all(theirs.join("state")).unwrap();
    assert_eq!(directory(&env), theirs);
    let elsewhere = env.path("elsewhere");
    fs::write(theirs.join("config.json"), json!({"root": elsewhere}).to_string()).unwrap();
    assert_eq!(directory(&env), elsewhere);
    env.write_config(&format!("[personal]\npath = {}\n", json!(env.path("mine"))));
    assert_eq!(directory(&env), env.path("mine"));
    env.write_config("[personal]\nenabled = false\n");
    let refused = env.run(&home, &["personal", "context"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("not enabled"), "{refused:?}");
}

#[test]
fn tools_work_in_and_outside_of_repositories() {
    let env = TestEnv::new(MUNINN);
    env.write_config(PATIENT);
    set_up(&env);
    let repository = env.repository("demo", &crate::stage::FILES);
    for place in [env.path("home"), repository] {
        let mut client = Client::start(&env, &place, |command| {
            command.args(["--tools", "personal"]);
        });
        let (context, _) = client.call("get_context", &json!({}));
        assert_eq!(context["structuredContent"]["isFirstRun"], false, "{context}");
        assert!(context["structuredContent"]["paths"]["entities"].is_string());
        let note = json!({"topic": "pets", "content": format!("the cat sleeps in {}", place.display()), "source": "conversation"});
        let (logged, _) = client.call("log_journal", &note);
        assert_eq!(logged["structuredContent"]["entry"]["metadata"]["source"], "conversation", "{logged}");
        let (found, text) =
            client.call("search_memory", &json!({"query": "where does the cat sleep", "type": "journal"}));
        assert!(text.contains(&place.display().to_string()), "{found}");
        let (recent, _) = client.call("get_recent_journal", &json!({"topic": "pets", "count": 1}));
        assert_eq!(recent["structuredContent"]["entries"].as_array().map(Vec::len), Some(1), "{recent}");
        let (signal, _) = client.call("log_signal", &json!({"type": "file_edit", "context": {"file": "x.rs"}}));
        assert_eq!(signal["structuredContent"]["context"]["file"], "x.rs", "{signal}");
        let (long, told) = client.call("log_journal", &json!({"topic": "long", "content": "word ".repeat(12_000)}));
        assert!(long["isError"] != true && told.contains("bytes left out"), "{told}");
        let (refused, text) = client.call("log_journal", &json!({"topic": "", "content": "x"}));
        assert!(refused["isError"] == true && text.contains("topic"), "{refused}");
    }
    let summary = env.stdout_of(&env.path("home"), &["personal", "signals", "--summary", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&summary).unwrap()["kinds"]["file_edit"], 2);
}

#[test]
fn session_begins_with_the_always_loaded_files_in_and_outside_of_repositories() {
    let env = TestEnv::new(MUNINN);
    env.write_config(PATIENT);
    let repository = env.repository("demo", &crate::stage::FILES);
    let start = |place: &Path, session: &str| {
        let input = json!({"session_id": session, "cwd": place, "source": "startup"}).to_string();
        context(&hook(&env, place, &["SessionStart"], input.as_bytes(), &[]), "SessionStart").unwrap_or_default()
    };
    assert_eq!(start(&env.path("home"), "before"), "");
    set_up(&env);
    for place in [env.path("home"), repository] {
        let given = start(&place, "s");
        assert!(given.contains("Name: Ann") && given.contains("a boat"), "{given}");
        assert!(!given.contains(MARKER), "journal entries are found by their likeness: {given}");
    }
}

/// A team whose text is recorded, and what its memory and its state say in the end.
fn remembered(team: &Team) -> String {
    let mut text = team.state();
    gather(&team.root.join(".muninn"), &mut text);
    text
}

#[test]
fn texts_that_fit_a_question_are_on_the_receipt_and_never_learned() {
    let upstream = Upstream::start();
    let team = Team::before(upstream, "repo", "[memory]\nrecord = \"text\"\n");
    set_up(&team.env);
    let gateway = team.serve();
    let mut conversation = Conversation::new(&team.root);
    conversation.says(QUESTION);
    conversation.send(&gateway);
    let sent = team.upstream.last().text();
    assert!(!sent.contains(MARKER) && sent.contains("Name: Ann"), "{sent}");
    conversation.answers(&format!("Decision: refilling is for Ann and her {MARKER} only."));
    conversation.says("Which varnish has the mast?");
    conversation.send(&gateway);
    let sent = team.upstream.last().text();
    assert!(sent.contains("## personal:journal/") && sent.contains(MARKER), "{sent}");
    // Receipts are written after the answer.
    let receipts = wait_until("the receipt", || {
        let shown = team.env.run(&team.root, &["why", "--last", "--json"]);
        let receipt = String::from_utf8(shown.stdout).unwrap();
        receipt.contains("personal:journal/").then_some(receipt)
    });
    let receipt: Value = serde_json::from_str(&receipts).unwrap();
    assert_eq!(receipt["items"][0]["kind"], "personal", "{receipt}");
    assert!(!receipts.contains(MARKER), "a receipt names texts and does not hold them");

    // The answers to the turns that carried them repeat them; that to the next one does not.
    conversation.answers(&format!("Decision: the mast gets {MARKER} from now on."));
    conversation.says("What does src/parser.rs parse?");
    conversation.send(&gateway);
    conversation.answers("Decision: invoices are parsed by src/parser.rs.");
    conversation.says("Keep that in my journal.");
    conversation.send(&gateway);
    conversation.calls(
        "mcp__muninn__log_journal",
        &json!({"topic": "x", "content": format!("{MARKER} again")}),
        "logged",
    );
    conversation.answers(&format!("Decision: I keep {MARKER} in the journal."));
    conversation.says("Thanks.");
    conversation.send(&gateway);
    conversation.answers("You are welcome.");
    conversation.says("What is in my inbox?");
    conversation.send(&gateway);
    let identity = team.env.path("home").join(".local/share/muninn/personal/state/inbox.md");
    conversation.calls("Read", &json!({"file_path": identity}), MARKER);
    conversation.answers(&format!("Decision: your inbox is about {MARKER}."));
    conversation.says("And my journal?");
    conversation.send(&gateway);
    conversation.calls("Bash", &json!({"command": "muninn personal recent"}), MARKER);
    conversation.answers(&format!("Decision: the journal says {MARKER} as well."));
    conversation.says("Fine.");
    conversation.send(&gateway);
    conversation.answers("Good.");
    // The monitor of the plugin brings a reminder into the session.
    conversation.says(&format!(
        "<task-notification>\nMuninn reminder `mast`, due 2027-03-01 09:00: {MARKER}\n</task-notification>"
    ));
    conversation.answers(&format!("Decision: {MARKER} is due, for src/parser.rs."));
    conversation.says("Thank you.");
    conversation.send(&gateway);
    // A run of a reminder holds the user's own words.
    let mut run = Conversation::of("a run", &team.root);
    run.says(&format!(
        "Muninn reminder `mast`, due 2027-03-01 09:00: Mast\n\nDecision: buy {MARKER} for src/parser.rs."
    ));
    run.send(&gateway);
    run.answers(&format!("Decision: {MARKER} it is, for src/parser.rs."));
    run.says("Go on.");
    run.send(&gateway);
    gateway.stop_cleanly();
    let remembered = remembered(&team);
    assert!(remembered.contains("invoices are parsed by"), "other answers are learned: {remembered}");
    assert!(!remembered.contains(MARKER), "{remembered}");
    assert!(!remembered.contains("Name: Ann"));
}

#[test]
fn events_of_the_owners_sessions_are_logged_once_if_asked_for() {
    let upstream = Upstream::start();
    let team = Team::before(upstream, "repo", "[personal]\nsignals = true\n");
    set_up(&team.env);
    let mut client = Client::start(&team.env, &team.root, |command| {
        command.args(["--tools", "personal"]);
    });
    client.call("search_memory", &json!({"query": "which varnish has the mast"}));
    let gateway = team.serve();
    let mut conversation = Conversation::new(&team.root);
    conversation.says(QUESTION);
    conversation.send(&gateway);
    let receipt = wait_until("the receipt", || {
        let shown = team.env.run(&team.root, &["why", "--last", "--json"]);
        serde_json::from_slice::<Value>(&shown.stdout).ok()
    });
    let mut conversation = Conversation::new(&team.root);
    conversation.turn(QUESTION);
    conversation.says("Thanks.");
    conversation.send(&gateway);
    conversation.send(&gateway);
    gateway.stop_cleanly();
    let home = team.env.path("home");
    let shown = team.env.stdout_of(&home, &["personal", "signals", "--count", "100", "--json"]);
    let signals: Vec<Value> = serde_json::from_str(&shown).unwrap();
    let of_kind = |kind: &str| signals.iter().filter(|signal| signal["type"] == kind).collect::<Vec<_>>();
    for kind in ["session_start", "session_end", "search"] {
        assert_eq!(of_kind(kind).len(), 1, "{kind}: {shown}");
    }
    let read = of_kind("file_read");
    assert!(read[0]["context"]["file"].as_str().unwrap().ends_with("demo/src/rate_limiter.rs"), "{shown}");
    assert_eq!(of_kind("file_edit").len(), 1, "{shown}");
    assert_eq!(of_kind("search")[0]["context"]["query"], "which varnish has the mast");
    assert!(of_kind("search")[0]["raw"]["retrieved"][0].as_str().unwrap().starts_with("journal/"));
    assert_eq!(receipt["outcome"], "injected", "{receipt}");
    assert_eq!(of_kind("injection")[0]["raw"]["receipt"], receipt["id"], "{shown}");
    assert!(!shown.contains(MARKER), "names, and no texts: {shown}");
}

#[test]
fn reload_switches_it_off_and_a_restart_on() {
    let upstream = Upstream::start();
    let team = Team::before(upstream, "repo", "[personal]\nenabled = true\n");
    set_up(&team.env);
    let config = std::fs::read_to_string(team.env.path("muninn.toml")).unwrap();
    let gateway = team.serve();
    let is_sent = |session: &str| {
        let mut conversation = Conversation::of(session, &team.root);
        conversation.says(QUESTION);
        conversation.send(&gateway);
        team.upstream.last().text().contains("Name: Ann")
    };
    assert!(is_sent("a"));
    team.env.write_config(&config.replace("[personal]\nenabled = true", "[personal]\nenabled = false"));
    gateway.hang_up();
    gateway.wait_logged("the configuration was reloaded", 1);
    assert!(!is_sent("b"));
    team.env.write_config(&config);
    gateway.hang_up();
    gateway.wait_logged("personal.enabled stays false until a restart", 1);
    assert!(!is_sent("c"));
}

#[test]
fn init_reads_its_answers_from_a_pipe() {
    for (flags, input, expected) in [
        (&[][..], "Ann\r\nshort answers\ngardens\n", ["Ann", "short answers", "gardens"]),
        (&["--name", "Bo"], "brief\nboats", ["Bo", "brief", "boats"]),
    ] {
        let env = TestEnv::new(MUNINN);
        let home = env.path("home");
        let mut command = env.muninn();
        command.current_dir(&home).args(["personal", "init"]).args(flags);
        let made = muninn_tests::output_with(command, input.as_bytes());
        assert!(made.status.success(), "{made:?}");
        let identity = env.stdout_of(&home, &["personal", "context"]);
        for words in expected {
            assert!(identity.contains(words), "{words}: {identity}");
        }
        assert!(!identity.contains('\r'), "{identity:?}");
    }
}
