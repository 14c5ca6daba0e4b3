//! `muninn wiki`: the pages of a repository's knowledge, and of other folders.

use std::path::Path;

use muninn_tests::TestEnv;
use serde_json::{Value, json};

use crate::MUNINN;
use crate::mcp::Client;
use crate::stage::FILES;

fn write(root: &Path, pages: &[(&str, &str)]) {
    for (path, text) in pages {
        let file = root.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
}

/// A repository with knowledge.
fn team() -> (TestEnv, std::path::PathBuf) {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    write(
        &root.join(".muninn/knowledge"),
        &[
            ("http/index.md", "---\ntype: convention\n---\n# HTTP\nSee [[http/errors]] and [[retries]].\n"),
            ("http/errors.md", "# Error codes\nError codes never change. [[Money]] [[gone]]\n"),
            ("money.md", "---\naliases: [currency]\n---\n# Money\nError codes of invoices.\n"),
        ],
    );
    (env, root)
}

fn parsed(env: &TestEnv, root: &Path, arguments: &[&str]) -> Value {
    let arguments = [&["wiki"], arguments, &["--json"]].concat();
    serde_json::from_str(&env.stdout_of(root, &arguments)).unwrap()
}

#[test]
fn pages_links_and_the_digest_of_knowledge_are_shown() {
    let (env, root) = team();
    assert_eq!(parsed(&env, &root, &["list"])[1], json!({"path": "http/index", "title": "HTTP", "backlinks": 0}));
    let shown = parsed(&env, &root, &["show", "Money"]);
    assert_eq!((&shown["path"], &shown["backlinks"]), (&json!("money"), &json!(["http/errors"])));
    assert_eq!(shown["body"], "# Money\nError codes of invoices.\n");
    let links = parsed(&env, &root, &["links"]);
    assert_eq!(
        links["broken"],
        json!([{"page": "http/errors", "target": "gone"}, {"page": "http/index", "target": "retries"}])
    );
    assert_eq!(links["orphans"][0]["path"], "http/index");
    let digest = env.stdout_of(&root, &["wiki", "digest"]);
    assert!(
        digest.starts_with(
            "This wiki contains 3 pages across 1 area. About:\nmoney, gone, invoices, money gone, never, retries\n"
        ),
        "{digest}"
    );
    assert!(
        digest.contains("- http (2) — http/index: \"HTTP\"\n") && digest.contains("## Recently active\n- money\n"),
        "{digest}"
    );
    let missing = env.run(&root, &["wiki", "show", "gone"]);
    assert_eq!(missing.status.code(), Some(4));
    let outside = env.run(&root, &["wiki", "show", "../../README"]);
    assert_eq!(outside.status.code(), Some(2));
}

#[test]
fn any_folder_is_a_wiki_and_stays_as_it_is() {
    let env = TestEnv::new(MUNINN);
    let vault = env.path("vault");
    write(
        &vault,
        &[
            ("Daily/2026-11-25.md", "Met [[Ana Lovelace|Ana]] about [[Projects/Engine#Plan|the engine]].\n"),
            ("People/Ana Lovelace.md", "#person\n"),
            ("Projects/Engine.md", "## Plan\n- [ ] see ![[diagram.png]]\n"),
        ],
    );
    let home = env.path("home");
    let dir = vault.display().to_string();
    let shown = parsed(&env, &home, &["show", "daily/2026-11-25", "--dir", &dir]);
    assert_eq!(shown["links"], json!(["People/Ana Lovelace", "Projects/Engine"]));
    let links = parsed(&env, &home, &["links", "--dir", &dir]);
    assert_eq!(links["broken"], json!([]), "an embedded file is no link to a page");
    let map = env.path("map");
    write(&map, &[("a.md", "[[the plan|plans/b]]"), ("plans/b.md", "# B")]);
    let dir = map.display().to_string();
    let shown = parsed(&env, &home, &["show", "plans/b", "--dir", &dir, "--link-style", "mind-map"]);
    assert_eq!(shown["backlinks"], json!(["a"]));
    assert_eq!(std::fs::read_dir(&map).unwrap().count(), 2, "nothing is written into it");
    let none = env.run(&home, &["wiki", "list", "--dir", "/no/such/folder"]);
    assert_eq!(none.status.code(), Some(4));
}

#[test]
fn a_wiki_inside_the_repository_is_searched_and_quoted_as_knowledge_is() {
    let env = TestEnv::new(MUNINN);
    let page = "# The NAS\n\nThe zirconium backup runs at four in the morning, because the tape robot is idle then.\n";
    let root = env.repository(
        "demo",
        &[
            ("docs/wiki/homelab/nas.md", page),
            ("docs/wiki/.obsidian/x.md", "# Zirconium settings\n\nThe zirconium backup of editors.\n"),
            ("src/lib.rs", "pub fn other() {}\n"),
        ],
    );
    env.write_config("[wiki]\npath = \"docs/wiki\"\n");
    let question = "When does the zirconium backup run?";
    let recalled = env.stdout_of(&root, &["recall", question]);
    assert!(recalled.contains("docs/wiki/homelab/nas.md") && recalled.contains("four in the morning"), "{recalled}");
    assert!(!recalled.contains("obsidian"), "{recalled}");
    assert!(env.stdout_of(&root, &["knowledge", "list"]).contains("docs/wiki/homelab/nas.md"));
    assert!(
        env.stdout_of(&root, &["wiki", "search", "at which hour is the tape robot free for backups"])
            .contains("homelab/nas")
    );
    let mut client = Client::start(&env, &root, |_| {});
    let (_, context) = client.call("find_context", &json!({"question": question}));
    assert!(context.contains("four in the morning"), "{context}");
    // A change is seen by the next question.
    std::fs::write(root.join("docs/wiki/homelab/nas.md"), page.replace("four", "five")).unwrap();
    let (_, recalled) = client.call("recall", &json!({"query": question}));
    assert!(recalled.contains("five in the morning"), "{recalled}");
    // A folder elsewhere, and the whole repository, are no knowledge.
    for path in [env.path("home").display().to_string(), ".".to_owned()] {
        env.write_config(&format!("[wiki]\npath = \"{path}\"\n"));
        let recalled = env.run(&root, &["recall", question]);
        assert_eq!(recalled.status.code(), Some(1), "{path}: {recalled:?}");
    }
}
