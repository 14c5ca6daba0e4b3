//! Tests of the settings that a response object repeats.

use serde_json::{Value, json};

use super::super::super::golden::parsed;
use crate::WireFormat::{Chat, Messages, Responses};
use crate::convert::{AnswerConverter, own_context, request};

const CHAT_ANSWER: &str = r#"{"choices":[{"index":0,"message":{"content":"ok"},"finish_reason":"stop"}]}"#;

/// The response objects of a converted answer: those of the events, and the whole one.
fn objects(context: &crate::convert::AnswerContext) -> Vec<(String, Value)> {
    let converter = || AnswerConverter::new(Chat, Responses, context.clone());
    let stream = converter().whole_as_stream(CHAT_ANSWER);
    let events = parsed(&stream).into_iter().filter_map(|(name, data)| {
        let mut data: Value = serde_json::from_str(&data).unwrap();
        data.get("response").is_some().then(|| (name, data["response"].take()))
    });
    let whole = converter().whole(CHAT_ANSWER).unwrap();
    serde_json::from_str::<async_openai::types::responses::Response>(&whole).unwrap();
    events.chain([("whole".to_owned(), serde_json::from_str(&whole).unwrap())]).collect()
}

fn sent() -> Value {
    json!({
        "instructions": "Be \u{1f600} brief.\nAlways.",
        "max_output_tokens": 900,
        "metadata": {"a": "b"},
        "parallel_tool_calls": false,
        "reasoning": {"effort": "low", "summary": "auto"},
        "store": false,
        "temperature": 0.25,
        "text": {"format": {"type": "json_object"}, "verbosity": "low"},
        "tool_choice": {"type": "function", "name": "f"},
        "tools": [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": false}],
        "top_p": 0.5,
        "truncation": "auto",
        "user": "u",
    })
}

#[test]
fn response_objects_repeat_the_settings_of_the_request() {
    let mut body = sent();
    body["model"] = "m".into();
    body["input"] = "a".into();
    for to in [Chat, Messages] {
        // A line break between two members would end a line of an event.
        for body in [body.to_string(), serde_json::to_string_pretty(&body).unwrap().replace('\n', "\r\n")] {
            let context = request(Responses, to, &body).unwrap().context;
            let objects = objects(&context);
            let names: Vec<_> = objects.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["response.created", "response.in_progress", "response.completed", "whole"]);
            for (name, object) in objects {
                for (setting, value) in sent().as_object().unwrap() {
                    assert_eq!(object[setting], *value, "{name}: {setting}");
                }
                assert_eq!(object["previous_response_id"], Value::Null);
            }
            assert_eq!(own_context(Responses, &body).settings, context.settings);
        }
    }
    assert_eq!(
        request(Chat, Responses, r#"{"model":"m","messages":[]}"#).unwrap().context.settings,
        Default::default()
    );
}

#[test]
fn missing_and_incomplete_settings_have_the_vendors_form() {
    for (given, expected) in [
        (json!({}), json!({"tools": [], "tool_choice": "auto", "temperature": null, "metadata": {}, "store": false})),
        (
            json!({"tools": null, "temperature": "hot", "store": true}),
            json!({"tools": [], "temperature": null, "store": true}),
        ),
        (json!({"reasoning": {}}), json!({"reasoning": {"effort": null, "summary": null}})),
        (json!({"reasoning": {"effort": "low"}}), json!({"reasoning": {"effort": "low", "summary": null}})),
        (json!({"text": {"verbosity": "low"}}), json!({"text": {"format": {"type": "text"}, "verbosity": "low"}})),
        (
            json!({"instructions": 7, "text": [], "truncation": null}),
            json!({"instructions": null, "truncation": "disabled"}),
        ),
    ] {
        let mut body = given.clone();
        body["model"] = "m".into();
        body["input"] = "a".into();
        let context = request(Responses, Chat, &body.to_string()).unwrap().context;
        for (name, object) in objects(&context) {
            for (setting, value) in expected.as_object().unwrap() {
                assert_eq!(object[setting], *value, "{given}, {name}: {setting}");
            }
        }
    }
    let half = r#"{"model":"m","input":"a","instructions":"half \ud83d"}"#;
    let context = request(Responses, Chat, half).unwrap().context;
    assert!(objects(&context).iter().all(|(_, object)| object["instructions"] == "half \u{fffd}"));
}
