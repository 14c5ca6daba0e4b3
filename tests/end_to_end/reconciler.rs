//! A model reconciles records that rules leave open: a scripted model at the socket.

use parking_lot::Mutex;

use muninn_reconcile::control_pairs;
use muninn_tests::{Reply, Upstream, script};
use serde_json::{Value, json};

use crate::reconcile::Team;
use crate::stage::FILES;

/// An undecided pair. No word of one negates or excludes a word of the other.
const DOUBT: [&str; 2] = ["Windows builds use the msvc toolchain", "Windows builds use the gnu toolchain"];

fn completion(text: &str) -> Reply {
    let completion = json!({
        "id": "chatcmpl-x", "object": "chat.completion", "created": 1, "model": "small-1",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 700, "completion_tokens": 50, "total_tokens": 750},
    });
    Reply::json(200, completion.to_string())
}

/// The pairs that a request asks about, as they are told.
fn pairs(request: &muninn_tests::Recorded) -> Vec<Value> {
    let request: Value = serde_json::from_slice(&request.body).unwrap();
    let text = request["messages"][1]["content"].as_str().unwrap();
    let inside = text.split_once("<pairs>\n").unwrap().1;
    let inside = inside.split_once("</pairs>").unwrap().0;
    inside.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The answer of an honest model: correct for control pairs, and this one for the pair about the parser.
fn honest(pairs: &[Value], relation: &str) -> Value {
    let plain = |pair: &Value| {
        let text = pair["older"]["text"].as_str().unwrap();
        let known = control_pairs().find(|(older, _, _)| *older == text);
        let relation = known.map_or(relation, |(_, _, contrary)| if contrary { "contradicts" } else { "same" });
        json!({"pair": pair["pair"], "relation": relation, "reason": "as it looks"})
    };
    json!({"decisions": pairs.iter().map(plain).collect::<Vec<_>>()})
}

fn config(model: &Upstream, more: &str) -> String {
    format!(
        "[[backends]]\nname = \"local\"\nurl = \"{}\"\ndialect = \"chat\"\nretries = 0\n\
         [memory.reconciler]\nbackend = \"local\"\nmodel = \"small-1\"\n{more}",
        model.url()
    )
}

/// Two people's records that rules cannot decide, and a model.
fn team(model: &Upstream, more: &str) -> Team {
    let team = Team::new();
    team.env.write_config(&config(model, more));
    for ((branch, text), (file, _)) in ["ada", "ben"].iter().zip(DOUBT).zip(FILES) {
        team.git("checkout --quiet main");
        team.git(&format!("checkout --quiet -b {branch}"));
        team.muninn(&["remember", text, "--file", file]);
        team.commit(branch);
    }
    team.git("checkout --quiet main");
    team.git("merge --quiet --no-edit ada");
    team.git("merge --quiet --no-edit ben");
    team
}

/// The decisions in main, as their types and who made them.
fn decided(team: &Team) -> Vec<(String, String)> {
    let main = team.file("main.jsonl");
    let records = main.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    records
        .filter(|record| record["type"] != "learning")
        .map(|record| (text(&record["type"]), text(&record["by"])))
        .collect()
}

fn reconciled(team: &Team, arguments: &[&str]) -> Value {
    let told = team.muninn(&[&["reconcile", "--json"], arguments].concat());
    serde_json::from_str(&told).unwrap()
}

#[test]
fn each_decision_of_a_model_is_in_main_with_its_reason() {
    for (relation, expected, open) in [
        ("same", "same", 0),
        ("refines", "distinct", 0),
        ("unrelated", "distinct", 0),
        ("contradicts", "conflict", 1),
        ("unsure", "conflict", 1),
    ] {
        let model = Upstream::start_with(move |request| completion(&honest(&pairs(request), relation).to_string()));
        let team = team(&model, "");
        // A dry run asks no model.
        let told = team.env.run(&team.root, &["reconcile", "--dry-run"]);
        let told = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(told.contains("local/small-1 would be asked about 1 open pair"), "{told}");
        assert_eq!(reconciled(&team, &["--dry-run", "--no-llm"])["asked"], Value::Null);
        assert_eq!(model.requests().len(), 0);
        let told = reconciled(&team, &[]);
        assert_eq!(told["asked"]["answered"], 1, "{told}");
        assert_eq!((&told["asked"]["input"], &told["open"]), (&700.into(), &open.into()), "{relation}");
        assert_eq!(decided(&team), [(expected.to_owned(), "model:local/small-1".to_owned())]);
        assert!(team.file("main.jsonl").contains("\"reason\":\"as it looks\""));
        let schema: Value = serde_json::from_slice(&model.last().body).unwrap();
        assert_eq!(schema["response_format"]["type"], "json_schema");
        team.commit("reconciled");
        assert_eq!(reconciled(&team, &[])["consolidated"], 0);
        assert_eq!((team.git("status --porcelain").as_str(), model.requests().len()), ("", 1));
        let receipts: Value = serde_json::from_str(&team.muninn(&["why", "--json"])).unwrap();
        assert_eq!(receipts[0]["outcome"], "reconciled");
        assert_eq!(receipts[0]["reason"], "1 of 1 open pair answered, 700 + 50 tokens");
    }
}

#[test]
fn hostile_model_cannot_settle_a_conflict() {
    type Answer = Box<dyn Fn(&[Value]) -> Reply + Send + Sync>;
    let edited = |edit: fn(&mut Value)| -> Answer {
        Box::new(move |pairs| {
            let mut answer = honest(pairs, "same");
            edit(&mut answer);
            completion(&answer.to_string())
        })
    };
    let hostile: Vec<(&str, usize, Answer)> = vec![
        ("wrong schema", 2, edited(|answer| *answer = json!({"merge": "all"}))),
        ("no JSON", 2, Box::new(|_| completion("Merge everything!"))),
        ("invented ids", 2, edited(|answer| answer["decisions"][0]["pair"] = json!(77))),
        (
            "a record for an id",
            2,
            edited(|answer| answer["decisions"][0]["pair"] = json!("01J00000000000000000000000")),
        ),
        ("too few", 2, edited(|answer| _ = answer["decisions"].as_array_mut().unwrap().pop())),
        (
            "merge everything",
            2,
            Box::new(|pairs| {
                let same = |pair: &Value| json!({"pair": pair["pair"], "relation": "same", "reason": "all is one"});
                completion(&json!({"decisions": pairs.iter().map(same).collect::<Vec<_>>()}).to_string())
            }),
        ),
        ("five megabytes", 2, Box::new(|_| completion(&"{\"decisions\":[".repeat(350_000)))),
        ("refused", 2, Box::new(|_| Reply::json(400, r#"{"error":{"message":"no"}}"#))),
        ("broken", 1, Box::new(|_| Reply::hangup())),
        ("status 500", 1, Box::new(|_| Reply::json(500, "{}"))),
    ];
    for (name, asked, answer) in hostile {
        let model = Upstream::start_with(move |request| answer(&pairs(request)));
        let team = team(&model, "");
        let told = reconciled(&team, &[]);
        assert_eq!(told["open"], 1, "{name}");
        assert!(told["asked"]["problem"].is_string(), "{name}: {told}");
        assert_eq!(decided(&team), [("conflict".to_owned(), "rules".to_owned())], "{name}");
        assert_eq!(model.requests().len(), asked, "{name}");
    }
}

#[test]
fn silent_model_times_out_and_is_asked_again_by_the_next_run() {
    let controls = Mutex::new(Vec::new());
    let model = Upstream::start_with(move |request| {
        let mut controls = controls.lock();
        if controls.is_empty() {
            let (control, script) = script();
            controls.push(control);
            return Reply::scripted(script);
        }
        completion(&honest(&pairs(request), "unrelated").to_string())
    });
    let team = team(&model, "answer_timeout_ms = 300\n");
    let told = reconciled(&team, &[]);
    assert_eq!(told["asked"]["problem"], "local/small-1 did not answer in time");
    assert_eq!((&told["asked"]["input"], &told["open"]), (&0.into(), &1.into()));
    team.env.write_config(&config(&model, ""));
    assert_eq!(reconciled(&team, &[])["open"], 0);
    let main = team.file("main.jsonl");
    assert!(main.contains("\"type\":\"distinct\""), "{main}");
}

#[test]
fn repository_cannot_enable_the_reconciler() {
    let model = Upstream::start();
    let team = team(&model, "");
    team.env.write_config("");
    std::fs::write(
        team.root.join(".muninn/config.toml"),
        "[memory.reconciler]\nbackend = \"local\"\nmodel = \"small-1\"\n",
    )
    .unwrap();
    let refused = team.env.run(&team.root, &["reconcile"]);
    let told = [refused.stdout, refused.stderr].concat();
    let told = String::from_utf8_lossy(&told);
    assert!(told.contains("`memory.reconciler` may not be set by a repository"), "{told}");
    assert_eq!(model.requests().len(), 0);
}

#[cfg(unix)]
#[test]
fn a_terminal_offers_the_connected_model_and_no_is_the_default() {
    let model = Upstream::start_with(|request| completion(&honest(&pairs(request), "contradicts").to_string()));
    let team = team(&model, "");
    let at = model.url();
    team.env.write_config(&format!(
        "[[backends]]\nname = \"local\"\nurl = \"{at}\"\ndialect = \"chat\"\nretries = 0\ndefault_model = \"small-1\"\n"
    ));
    let reconcile = |typed: &str| {
        let mut command = team.env.muninn();
        command.current_dir(&team.root).arg("reconcile");
        let (ended, shown) = muninn_tests::at_terminal(command, typed);
        assert!(ended.success(), "{shown}");
        shown
    };
    for typed in ["\n", "n\n", ""] {
        let shown = reconcile(typed);
        assert!(
            shown.contains("1 undecided pair, about ") && shown.contains(" tokens, with local/small-1?"),
            "{shown}"
        );
    }
    assert!(model.requests().is_empty(), "no call without a yes");
    let shown = reconcile("y\n");
    assert!(shown.contains("local/small-1: 1 of 1 open pair answered"), "{shown}");
    assert_eq!(model.requests().len(), 1);
    assert!(!reconcile("y\n").contains("undecided pair, about"), "nothing is left to ask");
    let log = team.muninn(&["reconcile", "--log"]);
    assert!(log.contains("by model:local/small-1") && DOUBT.iter().all(|text| log.contains(text)), "{log}");
    let log: Value = serde_json::from_str(&team.muninn(&["reconcile", "--log", "--json"])).unwrap();
    assert_eq!(log["decisions"].as_array().unwrap().len(), 1, "{log}");
}
