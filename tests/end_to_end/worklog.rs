//! The worklog: commands, tools, hooks that hold calls, and prompts that begin with what others wrote.

use std::fs;
use std::path::PathBuf;

use muninn_tests::{TestEnv, git};
use serde_json::{Value, json};

use crate::MUNINN;
use crate::hooks::{PATIENT, context, hook};
use crate::mcp::Client;
use crate::stage::{FILES, Stage, simple};

const ENABLED: &str = "[worklog]\nenabled = true\n";

fn place() -> (TestEnv, PathBuf) {
    let env = TestEnv::new(MUNINN);
    env.write_config(&format!("{PATIENT}{ENABLED}"));
    let root = env.repository("demo", &FILES);
    env.stdout_of(&root, &["init", "--memory", "local"]);
    (env, root)
}

fn text(root: &std::path::Path) -> String {
    fs::read_to_string(root.join("JOURNAL.md")).unwrap()
}

/// The answer of a hook; null if there is none.
fn answer(env: &TestEnv, root: &std::path::Path, event: &str, session: &str, more: &Value) -> Value {
    let mut input = json!({"session_id": session, "cwd": root});
    for (key, value) in more.as_object().unwrap() {
        input[key] = value.clone();
    }
    let output = hook(env, root, &[event], input.to_string().as_bytes(), &[]);
    assert!(output.status.success(), "{output:?}");
    if output.stdout.is_empty() { Value::Null } else { serde_json::from_slice(&output.stdout).unwrap() }
}

fn bash(command: &str, id: &str) -> Value {
    json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": id, "error": "error: bucket leaks\n1 failed"})
}

fn edit(old: &str, new: &str) -> Value {
    json!({"tool_name": "Edit", "tool_input": {"file_path": "src/lib.rs", "old_string": old, "new_string": new}})
}

#[test]
fn nothing_happens_unless_it_is_enabled_and_the_repository_was_set_up() {
    let env = TestEnv::new(MUNINN);
    env.write_config(PATIENT);
    let root = env.repository("demo", &FILES);
    let refused = env.run(&root, &["worklog", "show"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("[worklog]"), "{refused:?}");
    env.write_config(&format!("{PATIENT}{ENABLED}"));
    let refused = env.run(&root, &["worklog", "append", "x"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("muninn init"), "{refused:?}");
    for (event, more) in [
        ("SessionStart", json!({"source": "startup"})),
        ("UserPromptSubmit", json!({"prompt": "hello"})),
        ("PreToolUse", edit("a", "b")),
        ("PostToolUseFailure", bash("cargo test", "1")),
    ] {
        assert_eq!(answer(&env, &root, event, "s", &more), Value::Null, "{event}");
    }
    assert!(!root.join("JOURNAL.md").exists());
}

#[test]
fn the_worklog_of_a_removed_worktree_is_archived_in_another() {
    let (env, root) = place();
    git(&root, &["commit", "--quiet", "--allow-empty", "-m", "first"]).unwrap();
    let side = root.with_file_name("side");
    git(&root, &["worktree", "add", "--quiet", "-b", "refill", &side.to_string_lossy()]).unwrap();
    env.stdout_of(&side, &["init", "--memory", "local"]);
    env.stdout_of(&side, &["worklog", "start", "Fix the refill"]);
    env.stdout_of(&side, &["worklog", "append", "❌ Failed: a larger bucket"]);
    env.stdout_of(&side, &["worklog", "append", "❌ Failed: a larger bucket"]);
    // An editor that saves by renaming makes another file of it; the next line is in both.
    let edited = text(&side);
    fs::write(side.join("new"), edited + "by hand\n").unwrap();
    fs::rename(side.join("new"), side.join("JOURNAL.md")).unwrap();
    env.stdout_of(&side, &["worklog", "append", "Found: it rounds down"]);
    let written = text(&side);
    assert!(!env.stdout_of(&root, &["worklog", "status"]).contains("was removed"));

    git(&root, &["worktree", "remove", "--force", &side.to_string_lossy()]).unwrap();
    let status = env.stdout_of(&root, &["worklog", "status"]);
    assert!(status.contains("side was removed: `muninn worklog archive --removed`"), "{status}");
    let archived = env.stdout_of(&root, &["worklog", "archive", "--removed", "--json"]);
    let archived: Value = serde_json::from_str(&archived).unwrap();
    let copy = archived["copy"].as_str().unwrap();
    assert!(copy.ends_with("-refill.md"), "{copy}");
    assert_eq!(fs::read_to_string(root.join(copy)).unwrap(), written);
    assert_eq!(archived["corrections"], 1, "{archived}");
    assert!(!env.stdout_of(&root, &["worklog", "status"]).contains("was removed"));
    assert_eq!(env.stdout_of(&root, &["worklog", "archive", "--removed"]), "");
}

#[test]
fn commands_keep_a_worklog_that_git_ignores_until_it_is_archived() {
    let (env, root) = place();
    env.stdout_of(&root, &["worklog", "start", "Fix the bucket. It leaks.", "--task", "bucket"]);
    env.stdout_of(&root, &["worklog", "append", "Found: the refill rounds down"]);
    let long = env.run(&root, &["worklog", "append", "a\nb\nc"]);
    assert_eq!(long.status.code(), Some(2), "{long:?}");
    env.stdout_of(&root, &["worklog", "append", "GOSSIP: the bucket refills ten times a second"]);
    env.stdout_of(&root, &["worklog", "append", "I wish I had a tool for plotting buckets."]);
    let mutate = ["worklog", "mutate", "M5", "--failed-on", "all", "--switching-to", "one", "--rationale", "broad"];
    env.stdout_of(&root, &mutate);
    let written = text(&root);
    assert!(written.starts_with("# JOURNAL — bucket\n\n## "), "{written}");
    assert!(written.contains("\nIntent: Fix the bucket.\nApproach: open\n"), "{written}");
    assert!(!git(&root, &["status", "--porcelain"]).unwrap().contains("JOURNAL"));
    assert_eq!(env.stdout_of(&root, &["worklog", "wishes"]), "plotting buckets\n");
    let shown = env.stdout_of(&root, &["worklog", "show", "--lines", "2"]);
    assert_eq!(shown, "Rationale: broad\n");
    let status: Value = serde_json::from_str(&env.stdout_of(&root, &["worklog", "status", "--json"])).unwrap();
    assert_eq!(status["content"]["mutations"][0]["kind"], "M5", "{status}");
    let archived: Value = serde_json::from_str(&env.stdout_of(&root, &["worklog", "archive", "--json"])).unwrap();
    assert_eq!(fs::read_to_string(root.join(archived["copy"].as_str().unwrap())).unwrap(), written);
    assert!(!root.join("JOURNAL.md").exists());
    assert!(env.stdout_of(&root, &["recall", "bucket refills ten times"]).contains("ten times a second"));
    let corrections = fs::read_to_string(root.join(".muninn/journals/corrections.md")).unwrap();
    assert!(corrections.contains("M5 (Reduce Scope): failed on all"), "{corrections}");
}

#[test]
fn session_that_failed_three_times_declares_and_the_next_one_reads_first() {
    let (env, root) = place();
    let first = |event: &str, more: &Value| answer(&env, &root, event, "one", more);
    assert_eq!(first("UserPromptSubmit", &json!({"prompt": "Stop the leak. Soon."})), Value::Null);
    assert!(text(&root).contains("Intent: Stop the leak.\nApproach: open\nAgent: claude-code, session one\n"));
    assert_eq!(first("PreToolUse", &edit("a", "b")), Value::Null, "it is the first: there is nothing to read");
    for (number, is_due) in [(1, false), (2, false), (3, true), (4, false)] {
        let told = first("PostToolUseFailure", &bash("cd x && cargo test 2>&1 | tail", &number.to_string()));
        assert_eq!(told.to_string().contains("failed 3 times"), is_due, "{number}: {told}");
        // The same call, seen again.
        let again = first("PostToolUseFailure", &bash("cd x && cargo test 2>&1 | tail", &number.to_string()));
        assert_eq!(again, Value::Null);
    }
    assert_eq!(text(&root).matches("❌ Failed: ").count(), 1, "{}", text(&root));
    let held = first("PreToolUse", &bash("cargo test", "5"));
    let held = &held["hookSpecificOutput"];
    assert_eq!(held["permissionDecision"], "deny", "{held}");
    assert!(held["permissionDecisionReason"].as_str().unwrap().contains("worklog mutate"), "{held}");
    assert_eq!(first("PreToolUse", &bash("cargo test", "6")), Value::Null, "once per episode");
    let mutate =
        ["worklog", "--session", "one", "mutate", "M2", "--failed-on", "guessing", "--switching-to", "logging"];
    env.stdout_of(&root, &[&mutate[..], &["--rationale", "no data"]].concat());
    first("PostToolUse", &bash("cargo test", "7"));
    assert!(text(&root).ends_with("✅ Worked after M2: `cargo test`\n"), "{}", text(&root));

    let second = |event: &str, more: &Value| answer(&env, &root, event, "two", more);
    let held = second("PreToolUse", &edit("a", "b"));
    let reason = held["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap().to_owned();
    assert!(reason.contains("Worked after M2") && reason.contains("Intent: Stop the leak."), "{reason}");
    assert_eq!(second("PreToolUse", &edit("a", "b")), Value::Null, "the reason was the handover");

    let third = answer(&env, &root, "SessionStart", "three", &json!({"source": "startup"}));
    let given = third["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(given.contains("# The worklog of this worktree") && given.contains("Worked after M2"), "{given}");
    assert_eq!(answer(&env, &root, "PreToolUse", "three", &edit("a", "b")), Value::Null);
    let input = json!({"session_id": "four", "cwd": root, "prompt": "Go on."});
    let fourth = hook(&env, &root, &["UserPromptSubmit"], input.to_string().as_bytes(), &[]);
    assert!(context(&fourth, "UserPromptSubmit").unwrap().contains("Worked after M2"));
}

#[test]
fn edit_that_is_taken_back_is_a_failed_attempt_and_silent_sessions_are_listed() {
    let (env, root) = place();
    answer(&env, &root, "UserPromptSubmit", "s", &json!({"prompt": "Try something."}));
    for (old, new) in [("a", "b"), ("c", "d"), ("b", "a")] {
        answer(&env, &root, "PostToolUse", "s", &edit(old, new));
    }
    assert!(text(&root).ends_with("❌ Failed: an edit of src/lib.rs was taken back\n"), "{}", text(&root));
    let status = env.stdout_of(&root, &["worklog", "status"]);
    assert!(status.contains("session s changed files and wrote nothing"), "{status}");
    env.stdout_of(&root, &["worklog", "--session", "s", "append", "Found: it works without"]);
    assert!(!env.stdout_of(&root, &["worklog", "status"]).contains("wrote nothing"));
}

#[test]
fn tools_write_and_read_it() {
    let (env, root) = place();
    let mut client = Client::start(&env, &root, |command| {
        command.args(["--tools", "worklog"]);
    });
    let (empty, _) = client.call("worklog_read", &json!({}));
    assert_eq!(empty["structuredContent"]["tail"], Value::Null);
    client.call("worklog_append", &json!({"text": "Decision: no cache"}));
    let mutation = json!({"kind": "Bisect", "failed_on": "x", "switching_to": "y", "rationale": "z"});
    let (declared, text_of) = client.call("worklog_mutate", &mutation);
    assert_eq!(declared["structuredContent"]["kind"], "M3", "{text_of}");
    let (unknown, text_of) =
        client.call("worklog_mutate", &json!({"kind": "M9", "failed_on": "x", "switching_to": "y", "rationale": "z"}));
    assert!(unknown["isError"] == true && text_of.contains("M5 Reduce Scope"), "{text_of}");
    let (_, read) = client.call("worklog_read", &json!({}));
    assert!(read.contains("Decision: no cache") && read.contains("## MUTATION: M3 (Bisect)"), "{read}");
    assert!(text(&root).contains("Agent: test"), "{}", text(&root));
}

#[test]
fn first_prompt_of_a_session_through_the_gateway_begins_with_the_handover() {
    let stage = Stage::with(muninn_tests::Upstream::start(), ENABLED);
    stage.gateway.wait_ready();
    let (env, root) = (&stage.env, &stage.root);
    env.stdout_of(root, &["init", "--memory", "local"]);
    env.stdout_of(root, &["worklog", "start", "Stop the leak.", "--task", "leak"]);
    env.stdout_of(root, &["worklog", "append", "❌ Failed: a larger bucket"]);
    let ask = |session: &str| {
        let with_tools = simple("Where is the bucket refilled?")[1].1.replacen(
            '{',
            r#"{"tools":[{"name":"Read","input_schema":{"type":"object"}},{"name":"Bash","input_schema":{"type":"object"}}],"#,
            1,
        );
        let response = stage.ask("/v1/messages", &[("x-muninn-session", session)], &with_tools);
        (stage.upstream.last().text(), stage.why(&response))
    };
    let (sent, receipt) = ask("one");
    assert!(sent.contains("a larger bucket"), "{sent}");
    assert_eq!(receipt["preamble"][0]["part"], "worklog", "{receipt}");
    assert!(text(root).contains("Intent: Where is the bucket refilled?"), "{}", text(root));
    let (again, _) = ask("one");
    assert_eq!(sent, again, "a replayed block is the same byte for byte");
}

#[test]
fn mutation_that_is_due_is_told_through_the_gateway_at_the_next_human_turn() {
    let stage = Stage::with(muninn_tests::Upstream::start(), ENABLED);
    stage.gateway.wait_ready();
    let (env, root) = (&stage.env, &stage.root);
    env.stdout_of(root, &["init", "--memory", "local"]);
    let tool = |name: &str| json!({"name": name, "input_schema": {"type": "object"}});
    let ask = |messages: &[Value]| {
        let body = json!({"model": "m", "max_tokens": 9, "tools": [tool("Read"), tool("Bash")], "messages": messages});
        stage.ask("/v1/messages", &[("x-muninn-session", "one")], &body.to_string());
        stage.upstream.last().text()
    };
    let mut messages = vec![json!({"role": "user", "content": "Where is the bucket refilled?"})];
    assert!(!ask(&messages).contains("failed 3 times"));
    for number in 0..3 {
        let id = format!("toolu_{number}");
        let call = json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "cargo test --lib"}});
        let result = json!({"type": "tool_result", "tool_use_id": id, "is_error": true, "content": "Exit code 101\nerror: it leaks"});
        messages.push(json!({"role": "assistant", "content": [call]}));
        messages.push(json!({"role": "user", "content": [result]}));
    }
    assert!(!ask(&messages).contains("failed 3 times"), "not behind a tool's result");
    messages.push(json!({"role": "assistant", "content": "It fails."}));
    messages.push(json!({"role": "user", "content": "Then try the bucket's refill again."}));
    let told = ask(&messages);
    assert!(told.contains("`cargo test --lib` failed 3 times in succession"), "{told}");
    assert_eq!(ask(&messages), told);
    assert_eq!(text(root).matches("❌ Failed: `cargo test --lib` (error: it leaks)").count(), 1, "{}", text(root));
    messages.push(json!({"role": "assistant", "content": "Done."}));
    messages.push(json!({"role": "user", "content": "And the parser of invoices?"}));
    assert_eq!(ask(&messages).matches("failed 3 times").count(), 1, "it is told once");
}

#[test]
fn init_enables_it_in_the_users_file_and_install_adds_its_hooks() {
    let env = TestEnv::new(MUNINN);
    env.write_config("# mine\n[context]\nenabled = true\n");
    let root = env.repository("demo", &FILES);
    let offered = env.stdout_of(&root, &["init"]);
    assert!(offered.contains("`muninn init --worklog`"), "{offered}");
    let hooks = || env.stdout_of(&root, &["install", "claude-code", "--with", "hooks", "--dry-run"]);
    assert!(!hooks().contains("PostToolUse"));
    env.stdout_of(&root, &["init", "--worklog"]);
    env.stdout_of(&root, &["worklog", "start", "x"]);
    assert!(root.join("JOURNAL.md").exists());
    let hooks = hooks();
    assert!(hooks.contains("\"PostToolUse\"") && hooks.contains("PostToolUseFailure"), "{hooks}");
    let refused = root.join(".muninn/config.toml");
    std::fs::write(&refused, "[worklog]\nenabled = true\n").unwrap();
    let checked = env.run(&root, &["config", "check"]);
    assert!(format!("{checked:?}").contains("worklog.enabled"), "{checked:?}");
}
