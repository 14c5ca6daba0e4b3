//! The repository's tools, as commands.

use std::process::Output;

use muninn_tests::TestEnv;
use serde_json::Value;

use crate::MUNINN;

const FILES: [(&str, &str); 7] = [
    (
        "src/bucket.rs",
        "/// A bucket.\npub struct Bucket;\n\nimpl Bucket {\n    /// Refills.\n    pub fn refill(&mut self) {}\n}\n",
    ),
    ("src/main.rs", "use crate::bucket::Bucket;\n\nfn main() {\n    Bucket.refill();\n}\n"),
    ("notes.md", "Refill twice.\n"),
    (".env", "refill=secret\n"),
    (".gitignore", "out/\n"),
    ("out/gen.rs", "fn refill() {}\n"),
    ("new\nline.md", "refill\n"),
];

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

#[test]
fn grep_prints_lines_like_ripgrep_and_exits_like_it() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    assert_eq!(
        env.stdout_of(&root, &["grep", "-i", "refill", "-g", "!new*"]),
        "notes.md:1:Refill twice.\nsrc/bucket.rs:5:    /// Refills.\nsrc/bucket.rs:6:    pub fn refill(&mut self) {}\nsrc/main.rs:4:    Bucket.refill();\n"
    );
    assert_eq!(
        env.stdout_of(&root, &["grep", "^refill$"]),
        "\"new\\nline.md\":1:refill\n",
        "a name is no line of output"
    );
    assert_eq!(
        env.stdout_of(&root.join("src"), &["grep", "-w", "refill", ".", "-C1", "-n", "9"]),
        "src/bucket.rs-5-    /// Refills.\nsrc/bucket.rs:6:    pub fn refill(&mut self) {}\nsrc/bucket.rs-7-}\n--\nsrc/main.rs-3-fn main() {\nsrc/main.rs:4:    Bucket.refill();\nsrc/main.rs-5-}\n"
    );
    assert_eq!(env.stdout_of(&root, &["grep", "-c", "-F", "()", "src"]), "src/main.rs:2\n");
    assert_eq!(env.stdout_of(&root, &["grep", "-l", "Bucket", "src/main.rs"]), "src/main.rs\n");
    let result = json(&env.stdout_of(&root, &["grep", "--json", "-F", "refill()"]));
    assert_eq!(result["matches"][0]["path"], "src/main.rs");
    assert_eq!((&result["matches"][0]["line"], &result["cut"]), (&4.into(), &false.into()));
    let nothing = env.run(&root, &["grep", "secret"]);
    assert_eq!((code(&nothing), nothing.stdout.len()), (1, 0));
    let few = env.run(&root, &["grep", "-i", "refill", "-n", "1"]);
    assert_eq!(code(&few), 0);
    assert!(String::from_utf8_lossy(&few.stderr).contains("matches"), "{few:?}");
    let wrong = env.run(&root, &["grep", "("]);
    assert_eq!(code(&wrong), 2);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("unclosed group"), "{wrong:?}");
    assert_eq!(code(&env.run(&root, &["grep", "x", "../other"])), 4);
    assert_eq!(code(&env.run(&env.path("home"), &["grep", "x"])), 4);
}

#[test]
fn read_prints_numbered_lines() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    assert_eq!(
        env.stdout_of(&root, &["read", "src/bucket.rs:5-6"]),
        "     5\t    /// Refills.\n     6\t    pub fn refill(&mut self) {}\n"
    );
    let whole = json(&env.stdout_of(&root.join("src"), &["read", "main.rs", "--json"]));
    assert_eq!((&whole["total_lines"], &whole["path"]), (&5.into(), &"src/main.rs".into()));
    assert_eq!(whole["blob"].as_str().unwrap(), env.git(&root, &["hash-object", "src/main.rs"]).trim());
    for gone in ["src/gone.rs", ".env", "../x", "src"] {
        let output = env.run(&root, &["read", gone]);
        assert_eq!((code(&output), output.stdout.len()), (4, 0), "{gone}");
    }
}

#[test]
fn tree_shows_what_git_knows() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    let tree = env.stdout_of(&root, &["tree"]);
    assert_eq!(tree, ".gitignore\nnew\\nline.md\nnotes.md\nsrc/ (2 files)\n  bucket.rs\n  main.rs\n");
    let flat = env.run(&root, &["tree", "--depth", "1", "--json"]);
    assert_eq!(json(&String::from_utf8_lossy(&flat.stdout))["files"], 5);
    assert!(String::from_utf8_lossy(&flat.stderr).contains("depth"), "{flat:?}");
    assert_eq!(env.stdout_of(&root, &["tree", "src", "-g", "m*"]), "src/ (1 file)\n  main.rs\n");
}

#[test]
fn symbols_and_outline_name_definitions() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    assert_eq!(
        env.stdout_of(&root, &["symbols", "REFILL"]),
        "src/bucket.rs:6:method Bucket.refill  pub fn refill(&mut self) {}\n"
    );
    let found = json(&env.stdout_of(&root, &["symbols", "--kind", "struct", "--kind", "function", "--json"]));
    let names: Vec<_> = found["symbols"].as_array().unwrap().iter().map(|symbol| &symbol["name"]).collect();
    assert_eq!(names, ["Bucket", "main"]);
    assert_eq!(code(&env.run(&root, &["symbols", "--exact", "refil"])), 1);
    assert_eq!(code(&env.run(&root, &["symbols", "--kind", "nonsense"])), 2);
    assert_eq!(
        env.stdout_of(&root, &["outline", "src/bucket.rs"]),
        "        1-2\tpub struct Bucket;\n        4-7\timpl Bucket\n        5-6\t  pub fn refill(&mut self) {}\n"
    );
    let outline = json(&env.stdout_of(&root, &["outline", "src/main.rs", "--json"]));
    assert_eq!((&outline["language"], &outline["imports"][0]["path"]), (&"rust".into(), &"crate::bucket".into()));
    assert_eq!(code(&env.run(&root, &["outline", "notes.md"])), 4);
}

#[test]
fn definition_references_and_callers_show_confidence() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    assert_eq!(
        env.stdout_of(&root, &["definition", "refill"]),
        "1.00 src/bucket.rs:6:method Bucket.refill  pub fn refill(&mut self) {}\n"
    );
    let found = json(&env.stdout_of(&root, &["definition", "Bucket::refill", "--json"]));
    assert_eq!(found["definitions"][0]["basis"], "qualified");
    let used = env.stdout_of(&root, &["references", "refill", "-g", "*.rs"]);
    assert_eq!(used, "0.95 src/main.rs:4:Bucket.refill();\n");
    assert_eq!(env.stdout_of(&root, &["callers", "refill"]), "0.95 src/main.rs:4:main\n");
    let calling = json(&env.stdout_of(&root, &["callers", "refill", "--json"]));
    assert_eq!(calling["callers"][0]["symbol"]["name"], "main");
    for command in ["definition", "references", "callers"] {
        assert_eq!(code(&env.run(&root, &[command, "no_such_name"])), 1, "{command}");
        assert_eq!(code(&env.run(&root, &[command, "two words"])), 2, "{command}");
    }
}

#[test]
fn exploring_leaves_nothing_behind() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    for arguments in [&["grep", "refill"][..], &["tree"], &["symbols"], &["callers", "refill"]] {
        env.stdout_of(&root, arguments);
    }
    assert!(!env.state_dir().exists(), "no state is made for looking");
    assert_eq!(env.git(&root, &["status", "--porcelain"]), "");
}
