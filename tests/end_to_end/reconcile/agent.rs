//! Undecided pairs, decided by an agent: on the command line, and through MCP.

use muninn_tests::output_with;
use serde_json::json;

use super::*;
use crate::mcp::{ALONE, Client};

const OLD: [&str; 2] = ["The lock is held for 30 seconds", "The importer uses threads"];
const NEW: [&str; 2] = ["The lock is held for 90 seconds", "The importer does not use threads"];

/// A team with two undecided pairs in main.
fn undecided() -> Team {
    let team = Team::new();
    team.branch("ada", &OLD);
    team.branch("ben", &NEW);
    team.git("checkout --quiet main");
    for branch in ["ada", "ben"] {
        team.git(&format!("merge --quiet --no-edit {branch}"));
    }
    assert_eq!(team.reconcile(&[]), "4 memories consolidated, 0 duplicates removed, 2 undecided pairs");
    team
}

/// An agent's decisions on a batch: it knows the lock and the threads, and is unsure about the other pairs.
fn decisions(batch: &Value, threads: &str) -> Value {
    let decision = |pair: &Value| {
        let relation = match pair["older"]["text"].as_str().unwrap() {
            text if text == OLD[0] => "replaced",
            text if text == OLD[1] => threads,
            _ => "unsure",
        };
        json!({"pair": pair["pair"], "relation": relation, "reason": "src/lock.rs says so"})
    };
    json!(batch["pairs"].as_array().unwrap().iter().map(decision).collect::<Vec<_>>())
}

fn recalled(team: &Team) -> String {
    String::from_utf8(team.env.run(&team.root, &["recall", "How long is the lock held?"]).stdout).unwrap()
}

#[test]
fn an_agent_decides_on_the_command_line_and_a_person_undoes_it() {
    let team = undecided();
    let batch = || -> Value { serde_json::from_str(&team.muninn(&["conflicts", "--undecided", "--json"])).unwrap() };
    let asked = batch()["batch"].take();
    assert_eq!((&asked["undecided"], asked["pairs"].as_array().unwrap().len()), (&json!(2), 4), "{asked}");
    let id = asked["id"].as_str().unwrap();
    let answer = |text: &str| {
        let mut command = team.env.muninn();
        command.current_dir(&team.root).args(["resolve", "--by", "scripted", "--batch", id, "--json"]);
        output_with(command, text.as_bytes())
    };
    let same = json!({"decisions": asked["pairs"].as_array().unwrap().iter()
        .map(|pair| json!({"pair": pair["pair"], "relation": "same", "reason": "alike"})).collect::<Vec<_>>()});
    for wrong in ["", "yes", "{\"decisions\": []}", &same.to_string()] {
        let refused = answer(wrong);
        assert!(!refused.status.success() && !refused.stderr.is_empty(), "{wrong}");
        assert_eq!(batch()["batch"], asked, "{wrong}");
    }
    let done = answer(&json!({"decisions": decisions(&asked, "contradicts")}).to_string());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let done: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&done["replaced"], &done["conflicts"]), (&json!(1), &json!(1)), "{done}");
    assert_eq!(batch(), json!({"batch": null}), "nobody is asked twice");
    assert_eq!(team.conflicts()[0]["state"], "conflict");
    assert!(recalled(&team).contains(NEW[0]) && !recalled(&team).contains(OLD[0]), "{}", recalled(&team));
    let late = answer(&json!({"decisions": decisions(&asked, "contradicts")}).to_string());
    assert!(!late.status.success(), "the batch is gone");

    let note = |text: &str| -> String {
        let found = team.file("main.jsonl");
        let line = found.lines().find(|line| line.contains(&format!("\"text\":\"{text}\""))).unwrap();
        serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned()
    };
    let (old, new) = (note(OLD[0]), note(NEW[0]));
    let history = team.muninn(&["history", &old]);
    assert!(history.contains("scripted for Ada") && history.contains("src/lock.rs says so"), "{history}");
    team.muninn(&["link", &new, "--apart", &old]);
    assert!(recalled(&team).contains(NEW[0]) && recalled(&team).contains(OLD[0]), "{}", recalled(&team));
}

#[test]
fn an_agent_decides_through_mcp() {
    let team = undecided();
    team.env.write_config(ALONE);
    let mut client = Client::start(&team.env, &team.root, |command| {
        command.args(["--tools", "memory"]);
    });
    let mut told = |tool: &str, arguments: Value| -> Value {
        let (result, text) = client.call(tool, &arguments);
        assert_eq!(result["isError"], json!(false), "{text}");
        result["structuredContent"].clone()
    };
    let asked = told("list_conflicts", json!({"undecided": true}))["batch"].take();
    let settled = told("resolve_conflict", json!({"batch": asked["id"], "decisions": decisions(&asked, "replaced")}));
    assert_eq!(settled["replaced"], 2, "{settled}");
    assert_eq!(told("list_conflicts", json!({"undecided": true}))["batch"], json!(null));
    assert_eq!(told("list_conflicts", json!({}))["conflicts"], json!([]));
    assert!(client.leave());
    assert!(recalled(&team).contains(NEW[0]) && !recalled(&team).contains(OLD[0]), "{}", recalled(&team));
}
