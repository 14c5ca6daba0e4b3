//! `muninn mcp` with a daemon, which holds the index for all clients.

use std::os::unix::fs::PermissionsExt as _;

use muninn_tests::wait_until;
use serde_json::{Value, json};

use crate::daemon::{Home, kill};
use crate::mcp::Client;
use crate::stage::QUESTION;

fn find_context(client: &mut Client) -> String {
    client.call("find_context", &json!({"question": QUESTION})).1
}

/// The parent of a process.
fn parent(process: &Value) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    fields.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn first_call_starts_the_daemon_which_answers_all_clients() {
    let home = Home::new();
    home.env.stdout_of(&home.root, &["init"]);
    let mut one = Client::start(&home.env, &home.root, |command| {
        command.env("CLAUDE_CODE_SESSION_ID", "session-of-claude");
    });
    let listed = one.request("tools/list", &json!({}));
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 6);
    assert_eq!(home.status(), None, "a client that calls nothing costs nothing");
    let text = find_context(&mut one);
    assert!(text.contains("src/rate_limiter.rs"), "{text}");
    let status = home.status().unwrap();
    assert_eq!((&status["calls"], &status["worktrees"]), (&json!(1), &json!([home.root])));
    // Some clients end a server with all its children.
    assert_ne!(parent(&status["process"]), u64::from(one.id()));
    let id = text.lines().next().unwrap().strip_prefix("receipt ").unwrap();
    let address = format!("muninn://receipt/{id}");
    let read = one.request("resources/read", &json!({"uri": address}));
    let receipt: Value = serde_json::from_str(read["result"]["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!((&receipt["model"], &receipt["format"]), (&json!("test"), &json!("mcp")));

    let fact = "Invoices are archived in memory only.";
    let (kept, _) = one.call("remember", &json!({"text": fact}));
    assert_eq!(kept["isError"], false, "{kept}");
    let mut other = Client::start(&home.env, &home.root, |_| {});
    let (found, _) = other.call("recall", &json!({"query": "archived invoices"}));
    let memory = &found["structuredContent"]["memories"][0];
    assert_eq!(memory["text"], fact);
    assert!(memory["session"].is_string());
    assert_eq!(home.status().unwrap()["process"], status["process"]);
    assert!(one.leave() && other.leave());
}

/// A prompt waits a moment for a worktree to open, and then goes without context. A call of a tool has all of its own time.
#[test]
fn first_call_waits_until_the_worktree_is_open() {
    let home = Home::new();
    home.env.write_config("[context]\ndeadline_ms = 1\n");
    let mut client = Client::start(&home.env, &home.root, |_| {});
    let text = find_context(&mut client);
    assert!(text.contains("src/rate_limiter.rs"), "{text}");
    assert!(client.leave());
}

#[test]
fn next_call_starts_the_daemon_again_after_it_was_killed() {
    let home = Home::new();
    let mut client = Client::start(&home.env, &home.root, |_| {});
    find_context(&mut client);
    let first = home.status().unwrap();
    kill(&first);
    let text = find_context(&mut client);
    assert!(text.contains("src/rate_limiter.rs"), "{text}");
    assert_ne!(home.status().unwrap()["process"], first["process"]);
    assert!(client.leave());
}

#[test]
fn wrong_calls_are_errors_of_the_tool() {
    let home = Home::new();
    let mut client = Client::start(&home.env, &home.root, |_| {});
    let (result, text) = client.call("find_context", &json!({}));
    assert_eq!(result["isError"], true);
    assert!(text.contains("`question` is missing"), "{text}");
    let missing = client.request("resources/read", &json!({"uri": "muninn://knowledge/gone.md"}));
    assert_eq!(missing["error"]["code"], -32002, "{missing}");
    assert!(client.leave());
}

#[test]
fn directory_without_a_repository_is_refused() {
    let home = Home::new();
    let outside = home.env.path("outside");
    std::fs::create_dir(&outside).unwrap();
    let mut client = Client::start(&home.env, &outside, |_| {});
    let (result, text) = client.call("recall", &json!({"query": "anything"}));
    assert_eq!(result["isError"], true);
    assert!(text.contains("is in no git repository"), "{text}");
    assert!(client.leave());
}

#[test]
fn client_that_leaves_in_a_call_leaves_no_call_behind() {
    let home = Home::new();
    let mut client = Client::start(&home.env, &home.root, |_| {});
    find_context(&mut client);
    client.begin("find_context", &json!({"question": QUESTION}));
    assert!(client.leave());
    wait_until("no call", || home.status().filter(|status| status["active"] == 0).map(drop));
}

#[test]
fn server_opens_the_repository_itself_if_the_socket_is_not_safe() {
    let home = Home::new();
    let directory = home.directory();
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o777)).unwrap();
    let mut client = Client::start(&home.env, &home.root, |_| {});
    let text = find_context(&mut client);
    assert!(text.contains("src/rate_limiter.rs"), "{text}");
    assert!(client.leave());
}
