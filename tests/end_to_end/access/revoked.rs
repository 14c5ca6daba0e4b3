//! A reload that revokes a key ends the requests of its holder, and no others.

use muninn_tests::http::{Streaming, stream};
use muninn_tests::{Gateway, Recorded, Reply, TestEnv, Upstream, answers, until_closed};

use std::io::Write as _;

use super::stage::{Key, new_key};
use crate::MUNINN;
use crate::formats::{ALL, Format};
use crate::stage::FILES;

const IN_FORCE: &str = "the configuration was reloaded";
const REVOKED: &str = "the access was revoked";

/// The beginning of a stream, after which the backend is silent. A request for `never` gets no head either.
fn hangs(request: &Recorded) -> Reply {
    if request.target == "/v1/models" {
        return answers::ok(request);
    }
    let format = ALL.into_iter().find(|format| format.path() == request.target);
    let is_silent = request.text().contains("never");
    let begins = format.map(|format| {
        let whole = format.streamed_call();
        let first = whole.find("\n\n").map_or(whole.len(), |end| end + 2);
        whole[..first].to_owned()
    });
    Reply::written(move |mut socket| {
        if let Some(begins) = begins.filter(|_| !is_silent) {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            socket.write_all(head.as_bytes())?;
            socket.write_all(&muninn_tests::http::chunk(begins))?;
        }
        until_closed(socket)
    })
}

struct Stage {
    env: TestEnv,
    upstream: Upstream,
    gateway: Gateway,
    settings: String,
    ana: Key,
    ben: Key,
}

impl Stage {
    /// A gateway for ana and ben. The backend speaks one format, so that the others are converted.
    fn new(dialect: &str) -> Stage {
        Stage::with(dialect, "")
    }

    /// [`Stage::new`] with more tables.
    fn with(dialect: &str, more: &str) -> Stage {
        let (env, upstream) = (TestEnv::new(MUNINN), Upstream::start_with(hangs));
        let root = env.repository("demo", &FILES);
        let (ana, ben) = (new_key(&env, "ana"), new_key(&env, "ben"));
        let settings = format!(
            "[[backends]]\nname = \"mock\"\nurl = \"{}\"\ndialect = \"{dialect}\"\nretries = 0\n[context]\nenabled = false\n{more}",
            upstream.url()
        );
        env.write_config(&format!("{settings}{}{}", ana.toml, ben.toml));
        let gateway = env.serve(&root, &[]);
        Stage { env, upstream, gateway, settings, ana, ben }
    }

    fn begin(&self, format: Format, key: &Key, words: &str) -> Streaming {
        let body = format!(
            r#"{{"model":"m","stream":true,"max_tokens":9,"messages":[{{"role":"user","content":"{words}"}}],"input":"{words}"}}"#
        );
        let headers = [("content-type", "application/json"), key.header()];
        stream(self.gateway.address, "POST", format.path(), &headers, body.as_bytes())
    }

    fn reload(&self, keys: &str) {
        self.env.write_config(&format!("{}{keys}", self.settings));
        self.gateway.hang_up();
    }
}

/// The text after which each format's stream is over.
fn error_event(format: Format) -> &'static str {
    match format.path() {
        "/v1/messages" => "event: error",
        "/v1/responses" => "response.failed",
        _ => "\"error\"",
    }
}

#[test]
fn streams_of_a_revoked_key_end_with_an_error_and_are_cancelled_at_the_backend() {
    for dialect in ["messages", "chat", "responses"] {
        let stage = Stage::new(dialect);
        let streams: Vec<_> = ALL
            .into_iter()
            .map(|format| (format, stage.begin(format, &stage.ben, "hi"), stage.begin(format, &stage.ana, "hi")))
            .collect();
        stage.reload(&stage.ana.toml);
        stage.gateway.wait_logged(IN_FORCE, 1);
        let mut kept = Vec::new();
        for (format, mut bens, anas) in streams {
            let rest = String::from_utf8(bens.rest().unwrap()).unwrap();
            assert!(
                rest.contains(REVOKED) && rest.contains(error_event(format)),
                "{dialect} to {}: {rest}",
                format.path()
            );
            kept.push(anas);
        }
        // Those of ana go on.
        muninn_tests::wait_until("the end of ben's requests at the backend", || {
            (stage.upstream.open_connections() == ALL.len()).then_some(())
        });
        drop(kept);
        let (format, refused) = (ALL[0], "hi");
        assert_eq!(stage.begin(format, &stage.ben, refused).status, 401);
    }
}

#[test]
fn requests_without_an_answer_yet_get_an_error() {
    let stage = Stage::new("messages");
    let (address, key) = (stage.gateway.address, stage.ben.key.clone());
    let waiting = std::thread::spawn(move || {
        let body = br#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"never"}]}"#;
        let headers = [("content-type", "application/json"), ("x-muninn-key", &*key)];
        muninn_tests::http::request(address, "POST", "/v1/messages", &headers, body)
    });
    stage.upstream.wait_for(1);
    stage.reload(&stage.ana.toml);
    let refused = waiting.join().unwrap();
    assert_eq!(refused.status, 401, "{}", refused.text());
    assert!(refused.text().contains(REVOKED), "{}", refused.text());
    stage.upstream.wait_closed(1);
}

#[test]
fn reload_ends_what_it_no_longer_permits_and_nothing_else() {
    let format = ALL[0];
    for (change, keys, goes_on) in [
        ("a rate limit", "ANA\nrequests_per_minute = 90\n", true),
        ("another key goes", "ANA\n", true),
        ("restricted to models", "ANA\nmodels = [\"m*\"]\nBEN", false),
        ("restricted to backends", "ANA\nbackends = [\"mock\"]\nBEN", false),
        ("all keys go", "", false),
    ] {
        let stage = Stage::new("messages");
        let mut running = stage.begin(format, &stage.ana, "hi");
        stage.reload(&keys.replace("ANA", &stage.ana.toml).replace("BEN", &stage.ben.toml));
        stage.gateway.wait_logged(IN_FORCE, 1);
        if goes_on {
            assert_eq!(stage.upstream.open_connections(), 1, "{change}");
        } else {
            let rest = String::from_utf8(running.rest().unwrap()).unwrap();
            assert!(rest.contains(REVOKED), "{change}: {rest}");
        }
    }
}

/// A tool that asks a model takes long. Without progress the answer is one JSON object, with it a stream.
#[test]
fn calls_of_tools_end_with_the_key() {
    for token in ["", r#","_meta":{"progressToken":"p"}"#] {
        let explorer = "[mcp]\ntools = [\"explore\"]\n[explore]\nbackend = \"mock\"\nmodel = \"never\"\n";
        let stage = Stage::with("messages", explorer);
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"explore","arguments":{{"question":"How does the bucket refill?"}}{token}}}}}"#
        );
        let (address, key) = (stage.gateway.address, stage.ben.key.clone());
        let (begun, is_streaming) = std::sync::mpsc::channel();
        let calling = std::thread::spawn(move || {
            let headers = [
                ("content-type", "application/json"),
                ("accept", "application/json, text/event-stream"),
                ("x-muninn-key", &*key),
            ];
            let mut answer = stream(address, "POST", "/mcp", &headers, call.as_bytes());
            begun.send(()).ok();
            (answer.status, answer.rest())
        });
        stage.upstream.wait_for(1);
        if !token.is_empty() {
            is_streaming.recv().unwrap();
        }
        stage.reload(&stage.ana.toml);
        let (status, rest) = calling.join().unwrap();
        if token.is_empty() {
            let text = String::from_utf8(rest.unwrap()).unwrap();
            assert!(status == 401 && text.contains(REVOKED), "{status}: {text}");
        } else {
            assert!(status == 200 && rest.is_err(), "broken off: {status} {rest:?}");
        }
    }
}

#[test]
fn first_key_ends_requests_of_callers_without_one() {
    let stage = Stage::new("messages");
    stage.reload("");
    stage.gateway.wait_logged(IN_FORCE, 1);
    let mut running = stage.begin(ALL[0], &stage.ana, "hi");
    assert_eq!(running.status, 200, "without keys, a key does not matter");
    stage.reload("[explore]\nmode = \"off\"\n");
    stage.gateway.wait_logged(IN_FORCE, 2);
    assert_eq!(stage.upstream.open_connections(), 1, "there are still no keys");
    stage.reload(&stage.ana.toml);
    let rest = String::from_utf8(running.rest().unwrap()).unwrap();
    assert!(rest.contains(REVOKED), "{rest}");
}
