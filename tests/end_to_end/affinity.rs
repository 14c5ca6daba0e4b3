//! Affinity: conversations stay at the backend and the key that answered them, and new ones are shared out.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::thread;

use muninn_tests::http::Response;
use muninn_tests::{Gateway, Recorded, Reply, TestEnv, Upstream, answers, why};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::MUNINN;
use crate::resilience::{failing, serve};

const CHAT: &str = "/v1/chat/completions";

/// A backend with three keys, and one fallback.
fn with_keys(env: &TestEnv, first: &Upstream, fallback: &Upstream) -> String {
    let keys = ["one", "two", "three"].map(|key| {
        let file = env.path(key);
        std::fs::write(&file, format!("sk-{key}\n")).unwrap();
        format!("{{ file = \"{}\" }}", file.display())
    });
    let entry = first.backend("first");
    format!("{entry}api_keys = [{}]\nfallbacks = [\"second\"]\n{}", keys.join(", "), fallback.backend("second"))
}

fn ask(gateway: &Gateway, session: &str, turns: usize) -> Response {
    ask_as(gateway, session, session, turns)
}

/// Asks for a turn of a conversation with these words.
fn ask_as(gateway: &Gateway, session: &str, words: &str, turns: usize) -> Response {
    let message = |turn: usize| {
        let role = if turn.is_multiple_of(2) { "user" } else { "assistant" };
        json!({"role": role, "content": format!("{words}, turn {turn}")})
    };
    let messages: Vec<Value> = (0..turns * 2 - 1).map(message).collect();
    let body = json!({"model": "m", "messages": messages}).to_string();
    gateway.post(CHAT, &[("x-session-id", session), ("x-muninn-context", "off")], body.as_bytes())
}

fn key_of(request: &Recorded) -> String {
    request.headers.get("authorization").unwrap_or_default().to_owned()
}

#[test]
fn conversations_are_shared_out_between_keys_and_stay_with_theirs() {
    let (first, second) = (Upstream::start(), Upstream::start());
    let env = TestEnv::new(MUNINN);
    env.write_config(&with_keys(&env, &first, &second));
    let root = env.repository("demo", &[]);
    let gateway = env.serve(&root, &[]);
    let mut keys = BTreeMap::<String, Vec<String>>::new();
    for turns in 1..4 {
        for session in ["a", "b", "c", "d", "e", "f"] {
            let response = ask(&gateway, session, turns);
            assert_eq!(response.status, 200, "{}", response.text());
            keys.entry(session.to_owned()).or_default().push(key_of(&first.last()));
        }
    }
    let mut shares = BTreeMap::<String, usize>::new();
    for (session, keys) in &keys {
        assert!(keys.iter().all(|key| *key == keys[0]), "{session}: {keys:?}");
        *shares.entry(keys[0].clone()).or_default() += 1;
    }
    assert_eq!(shares.values().collect::<Vec<_>>(), [&2, &2, &2], "{shares:?}");
    assert!(second.requests().is_empty());
    // The reason is on the receipt.
    let receipt = why(&env, ask(&gateway, "a", 4).request_id());
    assert_eq!((&receipt["placement"], &receipt["status"]), (&json!("kept"), &json!(200)));
    let shown = env.stdout_of(&root, &["why", receipt["id"].as_str().unwrap()]);
    let line = format!("first key {}, status 200, its prompt cache is there", receipt["backend_key"]);
    assert!(shown.contains(&line), "{shown}");
    assert_eq!(why(&env, ask(&gateway, "g", 1).request_id())["placement"], "new");
    // A restart does not move it.
    gateway.stop_cleanly();
    let gateway = env.serve(&root, &[]);
    for (session, keys) in &keys {
        assert_eq!(ask(&gateway, session, 5).status, 200);
        assert_eq!(key_of(&first.last()), keys[0], "{session}");
    }
}

#[test]
fn a_key_that_is_refused_is_replaced_by_the_next_and_the_conversation_stays_there() {
    for status in [401, 402, 403, 429] {
        let refused = Arc::new(Mutex::new(String::new()));
        let known = Arc::clone(&refused);
        let first = Upstream::start_with(move |request| {
            if *known.lock() == key_of(request) {
                Reply::json(status, r#"{"error":{"message":"not with this key"}}"#)
            } else {
                answers::ok(request)
            }
        });
        let second = Upstream::start();
        let env = TestEnv::new(MUNINN);
        env.write_config(&with_keys(&env, &first, &second));
        let gateway = env.serve(&env.repository("demo", &[]), &[]);
        assert_eq!(ask(&gateway, "a", 1).status, 200);
        let before = key_of(&first.last());
        refused.lock().clone_from(&before);
        let response = ask(&gateway, "a", 2);
        assert_eq!(response.status, 200, "{status}");
        let receipt = why(&env, response.request_id());
        assert_eq!((&receipt["backend"], &receipt["placement"]), (&json!("first"), &json!("moved")), "{status}");
        let after = key_of(&first.last());
        assert_ne!(before, after);
        refused.lock().clear();
        assert_eq!(ask(&gateway, "a", 3).status, 200);
        assert_eq!(key_of(&first.last()), after, "{status}: it stays where it was answered");
        assert!(second.requests().is_empty(), "{status}");
    }
}

#[test]
fn a_backend_that_fails_is_not_asked_with_its_other_keys() {
    let (first, second) = (failing(500, &[]), Upstream::start());
    let env = TestEnv::new(MUNINN);
    env.write_config(&with_keys(&env, &first, &second));
    let gateway = env.serve(&env.repository("demo", &[]), &[]);
    assert_eq!(ask(&gateway, "a", 1).status, 200);
    assert_eq!((first.requests().len(), second.requests().len()), (1, 1));
    let receipt = why(&env, ask(&gateway, "a", 2).request_id());
    assert_eq!((first.requests().len(), second.requests().len()), (1, 2), "it stays at the fallback");
    assert_eq!((&receipt["backend"], &receipt["placement"]), (&json!("second"), &json!("kept")));
}

#[test]
fn routes_with_one_pattern_share_their_models() {
    let [one, two] = [Upstream::start(), Upstream::start()];
    let route = |name: &str| format!("[[routes]]\nmodel = \"*\"\nbackend = \"{name}\"\n");
    let (_env, gateway) = serve(&[one.backend("one"), two.backend("two"), route("one"), route("two")].concat());
    for turns in 1..3 {
        for session in 0..10 {
            assert_eq!(ask(&gateway, &session.to_string(), turns).status, 200);
        }
    }
    assert_eq!((one.requests().len(), two.requests().len()), (10, 10));
}

/// Backends that cache prompts: of each conversation the turns that they have answered with a key.
#[derive(Default)]
struct Caches {
    turns: HashMap<(String, String), usize>,
    requests: HashMap<String, usize>,
    read: usize,
    cached: usize,
}

/// Every how many requests of a conversation's history a backend fails; `None`: never.
type Faults = Option<u64>;

/// Answers and counts what was cached. Some requests fail the first time that they arrive: in ways that are retried, that
/// another key mends, and that another backend has to answer.
fn cached(caches: &Mutex<Caches>, request: &Recorded, faults: Faults) -> Reply {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let messages = body["messages"].as_array().unwrap();
    let session = messages[0]["content"].as_str().unwrap().to_owned();
    let mut caches = caches.lock();
    let count = caches.requests.entry(format!("{session} {}", messages.len())).or_default();
    *count += 1;
    let first_time = *count == 1;
    let hash = blake3::hash(format!("{session} {}", messages.len()).as_bytes());
    let drawn = u64::from_le_bytes(hash.as_bytes()[..8].try_into().unwrap());
    if faults.is_some_and(|every| first_time && drawn.is_multiple_of(every)) {
        let error = |status| Reply::json(status, r#"{"error":{"message":"not now"}}"#);
        return match hash.as_bytes()[8] % 6 {
            0 => error(500),
            1 => error(502),
            2 => error(503),
            3 => error(529),
            4 => error(429),
            _ => Reply::hangup(),
        };
    }
    let place = format!("{} {}", request.target, key_of(request));
    let known = caches.turns.insert((place, session), messages.len()).unwrap_or_default();
    caches.cached += known;
    caches.read += messages.len();
    drop(caches);
    Reply::json(200, answers::whole(CHAT))
}

/// The share of the prompts' messages that was cached, over 1,000 conversations of four turns.
fn cached_share(faults: Faults, is_one_conversation: bool) -> f64 {
    let caches = Arc::new(Mutex::new(Caches::default()));
    let known = Arc::clone(&caches);
    let upstream = Upstream::start_with(move |request| cached(&known, request, faults));
    let env = TestEnv::new(MUNINN);
    let keys = ["one", "two"].map(|key| {
        let file = env.path(key);
        std::fs::write(&file, format!("sk-{key}\n")).unwrap();
        format!("{{ file = \"{}\" }}", file.display())
    });
    let backend = |name: &str| {
        format!(
            "[[backends]]\nname = \"{name}\"\nurl = \"{}/{name}/v1\"\ndialect = \"chat\"\napi_keys = [{}]\nfallbacks = [\"{}\"]\n\
             [[routes]]\nmodel = \"*\"\nbackend = \"{name}\"\nfallbacks = [\"{}\"]\n",
            upstream.url(),
            keys.join(", "),
            if name == "a" { "b" } else { "a" },
            if name == "a" { "b" } else { "a" },
        )
    };
    env.write_config(&[backend("a"), backend("b")].concat());
    let gateway = env.serve(&env.repository("demo", &[]), &[]);
    thread::scope(|scope| {
        for worker in 0..4 {
            let gateway = &gateway;
            scope.spawn(move || {
                for turns in 1..5 {
                    for number in (worker..1_000).step_by(4) {
                        let words = format!("conversation {number}");
                        let session = if is_one_conversation { words.clone() } else { format!("{words} {turns}") };
                        let response = ask_as(gateway, &session, &words, turns);
                        assert_eq!(response.status, 200, "{}", response.text());
                    }
                }
            });
        }
    });
    let caches = caches.lock();
    caches.cached as f64 / caches.read as f64
}

#[test]
fn faults_cost_less_than_a_twentieth_of_what_is_cached() {
    let without_faults = cached_share(None, true);
    let with_faults = cached_share(Some(20), true);
    let without_affinity = cached_share(None, false);
    println!(
        "cached: {without_faults:.4} without faults, {with_faults:.4} with a fault in every 20th request, \
         {without_affinity:.4} without affinity"
    );
    assert!(with_faults >= 0.95 * without_faults, "{with_faults} of {without_faults}");
    assert!(without_affinity < 0.6 * without_faults, "{without_affinity} of {without_faults}");
}
