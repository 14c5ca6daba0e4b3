//! Pipes, sockets, endless devices and huge files at every path that Muninn or its libraries open in a repository: nothing
//! blocks, nothing fills memory, and a prompt passes.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use muninn_tests::{TestEnv, Upstream};
use serde_json::json;

use crate::MUNINN;
use crate::hooks::{assert_silent, context, hook};
use crate::stage::{FILES, QUESTION, simple};

/// Deadlines that an unoptimised binary on a busy machine keeps, no daemon, and a worklog.
const PATIENT: &str = "[context]\ndeadline_ms = 20000\n[hooks]\ndeadline_ms = 20000\ndaemon_idle_minutes = 0\n[worklog]\nenabled = true\n";

/// The longest time of a command. An unoptimised binary on a busy machine takes about two seconds.
const MOST_TIME: Duration = Duration::from_secs(30);

type Make = fn(&Path);

const KINDS: [(&str, Make); 7] = [
    ("pipe", |path| {
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    }),
    ("socket", |path| drop(UnixListener::bind(path).unwrap())),
    ("endless device", |path| symlink("/dev/zero", path).unwrap()),
    ("link to itself", |path| symlink(path, path).unwrap()),
    ("directory", |path| fs::create_dir(path).unwrap()),
    ("6 MB", |path| {
        fs::write(path, "a-line-of-text\n".repeat(400_000)).unwrap();
    }),
    ("300 MB", |path| {
        fs::File::create(path).unwrap().set_len(300 << 20).unwrap();
    }),
];

/// The paths in a worktree.
const IN_WORKTREE: [&str; 17] = [
    "docs/.gitignore",
    "docs/.ignore",
    ".mailmap",
    "JOURNAL.md",
    ".metis/vision.md",
    ".claude/settings.json",
    ".muninn/config.toml",
    ".muninn/.gitignore",
    ".muninn/.gitattributes",
    ".muninn/cache/stamp",
    ".muninn/cache/index.db",
    ".muninn/memory/main.jsonl",
    ".muninn/memory/conflicts.jsonl",
    ".muninn/memory/sessions/session_01JD0000000000000000000000.1.jsonl",
    ".muninn/knowledge/page.md",
    ".muninn/knowledge/.gitignore",
    "src/large.rs",
];

/// Ignore files that decide on the whole worktree.
const OF_ROOT: [&str; 3] = [".gitignore", ".ignore", ".git/info/exclude"];

/// The paths in a git directory.
const IN_GIT: [&str; 10] = [
    "HEAD",
    "config",
    "index",
    "packed-refs",
    "shallow",
    "commondir",
    "logs/HEAD",
    "refs/heads/main",
    "refs/heads/other",
    "objects/info/alternates",
];

fn put(root: &Path, place: &str, make: Make) {
    let path = root.join(place);
    let parent = path.parent().unwrap();
    if parent.is_file() {
        // In a repository with reftable, `refs/heads` is a file.
        fs::remove_file(parent).unwrap();
    }
    fs::create_dir_all(parent).unwrap();
    if path.is_dir() {
        fs::remove_dir_all(&path).unwrap();
    } else {
        fs::remove_file(&path).ok();
    }
    make(&path);
}

fn repository(env: &TestEnv, places: &[&str], make: Make) -> std::path::PathBuf {
    let root = env.repository("demo", &FILES);
    env.stdout_of(&root, &["init", "--memory", "local"]);
    for place in places {
        put(&root, place, make);
    }
    root
}

/// Commands that walk the worktree.
const WALKING: [&[&str]; 4] = [&["tree"], &["grep", "TokenBucket"], &["symbols", "TokenBucket"], &["index"]];
/// Commands that read the files of Muninn.
const READING: [&[&str]; 8] = [
    &["recall", "bucket"],
    &["remember", "the bucket leaks at noon"],
    &["knowledge", "list"],
    &["wiki", "check"],
    &["worklog", "show"],
    &["journal", "toc"],
    &["scan"],
    &["doctor"],
];

/// Runs commands; whatever they say, they end.
fn commands_end(env: &TestEnv, root: &Path, commands: &[&[&str]], kind: &str) {
    for arguments in commands {
        let started = Instant::now();
        env.run(root, arguments);
        assert!(started.elapsed() < MOST_TIME, "{kind}: muninn {arguments:?}");
    }
}

fn prompt_of(env: &TestEnv, root: &Path) -> Option<String> {
    let input = json!({"session_id": "s", "cwd": root, "prompt": QUESTION}).to_string();
    context(&hook(env, root, &["UserPromptSubmit"], input.as_bytes(), &[]), "UserPromptSubmit")
}

/// A request through a gateway that serves the repository.
fn request_passes(env: &TestEnv, upstream: &Upstream, root: &Path, kind: &str) {
    env.connect_with(upstream, "[worklog]\nenabled = true\n");
    let gateway = env.serve(root, &[]);
    let (target, body) = &simple(QUESTION)[0];
    let response = gateway.post(target, &[], body.as_bytes());
    assert_eq!(response.status, 200, "{kind}: {}", response.text());
    let memory = gateway.memory_mb("VmHWM");
    assert!(memory < 300, "{kind}: {memory} MB");
    gateway.stop_cleanly();
}

#[test]
fn hostile_files_of_a_worktree_block_nothing_and_context_is_still_found() {
    for (kind, make) in KINDS {
        let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
        env.write_config(PATIENT);
        let root = repository(&env, &IN_WORKTREE, make);
        let block = prompt_of(&env, &root);
        assert!(block.is_some_and(|block| block.contains("src/rate_limiter.rs")), "{kind}: a hook finds the code");
        commands_end(&env, &root, &[&WALKING[..], &READING].concat(), kind);
        request_passes(&env, &upstream, &root, kind);
    }
}

#[test]
fn hostile_ignore_files_of_the_root_block_nothing() {
    for (kind, make) in KINDS {
        let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
        env.write_config(PATIENT);
        let root = repository(&env, &OF_ROOT, make);
        let block = prompt_of(&env, &root);
        // Rules that exist and cannot be read may hide anything.
        let is_hidden = kind == "6 MB" || kind == "300 MB";
        let tree = env.run(&root, &["tree"]);
        let shown = String::from_utf8_lossy(&tree.stdout).contains("rate_limiter.rs");
        let said = String::from_utf8_lossy(&tree.stderr).contains("the size of an ignore file");
        assert_eq!((shown, said), (!is_hidden, is_hidden), "{kind}: {tree:?}");
        assert!(is_hidden || block.is_some(), "{kind}: a hook finds the code");
        commands_end(&env, &root, &WALKING, kind);
        request_passes(&env, &upstream, &root, kind);
    }
}

#[test]
fn hostile_files_of_a_git_directory_block_nothing() {
    for place in IN_GIT {
        let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
        env.write_config(PATIENT);
        let root = repository(&env, &[], KINDS[0].1);
        put(&root.join(".git"), place, KINDS[0].1);
        let started = Instant::now();
        assert_eq!(prompt_of(&env, &root), None, "{place}");
        let doctor = env.run(&root, &["doctor"]);
        let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
        assert!(said.contains("git repository"), "{place}: {said}");
        request_passes(&env, &upstream, &root, place);
        assert!(started.elapsed() < MOST_TIME, "{place}");
    }
}

#[test]
fn configuration_that_cannot_be_read_is_named_and_hooks_go_on() {
    for (kind, make) in KINDS {
        let env = TestEnv::new(MUNINN);
        env.write_config(PATIENT);
        let root = repository(&env, &[".muninn/config.toml"], make);
        assert!(prompt_of(&env, &root).is_some(), "{kind}");
        let log = fs::read_to_string(env.state_dir().join("hook.log")).unwrap();
        assert!(log.contains("config.toml"), "{kind}: {log}");
        if kind == "300 MB" {
            assert!(log.contains("more than 1048576 bytes"), "{log}");
        }
    }
    // The user's own file decides where requests go, so it is never passed over.
    for (kind, make) in KINDS {
        let env = TestEnv::new(MUNINN);
        let root = env.repository("demo", &FILES);
        put(&env.path(""), "muninn.toml", make);
        let file = env.path("muninn.toml").display().to_string();
        let output = env.run(&root, &["config", "check", "--config", &file]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains("muninn.toml"), "{kind}: {said}");
        let started = Instant::now();
        let input = json!({"session_id": "s", "cwd": root, "prompt": QUESTION}).to_string();
        let arguments = ["UserPromptSubmit", "--config", &file];
        assert_silent(&hook(&env, &root, &arguments, input.as_bytes(), &[]));
        assert!(started.elapsed() < MOST_TIME, "{kind}");
    }
}

/// The worklog works without the line that keeps it out of git.
#[test]
fn worklog_is_written_where_the_exclude_file_cannot_be() {
    let kinds: [fn(&Path); 3] = [
        |path| symlink("/etc/passwd", path).unwrap(),
        |path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        |path| fs::create_dir(path).unwrap(),
    ];
    for make in kinds {
        let env = TestEnv::new(MUNINN);
        env.write_config("[worklog]\nenabled = true\n");
        let root = env.repository("demo", &[]);
        env.stdout_of(&root, &["init", "--memory", "local"]);
        let exclude = root.join(".git/info/exclude");
        fs::create_dir_all(exclude.parent().unwrap()).unwrap();
        fs::remove_file(&exclude).ok();
        make(&exclude);
        let appended = env.run(&root, &["worklog", "append", "Found: it works"]);
        assert!(appended.status.success(), "{appended:?}");
        let warned = String::from_utf8_lossy(&appended.stderr).into_owned();
        assert_eq!(warned.matches("info/exclude").count(), 1, "{warned}");
        assert!(fs::read_to_string(root.join("JOURNAL.md")).unwrap().contains("it works"));
    }
}

#[test]
fn exclude_file_that_is_a_link_is_not_written_through() {
    let env = TestEnv::new(MUNINN);
    env.write_config(PATIENT);
    let root = repository(&env, &[], KINDS[0].1);
    let target = env.path("somebody's file");
    fs::write(&target, "as it was\n").unwrap();
    put(&root, ".git/info/exclude", |_| {});
    symlink(&target, root.join(".git/info/exclude")).unwrap();
    prompt_of(&env, &root);
    env.run(&root, &["worklog", "start", "a task"]);
    assert_eq!(fs::read_to_string(&target).unwrap(), "as it was\n");
}
