//! Without `muninn init` the worktree is not changed.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use muninn_tests::{TestEnv, Upstream};

use crate::MUNINN;
use crate::stage::{FILES, QUESTION, simple};

/// Every path below `root`, also inside `.git`, with its size and time of change.
fn listing(root: &Path) -> BTreeMap<String, (u64, SystemTime)> {
    fn walk(folder: &Path, root: &Path, all: &mut BTreeMap<String, (u64, SystemTime)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let about = std::fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            all.insert(name, (about.len(), about.modified().unwrap()));
            if about.is_dir() {
                walk(&path, root, all);
            }
        }
    }
    let mut all = BTreeMap::new();
    all.insert(String::new(), (0, std::fs::metadata(root).unwrap().modified().unwrap()));
    walk(root, root, &mut all);
    all
}

fn status(env: &TestEnv, root: &Path) -> String {
    env.git(root, &["--no-optional-locks", "status", "--porcelain", "--ignored"])
}

#[test]
fn without_init_nothing_is_written_in_the_worktree() {
    let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start());
    env.connect(&upstream);
    let root = env.repository("demo", &FILES);
    std::fs::write(root.join(".gitignore"), "target/\n").unwrap();
    std::fs::create_dir(root.join("target")).unwrap();
    std::fs::write(root.join("target/x"), "x").unwrap();
    std::fs::write(root.join("untracked.txt"), "x").unwrap();
    let before = (status(&env, &root), listing(&root));

    let gateway = env.serve(&root, &[]);
    gateway.wait_ready();
    for (target, body) in simple(QUESTION) {
        let response = gateway.post(target, &[("x-session-id", target)], body.as_bytes());
        assert_eq!(response.outcome(), "injected");
        drop(muninn_tests::why(&env, response.request_id()));
    }
    gateway.stop_cleanly();
    env.stdout_of(&root, &["ask", "--json", QUESTION]);
    env.stdout_of(&root, &["index"]);
    env.stdout_of(&root, &["status"]);
    env.stdout_of(&root, &["why"]);
    env.stdout_of(&root, &["config", "check"]);
    env.stdout_of(&root, &["run", "--", "true"]);

    assert_eq!(before, (status(&env, &root), listing(&root)));
    assert!(env.ledger().exists(), "state is in the user's directory");
}

#[test]
fn init_writes_its_own_folder_once() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    let said = env.stdout_of(&root, &["init", "--memory", "repo"]);
    for client in ["ANTHROPIC_BASE_URL=", "OPENAI_BASE_URL=", "config.toml", "opencode"] {
        assert!(said.contains(client), "it says what to paste: {said}");
    }
    assert_eq!(status(&env, &root), "?? .muninn/\n");
    env.stdout_of(&root, &["index"]);
    assert!(root.join(".muninn/cache").is_dir(), "the cache lives in the repository now");
    assert_eq!(status(&env, &root), "?? .muninn/\n!! .muninn/cache/\n", "and git ignores it");
    env.git(&root, &["add", "--all"]);
    env.git(&root, &["commit", "--quiet", "--message", "muninn"]);
    let tracked = env.git(&root, &["ls-files", ".muninn"]);
    assert_eq!(
        tracked,
        ".muninn/.gitattributes\n.muninn/.gitignore\n.muninn/config.toml\n.muninn/knowledge/README.md\n\
         .muninn/memory/archive/pruned.jsonl\n.muninn/memory/conflicts.jsonl\n.muninn/memory/main.jsonl\n.muninn/memory/reconciled.jsonl\n\
         .muninn/memory/sessions/.gitkeep\n.muninn/memory/sessions/archive/sessions.jsonl\n"
    );

    let config = std::fs::read_to_string(root.join(".muninn/config.toml")).unwrap();
    assert!(config.contains("write = \"repo\""), "{config}");
    let before = listing(&root);
    let again = env.stdout_of(&root, &["init", "--memory", "off"]);
    assert!(again.contains("nothing was changed"), "{again}");
    assert_eq!(before, listing(&root));
    env.stdout_of(&root, &["config", "check"]);
    assert_eq!(status(&env, &root), "!! .muninn/cache/\n");
}

#[test]
fn init_outside_of_a_repository_makes_nothing() {
    let env = TestEnv::new(MUNINN);
    let output = env.run(&env.path("home"), &["init"]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("git init"), "{output:?}");
    assert_eq!(std::fs::read_dir(env.path("home")).unwrap().count(), 0);
}

#[test]
fn index_files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    fn check(path: &std::path::Path, count: &mut usize) {
        let found = path.symlink_metadata().unwrap();
        let expected = if found.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(found.permissions().mode() & 0o777, expected, "{}", path.display());
        *count += 1;
        if found.is_dir() {
            std::fs::read_dir(path).unwrap().for_each(|entry| check(&entry.unwrap().path(), count));
        }
    }
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    env.stdout_of(&root, &["index"]);
    let mut count = 0;
    check(&env.path("cache").join("muninn"), &mut count);
    assert!(count > 3, "{count}");

    env.stdout_of(&root, &["init"]);
    let cache = root.join(".muninn/cache");
    std::fs::create_dir_all(&cache).unwrap();
    // As versions before made it.
    std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(0o755)).unwrap();
    env.stdout_of(&root, &["index"]);
    let mut count = 0;
    check(&cache, &mut count);
    assert!(count > 2, "{count}");
}
