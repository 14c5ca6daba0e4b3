//! Memory, the journal and context in repositories of every format of git: references as files and as reftable, objects by
//! SHA-1 and by SHA-256.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use muninn_tests::{TestEnv, Upstream, git, wait_until};
use serde_json::{Value, json};

use crate::MUNINN;
use crate::agent::{Conversation, records_in};
use crate::learning::Team;
use crate::mcp::ALONE;
use crate::stage::{FILES, QUESTION};

/// References, objects.
const FORMATS: [(&str, &str); 4] =
    [("files", "sha1"), ("files", "sha256"), ("reftable", "sha1"), ("reftable", "sha256")];

/// Creates a repository of a format.
fn repository(env: &TestEnv, (references, objects): (&str, &str)) -> PathBuf {
    let root = env.path("repositories/demo");
    fs::create_dir_all(&root).unwrap();
    let (references, objects) = (format!("--ref-format={references}"), format!("--object-format={objects}"));
    git(&root, &["init", "-q", "-b", "main", &references, &objects]).unwrap();
    for (path, text) in FILES {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    }
    env.commit(&root, "first");
    root.canonicalize().unwrap()
}

fn team(format: (&str, &str)) -> (TestEnv, PathBuf) {
    let env = TestEnv::new(MUNINN);
    env.write_config(&format!("{ALONE}[memory]\nwrite = \"repo\"\n"));
    let root = repository(&env, format);
    env.stdout_of(&root, &["init", "--memory", "repo"]);
    env.commit(&root, "memory");
    (env, root)
}

fn recalls(env: &TestEnv, root: &Path, question: &str, text: &str) -> bool {
    let output = env.run(root, &["recall", question]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    String::from_utf8_lossy(&output.stdout).contains(text)
}

fn json_of(env: &TestEnv, root: &Path, arguments: &[&str]) -> Value {
    let text = env.stdout_of(root, &[arguments, &["--json"]].concat());
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {text}"))
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn memory_branches_and_merges_in_every_format() {
    for format in FORMATS {
        let (env, root) = team(format);
        let git = |arguments: &[&str]| env.git(&root, arguments);
        env.stdout_of(&root, &["remember", "Invoices are archived after ninety days.", "--file", "src/storage.rs"]);
        assert!(recalls(&env, &root, "when are invoices archived", "ninety days"), "{format:?}");
        env.commit(&root, "remembered on main");
        git(&["checkout", "-q", "-b", "feature/limits"]);
        env.stdout_of(&root, &["remember", "The limiter refills lazily on each take."]);
        assert!(recalls(&env, &root, "how does the limiter refill", "refills lazily"), "{format:?}");
        assert!(recalls(&env, &root, "when are invoices archived", "ninety days"), "{format:?}");
        git(&["checkout", "-q", "main"]);
        assert!(!recalls(&env, &root, "how does the limiter refill", "refills lazily"), "{format:?}");
        git(&["checkout", "-q", "feature/limits"]);
        env.commit(&root, "remembered on the branch");
        git(&["checkout", "-q", "main"]);
        git(&["merge", "-q", "--no-ff", "-m", "merge", "feature/limits"]);
        assert!(recalls(&env, &root, "how does the limiter refill", "refills lazily"), "{format:?}");
        git(&["branch", "-q", "-d", "feature/limits"]);
        env.stdout_of(&root, &["reconcile"]);
        env.commit(&root, "reconciled");
        git(&["gc", "--quiet", "--prune=now"]);
        for (question, text) in
            [("how does the limiter refill", "refills lazily"), ("when are invoices archived", "ninety days")]
        {
            assert!(recalls(&env, &root, question, text), "{format:?}: {question}");
        }
        let main = fs::read_to_string(root.join(".muninn/memory/main.jsonl")).unwrap();
        let digits = if format.1 == "sha1" { 40 } else { 64 };
        for line in main.lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            if record["type"] != "learning" {
                continue;
            }
            assert_eq!(record["commit"].as_str().map(str::len), Some(digits), "{format:?}: {line}");
        }
        let blob = git(&["hash-object", "src/storage.rs"]);
        assert!(main.contains(&format!("\"blob\":\"{}\"", blob.trim())), "{format:?}: {main}");
        let found = json_of(&env, &root, &["recall", "when are invoices archived"]);
        assert_eq!(found["memories"][0]["stale"], false, "{format:?}: {found}");
        let status = json_of(&env, &root, &["status"]);
        assert_eq!(status["branch"], "main", "{format:?}");
        assert_eq!(status["head"].as_str().unwrap(), git(&["rev-parse", "HEAD"]).trim(), "{format:?}");
        git(&["checkout", "-q", "--detach"]);
        assert_eq!(json_of(&env, &root, &["status"])["branch"], Value::Null, "{format:?}");
        git(&["fsck", "--strict"]);
    }
}

#[test]
fn journal_survives_garbage_collection_and_travels_in_every_format() {
    for format in FORMATS {
        let (env, root) = team(format);
        let write = |root: &Path, text: &str, version: &str| {
            let arguments = ["journal", "write", "limiter/refill", "--entry", text, "--version", version];
            json_of(&env, root, &arguments)
        };
        let first = write(&root, "work_context: debugging\nThe clock went back.", "new");
        let version = first["version"].as_str().unwrap().to_owned();
        let second = write(&root, "work_context: debugging\nA monotonic clock cures it.", &version);
        env.git(&root, &["rev-parse", "--verify", "refs/muninn/journal"]);
        env.git(&root, &["reflog", "expire", "--expire=now", "--all"]);
        env.git(&root, &["gc", "--quiet", "--prune=now"]);
        for written in [&first, &second] {
            let entry = json_of(&env, &root, &["journal", "read", written["id"].as_str().unwrap()]);
            assert!(entry["content"].as_str().unwrap().contains("clock"), "{format:?}: {entry}");
        }
        assert!(recalls(&env, &root, "which clock does the limiter need", "monotonic"), "{format:?}");
        let bare = env.path("remote.git");
        let (references, objects) = (format!("--ref-format={}", format.0), format!("--object-format={}", format.1));
        env.git(&root, &["init", "-q", "--bare", &references, &objects, bare.to_str().unwrap()]);
        env.git(&root, &["remote", "add", "origin", bare.to_str().unwrap()]);
        env.git(&root, &["push", "-q", "origin", "main"]);
        env.stdout_of(&root, &["journal", "push"]);
        let clone = env.path("repositories/clone");
        let from = bare.to_str().unwrap();
        env.git(&root, &["clone", "-q", &references, "-b", "main", from, clone.to_str().unwrap()]);
        env.stdout_of(&clone, &["journal", "fetch"]);
        let read = json_of(&env, &clone, &["journal", "read", "limiter/refill"]);
        assert_eq!(read["entry_count"], 2, "{format:?}: {read}");
        write(&clone, "work_context: review\nIt works.", read["version"].as_str().unwrap());
        env.stdout_of(&clone, &["journal", "sync"]);
        env.stdout_of(&root, &["journal", "sync"]);
        let read = json_of(&env, &root, &["journal", "read", "limiter/refill"]);
        assert_eq!(read["entry_count"], 3, "{format:?}: {read}");
        env.git(&root, &["fsck", "--strict"]);
        let loose = root.join(".git/refs/muninn");
        assert_eq!(loose.exists(), format.0 == "files", "{format:?}");
    }
}

#[test]
fn agents_learn_and_get_context_in_every_format() {
    for format in FORMATS {
        let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
        env.connect(&upstream);
        let root = repository(&env, format);
        env.stdout_of(&root, &["init", "--memory", "repo"]);
        env.commit(&root, "memory");
        let team = Team { env, upstream, root };
        let gateway = team.serve();
        let mut conversation = Conversation::new(&team.root);
        conversation.turn(QUESTION);
        conversation.says("Thanks. And the parser?");
        conversation.send(&gateway);
        gateway.stop_cleanly();
        let (_, record) = team.segments().remove(0);
        let head = team.env.git(&team.root, &["rev-parse", "HEAD"]);
        assert_eq!(record["branch"], "main", "{format:?}");
        assert_eq!(record["commit"].as_str().unwrap(), head.trim(), "{format:?}");
        let blob = team.env.git(&team.root, &["hash-object", record["sources"][0]["path"].as_str().unwrap()]);
        assert_eq!(record["sources"][0]["blob"].as_str(), Some(blob.trim()), "{format:?}");
        let sent = team.upstream.requests();
        let sent = String::from_utf8_lossy(&sent.last().unwrap().body).into_owned();
        assert!(sent.contains("TokenBucket"), "{format:?}: {sent}");
    }
}

/// A directory whose `git` notes each call and starts the real one.
fn counting_git(env: &TestEnv) -> (PathBuf, PathBuf) {
    let (folder, log) = (env.path("counting"), env.path("git-calls"));
    fs::create_dir_all(&folder).unwrap();
    let real = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|folder| folder.join("git"))
        .find(|path| path.exists())
        .unwrap();
    let script = format!("#!/bin/sh\necho \"$*\" >>'{}'\nexec '{}' \"$@\"\n", log.display(), real.display());
    fs::write(folder.join("git"), script).unwrap();
    fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(&log, "").unwrap();
    (folder, log)
}

#[test]
fn requests_start_git_only_where_head_moved() {
    for (format, is_linked) in FORMATS.into_iter().flat_map(|format| [(format, false), (format, true)]) {
        let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
        env.connect(&upstream);
        let root = repository(&env, format);
        env.stdout_of(&root, &["init", "--memory", "repo"]);
        env.stdout_of(&root, &["remember", "Invoices are archived after ninety days."]);
        env.commit(&root, "memory");
        // In a linked worktree HEAD is in tables of its own.
        let linked = env.path("repositories/linked");
        env.git(&root, &["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
        let root = if is_linked { linked.canonicalize().unwrap() } else { root };
        let (folder, log) = counting_git(&env);
        let path =
            std::env::join_paths([folder].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())));
        let gateway = env.serve_with(&root, &[], |command| _ = command.env("PATH", path.unwrap()));
        gateway.wait_ready();
        let ask = |words: &str| {
            let body = json!({"model": "m", "messages": [{"role": "user", "content": words}]}).to_string();
            assert_eq!(gateway.post("/v1/chat/completions", &[], body.as_bytes()).status, 200);
        };
        let calls = || fs::read_to_string(&log).unwrap();
        ask(QUESTION);
        let before = calls();
        for number in 0..5 {
            ask(&format!("{QUESTION} When are invoices archived? {number}"));
        }
        assert_eq!(calls(), before, "{format:?} {is_linked}: nothing moved");
        for message in ["one", "two"] {
            let before = calls().lines().count();
            env.git(&root, &["commit", "-q", "--allow-empty", "-m", message]);
            for number in 0..3 {
                ask(&format!("{QUESTION} {message} {number}"));
            }
            let made = calls().lines().count() - before;
            let expected = usize::from(format.0 == "reftable");
            assert_eq!(made, expected, "{format:?} {is_linked}: {}", calls());
        }
        gateway.stop_cleanly();
        let expected = if format.0 == "files" { 0 } else { 3 };
        let all = calls();
        assert!(all.lines().count() <= expected, "{format:?}: {all}");
    }
}

#[test]
fn without_git_reftable_is_a_clear_error_and_requests_go_on() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    env.connect(&upstream);
    let root = repository(&env, FORMATS[2]);
    env.stdout_of(&root, &["init", "--memory", "repo"]);
    let no_git = |arguments: &[&str]| {
        let mut command = env.muninn();
        command.env("PATH", env.path("nowhere")).args(arguments).current_dir(&root);
        muninn_tests::output(command)
    };
    for arguments in [
        &["remember", "Invoices are in cents."][..],
        &["recall", "in which unit are invoices"],
        &["journal", "read", "a/b"],
        &["journal", "write", "a/b", "--entry", "work_context: x\ny", "--version", "new"],
        &["reconcile"],
        &["forget", "01ARZ3"],
    ] {
        let output = no_git(arguments);
        assert!(!output.status.success(), "{arguments:?}: {output:?}");
        let message = stderr(&output);
        assert!(message.contains("reftable") && message.contains("`git`"), "{arguments:?}: {message}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains("remembered"), "{arguments:?}");
    }
    assert!(!root.join(".git/refs/muninn").exists());
    let doctor = String::from_utf8_lossy(&no_git(&["doctor"]).stdout).into_owned();
    assert!(doctor.contains("reftable"), "{doctor}");
    let gateway = env.serve_with(&root, &[], |command| _ = command.env("PATH", env.path("nowhere")));
    gateway.wait_ready();
    let body = json!({"model": "m", "messages": [{"role": "user", "content": QUESTION}]}).to_string();
    assert_eq!(gateway.post("/v1/chat/completions", &[], body.as_bytes()).status, 200);
    let sent = upstream.requests();
    let sent = String::from_utf8_lossy(&sent.last().unwrap().body).into_owned();
    assert!(sent.contains("pub struct TokenBucket"), "code is packed: {sent}");
}

#[test]
fn nothing_is_remembered_where_head_cannot_be_read() {
    for (name, path, content) in [
        ("garbage", ".git/refs/heads/main", "xyz\n"),
        ("format of another program", ".git/HEAD", "ref: refs/heads/.invalid\n"),
    ] {
        let (env, root) = team(FORMATS[0]);
        fs::write(root.join(path), content).unwrap();
        for arguments in [&["remember", "Invoices are in cents."][..], &["recall", "invoices"], &["reconcile"]] {
            let output = env.run(&root, arguments);
            assert_eq!(output.status.code(), Some(1), "{name} {arguments:?}: {output:?}");
            assert!(stderr(&output).contains("HEAD"), "{name} {arguments:?}: {output:?}");
        }
        let doctor = String::from_utf8_lossy(&env.run(&root, &["doctor"]).stdout).into_owned();
        assert!(doctor.contains("HEAD"), "{name}: {doctor}");
        assert!(records_in(&root.join(".muninn/memory/sessions")).is_empty(), "{name}");
    }
}

#[test]
fn unknown_formats_are_refused_in_gits_words() {
    for (key, value, words) in [
        ("extensions.future", "1", "unknown repository extension found: future"),
        ("core.repositoryFormatVersion", "2", "Expected git repo version <= 1, found 2"),
        ("extensions.refStorage", "tree", "invalid value for 'extensions.refstorage': 'tree'"),
    ] {
        let (env, root) = team(FORMATS[2]);
        env.git(&root, &["config", "--file", ".git/config", key, value]);
        for arguments in
            [&["remember", "Invoices are in cents."][..], &["tree"], &["journal", "read", "a/b"], &["doctor"]]
        {
            let output = env.run(&root, arguments);
            assert!(!output.status.success(), "{key} {arguments:?}");
            let said = stderr(&output) + &String::from_utf8_lossy(&output.stdout);
            assert!(said.contains(words), "{key} {arguments:?}: {said}");
        }
    }
}

#[test]
fn format_can_change_under_a_running_gateway() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    env.connect(&upstream);
    let root = repository(&env, FORMATS[0]);
    env.stdout_of(&root, &["init", "--memory", "repo"]);
    env.git(&root, &["config", "core.logAllRefUpdates", "false"]);
    fs::remove_dir_all(root.join(".git/logs")).unwrap();
    let team = Team { env, upstream, root };
    let gateway = team.serve();
    team.env.git(&team.root, &["refs", "migrate", "--ref-format=reftable"]);
    team.env.commit(&team.root, "in tables");
    let mut conversation = Conversation::new(&team.root);
    conversation.turn(QUESTION);
    conversation.says("Thanks. And the parser?");
    conversation.send(&gateway);
    wait_until("records are kept", || team.state().contains("context_hit").then_some(()));
    gateway.stop_cleanly();
    let (_, record) = team.segments().remove(0);
    assert_eq!(record["branch"], "main");
    assert_eq!(record["commit"].as_str().unwrap(), team.env.git(&team.root, &["rev-parse", "HEAD"]).trim());
}
