//! The answer to a conversation's last question is learned from, although no request repeats it.

use parking_lot::Mutex;

use muninn_tests::http::{Response, stream};
use muninn_tests::{Control, Gateway, Recorded, Reply, Upstream, answers, script, wait_until};
use serde_json::{Value, json};

use crate::agent::Conversation;
use crate::compressed::encoded;
use crate::formats::{ALL, Format, all_pairs, backend};
use crate::learning::Team;
use crate::stage::{QUESTION, quoted, write_notes};

/// An answer that cites files, and one that is not there.
const ANSWER: &str =
    "Invoices are archived by `src/storage.rs:10-14`, see [the parser](src/parser.rs#L8) and src/none.rs.";
/// The files.
const CITED: [&str; 2] = ["src/storage.rs", "src/parser.rs"];
const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

/// The answer with this text to a request, as [`answers::ok`] answers it.
fn saying(text: &str, request: &Recorded) -> Reply {
    let path = request.target.as_str();
    if answers::wants_stream(&request.body) {
        Reply::new(200, "text/event-stream", with_text(answers::streamed(path), text))
    } else {
        Reply::json(200, with_text(answers::whole(path), text))
    }
}

fn with_text(answer: &str, text: &str) -> String {
    answer.replace("\"ok\"", &quoted(text))
}

/// A backend that always gives this answer.
fn speaker(text: impl Into<String>) -> Upstream {
    let text = text.into();
    Upstream::start_with(move |request| match request.method.as_str() {
        "POST" => saying(&text, request),
        _ => answers::ok(request),
    })
}

fn team(text: &str, more: &str) -> Team {
    Team::before(speaker(text), "repo", more)
}

/// Asks a question in a session of its own.
fn ask(gateway: &Gateway, format: Format, (model, streamed): (&str, bool), session: &str, question: &str) -> Response {
    let conversation = match format {
        Format::Responses => "input",
        Format::Chat | Format::Messages => "messages",
    };
    let mut body = json!({"model": model, "max_tokens": 100, "stream": streamed});
    body[conversation] = json!([{"role": "user", "content": question}]);
    let response = gateway.post(format.path(), &[("x-session-id", session)], body.to_string().as_bytes());
    assert_eq!(response.status, 200, "{format:?}: {}", response.text());
    response
}

/// The files of each `context_hit`, with their relevance.
fn hits(team: &Team) -> Vec<(Value, Value)> {
    let records = team.segments().into_iter().map(|(_, record)| record);
    let hits = records.filter(|record| record["type"] == "context_hit");
    hits.map(|record| (record["files"].clone(), record["relevance"].clone())).collect()
}

fn learnings(team: &Team) -> Vec<Value> {
    let records = team.segments().into_iter().map(|(_, record)| record);
    records.filter(|record| record["type"] == "learning").collect()
}

#[test]
fn cited_files_are_learned_in_every_format_streamed_whole_and_converted() {
    let upstream = speaker(ANSWER);
    let others = ALL.map(|format| {
        let name = format.dialect();
        let route = format!("[[routes]]\nmodel = \"by-{name}\"\nbackend = \"{name}\"\n");
        backend(name, &upstream.url(), format) + &route
    });
    let team = Team::before(upstream, "repo", &others.concat());
    let gateway = team.serve();
    let mut asked = 0;
    for (client, spoken) in all_pairs() {
        for streamed in [true, false] {
            let (model, session) = (format!("by-{}", spoken.dialect()), format!("{client:?} {spoken:?} {streamed}"));
            let response = ask(&gateway, client, (&model, streamed), &session, QUESTION);
            assert!(response.text().contains("src/storage.rs:10-14"), "{}", response.text());
            asked += 1;
        }
    }
    gateway.stop_cleanly();
    assert_eq!(hits(&team), vec![(json!(CITED), json!(0.8)); asked]);
}

#[test]
fn compressed_answers_are_learned_from() {
    let upstream = Upstream::start_with(|request| {
        if request.method != "POST" {
            return answers::ok(request);
        }
        let streamed = answers::wants_stream(&request.body);
        let kind = if streamed { "text/event-stream" } else { "application/json" };
        let body = encoded("gzip", &saying(ANSWER, request).body());
        Reply::new(200, kind, body).header("content-encoding", "gzip")
    });
    let team = Team::before(upstream, "repo", "");
    let gateway = team.serve();
    for (format, streamed) in [(Format::Messages, true), (Format::Chat, false)] {
        ask(&gateway, format, ("m", streamed), &format!("{format:?}"), QUESTION);
    }
    gateway.stop_cleanly();
    assert_eq!(hits(&team), vec![(json!(CITED), json!(0.8)); 2]);
}

#[test]
fn replayed_answer_is_not_learned_twice() {
    let team = team(ANSWER, "[memory]\nidle_ms = 1\n");
    let gateway = team.serve();
    let mut conversation = Conversation::new(&team.root);
    conversation.says(QUESTION);
    conversation.send(&gateway);
    let first = wait_until("the last answer is learned from", || Some(hits(&team)).filter(|hits| !hits.is_empty()));
    assert_eq!(first, [(json!(CITED), json!(0.8))]);
    conversation.answers(ANSWER);
    conversation.says("And what does it return?");
    conversation.send(&gateway);
    gateway.stop_cleanly();
    // One for each question: the second one got the same answer.
    let segments = team.segments();
    let hashes: Vec<&Value> = segments.iter().map(|(_, record)| &record["query_hash"]).collect();
    assert_eq!(hashes.len(), 2, "{segments:?}");
    assert_ne!(hashes[0], hashes[1]);
    // A new process knows what was learned.
    let gateway = team.serve();
    conversation.send(&gateway);
    gateway.stop_cleanly();
    assert_eq!(team.segments().len(), 2);
}

#[test]
fn side_requests_calls_and_failures_are_not_learned_from() {
    let call = Format::Messages.streamed_call().replace("Let me look", "I look at src/parser.rs");
    let broken = with_text(answers::streamed("/v1/messages"), ANSWER);
    let end = broken.find("event: message_delta").unwrap();
    let broken = broken[..end].to_owned();
    let upstream = Upstream::start_with(move |request| match request.headers.get("x-session-id").unwrap_or_default() {
        "call" => Reply::new(200, "text/event-stream", call.clone()),
        "broken" => Reply::new(200, "text/event-stream", broken.clone()),
        "error" => Reply::json(400, json!({"error": {"type": "x", "message": ANSWER}}).to_string()),
        _ if request.method == "POST" => saying(ANSWER, request),
        _ => answers::ok(request),
    });
    let team = Team::before(upstream, "repo", "[memory]\nrecord = \"text\"\n");
    let gateway = team.serve();
    for session in ["call", "broken"] {
        ask(&gateway, Format::Messages, ("m", true), session, QUESTION);
    }
    let body = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": QUESTION}]});
    let refused = gateway.post("/v1/messages", &[("x-session-id", "error")], body.to_string().as_bytes());
    assert_eq!(refused.status, 400);
    let mut compacting = Conversation::new(&team.root);
    compacting.says("CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nYour task is to create a detailed summary of the conversation so far.");
    compacting.send(&gateway);
    gateway.stop_cleanly();
    assert_eq!(team.segments(), []);
    assert!(!team.state().contains("context_hit"));
}

/// A backend whose first answer a test controls.
fn scripted(more: &str) -> (Team, Control) {
    let (control, script) = script();
    let script = Mutex::new(Some(script));
    let upstream = Upstream::start_with(move |request| match request.method.as_str() {
        "POST" => script.lock().take().map_or_else(|| saying(ANSWER, request), Reply::scripted),
        _ => answers::ok(request),
    });
    (Team::before(upstream, "repo", more), control)
}

#[test]
fn cancelled_answer_is_not_learned_from() {
    let (team, control) = scripted("");
    let gateway = team.serve();
    let events = with_text(answers::streamed("/v1/messages"), ANSWER);
    let end = events.find("event: content_block_stop").unwrap();
    control.head(200);
    control.send(&events[..end]);
    let body =
        json!({"model": "m", "max_tokens": 9, "stream": true, "messages": [{"role": "user", "content": QUESTION}]});
    let headers = [("x-session-id", "cancelled")];
    let mut reading = stream(gateway.address, "POST", "/v1/messages", &headers, body.to_string().as_bytes());
    // The text passes before the answer is over.
    reading.read_until("src/none.rs");
    reading.leave();
    control.wait_for_client_gone();
    gateway.stop_cleanly();
    assert_eq!(team.segments(), []);
}

#[test]
fn idle_time_begins_at_the_end_of_the_answer() {
    let (team, control) = scripted("[memory]\nidle_ms = 1\n");
    let gateway = team.serve();
    let events = with_text(answers::streamed("/v1/messages"), ANSWER);
    let (begin, rest) = events.split_at(events.find("event: content_block_delta").unwrap());
    control.head(200);
    control.send(begin);
    let body =
        json!({"model": "m", "max_tokens": 9, "stream": true, "messages": [{"role": "user", "content": QUESTION}]});
    let headers = [("x-session-id", "slow")];
    let mut reading = stream(gateway.address, "POST", "/v1/messages", &headers, body.to_string().as_bytes());
    reading.read_until("content_block_start");
    // Another conversation begins and ends meanwhile.
    ask(&gateway, Format::Chat, ("m", false), "quick", "Where is the archive?");
    wait_until("the quick conversation is over", || Some(()).filter(|()| hits(&team).len() == 1));
    control.send(rest);
    control.finish();
    reading.rest().unwrap();
    wait_until("the slow conversation is over", || Some(()).filter(|()| hits(&team).len() == 2));
    gateway.stop_cleanly();
    assert_eq!(hits(&team), vec![(json!(CITED), json!(0.8)); 2]);
}

#[test]
fn end_of_a_huge_stream_is_learned_from_and_all_of_it_is_sent() {
    let [begin, delta, end] = {
        let events = answers::streamed("/v1/messages");
        let delta = events.find("event: content_block_delta").unwrap();
        let end = events.find("event: content_block_stop").unwrap();
        [&events[..delta], &events[delta..end], &events[end..]]
    };
    let long = with_text(delta, &"word ".repeat(2_000)).repeat(500);
    let events = [begin, &with_text(delta, "src/lib.rs. "), &long, &with_text(delta, ANSWER), end].concat();
    let expected = events.clone();
    let whole = with_text(answers::whole("/v1/messages"), &format!("{}{ANSWER}", "word ".repeat(500_000)));
    let whole_length = whole.len();
    let upstream = Upstream::start_with(move |request| {
        if answers::wants_stream(&request.body) {
            Reply::new(200, "text/event-stream", events.clone())
        } else if request.method == "POST" {
            Reply::json(200, whole.clone())
        } else {
            answers::ok(request)
        }
    });
    let team = Team::before(upstream, "repo", "");
    let gateway = team.serve();
    let streamed = ask(&gateway, Format::Messages, ("m", true), "long", QUESTION);
    assert!(streamed.text() == expected, "the stream was changed");
    let whole = ask(&gateway, Format::Messages, ("m", false), "long and whole", QUESTION);
    assert_eq!(whole.body.len(), whole_length);
    gateway.stop_cleanly();
    assert_eq!(hits(&team), [(json!(CITED), json!(0.8))]);
}

#[test]
fn map_whose_place_only_the_answer_cites_gained() {
    let team = team("It refills lazily, see src/rate_limiter.rs:17.", "");
    write_notes(&team.root);
    let gateway = team.serve();
    let mut conversation = Conversation::new(&team.root);
    conversation.says(QUESTION);
    conversation.send(&gateway);
    gateway.stop_cleanly();
    let told: Value = serde_json::from_str(&team.env.stdout_of(&team.root, &["why", "--last", "--json"])).unwrap();
    assert_eq!(told["outcome"], "injected", "{told}");
    let item = |path: &str| {
        let mut items = told["items"].as_array().unwrap().iter();
        items.find(|item| item["source"].as_str().unwrap().starts_with(path)).unwrap()
    };
    assert_eq!(item("src/rate_limiter.rs")["used"], true, "{told}");
    assert_eq!(item("src/lib.rs")["used"], false, "{told}");
    let effect = &told["effect"];
    assert_eq!(effect["exploring_calls"], 0, "{told}");
    assert!(effect["places_used"].as_u64() > Some(0) && effect["gain"].as_f64() > Some(0.0), "{told}");
}

const DECIDED: &str = "Decision: totals are kept in cents by src/parser.rs.";

#[test]
fn stated_decisions_are_learned_if_text_is_recorded() {
    let answer = format!(
        "Should it be floats? If so, we decided wrongly.\n\n{DECIDED} We decided to sign releases with {TOKEN} in CI. \
         From now on I look first.\n\n```\nWe decided to print this line.\n```\n"
    );
    let question = format!("From now on every error in src/storage.rs names its path. {QUESTION}");
    let team = team(&answer, "[memory]\nrecord = \"text\"\n");
    let gateway = team.serve();
    ask(&gateway, Format::Chat, ("m", true), "first", &question);
    gateway.stop_cleanly();
    let learned = learnings(&team);
    let told: Vec<_> = learned
        .iter()
        .map(|record| (record["text"].as_str().unwrap(), record["author"].as_str().unwrap(), &record["confidence"]))
        .collect();
    let signed = "We decided to sign releases with [redacted:github-token] in CI.";
    let (half, less) = (json!(0.5), json!(0.4));
    let expected = [
        ("From now on every error in src/storage.rs names its path.", "conversation:user", &half),
        (DECIDED, "conversation:agent", &less),
        (signed, "conversation:agent", &less),
    ];
    assert_eq!(told, expected);
    let sources: Vec<&Value> = learned.iter().map(|record| &record["sources"][0]["path"]).collect();
    assert_eq!(sources, [&json!("src/storage.rs"), &json!("src/parser.rs"), &Value::Null]);
    // What the agent decided answers the question.
    let answers: Vec<&Value> = learned.iter().map(|record| &record["answers"]).collect();
    assert_eq!(answers, [&Value::Null, &json!([question]), &json!([question])]);
    let written = format!("{:?}{}", team.segments(), team.state());
    assert!(!written.contains(TOKEN) && !written.contains("print this line"), "{written}");

    // Other conversations repeat it: one is the last answer, and one is replayed. A forgotten decision stays forgotten.
    let id = learned[1]["id"].as_str().unwrap();
    team.env.stdout_of(&team.root, &["forget", id]);
    let gateway = team.serve();
    ask(&gateway, Format::Messages, ("m", false), "second", &question.replace(' ', "  "));
    let mut conversation = Conversation::new(&team.root);
    conversation.says(QUESTION);
    conversation.answers(&format!("{DECIDED} Going forward, invoices have no duplicates."));
    conversation.says("Thanks.");
    conversation.send(&gateway);
    gateway.stop_cleanly();
    let texts: Vec<Value> = learnings(&team).into_iter().map(|record| record["text"].clone()).collect();
    assert_eq!(texts.len(), 4, "{texts:?}");
    assert_eq!(texts[3], "Going forward, invoices have no duplicates.");
}

#[test]
fn no_text_of_an_answer_is_kept_by_default() {
    let team = team(&format!("{DECIDED} It is Persephone's."), "");
    let gateway = team.serve();
    ask(&gateway, Format::Messages, ("m", true), "first", &format!("We decided to trust Persephone here. {QUESTION}"));
    gateway.stop_cleanly();
    assert_eq!(hits(&team), [(json!(["src/parser.rs"]), json!(0.8))]);
    assert!(learnings(&team).is_empty());
    let written = format!("{:?}{}", team.segments(), team.state()).to_lowercase();
    assert!(!written.contains("cents") && !written.contains("persephone"), "{written}");
}
