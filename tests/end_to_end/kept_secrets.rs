//! Keys that reach Muninn in prompts, headers, addresses and the calls of tools: none is in any file that it keeps, and none
//! in git.

use std::fs;
use std::path::Path;

use muninn_tests::{TestEnv, Upstream, git};
use serde_json::{Value, json};

use crate::MUNINN;
use crate::agent::SESSION;
use crate::hooks::{PATIENT, hook};
use crate::mcp::Client;
use crate::stage::{FILES, quoted};

/// Keys of several kinds. They are put together here, so that no scanner takes this file for a leak.
fn keys() -> [(&'static str, String); 6] {
    let hex = "3f9c01d47ab25e68";
    [
        ("our own", format!("muninn-{}", [hex, "8e5b7721c0aa94d3", "f00d1e2b3c4a5968", "77665e4d3c2b1a09"].concat())),
        (
            "our own in capitals",
            format!(
                "MUNINN-{}",
                ["A1", hex, "B2C3D4E5F60718", "29384756ABCDEF01", "9087A6B5C4D3E2F1"].concat().to_uppercase()
            ),
        ),
        ("github", format!("ghp_{}", "a1B2c3D4e5F6".repeat(3))),
        ("zhipu", format!("{}.{}", ["5d41402abc4b2a76", "b9719d911017c592"].concat(), "kZ3tQ8wLx0PmR5vY")),
        ("discord", format!("{}.{}.{}", "MTE5ODYyMjQ4MzQ3MTkyNTI0OA", "Gq2xYz", "x7Kp3Lm9Qr5Tv1Wz8Bn4Cd6Fg2Hj")),
        ("anthropic", format!("sk-ant-api03-{}AA", "Zm9vYmFy0Q".repeat(9))),
    ]
}

/// Ways in which a text can hold a key.
fn spellings(key: &str) -> Vec<String> {
    let escaped: String = key.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let (first, second) = key.split_at(key.len() / 2);
    vec![
        format!("Where is the bucket refilled with {key}?"),
        format!("{key} is the key, how does the refill work?"),
        format!("The url is http://x/?k={}&y, how does the TokenBucket refill?", key.replace('-', "%2D")),
        format!("How does the refill work? k={escaped}"),
        format!("How does the TokenBucket refill?\nkey: {first}\n{second}"),
        format!("How does the TokenBucket refill?\nkey: \"{first}\" +\n  \"{second}\""),
        format!("How does the TokenBucket refill?\nkey: {first}\\\n  {second}"),
    ]
}

/// All spellings of the first key, and some of each other one.
fn some(number: usize, spellings: Vec<String>) -> impl Iterator<Item = (usize, String)> {
    let all = spellings.into_iter().enumerate();
    all.filter(move |(at, _)| number == 0 || at % 5 == number % 5)
}

/// The parts of a key by which it is recognised in a file.
fn parts(key: &str) -> Vec<Vec<u8>> {
    let bytes = key.as_bytes();
    let middle = bytes.len() / 2;
    [&bytes[8..20], &bytes[middle..middle + 12], &bytes[bytes.len() - 14..bytes.len() - 2]]
        .iter()
        .map(|part| part.to_ascii_lowercase())
        .collect()
}

/// All bytes below a directory, in lower case, each file with its name.
fn files(below: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut left = vec![below.to_owned()];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.is_file() {
            let bytes = fs::read(&path).unwrap().to_ascii_lowercase();
            found.push((path.display().to_string(), bytes));
        }
    }
    found
}

fn assert_no_key(place: &str, files: &[(String, Vec<u8>)]) {
    for (kind, key) in keys() {
        for part in parts(&key) {
            for (name, bytes) in files {
                let has = bytes.windows(part.len()).any(|window| window == part);
                let at = bytes.windows(part.len()).position(|window| window == part).unwrap_or_default();
                let near = String::from_utf8_lossy(&bytes[at.saturating_sub(200)..bytes.len().min(at + 100)]);
                assert!(!has, "{place}: {name} has {} of the key of {kind}: {near}", String::from_utf8_lossy(&part));
            }
        }
    }
}

/// Everything that git holds, deltas and compression undone.
fn objects(root: &Path) -> Vec<(String, Vec<u8>)> {
    let listed = git(root, &["rev-list", "--all", "--objects"]).unwrap();
    let ids = listed.lines().filter_map(|line| line.split(' ').next());
    ids.map(|id| (id.to_owned(), git(root, &["cat-file", "-p", id]).unwrap().to_lowercase().into_bytes())).collect()
}

#[test]
fn no_key_of_a_request_is_kept() {
    let upstream = Upstream::start();
    let env = TestEnv::new(MUNINN);
    env.connect_with(&upstream, "[memory]\nwrite = \"repo\"\n[worklog]\nenabled = true\n[personal]\nenabled = true\n");
    let root = env.repository("demo", &FILES);
    env.stdout_of(&root, &["init", "--memory", "repo"]);
    let gateway = env.serve(&root, &[]);
    gateway.wait_ready();
    let tools = r#""tools":[{"name":"Read","input_schema":{"type":"object"}},{"name":"Bash","input_schema":{"type":"object"}}],"#;
    for (number, (_, key)) in keys().into_iter().enumerate() {
        for (at, text) in some(number, spellings(&key)) {
            let session = format!("{number}-{at}");
            let call = json!({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": format!("cargo test {text}")}});
            let result = json!({"type": "tool_result", "tool_use_id": "toolu_1", "is_error": true, "content": format!("error: {text}")});
            let messages = json!([
                {"role": "user", "content": text}, {"role": "assistant", "content": [call]},
                {"role": "user", "content": [result]}, {"role": "assistant", "content": format!("We decided to use {text}")},
                {"role": "user", "content": format!("Then edit src/lib.rs. {text}")},
            ]);
            let body = format!(r#"{{"model":"m","max_tokens":9,{tools}"messages":{messages}}}"#);
            let _ = gateway.post("/v1/messages", &[("x-muninn-session", &session)], body.as_bytes());
            let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":{}}}]}}"#, quoted(&text));
            let _ = gateway.post("/v1/chat/completions", &[], body.as_bytes());
        }
        let body = format!(
            r#"{{"model":{},"messages":[{{"role":"user","content":"How does the TokenBucket refill?"}}]}}"#,
            quoted(&key)
        );
        for (name, value) in
            [("x-muninn-session", &*key), ("x-muninn-key", &key), ("x-trace", &key), ("user-agent", &key)]
        {
            let _ = gateway.post("/v1/chat/completions", &[(name, value)], body.as_bytes());
        }
        let _ = gateway.request("GET", &format!("/v1/models?key={key}"), &[], b"");
        let _ = gateway.request("GET", &format!("/v1/models?key={}", key.replace(['-', '_'], "%2D")), &[], b"");
    }
    let stopped = gateway.stop_cleanly();
    assert_no_key("the log", &[("stderr".to_owned(), stopped.stderr.to_lowercase().into_bytes())]);
    assert_no_key("the state", &files(&env.state_dir()));
    assert_no_key("the worktree", &files(&root));
    let kept = files(&env.state_dir());
    let is_marked = |bytes: &[u8]| bytes.windows(10).any(|window| window == b"[redacted:");
    assert!(kept.iter().any(|(_, bytes)| is_marked(bytes)), "the receipts name what was removed");
}

#[test]
fn no_key_of_a_hook_or_a_tool_is_kept() {
    let env = TestEnv::new(MUNINN);
    env.write_config(&format!(
        "{PATIENT}[memory]\nwrite = \"repo\"\n[worklog]\nenabled = true\n[personal]\nenabled = true\n"
    ));
    let root = env.repository("demo", &FILES);
    env.stdout_of(&root, &["init", "--memory", "repo"]);
    env.stdout_of(&root, &["index"]);
    let run = |event: &str, more: &Value| {
        let mut input = json!({"session_id": SESSION, "cwd": root});
        for (key, value) in more.as_object().unwrap() {
            input[key] = value.clone();
        }
        assert!(hook(&env, &root, &[event], input.to_string().as_bytes(), &[]).status.success());
    };
    let mut client = Client::start(&env, &root, |command| {
        command.args(["--tools", "code,memory,wiki,journal,worklog,personal"]);
    });
    for (number, (_, key)) in keys().into_iter().enumerate() {
        for (at, text) in some(number, spellings(&key)) {
            client.call("find_context", &json!({"question": text}));
            client.call("recall", &json!({"query": text}));
            client.call("remember", &json!({"text": text}));
            client.call("worklog_append", &json!({"text": format!("GOSSIP: {}", text.lines().next().unwrap())}));
            client.call("worklog_append", &json!({"text": text.split_once('\n').map_or(&*text, |(_, key)| key)}));
            client.call("log_journal", &json!({"topic": "keys", "content": text}));
            client.call("search_memory", &json!({"query": text}));
            let section = format!("keys/{number}-{at}");
            client.call("journal_read", &json!({"path": section}));
            client.call(
                "journal_write",
                &json!({"path": section, "entry": text, "overview": text, "summary": text, "version": "new"}),
            );
            client.call(
                "create_page",
                &json!({"path": format!("keys-{number}-{at}"), "content": format!("# Keys\n\n{text}\n")}),
            );
        }
        run("UserPromptSubmit", &json!({"prompt": key, "session_id": key}));
        run("UserPromptSubmit", &json!({"prompt": format!("Why does {key} fail?")}));
        let bash = json!({"tool_name": "Bash", "tool_input": {"command": format!("cargo test {key}")}, "error": format!("error: {key}")});
        for _ in 0..3 {
            run("PostToolUseFailure", &bash);
        }
        run("PreToolUse", &bash);
    }
    let key = keys()[0].1.clone();
    let (first, second) = key.split_at(30);
    let transcript = env.path("transcript.jsonl");
    let line = |kind: &str, text: &str| json!({"type": kind, "sessionId": SESSION, "cwd": root, "message": {"role": kind, "content": text}});
    fs::write(
        &transcript,
        format!(
            "{}\n{}\n",
            line("user", &keys()[2].1),
            line("assistant", &format!("We decided to use {first}\n{second} from now on."))
        ),
    )
    .unwrap();
    run("SessionEnd", &json!({"transcript_path": transcript, "reason": "other"}));
    assert!(client.leave());
    git(&root, &["add", "--all", "--force"]).unwrap();
    git(&root, &["commit", "--quiet", "-m", "all"]).unwrap();
    assert_no_key("the state", &files(&env.state_dir()));
    assert_no_key("git", &objects(&root));
    assert_no_key("personal memory", &files(&env.path("home")));
    assert!(env.stdout_of(&root, &["scan"]).starts_with("0 secrets"), "{}", env.stdout_of(&root, &["scan"]));
}

#[test]
fn scan_finds_keys_that_were_stored_and_says_to_replace_them() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    fs::create_dir_all(root.join(".muninn/memory")).unwrap();
    fs::create_dir_all(root.join(".muninn/journals")).unwrap();
    let key = keys()[1].1.clone();
    let (first, second) = key.split_at(30);
    let lines: String = keys().iter().map(|(_, key)| format!("{}\n", json!({"text": format!("use {key}")}))).collect();
    fs::write(root.join(".muninn/memory/main.jsonl"), lines).unwrap();
    fs::write(root.join(".muninn/journals/a.md"), format!("x\n{first}\n{second}\n")).unwrap();
    fs::write(root.join("JOURNAL.md"), format!("{}\n", keys()[0].1)).unwrap();
    let found = env.run(&root, &["scan"]);
    assert_eq!(found.status.code(), Some(1), "{found:?}");
    let text = String::from_utf8(found.stdout).unwrap();
    for expected in [
        ".muninn/memory/main.jsonl:1: muninn-key",
        ".muninn/memory/main.jsonl:2: muninn-key",
        ".muninn/memory/main.jsonl:3: github-token",
        ".muninn/memory/main.jsonl:4: zhipu-key",
        ".muninn/memory/main.jsonl:5: discord-token",
        ".muninn/memory/main.jsonl:6: anthropic-key",
        ".muninn/journals/a.md:2: muninn-key",
        "JOURNAL.md:1: muninn-key",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let advice = String::from_utf8(found.stderr).unwrap();
    assert!(advice.contains("muninn key new NAME") && advice.contains("where it was issued"), "{advice}");
}
