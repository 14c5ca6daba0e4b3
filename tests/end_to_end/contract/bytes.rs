//! All bytes that a backend and a client get in three-turn conversations: all nine pairs of formats, streamed and not,
//! with a block in the first turn and another in the last.

use std::fmt::Write;

use muninn_tests::http::{Headers, Response};
use muninn_tests::{Gateway, Recorded, TestEnv, Upstream};
use regex::Regex;

use super::assert_recorded;
use crate::MUNINN;
use crate::formats::{ALL, Format, Turn, all_pairs, backend, call};
use crate::stage::{FILES, QUESTION};

const SECOND: &str = "How does parse_invoice read an Invoice from a line?";

/// Parts that differ between runs: ids with a time in them, times, and addresses.
struct Masks(Vec<(Regex, &'static str)>);

impl Masks {
    fn new() -> Masks {
        let masks = [
            (r"127\.0\.0\.1:\d+", "<address>"),
            (r"\b[0-9A-HJKMNP-TV-Z]{26}\b", "<ulid>"),
            (r"(?i)_[0-9a-z]{26}\d?\b", "_<ulid>"),
            (r#""created(_at)?":\d{9,}"#, "\"created$1\":<time>"),
            (r#""completed_at":\d{9,}"#, "\"completed_at\":<time>"),
            (r"(?m)^date: .*$", "date: <date>"),
        ];
        Masks(masks.into_iter().map(|(mask, by)| (Regex::new(mask).unwrap(), by)).collect())
    }

    fn apply(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (mask, by)| mask.replace_all(&text, *by).into_owned())
    }
}

/// Three backends of one format each, reached by the model's name.
struct World {
    upstream: Upstream,
    gateway: Gateway,
    _env: TestEnv,
}

impl World {
    fn new() -> World {
        let upstream = Upstream::start_with(call);
        let mut config = "[context]\ndeadline_ms = 20000\n".to_owned();
        for format in ALL {
            let name = format.dialect();
            config.push_str(&backend(name, &upstream.url(), format));
            writeln!(config, "[[routes]]\nmodel = \"{name}-*\"\nbackend = \"{name}\"\nrename = \"served-*\"").unwrap();
        }
        let env = TestEnv::new(MUNINN);
        env.write_config(&config);
        let root = env.repository("demo", &FILES);
        let gateway = env.serve(&root, &[]);
        gateway.wait_ready();
        World { upstream, gateway, _env: env }
    }

    /// Sends one request and writes down what arrived on both sides.
    fn exchange(&self, text: &mut String, title: &str, target: &str, headers: &[(&str, &str)], body: &str) {
        let before = self.upstream.requests().len();
        let response = self.gateway.post(target, headers, body.as_bytes());
        writeln!(text, "=== {title}").unwrap();
        for request in &self.upstream.requests()[before..] {
            writeln!(text, "--- upstream\n{}", shown_request(request)).unwrap();
        }
        writeln!(text, "--- client\n{}", shown_response(&response)).unwrap();
    }
}

fn shown_headers(headers: &Headers) -> String {
    headers.0.iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
}

fn shown_request(request: &Recorded) -> String {
    let head = shown_headers(&request.headers);
    format!("{} {}\n{head}\n{}", request.method, request.target, request.text())
}

fn shown_response(response: &Response) -> String {
    format!("{}\n{}\n{}", response.status, shown_headers(&response.headers), response.text())
}

fn turns() -> [Vec<Turn>; 3] {
    let user = |words: &str| Turn::User(words.to_owned());
    let called = |id: &str| [Turn::Called(id.to_owned()), Turn::Result(id.to_owned())];
    let first = vec![user(QUESTION)];
    let second = [&first[..], &called("call_1")].concat();
    let third = [&second[..], &called("call_2"), &[user(SECOND)]].concat();
    [first, second, third]
}

#[test]
fn conversations() {
    let (world, masks) = (World::new(), Masks::new());
    for (client, spoken) in all_pairs() {
        let (mut text, pair) = (String::new(), format!("{}-{}", client.dialect(), spoken.dialect()));
        for (turns, streamed) in turns().iter().zip([false, true, true]) {
            let model = format!("{}-1", spoken.dialect());
            let body = client.request(&model, streamed, turns);
            let title = format!("{} turns, {}", turns.len(), if streamed { "streamed" } else { "whole" });
            world.exchange(&mut text, &title, client.path(), &[("x-session-id", &pair)], &body);
        }
        assert_recorded(&format!("bytes/{pair}"), &masks.apply(&text));
    }
}

#[test]
fn other_requests() {
    let (world, masks) = (World::new(), Masks::new());
    let mut text = String::new();
    let count = Format::Messages.request("messages-1", false, &turns()[0]);
    for model in ALL.map(Format::dialect) {
        let count = count.replace("messages-1", &format!("{model}-1"));
        world.exchange(&mut text, &format!("count for {model}"), "/v1/messages/count_tokens", &[], &count);
    }
    for format in ALL {
        let name = format.dialect();
        let path = format.path();
        let title = |what: &str| format!("{name}: {what}");
        let asked = format.request(&format!("{name}-1"), false, &turns()[0]);
        world.exchange(&mut text, &title("probe of one token"), path, &[], &asked.replace("1000", "1"));
        world.exchange(&mut text, &title("switched off"), path, &[("x-muninn-context", "off")], &asked);
        world.exchange(
            &mut text,
            &title("pack alone"),
            path,
            &[],
            &asked.replace(&format!("{name}-1"), "muninn/context"),
        );
        world.exchange(&mut text, &title("no backend"), path, &[], &asked.replace(&format!("{name}-1"), "nobody-1"));
        world.exchange(&mut text, &title("not JSON"), path, &[], "{");
    }
    let embedded = r#"{"model":"chat-1","input":"words"}"#;
    world.exchange(&mut text, "embeddings", "/v1/embeddings", &[], embedded);
    for (method, target) in [("GET", "/v1/models"), ("GET", "/v1/nothing"), ("GET", "/"), ("PUT", "/v1/messages")] {
        let response = world.gateway.request(method, target, &[], b"");
        writeln!(text, "=== {method} {target}\n{}", shown_response(&response)).unwrap();
    }
    assert_recorded("bytes/other", &masks.apply(&text));
}
