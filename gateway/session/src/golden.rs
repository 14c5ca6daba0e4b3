//! One golden request and one near miss for each rule, from files that the end-to-end tests send as well.

use std::collections::BTreeSet;
use std::path::Path;

use http::{HeaderName, HeaderValue};
use muninn_wire::WireFormat;
use serde_json::Value;

use super::*;

fn files() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/golden");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let golden = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            (name, golden)
        })
        .collect();
    files.sort_by(|(one, _), (other, _)| one.cmp(other));
    files
}

fn matched(golden: &Value, request: &Value) -> Option<&'static str> {
    let mut headers = HeaderMap::new();
    for (name, value) in request["headers"].as_object().into_iter().flatten() {
        headers.insert(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value.as_str().unwrap()).unwrap());
    }
    let body = request["body"].to_string();
    let format = WireFormat::of_path(golden["path"].as_str().unwrap());
    side_request(&headers, &Prompt::parse(format, body.as_bytes()).unwrap()).map(SideRequest::name)
}

#[test]
fn every_rule_has_a_golden_request_and_a_near_miss() {
    let mut seen = BTreeSet::new();
    println!("{:<26}  {:<36}  {:<26}  done", "rule", "golden", "matched");
    for (name, golden) in files() {
        let rule = golden["rule"].as_str().unwrap();
        let found = matched(&golden, &golden);
        println!("{rule:<26}  {name:<36}  {:<26}  replay only", found.unwrap_or("-"));
        assert_eq!(found, Some(rule), "{name}");
        let near = matched(&golden, &golden["near_miss"]);
        let why = golden["near_miss"]["why"].as_str().unwrap();
        println!("{:<26}    not: {why:<60}  {}", "", near.unwrap_or("-"));
        assert_eq!(near, None, "{name}: {why}");
        seen.insert(rule.to_owned());
    }
    let rules: BTreeSet<_> = RULES.iter().map(|rule| rule.name.to_owned()).collect();
    assert_eq!(seen, rules, "rules and golden requests");
}
