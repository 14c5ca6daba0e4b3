//! Streams whose events are wrong, too many, too large or out of order.

use muninn_tests::Reply;
use serde_json::Value;

use super::*;
use crate::broken_upstream::stage::Broken;
use crate::formats::{Answer, Turn, all_pairs, pairs};

/// A spoilt stream; whole answers are sound.
fn spoilt(asked: &Asked, spoil: impl FnOnce(&str) -> Vec<u8>) -> Sent {
    let body = if asked.streamed { spoil(asked.body) } else { asked.body.into() };
    Sent::new(200, asked.content_type(), body)
}

/// The events of a stream.
pub(super) fn events(body: &str) -> Vec<&str> {
    body.split_inclusive("\n\n").collect()
}

#[test]
fn wrong_events_end_in_an_answer_or_an_error() {
    let mut trial = Trial::with("");
    trial.sent("an event of 20 megabytes is passed on or an error", &[], RELAYED_OR_EITHER, |asked| {
        spoilt(asked, |body| {
            let all = events(body);
            let long = asked.format.event(&format!(r#"{{"type":"extension","x":"{}"}}"#, "x".repeat(20 << 20)));
            [all[0].as_bytes(), long.as_bytes(), all[1..].concat().as_bytes()].concat()
        })
    });
    trial.sent("invalid utf8 in an event is passed on or an error", &[], RELAYED_OR_EITHER, |asked| {
        let at = asked.body.find("\"ok\"").unwrap() + 1;
        let mut body = asked.body.as_bytes().to_vec();
        body.splice(at..at, *b"\xff\xc3\x28");
        Sent::new(200, asked.content_type(), body)
    });
    trial.sent("nul bytes are passed on or an error", &[], RELAYED_OR_EITHER, |asked| {
        spoilt(asked, |body| body.replace("data: ", "data: \0").into_bytes())
    });
    trial.sent(
        "stream without its last event is an error",
        &[],
        Expected { whole: &[Answered], native: &[Relayed, Failed], converted: &[Answered, Failed] },
        |asked| {
            spoilt(asked, |body| {
                let all = events(body);
                all[..all.len() - 1].concat().into_bytes()
            })
        },
    );
    trial.sent("repeated last event is sent once", &[], RELAYED_OR_ANSWERED, |asked| {
        spoilt(asked, |body| {
            let last = *events(body).last().unwrap();
            [body, last].concat().into_bytes()
        })
    });
    trial.sent("events after the last are dropped", &[], RELAYED_OR_ANSWERED, |asked| {
        spoilt(asked, |body| [body, "data: {\"more\":1}\n\n", "garbage"].concat().into_bytes())
    });
    trial.sent("unknown events are skipped", &[], RELAYED_OR_ANSWERED, |asked| {
        spoilt(asked, |body| {
            let unknown = "event: extension\nid: 7\nretry: 10\ndata: {\"type\":\"extension\",\"x\":[1]}\n\n";
            let all = events(body);
            [all[0], unknown, &all[1..].concat()].concat().into_bytes()
        })
    });
    trial.sent("unknown stop reason still ends the answer", &[], ANSWERED, |asked| {
        let mut body = asked.body.to_owned();
        for (known, unknown) in [(r#""stop""#, r#""exhausted""#), (r#""end_turn""#, r#""exhausted""#)] {
            body = body.replace(known, unknown);
        }
        Sent::new(200, asked.content_type(), body)
    });
    for replacement in [
        "null",
        "{}",
        "7",
        r#"{"prompt_tokens":-1,"completion_tokens":-5,"total_tokens":-6,"input_tokens":-1,"output_tokens":-5}"#,
        r#"{"prompt_tokens":1e300,"completion_tokens":99999999999999999999,"input_tokens":1e300,"output_tokens":1.5}"#,
    ] {
        trial.sent("missing or absurd usage is tolerated", &[], RELAYED_OR_ANSWERED, move |asked| {
            Sent::new(200, asked.content_type(), with_usage(asked.body, replacement))
        });
    }
    // Native streams have other line ends then than the readers of these tests take, and so count as relayed.
    let converted = Expected { native: &[Relayed], ..RELAYED_OR_ANSWERED };
    trial.sent("line ends of two bytes are read", &[], converted, |asked| {
        spoilt(asked, |body| body.replace('\n', "\r\n").into_bytes())
    });
}

/// The text with every `"usage":{...}` replaced.
fn with_usage(text: &str, replacement: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\"usage\":{") {
        let end = at + rest[at..].find('}').unwrap() + 1;
        out += &rest[..at];
        out += &format!("\"usage\":{replacement}");
        rest = &rest[end..];
    }
    out + rest
}

#[test]
fn line_ends_split_at_every_byte_are_read() {
    let mut broken = Broken::new();
    broken.answer_with(|request| {
        let asked = Asked::of(request);
        let body = asked.body.replace('\n', "\r\n");
        let bytes: Vec<u8> = body.bytes().flat_map(|byte| chunk([byte])).collect();
        Reply::raw([asked.chunked().into_bytes(), bytes, chunk("")].concat())
    });
    for (client, spoken) in all_pairs() {
        let text = broken.ask_closing(client, spoken, true).text();
        assert_eq!(client.read_stream(&text.replace("\r\n", "\n")).text, "ok", "{client:?} -> {spoken:?}");
    }
    broken.assert_lives();
}

/// What clients of other formats read of a stream.
pub(super) fn converted(stream: impl Fn(Format) -> Option<String> + Send + Sync + 'static, check: impl Fn(&Answer)) {
    let mut broken = Broken::new();
    let stream = std::sync::Arc::new(stream);
    let spoken_here = std::sync::Arc::clone(&stream);
    broken.answer_with(move |request| match spoken_here(Asked::of(request).format) {
        Some(body) => Reply::new(200, "text/event-stream", body),
        None => answers::ok(request),
    });
    for (client, spoken) in pairs().filter(|(_, spoken)| stream(*spoken).is_some()) {
        let body = client.request(spoken.dialect(), true, &[Turn::User("hello".to_owned())]);
        let answer = client.read_stream(&broken.gateway.post(client.path(), &[], body.as_bytes()).text());
        assert_eq!(answer.failed, None, "{client:?} -> {spoken:?}");
        check(&answer);
    }
    broken.assert_lives();
}

#[test]
fn interleaved_calls_are_serialized() {
    let chat = |delta: &str, why: &str| {
        format!(
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{why}}}]}}\n\n"
        )
    };
    let start = |index: usize| {
        format!(
            r#"{{"tool_calls":[{{"index":{index},"id":"call_{index}","type":"function","function":{{"name":"look","arguments":""}}}}]}}"#
        )
    };
    let more = |index: usize, piece: &str| {
        format!(r#"{{"tool_calls":[{{"index":{index},"function":{{"arguments":{}}}}}]}}"#, Value::from(piece))
    };
    let deltas = [
        start(0),
        start(1),
        more(1, r#"{"path":"#),
        more(0, r#"{"path":"#),
        more(0, r#""zero"}"#),
        more(1, r#""one"}"#),
    ];
    let stream = deltas.iter().map(|delta| chat(delta, "null")).collect::<String>()
        + &chat("{}", "\"tool_calls\"")
        + "data: [DONE]\n\n";
    converted(
        move |format| (format == Format::Chat).then(|| stream.clone()),
        |answer| {
            let arguments: Vec<_> = answer.calls.iter().map(|call| call.2.as_str()).collect();
            assert_eq!(arguments, [r#"{"path":"zero"}"#, r#"{"path":"one"}"#]);
        },
    );
}
