//! The whole benchmark over a small repository.

use std::fs;
use std::path::Path;

use clap::Parser;
use muninn_context_engine::Lists;
use serde_json::{Value, json};

use super::{Options, report::Report, run};
use muninn_tests::git;

const PARSER: &str = "\
class Parser:
    def parse_header(self, line):
        name, value = line.split(':')
        return name, value

    def parse_body(self, stream):
        return stream.read()
";
const WRITER: &str = "\
class Writer:
    def write_rows(self, rows):
        for row in rows:
            self.out.append(row)
";

/// A clone at `repos/o+r/repo` with two files, and the files changed later; returns the commit in between.
fn repository(repos: &Path) -> String {
    let clone = repos.join("o+r/repo");
    fs::create_dir_all(clone.join("lib")).unwrap();
    fs::write(clone.join("lib/parser.py"), PARSER).unwrap();
    fs::write(clone.join("lib/writer.py"), WRITER).unwrap();
    let commit = |message: &str| {
        git(&clone, &["add", "--all"]).unwrap();
        git(&clone, &["commit", "--quiet", "--message", message]).unwrap();
        git(&clone, &["rev-parse", "HEAD"]).unwrap().trim().to_owned()
    };
    git(&clone, &["init", "--quiet"]).unwrap();
    let base = commit("before");
    fs::write(clone.join("lib/future.py"), "# parse_header malformed header line\n").unwrap();
    commit("after");
    base
}

fn measure(dir: &Path, lines: &[Value], more: &[&str]) -> Report {
    let instances = dir.join("instances.jsonl");
    let lines: Vec<_> = lines.iter().map(Value::to_string).collect();
    fs::write(&instances, lines.join("\n")).unwrap();
    let (instances, repos) = (instances.display().to_string(), dir.join("repos").display().to_string());
    let args = ["localization", "--instances", &instances, "--repos", &repos];
    run(&Options::try_parse_from(args.iter().chain(more)).unwrap()).unwrap()
}

#[test]
fn files_and_spans_are_found_at_the_commit() {
    let dir = tempfile::tempdir().unwrap();
    let base = repository(&dir.path().join("repos"));
    let instance =
        |query: &str, gold: &[&str]| json!({"repo": "o/r", "base_commit": base, "query": query, "gold_files": gold});
    let mut issue = instance("parse_header fails on a malformed header line", &["lib/parser.py"]);
    issue["gold_spans"] = json!({"lib/parser.py": ["Parser.parse_header", "imports"]});
    let mut question = instance("where are rows written?", &["writer.py"]);
    question["root"] = json!("lib");
    let missed = instance("write_rows", &["lib/writer.py", "lib/future.py"]);

    let details = dir.path().join("details.jsonl");
    let more = ["--per-instance", details.to_str().unwrap()];
    let report = measure(dir.path(), &[issue, question, missed], &more);
    assert_eq!(report.all.n, 3);
    assert_eq!(report.all.strict[&1], Some(66.7));
    assert_eq!(report.all.any[&1], Some(100.0));
    assert_eq!(report.all.span_recall[&4096], Some(100.0), "what is no definition does not count");
    assert_eq!(report.by_repo["o/r"].n, 3);
    let details = fs::read_to_string(details).unwrap();
    let details: Vec<Value> = details.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(details[0]["gold"], json!({"lib/parser.py": 1}));
    assert_eq!(details[2]["gold"], json!({"lib/future.py": null, "lib/writer.py": 1}));
    assert_eq!(details[2]["absent"], 1);
}

#[test]
fn instance_that_cannot_be_checked_out_is_skipped_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let base = repository(&dir.path().join("repos"));
    let at = |commit: &str| json!({"repo": "o/r", "base_commit": commit, "query": "write_rows", "gold_files": ["lib/writer.py"]});
    let gone = at("0123456789012345678901234567890123456789");
    let report = measure(dir.path(), &[gone, at(&base)], &[]);
    assert_eq!((report.all.n, report.skipped), (1, 1));
    let line = serde_json::to_value(&report).unwrap();
    assert_eq!(line["skipped"], 1);
}

#[test]
fn trees_and_indexes_are_kept_in_the_work_directory() {
    let dir = tempfile::tempdir().unwrap();
    let base = repository(&dir.path().join("repos"));
    let one = json!({"repo": "o/r", "base_commit": base, "query": "write_rows", "gold_files": ["lib/writer.py"]});
    let (work, details) = (dir.path().join("work"), dir.path().join("details.jsonl"));
    let more = ["--work", work.to_str().unwrap(), "--per-instance", details.to_str().unwrap()];
    let mut cold = Vec::new();
    for _ in 0..2 {
        measure(dir.path(), std::slice::from_ref(&one), &more);
        let line: Value = serde_json::from_str(fs::read_to_string(&details).unwrap().trim()).unwrap();
        cold.push(line["cold"].as_bool().unwrap());
    }
    assert_eq!(cold, [true, false]);
}

#[test]
fn contradictory_options_are_refused() {
    let parse = |more: &[&str]| {
        let args = ["localization", "--instances", "i", "--repos", "r"];
        Options::try_parse_from(args.iter().chain(more))
    };
    let runs = |more: &[&str]| super::runs(parse(more).unwrap().ablate.as_deref()).len();
    assert_eq!(runs(&["--ablate", "files,paths"]), 3);
    assert_eq!(runs(&["--ablate"]), 1 + Lists::EACH.len());
    assert_eq!(runs(&[]), 1);
    assert!(parse(&["--ablate", "nonsense"]).is_err());
    assert!(parse(&["--embedder", "nonsense"]).is_err());
}
