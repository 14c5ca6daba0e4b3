//! The gains and costs of packs: receipts, `muninn why` and `muninn stats` after conversations that used them or did not.

use muninn_tests::{Upstream, wait_until};
use serde_json::{Value, json};

use crate::agent::Conversation;
use crate::stage::{QUESTION, Stage};

const FILE: &str = "src/rate_limiter.rs";

fn json_of(stage: &Stage, arguments: &[&str]) -> Value {
    serde_json::from_str(&stage.env.stdout_of(&stage.root, arguments)).unwrap()
}

/// The receipt of the pack of a session.
fn pack_of(stage: &Stage, session: &str) -> Value {
    wait_until("the receipt is written", || {
        let receipts = json_of(stage, &["why", "--json"]);
        let of_session = |receipt: &&Value| receipt["session"] == session && receipt["outcome"] == "injected";
        receipts.as_array().unwrap().iter().find(of_session).cloned()
    })
}

/// A conversation that asks a question and gets a map.
fn asks(stage: &Stage, session: &str) -> Conversation {
    let mut conversation = Conversation::of(session, &stage.root);
    conversation.says(QUESTION);
    conversation.send(&stage.gateway);
    pack_of(stage, session);
    conversation
}

fn searches(conversation: &mut Conversation, times: usize) {
    for _ in 0..times {
        conversation.calls("Grep", &json!({"pattern": "refill"}), "src");
    }
}

#[test]
fn stats_add_up_conversations_that_used_their_packs_and_ignored_them() {
    let stage = Stage::large();
    let path = |file: &str| json!({"file_path": stage.root.join(file)});

    let mut used = asks(&stage, "used");
    searches(&mut used, 1);
    used.calls("Read", &path(FILE), "1\tx");
    used.calls("Edit", &path(FILE), "ok");
    used.calls("Write", &path("src/new.rs"), "ok");
    used.answers("Done.");
    used.says("Thanks.");
    used.send(&stage.gateway);

    let mut late = asks(&stage, "late");
    searches(&mut late, 5);
    late.calls("Bash", &json!({"command": format!("cat {FILE}")}), "x");
    late.says("Thanks.");
    late.send(&stage.gateway);

    let mut ignored = asks(&stage, "ignored");
    searches(&mut ignored, 2);
    ignored.calls("Bash", &json!({"command": "cargo test"}), "ok");
    ignored.says("Thanks.");
    ignored.send(&stage.gateway);

    // The effect of a pack without a later request is unknown.
    drop(asks(&stage, "asked once"));
    let mut off_topic = Conversation::of("off topic", &stage.root);
    off_topic.says("Write a poem about the sea at dawn.");
    off_topic.send(&stage.gateway);

    let stats = wait_until("the effects are noted", || {
        let stats = json_of(&stage, &["stats", "--json"]);
        (stats["total"]["measured"] == 3 && stats["total"]["requests"] == 8).then_some(stats)
    });
    let receipt = pack_of(&stage, "used");
    let (estimate, effect) = (&receipt["estimate"], &receipt["effect"]);
    let number = |value: &Value| value.as_f64().unwrap();
    assert!(number(&estimate["gain"]) > number(&estimate["price"]), "{receipt}");
    assert_eq!((&effect["exploring_calls"], &effect["spared_calls"]), (&json!(1), &json!(2.8)));
    assert_eq!(effect["gain"], (2.8 * number(&estimate["call"])).round());
    let item = receipt["items"].as_array().unwrap().iter().find(|item| item["edited"] == true).unwrap();
    assert!(item["source"].as_str().unwrap().starts_with(FILE) && item["used"] == true, "{item}");

    let late = pack_of(&stage, "late");
    assert_eq!((&late["effect"]["exploring_calls"], &late["effect"]["gain"]), (&json!(5), &json!(0.0)));
    assert!(number(&late["effect"]["places_used"]) > 0.0, "{late}");
    let ignored = pack_of(&stage, "ignored");
    assert_eq!((&ignored["effect"]["places_used"], &ignored["effect"]["exploring_calls"]), (&json!(0), &json!(2)));
    assert!(pack_of(&stage, "asked once")["effect"].is_null());

    let total = &stats["total"];
    for (name, expected) in [("questions", 8), ("packs", 4), ("used", 2), ("lost", 2), ("exploring_calls", 8)] {
        assert_eq!(total[name], expected, "{name}: {total}");
    }
    let prices: f64 = [&receipt, &late, &ignored].iter().map(|one| number(&one["estimate"]["price"])).sum();
    assert!((number(&total["net"]) - (number(&effect["gain"]) - prices)).abs() <= 1.0, "{total}");
    assert_eq!((&total["spared_calls"], &total["spared_share"]), (&json!(2.8), &json!(0.26)));
    let repository = &stats["repositories"][0];
    assert_eq!(repository["worktree"], stage.root.display().to_string());
    assert_eq!(repository["net"], total["net"]);

    let table = stage.env.stdout_of(&stage.root, &["stats", "--days", "30"]);
    assert!(table.contains("  total\n") && table.contains(&format!("  {}\n", stage.root.display())), "{table}");
    assert!(table.starts_with("The last 30 days, since ") && table.contains(" only\n"), "{table}");
    let why = stage.env.stdout_of(&stage.root, &["why", receipt["id"].as_str().unwrap()]);
    assert!(why.contains("; used, edited\n") && why.contains("  value      expected gain "), "{why}");
    assert!(why.contains(", after 1 exploring call; realised gain "), "{why}");
}

#[test]
fn client_without_tools_gets_a_price_and_no_gain() {
    let stage = Stage::new();
    let body = json!({"model": "m", "messages": [{"role": "user", "content": QUESTION}]}).to_string();
    let receipt = stage.why(&stage.ask("/v1/chat/completions", &[], &body));
    let estimate = receipt["estimate"].as_object().unwrap();
    assert!(estimate["price"].as_f64().unwrap() > receipt["tokens"].as_f64().unwrap(), "{receipt}");
    assert_eq!(estimate.len(), 1, "{receipt}");
}

#[test]
fn a_prompt_that_is_cached_for_an_hour_has_the_price_of_writing_it_there() {
    let stage = Stage::new();
    let price = |session: &str, control: Value| {
        let text = json!({"type": "text", "text": QUESTION, "cache_control": control});
        let body =
            json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [text]}]}).to_string();
        let receipt = stage.why(&stage.ask("/v1/messages", &[("x-claude-code-session-id", session)], &body));
        receipt["estimate"]["price"].as_f64().unwrap() / receipt["tokens"].as_f64().unwrap()
    };
    let five_minutes = price("a", json!({"type": "ephemeral"}));
    let hour = price("b", json!({"type": "ephemeral", "ttl": "1h"}));
    assert!((hour - five_minutes - 0.75).abs() < 0.01, "{five_minutes} {hour}: 2.0 instead of 1.25 for each token");
}

#[test]
fn why_of_a_refusal_names_candidates_and_missing_words() {
    let stage = Stage::with(Upstream::start(), "threshold = 0.999\n");
    stage.gateway.wait_ready();
    let question = "Where does the invoice leave quantum storage for the scheduler daemon?";
    let body = json!({"model": "m", "messages": [{"role": "user", "content": question}]}).to_string();
    let receipt = stage.why(&stage.ask("/v1/chat/completions", &[], &body));
    let told = stage.env.stdout_of(&stage.root, &["why", receipt["id"].as_str().unwrap()]);
    assert!(receipt["estimate"].is_null(), "{receipt}");
    for part in [
        "`context.threshold` asks for 1.00",
        "nearest: src/storage.rs (",
        "invoice",
        "not in this repository: ",
        "quantum",
        "daemon",
        "Try naming a file or a symbol",
        "`:deep`",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}
