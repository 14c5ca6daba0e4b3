//! `muninn scan`: finds stored secrets, and names their place and kind, never the secret.

use std::path::Path;

use muninn_tests::TestEnv;

use crate::MUNINN;
use crate::stage::FILES;

/// Put together here, so that no scanner takes this file for a leak.
fn token() -> String {
    format!("ghp_{}", "a1B2c3D4e5F6".repeat(3))
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn scan_names_place_and_kind_and_never_the_secret() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    let token = token();
    write(&root, ".muninn/memory/main.jsonl", &format!("{{\"id\":\"1\"}}\n{{\"text\":\"use\\n{token}\"}}\n"));
    write(&root, ".muninn/knowledge/deep/deploy.md", &format!("# Deploy\n\nredis://:{token}x@cache\n"));
    write(&root, ".metis/vision.md", "all is well\n");
    write(&root, "src/elsewhere.rs", &format!("// {token}\n"));
    write(&env.state_dir(), "spool/live.jsonl", &format!("{{\"text\":\"{token}\"}}\n"));

    let found = env.run(&root, &["scan"]);
    assert_eq!(found.status.code(), Some(1), "{found:?}");
    let text = String::from_utf8(found.stdout).unwrap();
    assert!(!text.contains(&token[4..]), "{text}");
    let live = env.state_dir().join("spool/live.jsonl");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(
        lines,
        [
            ".muninn/memory/main.jsonl:2: github-token",
            ".muninn/knowledge/deep/deploy.md:3: github-token",
            &format!("{}:1: github-token", live.display()),
            "3 secrets in 4 files and 0 receipts",
        ]
    );

    let json = env.run(&root, &["scan", "--json"]);
    assert_eq!(json.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(report["findings"][0]["path"], ".muninn/memory/main.jsonl");
    assert_eq!(report["findings"][0]["line"], 2);
    assert_eq!(report["findings"][0]["kind"], "github-token");
    assert_eq!(report["findings"].as_array().unwrap().len(), 3);
}

#[test]
fn scan_of_clean_files_succeeds() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    let empty = env.run(&root, &["scan"]);
    assert_eq!(empty.status.code(), Some(0), "{empty:?}");
    write(&root, ".muninn/memory/main.jsonl", "{\"terms\":[\"token\",\"password\"]}\n");
    assert_eq!(env.stdout_of(&root, &["scan"]), "0 secrets in 1 file and 0 receipts\n");
}

#[test]
fn receipts_are_scanned_too() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    env.stdout_of(&root, &["ask", "where are tokens refilled?"]);
    let said = env.stdout_of(&root, &["scan"]);
    assert!(said.ends_with("and 1 receipt\n"), "{said}");
}

#[cfg(unix)]
#[test]
fn link_to_the_outside_is_reported_and_not_followed() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    write(&env.path("home"), "notes.md", &token());
    write(&root, "docs/inside.md", &token());
    let knowledge = root.join(".muninn/knowledge");
    std::fs::create_dir_all(&knowledge).unwrap();
    std::os::unix::fs::symlink(env.path("home").join("notes.md"), knowledge.join("outside.md")).unwrap();
    std::os::unix::fs::symlink("../../docs/inside.md", knowledge.join("inside.md")).unwrap();
    std::os::unix::fs::symlink(".", knowledge.join("circle")).unwrap();
    let found = env.run(&root, &["scan"]);
    let (said, noted) = (String::from_utf8(found.stdout).unwrap(), String::from_utf8(found.stderr).unwrap());
    assert!(said.starts_with(".muninn/knowledge/inside.md:1: github-token\n"), "{said}");
    assert!(said.ends_with("1 secret in 1 file and 0 receipts; 1 not read\n"), "{said}");
    assert!(noted.contains(".muninn/knowledge/outside.md: it is a link that leads outside"), "{noted}");
}
