//! Names and shapes: commands with their exit codes and JSON keys, metrics, configuration keys, and the ledger's schema.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use muninn_tests::{TestEnv, Upstream};
use serde_json::Value;

use super::assert_recorded;
use crate::MUNINN;
use crate::formats::Format;
use crate::formats::Turn;
use crate::stage::{FILES, QUESTION, Stage, simple};

/// The paths of a JSON value's members with their types, sorted; the elements of a list are one path.
fn shape(value: &Value) -> BTreeSet<String> {
    fn walk(value: &Value, path: &str, paths: &mut BTreeSet<String>) {
        let kind = match value {
            Value::Object(members) => {
                for (name, member) in members {
                    walk(member, &format!("{path}.{name}"), paths);
                }
                return;
            }
            Value::Array(items) => {
                for item in items {
                    walk(item, &format!("{path}[]"), paths);
                }
                "list"
            }
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
        };
        paths.insert(format!("{path}: {kind}"));
    }
    let mut paths = BTreeSet::new();
    walk(value, "", &mut paths);
    paths
}

/// Runs commands and writes down how each ended and the shape of the JSON that it printed.
struct Session<'a> {
    env: &'a TestEnv,
    root: &'a Path,
    text: String,
}

impl Session<'_> {
    fn run(&mut self, line: &str) -> Value {
        self.run_with(line, &line.split(' ').collect::<Vec<_>>())
    }

    fn run_with(&mut self, title: &str, arguments: &[&str]) -> Value {
        let output = self.env.run(self.root, arguments);
        let code = output.status.code().unwrap();
        writeln!(self.text, "=== {title}\nexit {code}").unwrap();
        let value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        if arguments.contains(&"--json") && !output.stdout.is_empty() {
            for path in shape(&value) {
                writeln!(self.text, "{path}").unwrap();
            }
        }
        value
    }
}

#[test]
fn commands() {
    let stage = Stage::with(Upstream::start(), "");
    stage.gateway.wait_ready();
    let (target, body) = &simple(QUESTION)[1];
    let response = stage.ask(target, &[("x-session-id", "one")], body);
    let receipt = stage.why(&response);
    let mut session = Session { env: &stage.env, root: &stage.root, text: String::new() };
    session.run("init --memory repo");
    for line in [
        "config check --json",
        "status --json",
        "doctor --json",
        "why --json",
        "stats --json",
        "index --json",
        "grep --json refill",
        "read --json src/lib.rs",
        "tree --json",
        "symbols --json TokenBucket",
        "outline --json src/rate_limiter.rs",
        "definition --json TokenBucket",
        "references --json refill",
        "callers --json refill",
        "scan --json",
        "model status --json",
        "key new ada --json",
        "knowledge new money --title Money",
        "knowledge list --json",
        "knowledge check --json",
    ] {
        session.run(line);
    }
    session.run_with("why ID --json", &["why", receipt["id"].as_str().unwrap_or_default(), "--json"]);
    session.run_with("ask QUESTION --json", &["ask", "--json", QUESTION]);
    for fact in ["The retry queue uses jitter", "The retry queue does not use jitter", "Integration tests need docker"]
    {
        session.run_with("remember FACT --json", &["remember", "--json", fact]);
    }
    session.run_with("recall QUESTION --json", &["recall", "--json", "retry queue jitter"]);
    session.run("recall --json");
    session.run("flush --json");
    session.run("reconcile --dry-run --json");
    session.run("reconcile --json");
    let conflicts = session.run("conflicts --json");
    let conflict = conflicts["conflicts"][0]["id"].as_str().unwrap_or_default().to_owned();
    session.run_with("resolve ID --json", &["resolve", &conflict, "--keep=left", "--json"]);
    session.run("recall --json");
    for line in [
        "--version",
        "--help",
        "no-such-command",
        "why no-such-request",
        "forget no-such-record",
        "resolve NOSUCH --keep=left",
        "grep no-such-word-anywhere",
        "read no-such-file",
        "read ../outside",
        "symbols no_such_symbol",
        "config check --config no-such-file",
        "--root no-such-directory status",
        "explore",
        "knowledge import no-such-directory",
    ] {
        session.run(line);
    }
    assert_recorded("commands", &session.text);
}

#[test]
fn health_and_metrics() {
    let stage = Stage::new();
    let user = [Turn::User(QUESTION.to_owned())];
    for streamed in [false, true] {
        stage.ask("/v1/messages", &[], &Format::Messages.request("m", streamed, &user));
    }
    let mut text = "=== /healthz\n".to_owned();
    for path in shape(&stage.gateway.health()) {
        writeln!(text, "{path}").unwrap();
    }
    // Of each sample its name and its labels' names, and the comments, which say type and meaning.
    let metrics = stage.gateway.request("GET", "/metrics", &[], b"").text();
    let mut samples = BTreeSet::new();
    for line in metrics.lines() {
        let name = line.split_once(' ').map_or(line, |(name, _)| name);
        let sample = match name.split_once('{') {
            _ if line.starts_with('#') => line.to_owned(),
            Some((name, labels)) => {
                let labels: Vec<_> = labels.split(',').filter_map(|label| Some(label.split_once('=')?.0)).collect();
                format!("{name}{{{}}}", labels.join(","))
            }
            None => name.to_owned(),
        };
        samples.insert(sample);
    }
    text.push_str("=== /metrics\n");
    for sample in samples {
        writeln!(text, "{sample}").unwrap();
    }
    assert_recorded("health_and_metrics", &text);
}

#[test]
fn ledger_schema() {
    let stage = Stage::new();
    let (target, body) = &simple(QUESTION)[0];
    stage.ask(target, &[], body);
    let ledger = rusqlite::Connection::open(stage.env.ledger()).unwrap();
    let version: u32 = ledger.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    let mut text = format!("user_version {version}\n");
    let mut rows = ledger.prepare("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name").unwrap();
    for sql in rows.query_map([], |row| row.get::<_, String>(0)).unwrap() {
        writeln!(text, "{}", sql.unwrap()).unwrap();
    }
    assert_recorded("ledger_schema", &text);
}

/// A place for an unknown key in each table of the user's file; the error names all known keys.
const USER_TABLES: [&str; 11] = [
    "unknown = 1\n",
    "[[backends]]\nunknown = 1\n",
    "[[backends]]\nname = \"a\"\nurl = \"http://127.0.0.1:1\"\ndialect = \"chat\"\nfallbacks = [{ unknown = 1 }]\n",
    "[[routes]]\nunknown = 1\n",
    "[[keys]]\nunknown = 1\n",
    "[context]\nunknown = 1\n",
    "[memory]\nunknown = 1\n",
    "[memory.summarizer]\nunknown = 1\n",
    "[memory.reconciler]\nunknown = 1\n",
    "[explore]\nunknown = 1\n",
    "[limits]\nunknown = 1\n",
];

const REPOSITORY_TABLES: [&str; 3] = ["unknown = 1\n", "[context]\nunknown = 1\n", "[memory]\nunknown = 1\n"];

#[test]
fn configuration_keys() {
    let env = TestEnv::new(MUNINN);
    let root = env.repository("demo", &FILES);
    let mut text = String::new();
    let mut check = |file: &Path, table: &str| {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, table).unwrap();
        let output = env.run(&root, &["config", "check"]);
        std::fs::remove_file(file).unwrap();
        assert_eq!(output.status.code(), Some(3), "{table}: {output:?}");
        let problem = String::from_utf8(output.stderr).unwrap();
        let problem = problem.replace(&*env.path("").to_string_lossy(), "<home>/");
        writeln!(text, "=== {}\n{problem}", table.trim_end()).unwrap();
    };
    for table in USER_TABLES {
        check(&env.path("muninn.toml"), table);
    }
    for table in REPOSITORY_TABLES {
        check(&root.join(".muninn/config.toml"), table);
    }
    assert_recorded("configuration_keys", &text);
}
