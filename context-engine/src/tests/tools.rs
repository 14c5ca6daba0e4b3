//! What an explorer's tools tell of names, with an index and beside it.

use super::Repo;
use super::script::{Script, calls, explore};
use crate::Engine;

/// What one call is answered with, up to what comes after it.
fn answer(engine: &Engine, tool: &str, arguments: &str) -> String {
    let script = Script::says([calls(&[(tool, arguments)]), calls(&[("final", r#"{"citations": []}"#)])]);
    explore(engine, &script);
    let heard = script.heard(1);
    let result = heard.rsplit("Results(").next().unwrap_or_default();
    result.to_owned()
}

/// Many types with a method of one name, and who calls it.
fn buckets() -> Repo {
    let bucket = |at: usize| format!("pub struct Bucket{at};\nimpl Bucket{at} {{\n    pub fn refill(&self) {{}}\n}}\n");
    let buckets: Vec<(String, String)> = (0..30).map(|at| (format!("src/b{at:02}.rs"), bucket(at))).collect();
    let mut files: Vec<(&str, &str)> = buckets.iter().map(|(path, text)| (&**path, &**text)).collect();
    files.push((
        "src/main.rs",
        "fn main() {\n    let bucket = any();\n    bucket.refill();\n    spawn(later);\n}\n",
    ));
    files.push(("src/once.rs", "pub fn only_once() {}\n"));
    files.push(("tests/once.rs", "fn only_once() {}\n#[test]\nfn t() { only_once(); }\n"));
    Repo::with(&files)
}

#[test]
fn symbols_are_those_of_the_place_that_was_named() {
    let repo = buckets();
    let engine = repo.ready();
    let one = answer(&engine, "symbols", r#"{"path": "src/b07.rs"}"#);
    assert!(one.contains("src/b07.rs:3-3 pub fn refill(&self)") && !one.contains("b06.rs") && !one.contains("b08.rs"));
    let part = answer(&engine, "symbols", r#"{"path": "src", "name": "BUCKET2"}"#);
    assert!(
        part.contains("src/b02.rs:1-1 pub struct Bucket2") && part.contains("src/b29.rs") && !part.contains("b03.rs")
    );
    let anywhere = answer(&engine, "symbols", r#"{"name": "only_"}"#);
    assert!(
        anywhere.find("src/once.rs").unwrap() < anywhere.find("tests/once.rs").unwrap(),
        "{anywhere}"
    );
    assert!(answer(&engine, "symbols", r#"{"name": "nowhere"}"#).contains("nothing is defined there"));
}

#[test]
fn the_likeliest_definitions_are_looked_at_and_the_others_said_to_be_left_out() {
    let repo = buckets();
    let engine = repo.ready();
    let meant = answer(&engine, "definition", r#"{"name": "Bucket29::refill"}"#);
    assert!(
        meant.contains("src/b29.rs:3-3 pub fn refill(&self) {}  [95% sure]"),
        "{meant}"
    );
    let any = answer(&engine, "definition", r#"{"name": "refill"}"#);
    assert_eq!(any.matches("pub fn refill").count(), 16);
    assert!(any.contains("cut by: files"), "{any}");
    let within = answer(&engine, "definition", r#"{"name": "refill", "path": "src/b28.rs"}"#);
    assert_eq!(within.matches("pub fn refill").count(), 1);
    let source = answer(&engine, "definition", r#"{"name": "only_once"}"#);
    assert!(
        source.find("src/once.rs").unwrap() < source.find("tests/once.rs").unwrap(),
        "{source}"
    );
}

#[test]
fn calls_are_found_also_where_nothing_tells_what_they_mean() {
    let repo = buckets();
    let engine = repo.ready();
    let ambiguous = answer(&engine, "callers", r#"{"name": "refill"}"#);
    assert!(ambiguous.contains("src/main.rs:3 in main"), "{ambiguous}");
    let foreign = answer(&engine, "callers", r#"{"name": "spawn"}"#);
    assert!(foreign.contains("src/main.rs:4 in main"), "{foreign}");
    assert!(answer(&engine, "callers", r#"{"name": "main"}"#).contains("nothing here calls main"));
    for nothing in ["two words", "", "\0", "("] {
        let arguments = serde_json::json!({"name": nothing}).to_string();
        assert!(
            !answer(&engine, "callers", &arguments).contains("main.rs"),
            "{nothing:?}"
        );
    }
}

#[test]
fn what_was_written_after_the_index_was_made_is_found() {
    let repo = buckets();
    let engine = repo.ready();
    repo.write("src/b03.rs", "fn brand_new() {}\nfn user() { brand_new(); }\n");
    repo.write("src/fresh.rs", "fn newer_still() { brand_new(); }\n");
    let defined = answer(&engine, "definition", r#"{"name": "brand_new"}"#);
    assert!(defined.contains("src/b03.rs:1-1 fn brand_new()"), "{defined}");
    let called = answer(&engine, "callers", r#"{"name": "brand_new"}"#);
    assert!(
        called.contains("src/b03.rs:2 in user") && called.contains("src/fresh.rs:1 in newer_still"),
        "{called}"
    );
    let gone = answer(&engine, "definition", r#"{"name": "Bucket3::refill"}"#);
    assert!(!gone.contains("src/b03.rs"), "{gone}");
}
