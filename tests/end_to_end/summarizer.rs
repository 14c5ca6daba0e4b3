//! The summarizer: a configured model summarizes idle conversations within a daily token limit.

use muninn_tests::{Gateway, Reply, Upstream, script, wait_until};
use serde_json::{Value, json};

use crate::agent::{Conversation, SESSION};
use crate::learning::Team;
use crate::stage::QUESTION;

/// A made-up GitHub token.
const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
/// Text that a log may hold only if it leaks answers.
const SAID: &str = "Totals are kept in cents";

/// A completion that says this, for so many tokens of the prompt and five of the answer.
pub(crate) fn completion(text: &str, input: u64) -> String {
    json!({
        "id": "chatcmpl-x", "object": "chat.completion", "created": 1, "model": "small-1",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": input, "completion_tokens": 5, "total_tokens": input + 5},
    })
    .to_string()
}

/// The model's summary of a conversation.
fn notes() -> String {
    let notes = json!({
        "summary": "Asked how the bucket refills; the parser was edited.",
        "learnings": [{"text": format!("{SAID} by src/parser.rs, and {TOKEN} opens them."), "subject": "invoices", "confidence": 1}]});
    format!("```json\n{notes}\n```")
}

/// A model that says the same of each conversation.
fn scribe(text: String, input: u64) -> Upstream {
    Upstream::start_with(move |_| Reply::json(200, completion(&text, input)))
}

/// The backend of such a model, and conversations that are over as soon as nothing comes.
fn known(scribe: &Upstream) -> String {
    format!(
        "[[backends]]\nname = \"scribe\"\nurl = \"{}\"\ndialect = \"chat\"\nretries = 0\n[memory]\nidle_ms = 1\n",
        scribe.url()
    )
}

/// The same, and it sums up. `more` are lines of its section.
fn named(scribe: &Upstream, more: &str) -> String {
    format!("{}[memory.summarizer]\nbackend = \"scribe\"\nmodel = \"small-1\"\n{more}", known(scribe))
}

/// A conversation in which something was done.
fn conversation(team: &Team) -> Conversation {
    conversation_of(team, SESSION)
}

fn conversation_of(team: &Team, session: &str) -> Conversation {
    let mut conversation = Conversation::of(session, &team.root);
    conversation.turn(&format!("{QUESTION} The token is {TOKEN}."));
    conversation.says("Thanks. And the parser?");
    conversation
}

/// Records of this type, once there are as many.
fn wait_records(team: &Team, kind: &str, count: usize) -> Vec<Value> {
    wait_until(&format!("{count} records of {kind}"), || {
        let records = team.segments().into_iter().map(|(_, record)| record);
        let records: Vec<Value> = records.filter(|record| record["type"] == kind).collect();
        (records.len() >= count).then_some(records)
    })
}

fn signed(team: &Team) -> usize {
    let segments = team.segments();
    segments.iter().filter(|(_, record)| record["author"] != Value::Null).count()
}

/// The receipts of what was summed up, once there are as many.
fn receipts(team: &Team, count: usize) -> Vec<Value> {
    wait_until("receipts of what was summed up", || {
        let receipts = team.env.stdout_of(&team.root, &["why", "--json"]);
        let receipts: Vec<Value> = serde_json::from_str(&receipts).unwrap();
        let summed = receipts.into_iter().filter(|receipt| receipt["outcome"] == "summed");
        Some(summed.collect::<Vec<_>>()).filter(|summed| summed.len() >= count)
    })
}

fn status(team: &Team) -> Value {
    let status: Value = serde_json::from_str(&team.env.stdout_of(&team.root, &["status", "--json"])).unwrap();
    status["summarizer"].clone()
}

#[test]
fn idle_conversation_is_summarized_once_per_turn() {
    let scribe = scribe(notes(), 600);
    let team = Team::with("repo", &named(&scribe, "max_answer_tokens = 300\n"));
    let expected = json!({"model": "scribe/small-1", "tokens_today": 0, "problem": null, "daily_tokens": 50_000});
    assert_eq!(status(&team), expected);
    let gateway = team.serve();
    let mut conversation = conversation(&team);
    conversation.send(&gateway);

    let learning = wait_records(&team, "learning", 1).remove(0);
    let text = format!("{SAID} by src/parser.rs, and [redacted:github-token] opens them.");
    assert_eq!(
        (&learning["text"], &learning["subject"], &learning["confidence"]),
        (&json!(text), &json!("invoices"), &json!(0.5))
    );
    assert_eq!(learning["author"], "model:scribe/small-1");
    let blob = team.env.git(&team.root, &["hash-object", "src/parser.rs"]);
    assert_eq!(learning["sources"], json!([{"path": "src/parser.rs", "blob": blob.trim()}]));
    let summaries = wait_records(&team, "session_summary", 2);
    assert_eq!(summaries[0]["author"], Value::Null, "there was one without a model first");
    assert_eq!(
        (&summaries[1]["author"], &summaries[1]["files_touched"]),
        (&learning["author"], &json!(["src/parser.rs"]))
    );
    assert_eq!(summaries[0]["session"], summaries[1]["session"]);

    let asked = scribe.wait_for(1).remove(0);
    let body: Value = serde_json::from_slice(&asked.body).unwrap();
    assert_eq!((&body["model"], &body["max_tokens"]), (&json!("small-1"), &json!(300)));
    let told = body["messages"][1]["content"].as_str().unwrap();
    assert!(told.contains(QUESTION) && told.contains("invoices are kept by src/storage.rs"), "{told}");
    assert!(told.contains(r#""answer":"ok""#), "the last answer is missing: {told}");
    for never in [TOKEN, "muninn-context", ".env", "/etc/passwd"] {
        assert!(!asked.text().contains(never), "{never} in {told}");
    }
    wait_until("what it cost", || (status(&team)["tokens_today"] == 605).then_some(()));

    conversation.send(&gateway);
    conversation.turn("Where is the archive?");
    conversation.says("Good.");
    conversation.send(&gateway);
    let asked = scribe.wait_for(2).remove(1).text();
    for told in ["And the parser?", "Where is the archive?"] {
        assert!(asked.contains(told), "{asked}");
    }
    assert!(!asked.contains(QUESTION), "it was told of that: {asked}");
    wait_records(&team, "learning", 2);
    for receipt in &receipts(&team, 2) {
        assert_eq!(
            (&receipt["model"], &receipt["reason"], &receipt["session"]),
            (&json!("scribe/small-1"), &json!("600 + 5 tokens, 2 records kept"), &json!(SESSION))
        );
    }
    let stopped = gateway.stop_cleanly();
    assert!(stopped.stderr.contains("a conversation was summarised"), "{}", stopped.stderr);
    for words in ["model=\"scribe/small-1\"", "input=600", "output=5", "records=2"] {
        assert!(stopped.stderr.contains(words), "{words} in {}", stopped.stderr);
    }
    assert!(!stopped.stderr.contains(SAID), "{}", stopped.stderr);
    assert_eq!(team.upstream.requests().len(), 3, "nothing but what the client sent");
    team.has_new_segments_alone();
}

#[test]
fn no_summary_without_a_configured_model() {
    let scribe = scribe(notes(), 600);
    let team = Team::with("repo", &known(&scribe));
    assert_eq!(status(&team), Value::Null);
    let gateway = team.serve();
    conversation(&team).send(&gateway);
    wait_records(&team, "session_summary", 1);
    gateway.stop_cleanly();
    assert_eq!((scribe.requests().len(), team.upstream.requests().len()), (0, 1));
    assert_eq!(signed(&team), 0);
}

#[test]
fn daily_token_limit_holds_across_processes() {
    const ENOUGH: &str = "the day's token budget is used up";
    let scribe = scribe(notes(), 1_900);
    let team = Team::with("repo", &named(&scribe, "max_answer_tokens = 300\ndaily_tokens = 2000\n"));
    let gateway = team.serve();
    conversation_of(&team, "first").send(&gateway);
    wait_records(&team, "learning", 1);
    conversation_of(&team, "second").send(&gateway);
    gateway.wait_logged(ENOUGH, 1);
    gateway.stop_cleanly();
    let gateway = team.serve();
    conversation_of(&team, "third").send(&gateway);
    gateway.wait_logged(ENOUGH, 1);
    conversation_of(&team, "fourth").send(&gateway);
    wait_records(&team, "session_summary", 5);
    assert_eq!(gateway.stop().stderr.matches(ENOUGH).count(), 1, "it is said once a day");
    assert_eq!(scribe.requests().len(), 1);
    assert_eq!(status(&team)["tokens_today"], 1_905);
    assert_eq!(signed(&team), 2);
}

#[test]
fn stop_does_not_wait_for_a_summary() {
    let (control, held) = script();
    let held = parking_lot::Mutex::new(Some(held));
    let scribe = Upstream::start_with(move |_| {
        let held = held.lock().take();
        held.map_or_else(|| Reply::json(200, completion(&notes(), 1)), Reply::scripted)
    });
    let team = Team::with("repo", &named(&scribe, ""));
    let gateway = team.serve();
    conversation_of(&team, "first").send(&gateway);
    scribe.wait_for(1);
    conversation_of(&team, "second").send(&gateway);
    wait_records(&team, "session_summary", 2);
    let stopped = gateway.stop_cleanly();
    control.wait_for_client_gone();
    assert!(!stopped.stderr.contains("not summarised"), "{}", stopped.stderr);
    assert_eq!((scribe.requests().len(), signed(&team)), (1, 0));
    let spent = status(&team)["tokens_today"].as_u64().unwrap();
    assert!(spent > 1_024, "what it may have cost is spent: {spent}");
}

#[test]
fn restricted_key_gets_no_summary_and_no_records() {
    let scribe = scribe(notes(), 600);
    let team = Team::with("repo", "");
    let key = |name: &str| -> Value {
        let made = team.env.stdout_of(&team.root, &["key", "new", name, "--json"]);
        serde_json::from_str(&made).unwrap()
    };
    let (ana, ben) = (key("ana"), key("ben"));
    let [anas, bens] = [&ana, &ben].map(|key| key["toml"].as_str().unwrap());
    let more = format!("{}{anas}{bens}backends = [\"mock\"]\n", named(&scribe, ""));
    team.env.connect_with(&team.upstream, &more);
    let gateway = team.env.serve(&team.root, &[]);
    wait_until("a ready index", || {
        let key = [("x-muninn-key", ana["key"].as_str().unwrap())];
        let health = gateway.request("GET", "/healthz", &key, b"").json();
        (health["index"]["settled"] == true).then_some(())
    });
    let send = |key: &Value, session: &str| {
        let key = ("x-muninn-key", key["key"].as_str().unwrap());
        let headers = [key, ("x-claude-code-session-id", session)];
        let response = gateway.post("/v1/messages", &headers, conversation(&team).body().as_bytes());
        assert_eq!(response.status, 200, "{}", response.text());
    };
    send(&ben, "bens");
    send(&ana, "anas");
    wait_records(&team, "session_summary", 1);
    assert_eq!(receipts(&team, 1)[0]["session"], "anas");
    gateway.stop_cleanly();
    assert_eq!((scribe.requests().len(), signed(&team)), (1, 2));
}

/// What a gateway says of a model's reply from which nothing comes.
fn refused(reply: impl Fn() -> Reply + Send + Sync + 'static) -> (String, Value) {
    let scribe = Upstream::start_with(move |_| reply());
    let team = Team::with("repo", &named(&scribe, ""));
    let gateway: Gateway = team.serve();
    conversation(&team).send(&gateway);
    gateway.wait_logged("a conversation was not summarised", 1);
    let stopped = gateway.stop();
    assert_eq!((scribe.requests().len(), signed(&team)), (1, 0), "{}", stopped.stderr);
    (stopped.stderr, status(&team)["tokens_today"].clone())
}

#[test]
fn useless_summary_is_counted_and_not_kept() {
    let (log, spent) = refused(|| Reply::json(200, completion(&format!("Well. {SAID}, I think."), 600)));
    assert!(log.contains("not the JSON that was asked for"), "{log}");
    assert!(!log.contains(SAID), "{log}");
    assert_eq!(spent, 605);
    let (log, spent) = refused(|| Reply::json(400, format!(r#"{{"error":{{"message":"no {TOKEN}"}}}}"#)));
    assert!(log.contains("scribe/small-1 refused (400)") && !log.contains(TOKEN), "{log}");
    assert_eq!(spent, 0, "what was refused cost nothing");
}
