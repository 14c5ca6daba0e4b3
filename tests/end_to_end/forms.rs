//! Answers in another form than was asked for: each client gets the whole answer in the form that it asked for.

use muninn_tests::{Recorded, Reply};
use serde_json::Value;

use crate::formats::{ARGUMENTS, Answer, Format, TOOL, Turn, WORDS, all_pairs, serve};

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// A form of an answer, and how to write it.
type Form = (&'static str, fn(Format) -> String);

const FORMS: [Form; 8] = [
    ("events", Format::streamed_call),
    ("events without empty lines", |format| format.streamed_call().replace("\n\n", "\n")),
    ("events with spaces before their fields", |format| {
        format
            .streamed_call()
            .lines()
            .map(|line| if line.is_empty() { "\n".into() } else { format!("  {line}\n") })
            .collect()
    }),
    ("events with carriage returns", |format| format.streamed_call().replace('\n', "\r\n")),
    ("lines of JSON", |format| {
        let stream = format.streamed_call();
        let data = stream.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
        data.map(|data| format!("{data}\n")).collect()
    }),
    ("JSON", Format::whole_call),
    ("JSON with an end", |format| format!("{}\n\ndata: [DONE]\n\n", format.whole_call())),
    ("JSON over several lines", |format| {
        let value: Value = serde_json::from_str(&format.whole_call()).unwrap();
        format!("\n{}\n", serde_json::to_string_pretty(&value).unwrap())
    }),
];

/// Answers in the form and under the label that the model's name gives: `chat-FORM-LABEL`.
fn answer(request: &Recorded) -> Reply {
    let format = crate::broken_upstream::of_path(request);
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let numbers: Vec<usize> =
        body["model"].as_str().unwrap().split('-').skip(1).map(|number| number.parse().unwrap()).collect();
    let label = [Some(EVENTS), Some(JSON), None][numbers[1]];
    let body = FORMS[numbers[0]].1(format);
    match label {
        Some(label) => Reply::new(200, label, body),
        None => Reply::raw(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())),
    }
}

#[test]
fn every_form_under_every_label_becomes_the_form_that_was_asked_for() {
    let (_upstream, _env, gateway) = serve(answer);
    let mut count = 0;
    for (client, spoken) in all_pairs() {
        for (number, (form, _)) in FORMS.iter().enumerate() {
            for label in 0..3 {
                for streamed in [false, true] {
                    let model = format!("{}-{number}-{label}", spoken.dialect());
                    let body = client.request(&model, streamed, &[Turn::User("hi".into())]);
                    let response = gateway.post(client.path(), &[], body.as_bytes());
                    let how =
                        format!("{client:?} -> {spoken:?}, {form}, label {label}, {streamed}: {}", response.text());
                    assert_eq!(response.status, 200, "{how}");
                    let expected = if streamed { EVENTS } else { JSON };
                    let content_type = response.headers.get("content-type");
                    let is_labelled = content_type.is_some_and(|label| label.starts_with(expected));
                    // A whole answer in the right form is passed on with the label that it has.
                    assert!(is_labelled || client == spoken && !streamed && content_type.is_none(), "{how}");
                    let is_as_asked = *form == "JSON" && !streamed || *form == "events" && streamed;
                    if client == spoken && is_as_asked {
                        assert_eq!(response.text(), FORMS[number].1(spoken), "{how}");
                    }
                    let read: Answer = if streamed {
                        client.read_stream(&response.text().replace("\r\n", "\n"))
                    } else {
                        client.read_whole(&response.json())
                    };
                    assert_eq!((read.text.as_str(), read.failed), (WORDS, None), "{how}");
                    assert_eq!(read.calls.len(), 1, "{how}");
                    let (_, name, arguments) = &read.calls[0];
                    let [arguments, expected] =
                        [arguments, ARGUMENTS].map(|text| serde_json::from_str::<Value>(text).unwrap());
                    assert_eq!((name.as_str(), arguments), (TOOL, expected), "{how}");
                    assert_eq!(read.stop, client.stopped_for_a_call(), "{how}");
                    count += 1;
                }
            }
        }
    }
    assert_eq!(count, 9 * 8 * 3 * 2);
}
