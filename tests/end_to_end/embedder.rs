//! `[memory.embedder]`: whose vectors recall and short questions use, and what happens without them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use muninn_tests::{Recorded, Reply, TestEnv, Upstream, wait_until};
use serde_json::{Value, json};

use crate::MUNINN;

const QUESTION: &str = "where does the orchard keep a pome";

/// A server that knows that a pome is an apple, as long as it is up.
fn knows_pomes(is_up: &Arc<AtomicBool>) -> Upstream {
    let is_up = Arc::clone(is_up);
    Upstream::start_with(move |request: &Recorded| {
        if request.target != "/v1/embeddings" || !is_up.load(Ordering::Relaxed) {
            return Reply::json(503, r#"{"error":{"message":"out of memory"}}"#);
        }
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let texts: Vec<String> = serde_json::from_value(body["input"].clone()).unwrap();
        let is_pome = |text: &str| ["pome", "apples"].iter().any(|word| text.contains(word));
        let rows = (0..).zip(&texts).map(|(index, text): (usize, _)| {
            let vector = if is_pome(text) { [1, 0] } else { [0, 1] };
            json!({"index": index, "embedding": vector})
        });
        Reply::json(200, json!({"data": rows.collect::<Vec<_>>()}).to_string())
    })
}

/// Two facts that fit the question's words alike; the newer one is about plums.
fn orchard(env: &TestEnv) -> std::path::PathBuf {
    let root = env.repository("demo", &[("src/lib.rs", "pub fn pick() {}\n")]);
    env.stdout_of(&root, &["init", "--memory", "repo"]);
    env.stdout_of(&root, &["remember", "the orchard keeps apples in the cellar"]);
    env.stdout_of(&root, &["remember", "the orchard keeps plums in the attic"]);
    root
}

const EMBEDDER: &str = "[memory.embedder]\nmodel = { backend = \"mock\", model = \"nomic\" }\n";

/// The text recalled first.
fn first(env: &TestEnv, root: &std::path::Path) -> (String, String) {
    let output = env.run(root, &["recall", QUESTION, "--json"]);
    assert!(output.status.success(), "{output:?}");
    let recalled: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = recalled["memories"][0]["text"].as_str().unwrap().to_owned();
    (text, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn backend_orders_what_is_recalled_and_words_do_while_it_is_down() {
    let env = TestEnv::new(MUNINN);
    let is_up = Arc::new(AtomicBool::new(true));
    let upstream = knows_pomes(&is_up);
    env.connect_with(&upstream, EMBEDDER);
    let root = orchard(&env);
    let (text, stderr) = first(&env, &root);
    assert!(text.contains("apples"), "{text}");
    assert_eq!(stderr, "");
    is_up.store(false, Ordering::Relaxed);
    let (text, stderr) = first(&env, &root);
    assert!(text.contains("plums"), "{text}");
    assert!(stderr.contains("words alone") && stderr.contains("out of memory"), "{stderr}");
}

#[test]
fn gateway_tells_of_its_embedder_and_answers_without_it() {
    let env = TestEnv::new(MUNINN);
    let is_up = Arc::new(AtomicBool::new(true));
    let upstream = knows_pomes(&is_up);
    env.connect_with(&upstream, EMBEDDER);
    let root = orchard(&env);
    let gateway = env.serve(&root, &[]);
    gateway.wait_ready();
    wait_until("vectors", || (gateway.health()["embedder"]["state"] == "ready").then_some(()));
    wait_until("vectors of the index", || (gateway.health()["index"]["vectors"] != 0).then_some(()));
    let health = gateway.health();
    assert_eq!(health["embedder"]["model"], "mock/nomic", "{health}");
    is_up.store(false, Ordering::Relaxed);
    let body = json!({"model": "muninn/context", "messages": [{"role": "user", "content": QUESTION}]});
    let answer = gateway.post("/v1/chat/completions", &[], body.to_string().as_bytes());
    assert_eq!(answer.status, 200);
    assert_eq!(gateway.health()["embedder"]["state"], "failing");
}

#[test]
fn minilm_that_was_not_fetched_or_is_damaged_is_said_and_static_vectors_serve() {
    let env = TestEnv::new(MUNINN);
    env.write_config("[memory.embedder]\nmodel = \"minilm\"\n");
    let root = orchard(&env);
    let (text, stderr) = first(&env, &root);
    assert!(text.contains("apples"), "{text}");
    assert!(stderr.contains("muninn model pull") && stderr.contains("static vectors serve"), "{stderr}");
    let status: Value = serde_json::from_slice(&env.run(&root, &["model", "status", "--json"]).stdout).unwrap();
    let directory = std::path::PathBuf::from(status["path"].as_str().unwrap());
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("config.json"), "{").unwrap();
    let (_, stderr) = first(&env, &root);
    assert!(stderr.contains("is damaged") && stderr.contains("--force"), "{stderr}");
    // Nobody who does not ask for it is warned.
    env.write_config("");
    std::fs::remove_dir_all(&directory).unwrap();
    assert_eq!(first(&env, &root).1, "");
    let status = env.stdout_of(&root, &["status"]);
    assert!(status.contains("static vectors; `muninn model pull` fetches a model"), "{status}");
}

#[test]
fn model_from_this_machine_is_checked_and_nothing_is_kept_of_another_one() {
    let env = TestEnv::new(MUNINN);
    let root = orchard(&env);
    let given = env.path("given");
    std::fs::create_dir_all(&given).unwrap();
    let pull = |from: &std::path::Path| {
        let output = env.run(&root, &["model", "pull", "--from", from.to_str().unwrap()]);
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(pull(&given).contains("cannot read") && pull(&given).contains("config.json"));
    std::fs::write(given.join("config.json"), "{}").unwrap();
    assert!(pull(&given).contains("config.json does not match its pin"), "{}", pull(&given));
    assert!(pull(&given.join("config.json")).contains("cannot be unpacked"));
    let status: Value = serde_json::from_slice(&env.run(&root, &["model", "status", "--json"]).stdout).unwrap();
    let models = std::path::Path::new(status["path"].as_str().unwrap()).parent().unwrap();
    assert_eq!(std::fs::read_dir(models).unwrap().count(), 0);
}

#[test]
fn repository_does_not_choose_who_embeds() {
    let env = TestEnv::new(MUNINN);
    env.write_config("");
    let root = orchard(&env);
    std::fs::write(root.join(".muninn/config.toml"), EMBEDDER).unwrap();
    let output = env.run(&root, &["status"]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(printed.contains("memory.embedder"), "{printed}");
}
