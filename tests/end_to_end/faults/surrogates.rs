//! Surrogate pairs that a backend splits: half of one at the end of a delta, the other half at the start of the next, or
//! missing.

use serde_json::Value;

use super::events::converted;
use super::*;
use crate::formats::{ARGUMENTS, WORDS};

/// The stream of an answer with one call, with the pieces of its text and of its arguments replaced by two each.
fn in_halves(format: Format, text: [&str; 2], arguments: [&str; 2]) -> String {
    let whole = format.streamed_call();
    let in_two = |event: &str, old: &str, halves: [&str; 2]| {
        let literal = Value::from(old).to_string();
        halves.map(|half| event.replace(&literal, &format!("\"{half}\""))).concat()
    };
    let deltas = whole.split_inclusive("\n\n").map(|event| {
        let is_delta = event.contains("delta") && !event.contains("item.done") && !event.contains("completed");
        if is_delta && event.contains(&Value::from(WORDS).to_string()) {
            in_two(event, WORDS, text)
        } else if is_delta && event.contains(&Value::from(ARGUMENTS).to_string()) {
            in_two(event, ARGUMENTS, arguments)
        } else {
            event.to_owned()
        }
    });
    deltas.collect()
}

#[test]
fn surrogate_halves_are_joined_across_deltas() {
    let arguments = [r#"{\"path\":\"a \ud83d"#, r#"\ude00 b\"}"#];
    let stream = move |format| {
        // A responses stream says everything again at its end, and numbers its events.
        (format != Format::Responses).then(|| in_halves(format, [r"one\ttwo \ud83d", r"\ude00 three"], arguments))
    };
    converted(stream, |answer| {
        assert_eq!(answer.text, "one\ttwo 😀 three");
        let arguments: Value = serde_json::from_str(&answer.calls[0].2).expect("arguments are JSON");
        assert_eq!(arguments["path"], "a 😀 b");
    });
}

#[test]
fn lone_surrogate_becomes_a_replacement_character() {
    let stream = |format| {
        (format != Format::Responses)
            .then(|| in_halves(format, [r"one\t\ud83d", r" two\n"], [r#"{\"path\":\"a\ude00"#, r#"b\"}"#]))
    };
    converted(stream, |answer| {
        assert_eq!(answer.text, "one\t\u{fffd} two\n");
        let arguments: Value = serde_json::from_str(&answer.calls[0].2).expect("arguments are JSON");
        assert_eq!(arguments["path"], "a\u{fffd}b");
    });
}
