//! The git journal: by commands and by the tools of MCP clients, in the user's repository and in one of its own.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use muninn_tests::{TestEnv, git};
use serde_json::{Value, json};

use crate::MUNINN;
use crate::mcp::{ALONE, Client};
use crate::stage::{FILES, Stage, simple};

pub(crate) fn repository() -> (TestEnv, PathBuf) {
    let env = TestEnv::new(MUNINN);
    env.write_config(ALONE);
    let root = env.repository("demo", &FILES);
    (env, root)
}

pub(crate) fn journal(env: &TestEnv, root: &Path, arguments: &[&str]) -> Output {
    env.run(root, &[&["journal"], arguments].concat())
}

pub(crate) fn json_of(env: &TestEnv, root: &Path, arguments: &[&str]) -> Value {
    let output = journal(env, root, &[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What the user sees of the repository.
fn of_user(root: &Path) -> (String, String, Vec<u8>) {
    let of = |arguments: &[&str]| git(root, arguments).unwrap();
    (
        of(&["status", "--porcelain", "--ignored"]),
        of(&["for-each-ref", "refs/heads", "refs/tags"]),
        std::fs::read(root.join(".git/index")).unwrap(),
    )
}

#[test]
fn commands_read_and_write_and_the_user_sees_no_change() {
    let (env, root) = repository();
    let before = of_user(&root);
    let unread = journal(&env, &root, &["write", "gateway/retries", "--entry", "x"]);
    assert_eq!(unread.status.code(), Some(1));
    let hint = String::from_utf8_lossy(&unread.stderr).into_owned();
    assert!(hint.contains("muninn journal read gateway/retries"), "{hint}");
    let read = json_of(&env, &root, &["read", "gateway/retries"]);
    assert_eq!((&read["version"], &read["entry_count"]), (&json!("new"), &json!(0)));
    let overview = env.path("overview.md");
    std::fs::write(&overview, "# Retries\nThey double.\n").unwrap();
    let write =
        ["write", "gateway/retries", "--entry", "work_context: debugging\nFound the loop.", "--summary", "The loop"];
    let write = [&write[..], &["--version", "new", "--overview", overview.to_str().unwrap()]].concat();
    let written = json_of(&env, &root, &write);
    assert_eq!(written["entry_count"], 1);
    let stale = journal(&env, &root, &write);
    assert!(String::from_utf8_lossy(&stale.stderr).contains("The loop"), "{stale:?}");
    let id = written["id"].as_str().unwrap();
    let entry = json_of(&env, &root, &["read", id]);
    assert_eq!((&entry["work_context"], &entry["summary"]), (&json!("debugging"), &json!("The loop")));
    let shown = env.stdout_of(&root, &["journal", "read", "gateway/retries"]);
    assert!(shown.contains("entries    1\n") && shown.ends_with("\n# Retries\nThey double.\n"), "{shown}");
    // A session that has read needs no version.
    for session in ["one", "two"] {
        json_of(&env, &root, &["read", "gateway/retries", "--session", session]);
    }
    let by =
        |session: &str| journal(&env, &root, &["write", "gateway/retries", "--entry", "More.", "--session", session]);
    assert!(by("one").status.success() && by("one").status.success(), "its own write is read");
    let refused = by("two");
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).matches("gateway/retries#").count() == 2, "{refused:?}");
    let listed = json_of(&env, &root, &["list", "gateway/retries", "--start", "1"]);
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!(listed[1]["id"], written["id"]);
    assert_eq!(env.stdout_of(&root, &["journal", "toc", "--depth", "2"]), "gateway/\n  gateway/retries  3 entries\n");
    let found = json_of(&env, &root, &["search", "found the loop", "--work-context", "debugging"]);
    assert_eq!(found[0]["id"], written["id"], "{found}");
    for (arguments, status) in [
        (&["read", "gateway/retries#0000000"][..], 4),
        (&["read", "../x"], 2),
        (&["read", "gateway/retries#12"], 2),
        (&["list", "gone"], 4),
        (&["toc", "gone"], 4),
        (&["write", "a", "--entry", "x", "--version", "1"], 2),
    ] {
        assert_eq!(journal(&env, &root, arguments).status.code(), Some(status), "{arguments:?}");
    }
    assert_eq!(of_user(&root), before);
}

#[test]
fn client_writes_what_it_has_read_and_is_told_what_others_wrote() {
    let (env, root) = repository();
    let start = || {
        Client::start(&env, &root, |command| {
            command.args(["--tools", "journal"]);
        })
    };
    let (mut one, mut two) = (start(), start());
    let write = |client: &mut Client, entry: &str| {
        let (result, text) = client.call("journal_write", &json!({"path": "area", "entry": entry, "summary": entry}));
        (result["isError"] == true, text)
    };
    let refused = write(&mut one, "first");
    assert!(refused.0 && refused.1.contains("call `journal_read`"), "{}", refused.1);
    for client in [&mut one, &mut two] {
        let (read, _) = client.call("journal_read", &json!({"id": "area"}));
        assert_eq!(read["structuredContent"]["version"], "new");
    }
    assert!(!write(&mut one, "first").0);
    let refused = write(&mut two, "second");
    assert!(refused.0 && refused.1.contains(" first"), "{}", refused.1);
    two.call("journal_read", &json!({"id": "area"}));
    assert!(!write(&mut two, "second").0);
    let (listed, _) = two.call("journal_list_entries", &json!({"path": "area"}));
    let entries = listed["structuredContent"]["entries"].clone();
    assert_eq!((&entries[0]["summary"], &entries[1]["summary"]), (&json!("second"), &json!("first")));
    let (entry, _) = two.call("journal_read", &json!({"id": entries[0]["id"]}));
    assert_eq!(entry["structuredContent"]["content"], "second");
    let (found, _) = one.call("journal_search", &json!({"work_context": "area", "content": "the second"}));
    assert_eq!(found["structuredContent"]["entries"][0]["id"], entries[0]["id"], "{found}");
    let (contents, _) = one.call("journal_toc", &json!({}));
    assert_eq!(contents["structuredContent"]["sections"][0]["entry_count"], 2);
    let message = git(&root, &["log", "-1", "--format=%B", "refs/muninn/journal"]).unwrap();
    assert!(message.contains("\nAgent: test\n") && message.contains("\nSession: "), "{message}");
}

#[test]
fn journal_can_have_a_repository_of_its_own() {
    let (env, root) = repository();
    let own = env.path("own/journal.git");
    let settings = format!("[journal]\npath = \"{}\"\nauthor = \"Ann <ann@example.com>\"\n", own.display());
    env.write_config(&format!("{ALONE}{settings}"));
    let write = ["write", "a", "--entry", "x", "--version", "new"];
    json_of(&env, &root, &write);
    json_of(&env, &env.path("home"), &["read", "a"]);
    let author = git(&own, &["log", "--format=%an <%ae>", "refs/muninn/journal"]).unwrap();
    assert_eq!(author, "Ann <ann@example.com>\n");
    assert_eq!(git(&root, &["for-each-ref", "refs/muninn"]).unwrap(), "");
}

#[test]
fn entries_and_overviews_are_recalled_into_prompts() {
    let stage = Stage::new();
    let (env, root) = (&stage.env, &stage.root);
    let overview = env.path("overview.md");
    std::fs::write(&overview, "# Invoices\n\nArchived invoices leave the ledger at midnight.\n").unwrap();
    let entry = "The token bucket refills from a monotonic clock, since leap seconds emptied it twice.";
    let write = ["write", "billing/limits", "--version", "new", "--entry", entry];
    let written = json_of(env, root, &[&write[..], &["--overview", overview.to_str().unwrap()]].concat());
    let recalled = env.stdout_of(root, &["recall", "leap seconds", "--json"]);
    let recalled: Value = serde_json::from_str(&recalled).unwrap();
    let source = format!("journal:{}", written["id"].as_str().unwrap());
    assert_eq!((&recalled["memories"][0]["id"], &recalled["memories"][0]["kind"]), (&json!(source), &json!("journal")));
    let question = "does the token bucket refill with a monotonic clock through leap seconds?";
    let sent = |question: &str| {
        let response = stage.ask("/v1/chat/completions", &[], &simple(question)[0].1);
        let receipt = stage.why(&response);
        let items = receipt["items"].as_array().unwrap().clone();
        let named = items.into_iter().find(|item| item["source"].as_str().unwrap().starts_with("journal:"));
        (named, receipt, stage.upstream.last().text())
    };
    let (named, receipt, body) = sent(question);
    assert_eq!(named.unwrap_or_else(|| panic!("{receipt}"))["source"], source.as_str());
    assert!(body.contains(&source) && body.contains("emptied it twice"), "{body}");
    let (named, receipt, _) = sent("when do archived invoices leave the ledger, at midnight?");
    assert_eq!(named.unwrap_or_else(|| panic!("{receipt}"))["source"], "journal:billing/limits");
}

/// The number of object files, which grows before the ref moves.
fn objects(root: &Path) -> usize {
    let folders = std::fs::read_dir(root.join(".git/objects")).unwrap();
    let files = folders.filter_map(|folder| Some(std::fs::read_dir(folder.ok()?.path()).ok()?.count()));
    files.sum()
}

#[test]
fn writers_that_are_killed_lose_nothing_that_was_acknowledged() {
    let (env, root) = repository();
    let before = of_user(&root);
    let (mut acknowledged, mut killed) = (Vec::new(), 0);
    for number in 0..24 {
        let version = json_of(&env, &root, &["read", "area"])["version"].clone();
        let mut command = env.muninn();
        let text = format!("entry {number}");
        command.args(["journal", "write", "area", "--json", "--entry", &text, "--version"]);
        command.arg(version.as_str().unwrap()).current_dir(&root);
        let there = objects(&root);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let is_killed = number % 2 == 0;
        while is_killed && child.try_wait().unwrap().is_none() {
            // After its first, second or third object.
            if objects(&root) > there + number / 2 % 3 {
                child.kill().unwrap();
                break;
            }
            std::thread::yield_now();
        }
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            acknowledged.push(serde_json::from_slice::<Value>(&output.stdout).unwrap()["id"].clone());
        } else {
            killed += 1;
        }
        // The lock of the ref, if the process was killed while it had it: it is removed when it is old.
        if let Ok(lock) = std::fs::File::open(root.join(".git/refs/muninn/journal.lock")) {
            lock.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(60)).unwrap();
        }
    }
    assert!(acknowledged.len() >= 12, "{killed} were killed");
    for id in &acknowledged {
        json_of(&env, &root, &["read", id.as_str().unwrap()]);
    }
    let commits = git(&root, &["rev-list", "--count", "refs/muninn/journal"]).unwrap();
    let read = json_of(&env, &root, &["read", "area"]);
    assert_eq!(read["entry_count"].to_string(), commits.trim());
    assert_eq!(of_user(&root), before);
    git(&root, &["fsck", "--strict", "--no-dangling"]).unwrap();
}
