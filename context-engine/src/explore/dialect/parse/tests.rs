//! Calls in the one form that is read, and everything else for them to break.

use muninn_text::model::{Reply, ToolInvocation};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::citations::citations;
use super::*;
use crate::explore::dialect::json;

/// How models write `grep(pattern = "x")`.
const SHAPES: &[&str] = &[
    r#"{"name": "grep", "arguments": {"pattern": "x"}}"#,
    r#"{"name": "grep", "parameters": {"pattern": "x"}}"#,
    r#"{"arguments": {"pattern": "x"}, "name": "grep"}"#,
    r#"{"name": "grep", "arguments": "{\"pattern\": \"x\"}"}"#,
    r#"{"name": "functions.grep", "arguments": {"pattern": "x",},}"#,
    "{'name': 'grep', 'arguments': {'pattern': 'x'}}",
    r#"Sure! {"name": "grep", "arguments": {"pattern": "x"}} Let me know."#,
    r#"I call {"name": "grep", "arguments": {"pattern": "x"}"#,
    r#"First: [ {"name": "grep", "arguments": {"pattern": "x"}}, ] then more"#,
    r#"Run `{"name": "grep", "arguments": {"pattern": "x"}}`"#,
    "I will search:\n```json\n{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}\n```\nand wait.",
    "```\n[{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}]\n```",
    "<tool_call>\n{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}\n</tool_call>",
    "Let me see.\n<tool_call>\n[{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}]",
    "<think>\n<tool_call>{\"name\":\"list\"}</tool_call>\n</think>\n{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}",
    "maybe {\"name\":\"list\",\"arguments\":{}}\n</think>\n\n{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}",
    r#"{"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "grep", "arguments": "{\"pattern\": \"x\"}"}}]}"#,
];

const TOOLS: &[KnownTool<'_>] = &[
    KnownTool { name: "grep", first_parameter: Some("pattern") },
    KnownTool { name: "read", first_parameter: Some("path") },
    KnownTool { name: "list", first_parameter: Some("path") },
];

fn said(text: &str) -> Said {
    let reply = Reply { text: text.to_owned(), ..Reply::default() };
    parse(&reply, TOOLS)
}

fn native(name: &str, arguments: &str) -> Said {
    let call = ToolInvocation { id: "call_1".to_owned(), name: name.to_owned(), arguments: arguments.to_owned() };
    let reply = Reply {
        text: "I will look. {\"name\": \"list\", \"arguments\": {}}".to_owned(),
        calls: vec![call],
        ..Reply::default()
    };
    parse(&reply, TOOLS)
}

fn calls(said: Said) -> (Vec<(String, Value)>, Vec<String>) {
    match said {
        Said::Calls { calls, malformed } => (
            calls.into_iter().map(|call| (call.name, Value::Object(call.arguments))).collect(),
            malformed.iter().map(|malformed| malformed.error.to_string()).collect(),
        ),
        Said::Final(_) => (Vec::new(), Vec::new()),
    }
}

fn grep_x() -> Vec<(String, Value)> {
    vec![("grep".to_owned(), json!({"pattern": "x"}))]
}

#[test]
fn native_arguments_as_servers_hand_them_over() {
    let rows = [
        (r#"{"pattern": "x"}"#, json!({"pattern": "x"})),
        (r#""{\"pattern\": \"x\"}""#, json!({"pattern": "x"})),
        (r#""\"{\\\"pattern\\\": \\\"x\\\"}\"""#, json!({"pattern": "x"})),
        ("", json!({})),
        ("  ", json!({})),
        ("null", json!({})),
        ("{}", json!({})),
        ("[]", json!({})),
        (r#"[{"pattern": "x"}]"#, json!({"pattern": "x"})),
        (r#"{"pattern": "x",}"#, json!({"pattern": "x"})),
        (r#"{"pattern": "x""#, json!({"pattern": "x"})),
        (r#"{"pattern": "x"}}"#, json!({"pattern": "x"})),
        ("{'pattern': 'x', 'deep': True}", json!({"pattern": "x", "deep": true})),
        ("{\"pattern\": \"a\nb\"}", json!({"pattern": "a\nb"})),
        (r#"{"pattern": "\d+\.rs"}"#, json!({"pattern": "\\d+\\.rs"})),
        (r#"{"pattern": "\ud83d\ude00\u00e9\ud800!"}"#, json!({"pattern": "\u{1f600}\u{e9}\u{fffd}!"})),
    ];
    for (arguments, expected) in rows {
        let (calls, malformed) = calls(native("grep", arguments));
        assert_eq!(calls, [("grep".to_owned(), expected)], "{arguments} {malformed:?}");
    }
}

#[test]
fn broken_native_arguments_are_told_with_their_id() {
    let rows = [
        r#"{"pattern": "x"#,
        r#"{"depth": 1"#,
        r#"{"pattern" "x"}"#,
        r#"["x", "y"]"#,
        r#""x""#,
        "7",
        "pattern=x",
        r#"{"pattern": "x"} {"pattern": "y"}"#,
    ];
    for arguments in rows {
        let Said::Calls { calls, malformed } = native("grep", arguments) else {
            panic!("{arguments}");
        };
        assert!(calls.is_empty(), "{arguments}: {calls:?}");
        assert_eq!(malformed[0].id.as_deref(), Some("call_1"), "{arguments}");
        let error = malformed[0].error.to_string();
        assert!(error.contains("grep") && error.contains("pattern"), "{error}");
    }
    let Said::Calls { malformed, .. } = native("rm", "{}") else {
        panic!("an unknown tool is a call");
    };
    assert_eq!(malformed[0].error.to_string(), "There is no tool \"rm\". The tools are: grep, read, list.");
}

#[test]
fn names_are_known_however_they_are_written() {
    for name in ["grep", "Grep", "GREP", "functions.grep", "default_api:grep", "mcp__fs__grep", " grep ", "tools/grep"]
    {
        let (calls, _) = calls(native(name, r#"{"pattern":"x"}"#));
        assert_eq!(calls, grep_x(), "{name}");
    }
    for name in ["", "gre", "grepp", "grep.x", ":", "egrep"] {
        assert!(calls(native(name, "{}")).0.is_empty(), "{name}");
    }
}

#[test]
fn every_shape_is_the_same_call() {
    for text in SHAPES {
        let (calls, malformed) = calls(said(text));
        assert_eq!((calls, malformed.len()), (grep_x(), 0), "{text}");
    }
}

#[test]
fn several_calls_stay_in_order() {
    let (grep, read) =
        (r#"{"name":"grep","arguments":{"pattern":"a"}}"#, r#"{"name":"read","arguments":{"path":"b"}}"#);
    let both = [("grep".to_owned(), json!({"pattern": "a"})), ("read".to_owned(), json!({"path": "b"}))];
    for text in [
        format!("<tool_call>{grep}</tool_call>\n<tool_call>{read}</tool_call>"),
        format!("<tool_call>{grep}\n{read}</tool_call>"),
        format!("{grep}\n{read}"),
        format!("[{grep},{read}]"),
        format!("```json\n{grep}\n```\ntext\n```json\n{read}\n```"),
    ] {
        let (calls, malformed) = calls(said(&text));
        assert_eq!((calls.as_slice(), malformed.len()), (&both[..], 0), "{text}");
    }
}

#[test]
fn values_may_look_like_what_is_around_them() {
    for pattern in ["</tool_call>", "fn f() { } ``` <tool_call>", "{\"name\": \"list\"}"] {
        let call = json!({"name": "grep", "arguments": {"pattern": pattern}});
        let (calls, malformed) = calls(said(&format!("<tool_call>{call}</tool_call>")));
        assert_eq!((calls, malformed.len()), (vec![("grep".to_owned(), json!({"pattern": pattern}))], 0));
    }
}

#[test]
fn what_was_meant_and_is_wrong_is_answered_in_words() {
    let rows = [
        ("<tool_call>{\"name\": \"grep\", \"arguments\": {\"pattern\": x}}</tool_call>", "expected a value in quotes"),
        ("<tool_call>{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"</tool_call>", "expected ',' or '}'"),
        ("<tool_call>{\"name\": \"find_all\", \"arguments\": {}}</tool_call>", "no tool \"find_all\""),
        ("<tool_call>please search</tool_call>", "is no call"),
        ("<tool_call></tool_call>", "is no call"),
        (
            "<tool_call>\n<function=grep>\n<parameter=pattern>\nx\n</parameter>\n</function>\n</tool_call>",
            "is no call. Write {\"name\"",
        ),
        ("I do {\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"} and wait", "expected ',' or '}'"),
        ("{\"name\": \"find_all\", \"arguments\": {\"pattern\": \"x\"}}", "no tool \"find_all\""),
        ("```json\n{\"name\": \"grep\", \"arguments\": {\"pattern\"}}\n```", "expected ':'"),
        ("<tool_call>{\"name\": \"grep\", \"arguments\": [1, 2]}</tool_call>", "they are a list"),
        (
            "{\"name\": \"grep\", \"parameters\": {\"type\": \"object\", \"properties\": {\"pattern\": {}}}}",
            "description of the tool",
        ),
    ];
    for (text, error) in rows {
        let (calls, malformed) = calls(said(text));
        assert!(calls.is_empty(), "{text}: {calls:?}");
        assert!(malformed.iter().any(|said| said.contains(error)), "{text}: {malformed:?}");
    }
    let (calls, malformed) = calls(said(
        "<tool_call>{</tool_call><tool_call>{\"name\":\"grep\",\"arguments\":{\"pattern\":\"x\"}}</tool_call>",
    ));
    assert_eq!((calls, malformed.len()), (grep_x(), 1));
}

#[test]
fn an_answer_is_no_call() {
    let rows = [
        "",
        "The function grep() is in src/grep/mod.rs; read it, or list its callers.",
        "Use `grep(\"x\")` to search.",
        "```rust\nfn main() { read(\"a\"); }\n```",
        "```json\n{\"name\": \"muninn\", \"version\": \"1\"}\n```",
        "{\"name\": \"list\", \"version\": \"1\"}",
        "{\"citations\": [\"src/a.rs:1-2\"], \"answer\": \"here\"}",
        "package.json has {\"name\": \"left-pad\", \"arguments\": {\"x\": 1}} in it",
        "a tool: {\"name\": \"grep\", \"parameters\": {\"type\": \"object\", \"properties\": {\"pattern\": {}}}}",
        "let x = {a: 1}; if (a < b) { [1, 2] }",
        "{\"name\": 1} {\"name\": null} {} [] [[]] {\"tool\": {}}",
        // Forms that only a server of the model knows.
        "<function=grep><parameter=pattern>x</parameter></function>",
        "[TOOL_CALLS]grep[ARGS]{\"pattern\": \"x\"}",
        "```tool_code\ngrep(\"x\")\n```",
    ];
    for text in rows {
        let said = said(text);
        assert!(matches!(said, Said::Final(_)), "{text}: {said:?}");
    }
    assert_eq!(said("<think>grep?</think>\nDone. "), Said::Final("Done.".to_owned()));
}

/// Reading may take a small multiple of the length, which shows only where it is not so: then these take minutes. Built
/// with optimisations, five megabytes of each take less than a second.
#[test]
fn much_of_anything_ends() {
    const LEN: usize = 1 << 16;
    let pieces = [
        "{",
        "[",
        "<",
        "`",
        "{\"",
        "{\"a\":",
        "[{",
        "{'a':'",
        "<tool_call>",
        "<tool_call>{\"a",
        "```json\n{",
        "{\"name\":\"grep\",\"arguments\":{",
        "{\"name\":\"grep\",\"arguments\":{}} ",
        "<think>",
        "\\",
        "src/a.rs:1-",
        "a lines ",
        "a/",
        "[a]",
        " ",
        "\u{1f600}",
        "<tool_call>[",
        "{\"tool_calls\":[",
        "\"",
        "a.rs:1, ",
    ];
    for piece in pieces {
        let text = piece.repeat(LEN / piece.len());
        if let Said::Calls { calls, malformed } = said(&text) {
            assert!(calls.len() <= MAX_CALLS && malformed.len() <= MAX_MALFORMED);
        }
        citations(&text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn nothing_breaks_it(pieces in proptest::collection::vec(prop_oneof![
        3 => (0..SHAPES.len(), 0..200usize, 0..200usize).prop_map(|(shape, from, to)| {
            let chars: Vec<char> = SHAPES[shape].chars().collect();
            chars.iter().skip(from.min(chars.len())).take(to).collect::<String>()
        }),
        1 => "\\PC{0,12}",
        1 => prop_oneof!["\\{", "\"", "'", "\\\\", "<", ">", "```", "\n", "\\)", "/", ":"],
    ], 0..8)) {
        let text = pieces.concat();
        if let Said::Calls { calls, malformed } = said(&text) {
            prop_assert!(calls.len() + malformed.len() > 0);
            prop_assert!(calls.iter().all(|call| TOOLS.iter().any(|tool| tool.name == call.name)));
        }
        native("grep", &text);
        for place in citations(&text) {
            prop_assert!(!place.path.is_empty() && place.lines.is_none_or(|(first, last)| 1 <= first && first <= last));
        }
    }

    #[test]
    fn json_is_read_as_json(value in any_json()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            prop_assert_eq!(json::whole(&text).unwrap(), value.clone());
        }
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f32>()
            .prop_filter("JSON has no others", |number| number.is_finite())
            .prop_map(|number| Value::from(f64::from(number))),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|map| Value::Object(Map::from_iter(map))),
        ]
    })
}
