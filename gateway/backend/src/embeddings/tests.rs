//! Tests against a fake server on a real socket, and against a real server if an environment variable names one.

use muninn_config::secrets::Secret;
use muninn_config::{BackendConfig, LimitsConfig};
use muninn_tests::{Recorded, Reply, Upstream};
use serde_json::{Value, json};

use super::*;
use crate::Circuits;

/// The address of a real server with an embedding model, up to the `/v1`.
const REAL: &str = "MUNINN_TEST_EMBEDDINGS";

fn backend(url: &str) -> Backend {
    let limits = LimitsConfig::default();
    let mut config = BackendConfig::new("local".to_owned(), url.to_owned(), vec![WireFormat::Chat], &limits);
    config.key = Some(Secret::new("hush".into()));
    Backend::new(config, &Circuits::local())
}

fn connect(upstream: &Upstream) -> Result<RemoteEmbedder, EmbedError> {
    rustls::crypto::ring::default_provider().install_default().ok();
    RemoteEmbedder::connect(backend(&upstream.url()), "org/model:1")
}

fn texts_of(request: &Recorded) -> Vec<String> {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    serde_json::from_value(body["input"].clone()).unwrap()
}

/// A vector that identifies its text: the text's length, 3 and 0.
fn row(index: usize, text: &str) -> Value {
    json!({"object": "embedding", "index": index, "embedding": [text.len(), 3, 0]})
}

/// All rows, the last first.
fn rows(request: &Recorded) -> Vec<Value> {
    let texts = texts_of(request);
    (0..texts.len()).rev().map(|at| row(at, &texts[at])).collect()
}

fn whole(request: &Recorded) -> Reply {
    let usage = json!({"prompt_tokens": 1, "total_tokens": 1});
    let body = json!({"object": "list", "model": "m", "data": rows(request), "usage": usage});
    Reply::json(200, body.to_string())
}

#[test]
fn vectors_come_back_in_the_order_of_the_texts() {
    let upstream = Upstream::start_with(whole);
    let embedder = connect(&upstream).unwrap();
    assert_eq!(embedder.dimensions(), 3);
    assert!(embedder.id().starts_with("remote-org-model-1-"), "{}", embedder.id());
    let vectors = embedder.embed(&["four", " \n", "", "a text"]).unwrap();
    let near = |found: &[f32], expected: [f32; 3]| found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
    assert!(near(&vectors[0], [0.8, 0.6, 0.0]), "{vectors:?}");
    assert_eq!(vectors[1..3], [vec![0.0; 3], vec![0.0; 3]]);
    assert!((vectors[3][0] / vectors[3][1] - 2.0).abs() < 1e-6, "{vectors:?}");
    let asked = &upstream.requests()[1];
    assert_eq!((asked.method.as_str(), asked.target.as_str()), ("POST", "/v1/embeddings"));
    assert_eq!(asked.headers.get("authorization"), Some("Bearer hush"));
    assert_eq!(texts_of(asked), ["four", "a text"], "blank ones are not sent");
}

#[test]
fn many_texts_are_sent_in_batches() {
    let upstream = Upstream::start_with(whole);
    let embedder = connect(&upstream).unwrap();
    let texts: Vec<String> = (1..=BATCH * 2 + 1).map(|length| "x".repeat(length)).collect();
    let given: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = embedder.embed(&given).unwrap();
    for (text, vector) in texts.iter().zip(&vectors) {
        let length = vector[0] / vector[1] * 3.0;
        assert!((length - text.len() as f32).abs() < 1e-2, "{length} for {}", text.len());
    }
    let sizes: Vec<usize> = upstream.requests().iter().map(|request| texts_of(request).len()).collect();
    assert_eq!(sizes, [1, BATCH, BATCH, 1]);
}

#[test]
fn a_wrong_answer_is_an_error_with_the_reason() {
    type Responder = fn(&Recorded) -> Reply;
    let cases: [(Responder, &str); 7] = [
        (|_| Reply::json(404, r#"{"error":{"message":"no such model"}}"#), "no such model"),
        (|_| Reply::json(200, "{}"), "missing field"),
        (|_| Reply::hangup(), "broke off"),
        (|_| Reply::json(200, r#"{"data":[]}"#), "0 vectors"),
        (
            |request| {
                let mut rows = rows(request);
                rows.pop();
                Reply::json(200, json!({ "data": rows }).to_string())
            },
            "1 vectors",
        ),
        (|_| Reply::json(200, json!({"data": [row(0, "a"), row(0, "b")]}).to_string()), "a vector for text 0"),
        (
            |_| Reply::json(200, r#"{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]}]}"#),
            "1 numbers where 3 numbers",
        ),
    ];
    for (respond, words) in cases {
        // The first request gets a good answer, because connecting must succeed.
        let upstream =
            Upstream::start_with(
                move |request| {
                    if texts_of(request).len() == 1 { whole(request) } else { respond(request) }
                },
            );
        let embedder = connect(&upstream).unwrap();
        let error = embedder.embed(&["one", "three"]).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains(&embedder.endpoint.name), "{error}");
    }
}

#[test]
fn connecting_to_a_closed_port_is_an_error() {
    rustls::crypto::ring::default_provider().install_default().ok();
    let error = RemoteEmbedder::connect(backend("http://127.0.0.1:1"), "m").err().unwrap();
    assert!(error.to_string().contains("cannot connect"), "{error}");
}

#[test]
fn the_embedder_may_be_called_from_within_a_runtime() {
    let upstream = Upstream::start_with(whole);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let embedder = connect(&upstream).unwrap();
        assert_eq!(embedder.embed(&["a"]).unwrap().len(), 1);
    });
}

#[test]
fn ids_differ_with_model_and_address() {
    let ids = [("a", "m/1"), ("a", "m:1"), ("b", "m/1"), ("a", "")].map(|(url, model)| name_of(url, model));
    let distinct: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len(), "{ids:?}");
    assert!(ids.iter().flat_map(|id| id.bytes()).all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)));
}

#[test]
fn a_real_server_embeds_similar_texts_close_together() {
    let Some(url) = std::env::var(REAL).ok() else {
        eprintln!("skipped: {REAL} names no server with an embedding model");
        return;
    };
    rustls::crypto::ring::default_provider().install_default().ok();
    let embedder = RemoteEmbedder::connect(backend(&url), "any").unwrap();
    let texts = ["a dog runs over the meadow", "a dog is running on the grass", "SELECT count(*) FROM orders", ""];
    let vectors = embedder.embed(&texts).unwrap();
    let dot = |a: usize, b: usize| vectors[a].iter().zip(&vectors[b]).map(|(a, b)| a * b).sum::<f32>();
    assert!((dot(0, 0) - 1.0).abs() < 1e-4);
    assert!(dot(0, 1) > dot(0, 2), "{} and {}", dot(0, 1), dot(0, 2));
    eprintln!("{} dimensions, alike {:.3}, unlike {:.3}", embedder.dimensions(), dot(0, 1), dot(0, 2));
}
