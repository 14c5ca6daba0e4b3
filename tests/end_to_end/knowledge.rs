//! `muninn knowledge`, as a user runs it.

use std::path::{Path, PathBuf};

use muninn_tests::TestEnv;
use serde_json::{Value, json};

use crate::MUNINN;
use crate::stage::FILES;

const ADR: &str = "---\nid: cookies\nlevel: adr\ntitle: Signed cookies\nnumber: 3\nshort_code: PROJ-A-0003\ntags: [\"#phase/decided\"]\n---\n# ADR-3: Signed cookies\n";

/// An environment with a repository that was set up.
fn set_up() -> (TestEnv, PathBuf) {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    env.stdout_of(&root, &["init"]);
    (env, root)
}

/// Exit code, stdout and stderr.
fn run(env: &TestEnv, root: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = env.run(root, &[&["knowledge"], arguments].concat());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn new_writes_a_file_once() {
    let (env, root) = set_up();
    let arguments = [
        "new", "Fehler über HTTP", "--domain", "errors", "--confidence", "high", "--applies-to", "*.rs",
        "--applies-to", "src/http/",
    ];
    let (code, out, err) = run(&env, &root, &arguments);
    assert_eq!((code, out.as_str()), (0, ".muninn/knowledge/fehler-uber-http.md\n"), "{err}");
    let path = root.join(out.trim());
    let expected = "---\ntype: convention\ndomain: errors\nconfidence: high\napplies_to: [\"*.rs\", src/http/]\n---\n# Fehler über HTTP\n\n";
    assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
    std::fs::write(&path, "mine").unwrap();
    let (code, out, err) = run(&env, &root, &arguments);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("already exists") && err.contains("hint: "), "{err}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    let (code, _, err) = run(&env, &root, &["new", "X", "--confidence", "sure"]);
    assert_eq!(code, 2, "{err}");
}

#[test]
fn nothing_is_written_without_init() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    let other = env.repository("other", &[("notes/a.md", "# A\n")]);
    let notes = other.join("notes");
    for arguments in [&["new", "A"][..], &["import", notes.to_str().unwrap()]] {
        let (code, _, err) = run(&env, &root, arguments);
        assert_eq!(code, 1);
        assert!(err.contains("muninn init"), "{err}");
    }
    assert!(!root.join(".muninn").exists());
    let (code, _, err) = run(&env, &env.path("home"), &["list"]);
    assert_eq!(code, 4, "{err}");
}

#[test]
fn list_shows_files_and_metis_documents() {
    let (env, root) = set_up();
    write(&root, ".metis/adrs/001.md", ADR);
    let (code, out, _) = run(&env, &root, &["list"]);
    let lines: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(code, 0);
    assert_eq!(
        lines,
        [
            vec![".muninn/knowledge/README.md", "convention", "muninn", "0.9", "1", "section"],
            vec![".metis/adrs/001.md", "adr", "metis", "PROJ-A-0003", "decided", "0.9", "1", "section"],
        ]
    );
    let (_, out, _) = run(&env, &root, &["list", "--json"]);
    let listed: Value = serde_json::from_str(&out).unwrap();
    let (readme, adr) = (&listed["files"][0], &listed["files"][1]);
    assert_eq!((&readme["source"], &readme["metis"]), (&json!("muninn init"), &Value::Null));
    assert_eq!(adr["metis"], json!({"id": "PROJ-A-0003", "title": "Signed cookies", "phase": "decided"}));
}

#[test]
fn check_fails_and_names_its_findings() {
    let (env, root) = set_up();
    let (code, out, err) = run(&env, &root, &["check"]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "", "no problems found in the knowledge files\n"));
    let text =
        "---\nconfidense: high\napplies_to: [src/gone/**, src/**]\n---\n# A\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> c\n";
    write(&root, ".muninn/knowledge/a.md", text);
    let (code, out, _) = run(&env, &root, &["check"]);
    assert_eq!(code, 1);
    assert_eq!(
        out,
        ".muninn/knowledge/a.md:2: `confidense` is no key of front matter; did you mean `confidence`?\n\
         .muninn/knowledge/a.md:3: `src/gone/**` in applies_to matches no file of the worktree\n\
         .muninn/knowledge/a.md:6: a merge left conflict markers\n"
    );
    let (code, out, _) = run(&env, &root, &["check", "--json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &found["findings"][1]["kind"], &found["findings"][1]["line"]), (1, &json!("glob"), &json!(3)));
}

#[test]
fn import_adds_missing_documents_and_refuses_others() {
    let (env, root) = set_up();
    let other = env.repository(
        "platform",
        &[(".muninn/knowledge/http/codes.md", "# Codes\n"), (".muninn/knowledge/README.md", "# Theirs\n")],
    );
    let (code, out, err) = run(&env, &root, &["import", other.to_str().unwrap()]);
    assert_eq!((code, out.as_str()), (1, "http/codes.md\n"), "{err}");
    assert!(err.contains("README.md: refused: a different file with this name exists"), "{err}");
    let copied = std::fs::read_to_string(root.join(".muninn/knowledge/http/codes.md")).unwrap();
    assert_eq!(copied, "---\nsource: import from platform\n---\n# Codes\n");
    let (code, out, _) = run(&env, &root, &["import", other.to_str().unwrap(), "--json"]);
    let done: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &done["imported"], &done["same"]), (1, &json!([]), &json!(["http/codes.md"])));
    assert_eq!(done["refused"][0]["path"], "README.md");
    let (code, _, err) = run(&env, &root, &["import", "nowhere"]);
    assert_eq!(code, 4, "{err}");
}

#[test]
fn decision_is_packed_into_the_prompt() {
    let (env, root) = set_up();
    let adr = "\n## Decision\n\nThe bucket of a client is refilled by the clock of the gateway, never by its own.\n";
    write(&root, ".metis/adrs/001.md", &format!("{ADR}{adr}"));
    let said = env.stdout_of(&root, &["ask", "by which clock is the bucket of a client refilled"]);
    assert!(said.contains("ADR-3 (PROJ-A-0003): Signed cookies, Decision"), "{said}");
}
