//! What the author of a note says about older ones: that it replaces one, repeats one, or that both hold.

use serde_json::{Value, json};

use crate::learning::Team;
use crate::mcp::Client;

const OLD: &str = "Logs are kept for 30 days because storage is dear.";
const NEW: &str = "Logs are kept for a year since the auditor asked for it.";
const OTHERS: [&str; 3] =
    ["Invoices are written by Holger.", "The frontend is written in Vue.", "Exports run at two in the morning."];

fn remember(team: &Team, arguments: &[&str]) -> Value {
    let told = team.env.stdout_of(&team.root, &[&["remember", "--json"], arguments].concat());
    serde_json::from_str(&told).unwrap()
}

fn id(told: &Value) -> String {
    told["id"].as_str().unwrap().to_owned()
}

fn one(id: &str) -> Vec<String> {
    vec![id.to_owned()]
}

/// The ids of the notes about logs that are recalled.
fn recalled(team: &Team) -> Vec<String> {
    let told = team.env.run(&team.root, &["recall", "--json", "How long are logs kept?"]).stdout;
    let memories = serde_json::from_slice::<Value>(&told).unwrap()["memories"].take();
    let about_logs =
        memories.as_array().unwrap().iter().filter(|memory| memory["text"].as_str().unwrap().starts_with("Logs"));
    about_logs.map(|memory| memory["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_author_is_asked_about_the_older_note_and_the_latest_answer_holds() {
    let team = Team::with("repo", "");
    let others: Vec<Value> = OTHERS.iter().map(|other| remember(&team, &[other])).collect();
    assert!(others.iter().all(|told| told["related"] == json!([])), "{others:?}");
    let old = id(&remember(&team, &[OLD]));
    let told = remember(&team, &[NEW]);
    let new = id(&told);
    let related = told["related"].as_array().unwrap();
    assert_eq!((related.len(), &related[0]["id"], &related[0]["text"]), (1, &json!(old), &json!(OLD)), "{told}");
    assert!(related[0]["author"].is_string() && related[0]["date"].is_string(), "{told}");
    let link = |relation: &str| team.env.stdout_of(&team.root, &["link", &new, relation, &old]);
    let both = || {
        let mut ids = recalled(&team);
        ids.sort();
        ids == [old.clone(), new.clone()]
    };
    assert!(both());
    assert_eq!(link("--replaces"), format!("{new} replaces {old}\n"));
    assert_eq!(recalled(&team), one(&new));
    let shown = team.env.stdout_of(&team.root, &["recall", &old]);
    assert!(shown.contains("superseded by") && shown.contains("decided on"), "{shown}");
    link("--apart");
    assert!(both());
    link("--same-as");
    assert_eq!(recalled(&team), one(&new));
    link("--apart");
    assert!(both());
    link("--replaces");
    let history = team.env.stdout_of(&team.root, &["history", &old]);
    assert_eq!(history.matches("(a later decision holds)").count(), 3, "{history}");
    team.env.commit(&team.root, "notes");
    team.env.stdout_of(&team.root, &["reconcile"]);
    assert_eq!(recalled(&team), one(&new), "after a reconcile");
    for wrong in [&["link", &new, "--replaces", &new][..], &["link", &new, "--apart", "nothing"], &["link", &new]] {
        let refused = team.env.run(&team.root, wrong);
        assert!(!refused.status.success() && !refused.stderr.is_empty(), "{wrong:?}");
    }
}

#[test]
fn a_new_note_names_what_it_replaces_and_a_wrong_id_writes_nothing() {
    let team = Team::with("repo", "");
    let old = id(&remember(&team, &[OLD]));
    let refused = team.env.run(&team.root, &["remember", "--replaces", "nothing", NEW]);
    assert!(!refused.status.success());
    assert_eq!(recalled(&team), one(&old));
    let new = remember(&team, &["--replaces", &old, NEW]);
    assert_eq!((recalled(&team), &new["related"]), (vec![id(&new)], &json!([])), "nothing is asked");
    let again = remember(&team, &["--same-as", &id(&new), "Logs stay for a year."]);
    assert_eq!(recalled(&team), [id(&again)]);
}

#[test]
fn an_agent_links_what_it_wrote() {
    let team = Team::with("repo", "");
    let old = id(&remember(&team, &[OLD]));
    let mut client = Client::start(&team.env, &team.root, |command| {
        command.args(["--tools", "memory"]);
    });
    let mut told = |text: &str| client.call("remember", &json!({"text": text})).0["structuredContent"].take();
    let plain = told("Invoices are written by Holger.");
    assert!(plain.get("related").is_none() && plain.get("next").is_none(), "{plain}");
    let told = told(NEW);
    assert_eq!(told["related"][0]["id"], json!(old), "{told}");
    assert!(told["next"].as_str().unwrap().contains("link_memory"), "{told}");
    let new = id(&told);
    client.call("link_memory", &json!({"id": new, "replaces": old}));
    assert_eq!(recalled(&team), [new]);
}
