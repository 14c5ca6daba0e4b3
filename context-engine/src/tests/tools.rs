//! The code tools of an explorer, with and without an index.

use super::Repo;
use super::script::{Script, calls, explore};
use crate::Engine;

/// The result of one call, as the model receives it.
fn answer(engine: &Engine, tool: &str, arguments: &str) -> String {
    let script = Script::says([calls(&[(tool, arguments)]), calls(&[("final", r#"{"citations": []}"#)])]);
    explore(engine, &script);
    let heard = script.heard(1);
    let result = heard.rsplit("Results(").next().unwrap_or_default();
    result.to_owned()
}

/// A repository with a method of the same name in many types, and a caller.
fn buckets() -> Repo {
    let bucket = |at: usize| format!("pub struct Bucket{at};\nimpl Bucket{at} {{\n    pub fn refill(&self) {{}}\n}}\n");
    let buckets: Vec<(String, String)> = (0..30).map(|at| (format!("src/b{at:02}.rs"), bucket(at))).collect();
    let mut files: Vec<(&str, &str)> = buckets.iter().map(|(path, text)| (&**path, &**text)).collect();
    files.push(("src/main.rs", "fn main() {\n    let bucket = any();\n    bucket.refill();\n    spawn(later);\n}\n"));
    files.push(("src/once.rs", "pub fn only_once() {}\n"));
    files.push(("tests/once.rs", "fn only_once() {}\n#[test]\nfn t() { only_once(); }\n"));
    Repo::with(&files)
}

#[test]
fn symbols_are_limited_to_path_and_name() {
    let repo = buckets();
    let engine = repo.ready();
    let one = answer(&engine, "symbols", r#"{"path": "src/b07.rs"}"#);
    assert!(one.contains("src/b07.rs:3-3 pub fn refill(&self)") && !one.contains("b06.rs") && !one.contains("b08.rs"));
    let part = answer(&engine, "symbols", r#"{"path": "src", "name": "BUCKET2"}"#);
    assert!(
        part.contains("src/b02.rs:1-1 pub struct Bucket2") && part.contains("src/b29.rs") && !part.contains("b03.rs")
    );
    let anywhere = answer(&engine, "symbols", r#"{"name": "only_"}"#);
    assert!(anywhere.find("src/once.rs").unwrap() < anywhere.find("tests/once.rs").unwrap(), "{anywhere}");
    assert!(answer(&engine, "symbols", r#"{"name": "nowhere"}"#).contains("nothing is defined there"));
}

#[test]
fn the_most_likely_definitions_are_shown_and_the_cut_is_reported() {
    let repo = buckets();
    let engine = repo.ready();
    let qualified = answer(&engine, "definition", r#"{"name": "Bucket29::refill"}"#);
    assert!(qualified.contains("src/b29.rs:3-3 pub fn refill(&self) {}  [95% sure]"), "{qualified}");
    let any = answer(&engine, "definition", r#"{"name": "refill"}"#);
    assert_eq!(any.matches("pub fn refill").count(), 16);
    assert!(any.contains("cut by: files"), "{any}");
    let within = answer(&engine, "definition", r#"{"name": "refill", "path": "src/b28.rs"}"#);
    assert_eq!(within.matches("pub fn refill").count(), 1);
    let source = answer(&engine, "definition", r#"{"name": "only_once"}"#);
    assert!(source.find("src/once.rs").unwrap() < source.find("tests/once.rs").unwrap(), "{source}");
}

#[test]
fn ambiguous_and_foreign_calls_are_found() {
    let repo = buckets();
    let engine = repo.ready();
    let ambiguous = answer(&engine, "callers", r#"{"name": "refill"}"#);
    assert!(ambiguous.contains("src/main.rs:3 in main"), "{ambiguous}");
    let foreign = answer(&engine, "callers", r#"{"name": "spawn"}"#);
    assert!(foreign.contains("src/main.rs:4 in main"), "{foreign}");
    assert!(answer(&engine, "callers", r#"{"name": "main"}"#).contains("nothing here calls main"));
    for nothing in ["two words", "", "\0", "("] {
        let arguments = serde_json::json!({"name": nothing}).to_string();
        assert!(!answer(&engine, "callers", &arguments).contains("main.rs"), "{nothing:?}");
    }
}

#[test]
fn code_written_after_indexing_is_found() {
    let repo = buckets();
    let engine = repo.ready();
    repo.write("src/b03.rs", "fn brand_new() {}\nfn user() { brand_new(); }\n");
    repo.write("src/fresh.rs", "fn newer_still() { brand_new(); }\n");
    let defined = answer(&engine, "definition", r#"{"name": "brand_new"}"#);
    assert!(defined.contains("src/b03.rs:1-1 fn brand_new()"), "{defined}");
    let called = answer(&engine, "callers", r#"{"name": "brand_new"}"#);
    assert!(called.contains("src/b03.rs:2 in user") && called.contains("src/fresh.rs:1 in newer_still"), "{called}");
    let gone = answer(&engine, "definition", r#"{"name": "Bucket3::refill"}"#);
    assert!(!gone.contains("src/b03.rs"), "{gone}");
}

/// Calls as models write them: with other parameter names, texts for numbers, and errors.
const CALLS: &[(&str, &str)] = &[
    ("grep", r#"{"pattern": "refill"}"#),
    ("grep", r#"{"pattern": "REFILL", "ignore_case": "true", "path": "src/main.rs", "context": "1"}"#),
    ("grep", r#"{"query": "refill(", "path": ["./src/b07.rs"], "C": 99}"#),
    ("grep", r#"{"regex": "fn \\w+", "glob": "main.*, once.rs", "literal": false}"#),
    ("grep", r#"{"search": "fn \\w+", "include": "*.{rs,md}", "fixed": true}"#),
    ("grep", r#"{"pattern": "fn", "path": "src", "page": 2, "max": 1, "word": true, "invert": true, "count": true}"#),
    ("grep", r#"{"pattern": "", "text": 7}"#),
    ("grep", r#"{"pattern": "x", "path": "../out"}"#),
    ("grep", r#"{"pattern": "x", "glob": "["}"#),
    ("grep", r#"{"pattern": "nowhere_at_all"}"#),
    ("grep", r#"{"pattern": ["one", "two"]}"#),
    ("read", r#"{"path": "src/main.rs"}"#),
    ("read", r#"{"file": "`./src/main.rs`", "start": "2", "end_line": 3.0}"#),
    ("read", r#"{"filename": "src/main.rs:2-3"}"#),
    ("read", r#"{"path": "src/main.rs:2-3", "last": 4}"#),
    ("read", r#"{"path": "src/main.rs:2", "limit": 2}"#),
    ("read", r#"{"path": "src/main.rs", "offset": 3, "count": 0}"#),
    ("read", r#"{"path": "src/main.rs", "first": 0, "last": 1}"#),
    ("read", r#"{"path": "src/main.rs", "first": 90}"#),
    ("read", r#"{"path": "src/main.rs:4-2"}"#),
    ("read", r#"{"path": "src"}"#),
    ("read", r#"{"path": "."}"#),
    ("read", r#"{"dir": "src/main.rs"}"#),
    ("read", r#"{"path": "src\\main.rs", "first": -1, "last": "x"}"#),
    ("read", r#"{"path": "src/gone.rs"}"#),
    ("read", r#"{"path": "long.txt"}"#),
    ("read", r#"{"path": "long.txt", "page": 2}"#),
    ("read", r#"{"path": "long.txt", "page": "9"}"#),
    ("tree", r#"{}"#),
    ("tree", r#"{"path": "src/", "depth": 1}"#),
    ("tree", r#"{"level": "1"}"#),
    ("tree", r#"{"glob": "*.md"}"#),
    ("tree", r#"{"dir": "nowhere"}"#),
    ("list", r#"{}"#),
    ("list", r#"{"directory": "tests"}"#),
    ("list", r#"{"path": "src/main.rs"}"#),
    ("list", r#"{"path": "nowhere"}"#),
    ("find", r#"{"name": "once"}"#),
    ("find", r#"{"pattern": "*.md"}"#),
    ("find", r#"{"glob": "b0?.rs", "path": "src"}"#),
    ("find", r#"{"name": "a["}"#),
    ("find", r#"{"path": "src"}"#),
    ("symbols", r#"{}"#),
    ("symbols", r#"{"path": "src/b07.rs"}"#),
    ("symbols", r#"{"name": "only_"}"#),
    ("symbols", r#"{"symbol": "bucket2", "path": "src", "exact": true, "kinds": ["struct"], "max": 1}"#),
    ("symbols", r#"{"path": "src", "glob": "b01.rs"}"#),
    ("definition", r#"{"name": "Bucket29::refill"}"#),
    ("definition", r#"{"identifier": "refill", "path": "src/b28.rs"}"#),
    ("definition", r#"{"function": "only_once", "glob": "tests/**"}"#),
    ("definition", r#"{"name": "two words"}"#),
    ("definition", r#"{"name": "nowhere"}"#),
    ("definition", r#"{"path": "src"}"#),
    ("callers", r#"{"name": "refill"}"#),
    ("callers", r#"{"name": "only_once"}"#),
    ("callers", r#"{"name": ""}"#),
    ("metis", r#"{}"#),
    ("metis", r#"{"id": "DEMO-T-0001"}"#),
    ("metis", r#"{"code": "DEMO-T-0009"}"#),
    ("recall", r#"{"query": "how buckets are refilled"}"#),
    ("recall", r#"{"about": "zebra"}"#),
    ("recall", r#"{}"#),
    ("explore", r#"{}"#),
    ("explore", r#"{"question": "how?", "scope": "../out"}"#),
    ("outline", r#"{"path": "src/main.rs"}"#),
    ("references", r#"{"name": "refill"}"#),
];

/// The lines of a result; of a long one, the first and the last.
fn shortened(answer: &str) -> String {
    let lines: Vec<&str> = answer.split("\\n").collect();
    match lines.len() {
        0..=20 => lines.join("\n"),
        many => [&lines[..8], &["..."], &lines[many - 8..]].concat().join("\n"),
    }
}

/// The results are recorded, because the quality of models was measured with them.
#[test]
fn results_of_calls_equal_the_recorded_text() {
    let repo = buckets();
    let long: String = (0..300).map(|line| format!("line {line} of a long file\n")).collect();
    repo.write("long.txt", &long);
    repo.write("README.md", "Buckets.\n");
    repo.write(".muninn/knowledge/buckets.md", "# Buckets\n\nBuckets are refilled once a second by the main loop.\n");
    repo.write(
        ".metis/tasks/one.md",
        "---\nid: one\nlevel: task\ntitle: \"Refill sooner\"\nshort_code: \"DEMO-T-0001\"\ntags:\n  - \"#task\"\n  - \"#phase/todo\"\n---\n\n# Refill sooner\n\nOften.\n",
    );
    let mut text = String::new();
    for (state, engine) in [("indexed", repo.ready()), ("not indexed", repo.engine())] {
        for (tool, arguments) in CALLS {
            let answer = answer(&engine, tool, arguments);
            text.push_str(&format!("=== {state}: {tool} {arguments}\n{}\n", shortened(&answer)));
        }
    }
    text.push_str("=== a turn of several searches in a scope\n");
    let grep = r#"{"pattern": "only_once"}"#;
    let script = Script::says([
        calls(&[("explore", r#"{"question": "how?", "scope": "tests"}"#)]),
        calls(&[
            ("grep", grep),
            ("grep", r#"{"pattern": "fn", "path": "src"}"#),
            ("grep", "{}"),
            ("grep", grep),
            ("read", r#"{"path": "src/main.rs"}"#),
            ("tree", "{}"),
            ("definition", r#"{"name": "only_once"}"#),
        ]),
        calls(&[("final", r#"{"citations": []}"#)]),
    ]);
    explore(&repo.ready(), &script);
    let heard = script.heard(2);
    let results = heard.rsplit("Results(").next().unwrap_or_default();
    text.push_str(&results.replace("\\n", "\n"));
    text.push('\n');
    let recorded = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/recorded/answers.txt");
    if std::env::var_os("RECORD").is_some() {
        std::fs::write(&recorded, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(recorded).unwrap());
}
