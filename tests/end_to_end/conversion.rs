//! Conversion: a client of each format with a backend that speaks only another format.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use muninn_tests::http::Response;
use muninn_tests::{Gateway, Recorded, Reply, TestEnv, Upstream, answers, wait_until};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::MUNINN;
use crate::formats::{ALL, ARGUMENTS, Answer, Format, TOOL, Turn, WORDS, all_pairs, backend, backends, call, pairs};
use crate::stage::{FILES, QUESTION, error_message};

const OPEN: &str = "<muninn-context>";
const CLOSE: &str = "</muninn-context>";
const SECOND: &str = "How does parse_invoice read an Invoice from a line?";

/// A gateway whose index is ready, with this configuration.
fn serve(config: &str) -> (TestEnv, Gateway) {
    let env = TestEnv::new(MUNINN);
    env.write_config(&format!("[context]\ndeadline_ms = 20000\n{config}"));
    let root = env.repository("demo", &FILES);
    let gateway = env.serve(&root, &[]);
    gateway.wait_ready();
    (env, gateway)
}

/// Three [`formats::backends`](backends). The model `chat-asked-x` reaches the first of them as `chat-sent-x`.
fn renaming(url: &str, more: &str) -> String {
    let route = |format: Format| {
        let name = format.dialect();
        format!("[[routes]]\nmodel = \"{name}-asked-*\"\nbackend = \"{name}\"\nrename = \"{name}-sent-*\"\n")
    };
    ALL.map(route).concat() + &backends(url, more)
}

/// A gateway before three [backends](renaming) that answer with a call.
fn convert() -> (Upstream, TestEnv, Gateway) {
    let upstream = Upstream::start_with(call);
    let (env, gateway) = serve(&renaming(&upstream.url(), ""));
    (upstream, env, gateway)
}

#[test]
fn content_that_cannot_be_converted_is_refused_by_name() {
    let (upstream, _env, gateway) = convert();
    for (client, spoken) in pairs() {
        let (list, model) = (client.conversation(), spoken.dialect());
        for content in [r#","content":5"#, ""] {
            let body = format!(
                r#"{{"model":"{model}-asked-1","{list}":[{{"role":"user","content":"a"}},{{"role":"user"{content}}}]}}"#
            );
            let response = gateway.post(client.path(), &[], body.as_bytes());
            assert_eq!(response.status, 400, "{client:?}: {}", response.text());
            let message = error_message(client.path(), &response);
            assert!(message.contains(&format!("`{list}[1].content`")), "{message}");
        }
        assert!(upstream.requests().iter().all(|request| request.method == "GET"));
    }
}

fn user(words: &str) -> Turn {
    Turn::User(words.to_owned())
}

fn ask(gateway: &Gateway, client: Format, session: &str, body: &str) -> Response {
    let response = gateway.post(client.path(), &[("x-session-id", session)], body.as_bytes());
    assert_eq!(response.status, 200, "{client:?}: {}", response.text());
    response
}

fn read(client: Format, response: &Response) -> Answer {
    if response.headers.get("content-type") == Some("text/event-stream") {
        client.read_stream(&response.text())
    } else {
        assert_eq!(response.headers.get("content-type"), Some("application/json"));
        client.read_whole(&response.json())
    }
}

/// The turns of a body as they stand in it.
fn conversation(format: Format, body: &[u8]) -> Vec<String> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_slice(body).unwrap();
    let turns: Vec<&RawValue> = serde_json::from_str(members[format.conversation()].get()).unwrap();
    turns.into_iter().map(|turn| turn.get().to_owned()).collect()
}

/// The text of the turns of a role, each turn's parts joined.
fn words_of_users(format: Format, body: &[u8]) -> Vec<String> {
    let turns = conversation(format, body);
    let turns = turns.iter().map(|turn| serde_json::from_str::<Value>(turn).unwrap());
    turns
        .filter(|turn| turn["role"] == "user")
        .map(|turn| match &turn["content"] {
            Value::String(words) => words.clone(),
            parts => parts.as_array().unwrap().iter().filter_map(|part| part["text"].as_str()).collect(),
        })
        .filter(|words: &String| !words.is_empty())
        .collect()
}

/// Panics unless a user's turn is the question and one block right after it.
fn assert_one_block_after(question: &str, words: &str) {
    let block = words.strip_prefix(question).unwrap_or_else(|| panic!("not first: {words}")).trim();
    assert!(block.starts_with(OPEN) && block.ends_with(CLOSE), "{words}");
    assert_eq!(block.matches(OPEN).count(), 1, "{words}");
}

fn assert_called(client: Format, answer: &Answer) {
    assert_eq!((answer.text.as_str(), &answer.failed), (WORDS, &None), "{client:?}");
    assert_eq!(answer.calls.len(), 1, "{client:?}: {answer:?}");
    let (_, name, arguments) = &answer.calls[0];
    assert_eq!((name.as_str(), arguments.as_str()), (TOOL, ARGUMENTS), "{client:?}");
    assert_eq!(answer.stop, client.stopped_for_a_call());
}

#[test]
fn each_backend_gets_its_own_format_and_each_client_its_own_answer() {
    let (upstream, env, gateway) = convert();
    for (client, spoken) in pairs() {
        let name = spoken.dialect();
        for (model, sent_as, streamed) in
            [(name.to_owned(), name.to_owned(), false), (format!("{name}-asked-x"), format!("{name}-sent-x"), true)]
        {
            let body = client.request(&model, streamed, &[user(QUESTION)]);
            let response = ask(&gateway, client, &format!("{client:?}-{model}"), &body);
            let how = format!("{client:?} -> {spoken:?}, {model}");
            assert_eq!(response.outcome(), "injected", "{how}");
            let recorded = upstream.last();
            assert_eq!((recorded.method.as_str(), recorded.target.as_str()), ("POST", spoken.path()), "{how}");
            let words = words_of_users(spoken, &recorded.body);
            assert_eq!(words.len(), 1, "{how}: {words:?}");
            assert_one_block_after(QUESTION, &words[0]);
            assert_eq!(recorded.text().matches(OPEN).count(), 1, "{how}");
            let seen: Value = serde_json::from_slice(&recorded.body).unwrap();
            assert_eq!(seen["model"], sent_as, "{how}");
            assert_eq!(seen["stream"].as_bool().unwrap_or_default(), streamed, "{how}");
            assert_eq!(seen["frobnication"], Value::Null, "{how}");
            assert!(recorded.text().contains("Be brief.") && recorded.text().contains("Looks."), "{how}");

            let answer = read(client, &response);
            assert_eq!(response.headers.get("content-type") == Some("text/event-stream"), streamed, "{how}");
            assert_eq!(answer.model, model, "{how}");
            assert_called(client, &answer);

            let dropped = response.headers.get("x-muninn-dropped").unwrap_or_default();
            assert!(dropped.contains("frobnication"), "{how}: {dropped}");
            let why = muninn_tests::why(&env, response.request_id());
            assert_eq!((&why["spoken"], &why["backend"]), (&name.into(), &name.into()), "{how}: {why}");
            assert!(why["dropped"].to_string().contains("frobnication"), "{how}: {why}");
        }
    }
}

#[test]
fn chat_backend_is_asked_for_usage() {
    let (upstream, _env, gateway) = convert();
    let body = Format::Messages.request("chat", true, &[user("hello")]);
    let response = ask(&gateway, Format::Messages, "s", &body);
    let seen: Value = serde_json::from_slice(&upstream.last().body).unwrap();
    assert_eq!(seen["stream_options"]["include_usage"], true);
    assert!(response.text().contains(r#""output_tokens":5"#), "{}", response.text());
}

#[test]
fn a_refusal_of_the_backend_is_not_to_be_repeated() {
    for (status, said, expected) in
        [(401, None, Some("false")), (403, None, Some("false")), (401, Some("true"), Some("true")), (500, None, None)]
    {
        let upstream = Upstream::start_with(move |_| {
            let reply = Reply::json(status, r#"{"error":{"message":"no","type":"x"}}"#);
            said.into_iter().fold(reply, |reply, said| reply.header("x-should-retry", said))
        });
        let (_env, gateway) = serve(&renaming(&upstream.url(), "retries = 0\n"));
        for (client, spoken) in pairs() {
            let body = client.request(spoken.dialect(), false, &[user("hello")]);
            let response = gateway.post(client.path(), &[], body.as_bytes());
            let how = format!("{client:?} -> {spoken:?}, {status} {said:?}");
            assert_eq!(response.status, status, "{how}: {}", response.text());
            assert_eq!(response.headers.get("x-should-retry"), expected, "{how}");
        }
    }
}

#[test]
fn the_header_of_the_clients_vendor_has_the_id_of_the_request() {
    let header = |client: Format| if client == Format::Messages { "request-id" } else { "x-request-id" };
    let refuses = Arc::new(AtomicBool::new(false));
    let upstream = Upstream::start_with({
        let refuses = Arc::clone(&refuses);
        move |request| {
            if refuses.load(Ordering::Relaxed) {
                let refusal = Reply::json(400, r#"{"error":{"message":"no"}}"#);
                refusal.header("request-id", "req_1").header("x-request-id", "x_1")
            } else {
                call(request)
            }
        }
    });
    let (_env, gateway) = serve(&renaming(&upstream.url(), "retries = 0\n"));
    for (client, spoken) in pairs() {
        for streamed in [false, true] {
            refuses.store(false, Ordering::Relaxed);
            let request = client.request(spoken.dialect(), streamed, &[user("hello")]);
            let response = gateway.post(client.path(), &[], request.as_bytes());
            assert_eq!(response.headers.get(header(client)), Some(response.request_id()), "{client:?} -> {spoken:?}");
            refuses.store(true, Ordering::Relaxed);
            let response = gateway.post(client.path(), &[], request.as_bytes());
            let how = format!("{client:?} -> {spoken:?}: {:?} {}", response.headers, response.text());
            let vendors = if client == Format::Messages { "req_1" } else { "x_1" };
            assert_eq!(response.headers.get(header(client)), Some(vendors), "the backend's own id: {how}");
            if client == Format::Messages && client != spoken {
                assert_eq!(response.json()["request_id"], response.request_id(), "{how}");
            }
        }
    }
}

#[test]
fn a_used_up_account_is_named_as_the_clients_format_names_it() {
    let used_up = [
        (402, r#"{"type":"error","error":{"type":"billing_error","message":"no credit"}}"#),
        (429, r#"{"error":{"message":"no credit","type":"insufficient_quota","code":"insufficient_quota"}}"#),
        (429, r#"{"error":{"message":"no credit","type":"x","code":"project_spend_limit_exceeded"}}"#),
        (400, r#"{"error":{"message":"no credit","code":"credit_balance_exhausted"}}"#),
    ];
    for (status, body) in used_up {
        let upstream = Upstream::start_with(move |_| Reply::json(status, body));
        let (_env, gateway) = serve(&renaming(&upstream.url(), "retries = 0\n"));
        for (client, spoken) in pairs() {
            let request = client.request(spoken.dialect(), false, &[user("hello")]);
            let response = gateway.post(client.path(), &[], request.as_bytes());
            let how = format!("{client:?} -> {spoken:?}, {status} {body}: {}", response.text());
            let error = &response.json()["error"];
            let expected = match client {
                Format::Messages => (402, error["type"] == "billing_error"),
                Format::Chat | Format::Responses => (429, error["code"] == "insufficient_quota"),
            };
            assert_eq!((response.status, true), expected, "{how}");
            assert_eq!(error["message"], "no credit", "{how}");
            assert_eq!(response.headers.get("x-should-retry"), Some("false"), "{how}");
        }
    }
}

#[test]
fn headers_follow_the_backends_api() {
    let sent = [
        ("anthropic-version", "2099-01-01"),
        ("anthropic-beta", "interleaved-thinking-2025-05-14"),
        ("openai-beta", "responses=v1"),
        ("accept-encoding", "gzip, br"),
        ("x-api-key", "sk-local-0123456789"),
        ("x-muninn-context", "off"),
        ("x-claude-code-session-id", "s"),
        ("user-agent", "claude-cli/2.1.0"),
    ];
    let upstream = Upstream::start_with(call);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, "dummy-key\n").unwrap();
    let (_env, gateway) = serve(&renaming(&upstream.url(), &format!("key_file = {:?}\n", file.path())));
    for (client, spoken) in pairs() {
        let body = client.request(spoken.dialect(), false, &[user("hello")]);
        assert_eq!(gateway.post(client.path(), &sent, body.as_bytes()).status, 200);
        let headers = upstream.last().headers;
        let how = format!("{client:?} -> {spoken:?}: {headers:?}");
        let (version, x_api_key, bearer) = match spoken {
            Format::Messages => (Some("2023-06-01"), Some("dummy-key"), None),
            Format::Chat | Format::Responses => (None, None, Some("Bearer dummy-key")),
        };
        assert_eq!(headers.get("anthropic-version"), version, "{how}");
        assert_eq!(headers.get("x-api-key"), x_api_key, "{how}");
        assert_eq!(headers.get("authorization"), bearer, "{how}");
        for name in ["anthropic-beta", "openai-beta"] {
            assert_eq!(headers.get(name), None, "{how}");
        }
        assert_eq!(headers.all("accept-encoding"), ["identity"], "{how}");
        assert_eq!(headers.all("content-type"), ["application/json"], "{how}");
        assert_eq!(headers.get("user-agent"), Some("claude-cli/2.1.0"), "{how}");
        let length = upstream.last().body.len().to_string();
        assert_eq!(headers.all("content-length"), [length.as_str()], "{how}");
        assert!(headers.0.iter().all(|(name, _)| !name.to_ascii_lowercase().starts_with("x-muninn-")), "{how}");
    }
}

#[test]
fn continued_conversation_extends_the_backends_prompt() {
    let (upstream, _env, gateway) = convert();
    for (client, spoken) in pairs() {
        let how = format!("{client:?} -> {spoken:?}");
        let request = |turns: &[Turn]| client.request(spoken.dialect(), true, turns);
        let first = ask(&gateway, client, &how, &request(&[user(QUESTION)]));
        let answer = read(client, &first);
        let earlier = upstream.last();
        let id = answer.calls[0].0.clone();
        let mut turns = vec![user(QUESTION), Turn::Called(id.clone()), Turn::Result(id)];
        let response = ask(&gateway, client, &how, &request(&turns));
        assert_eq!(response.outcome(), "replayed", "{how}");
        let middle = upstream.last();
        turns.push(user(SECOND));
        let response = ask(&gateway, client, &how, &request(&turns));
        assert_eq!(response.outcome(), "injected", "{how}");
        let later = upstream.last();
        assert_extends(spoken, &earlier, &middle, &how);
        assert_extends(spoken, &middle, &later, &how);
        let words = words_of_users(spoken, &later.body);
        assert_one_block_after(QUESTION, &words[0]);
        assert_one_block_after(SECOND, words.last().unwrap());
    }
}

/// Panics unless the later prompt begins with the earlier one, byte for byte. A later message may go on where the last of
/// the earlier ones ended, since one format knows results and words in one message and another does not.
fn assert_extends(spoken: Format, earlier: &Recorded, later: &Recorded, how: &str) {
    let (before, after) = (conversation(spoken, &earlier.body), conversation(spoken, &later.body));
    assert!(after.len() >= before.len(), "{how}: {before:#?} {after:#?}");
    let (last, whole) = before.split_last().unwrap();
    assert_eq!(whole, &after[..whole.len()], "{how}");
    let last = last.trim_end_matches(['}', ']', '"']);
    assert!(after[whole.len()].starts_with(last), "{how}: {last} is not what {} begins with", after[whole.len()]);
    let beside = |body: &[u8]| {
        let mut body: Value = serde_json::from_slice(body).unwrap();
        body.as_object_mut().unwrap().remove(spoken.conversation());
        body
    };
    assert_eq!(beside(&earlier.body), beside(&later.body), "{how}: system and tools stand before the conversation");
}

#[test]
fn session_keeps_its_blocks_on_another_backend() {
    let (upstream, _env, gateway) = convert();
    for (client, spoken) in pairs() {
        let how = format!("{client:?} -> {spoken:?}");
        let first = ask(&gateway, client, &how, &client.request(client.dialect(), false, &[user(QUESTION)]));
        let id = read(client, &first).calls[0].0.clone();
        let given = words_of_users(client, &upstream.last().body).remove(0);
        let turns = [user(QUESTION), Turn::Called(id.clone()), Turn::Result(id), user("Thanks a lot.")];
        ask(&gateway, client, &how, &client.request(spoken.dialect(), false, &turns));
        assert_eq!(upstream.last().target, spoken.path(), "{how}");
        let words = words_of_users(spoken, &upstream.last().body);
        assert_one_block_after(QUESTION, &words[0]);
        let block = |words: &str| words[words.find(OPEN).unwrap()..].trim_end().to_owned();
        assert_eq!(block(&words[0]), block(&given), "{how}");
    }
}

#[test]
fn a_fallback_may_speak_another_format() {
    for (client, spoken) in pairs() {
        let first = Upstream::start_with(|_| Reply::json(500, r#"{"error":{"message":"not now"}}"#));
        let fallback = Upstream::start_with(call);
        let config = [
            backend("a", &first.url(), client),
            "fallbacks = [\"b\"]\n".to_owned(),
            backend("b", &fallback.url(), spoken),
        ];
        let (env, gateway) = serve(&config.concat());
        for streamed in [false, true] {
            let body = client.request("m", streamed, &[user(QUESTION)]);
            let response = ask(&gateway, client, "s", &body);
            assert_called(client, &read(client, &response));
            assert!(response.headers.get("x-muninn-dropped").is_some(), "{client:?} -> {spoken:?}");
            assert_one_block_after(QUESTION, &words_of_users(spoken, &fallback.last().body)[0]);
            let why = muninn_tests::why(&env, response.request_id());
            assert_eq!((&why["backend"], &why["spoken"]), (&"b".into(), &spoken.dialect().into()), "{why}");
        }
        let given = words_of_users(client, &first.last().body).remove(0);
        assert_one_block_after(QUESTION, &given);
    }
}

/// Answers as [`call`] does. A messages backend also shows a search that its vendor ran.
fn searching_call(request: &Recorded) -> Reply {
    const SEARCH: &str = r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}"#;
    let spoken = Format::Messages;
    if request.target != spoken.path() {
        return call(request);
    }
    if answers::wants_stream(&request.body) {
        let start = format!(r#"{{"type":"content_block_start","index":9,"content_block":{SEARCH}}}"#);
        let search = spoken.event(&start) + &spoken.event(r#"{"type":"content_block_stop","index":9}"#);
        let (start, blocks) = ("event: content_block_start", spoken.streamed_call());
        return Reply::new(200, "text/event-stream", blocks.replacen(start, &format!("{search}{start}"), 1));
    }
    let mut answer: Value = serde_json::from_str(&spoken.whole_call()).unwrap();
    answer["content"].as_array_mut().unwrap().insert(0, serde_json::from_str(SEARCH).unwrap());
    Reply::json(200, answer.to_string())
}

#[test]
fn losses_of_an_answer_are_on_the_receipt() {
    const LOST: &str = "answer.server_tool_use";
    let upstream = Upstream::start_with(searching_call);
    let (env, gateway) = serve(&renaming(&upstream.url(), ""));
    for (client, spoken) in pairs() {
        for streamed in [false, true] {
            let how = format!("{client:?} -> {spoken:?}, {streamed}");
            let is_lost = spoken == Format::Messages;
            let body = client.request(spoken.dialect(), streamed, &[user(QUESTION)]);
            let response = ask(&gateway, client, &how, &body);
            assert_called(client, &read(client, &response));
            // The head of a stream is sent before the answer is read.
            let header = response.headers.get("x-muninn-dropped").unwrap_or_default();
            assert_eq!(header.contains(LOST), is_lost && !streamed, "{how}: {header}");
            wait_until(&how, || {
                let why = muninn_tests::why(&env, response.request_id());
                let names: Vec<_> = why["dropped"].as_array()?.iter().map(|field| field[0].as_str().unwrap()).collect();
                assert!(names.contains(&"frobnication"), "{how}: {why}");
                (names.contains(&LOST) == is_lost).then_some(())
            });
        }
    }
}

#[test]
fn test_readers_read_each_format() {
    for (format, _) in all_pairs().filter(|(client, backend)| client == backend) {
        assert_called(format, &format.read_stream(&format.streamed_call()));
        assert_called(format, &format.read_whole(&serde_json::from_str(&format.whole_call()).unwrap()));
    }
}
