//! One row for each shape that models write, and everything else for them to break.

mod shapes;

use muninn_memory::model::{Call, Reply};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use self::shapes::SHAPES;
use super::citations::citations;
use super::*;

const TOOLS: &[KnownTool<'_>] = &[
    KnownTool {
        name: "grep",
        parameters: &["pattern", "path", "depth"],
    },
    KnownTool {
        name: "read",
        parameters: &["path", "first", "last"],
    },
    KnownTool {
        name: "list",
        parameters: &["path"],
    },
];

fn said(text: &str) -> Said {
    let reply = Reply {
        text: text.to_owned(),
        ..Reply::default()
    };
    parse(&reply, TOOLS)
}

fn native(name: &str, arguments: &str) -> Said {
    let call = Call {
        id: "call_1".to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    };
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
            calls
                .into_iter()
                .map(|call| (call.name, Value::Object(call.arguments)))
                .collect(),
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
        (
            r#"{"pattern": "\ud83d\ude00\u00e9\ud800!"}"#,
            json!({"pattern": "\u{1f600}\u{e9}\u{fffd}!"}),
        ),
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
    assert_eq!(
        malformed[0].error.to_string(),
        "There is no tool \"rm\". The tools are: grep, read, list."
    );
}

#[test]
fn names_are_known_however_they_are_written() {
    for name in [
        "grep",
        "Grep",
        "GREP",
        "functions.grep",
        "default_api:grep",
        "functions.grep:0",
        "mcp__fs__grep",
        " grep ",
        "tools/grep",
    ] {
        let (calls, _) = calls(native(name, r#"{"pattern":"x"}"#));
        assert_eq!(calls, grep_x(), "{name}");
    }
    for name in ["", "gre", "grepp", "grep.x", ":", "egrep"] {
        assert!(calls(native(name, "{}")).0.is_empty(), "{name}");
    }
}

#[test]
fn every_shape_is_the_same_call() {
    for (who, dialect, text) in SHAPES {
        let Said::Calls { calls, malformed } = said(text) else {
            panic!("{who}: no call");
        };
        assert!(malformed.is_empty(), "{who}: {malformed:?}");
        let [call] = calls.as_slice() else {
            panic!("{who}: {calls:?}");
        };
        assert_eq!(
            (call.name.as_str(), &call.arguments, call.dialect),
            ("grep", &Map::from_iter([("pattern".to_owned(), json!("x"))]), *dialect),
            "{who}"
        );
    }
}

#[test]
fn several_calls_stay_in_order() {
    let rows = [
        "<tool_call>{\"name\":\"grep\",\"arguments\":{\"pattern\":\"a\"}}</tool_call>\n<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"b\"}}</tool_call>",
        "<tool_call>{\"name\":\"grep\",\"arguments\":{\"pattern\":\"a\"}}\n<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"b\"}}",
        "<tool_call>{\"name\":\"grep\",\"arguments\":{\"pattern\":\"a\"}}\n{\"name\":\"read\",\"arguments\":{\"path\":\"b\"}}</tool_call>",
        "<function=grep><parameter=pattern>a</parameter></function><function=read><parameter=path>b</parameter></function>",
        "<function_calls><invoke name=\"grep\"><parameter name=\"pattern\">a</parameter></invoke><invoke name=\"read\"><parameter name=\"path\">b</parameter></invoke></function_calls>",
        "<grep><pattern>a</pattern></grep> and then <read><path>b</path></read>",
        "{\"name\":\"grep\",\"arguments\":{\"pattern\":\"a\"}}\n{\"name\":\"read\",\"arguments\":{\"path\":\"b\"}}",
        "[{\"name\":\"grep\",\"arguments\":{\"pattern\":\"a\"}},{\"name\":\"read\",\"arguments\":{\"path\":\"b\"}}]",
        "<|python_tag|>{\"name\":\"grep\",\"parameters\":{\"pattern\":\"a\"}}; {\"name\":\"read\",\"parameters\":{\"path\":\"b\"}}",
        "[grep(pattern=\"a\"), read(path=\"b\")]",
        "```json\n{\"name\":\"grep\",\"arguments\":{\"pattern\":\"a\"}}\n```\ntext\n```json\n{\"name\":\"read\",\"arguments\":{\"path\":\"b\"}}\n```",
        "```tool_code\ngrep(\"a\")\nread(\"b\")\n```",
        "[TOOL_CALLS]grep[ARGS]{\"pattern\":\"a\"}[TOOL_CALLS]read[ARGS]{\"path\":\"b\"}",
    ];
    let both = [
        ("grep".to_owned(), json!({"pattern": "a"})),
        ("read".to_owned(), json!({"path": "b"})),
    ];
    for text in rows {
        let (calls, malformed) = calls(said(text));
        assert_eq!((calls.as_slice(), malformed.as_slice()), (&both[..], &[][..]), "{text}");
    }
}

#[test]
fn values_may_look_like_what_is_around_them() {
    let rows = [
        (
            "<tool_call>{\"name\":\"grep\",\"arguments\":{\"pattern\":\"</tool_call>\"}}</tool_call>",
            "</tool_call>",
        ),
        (
            "{\"name\":\"grep\",\"arguments\":{\"pattern\":\"fn f() { } ``` <grep>\"}}",
            "fn f() { } ``` <grep>",
        ),
        (
            "<function=grep><parameter=pattern>Vec<u8> && {</parameter></function>",
            "Vec<u8> && {",
        ),
        ("<grep><pattern>  if a < b</pattern></grep>", "  if a < b"),
        ("```tool_code\ngrep(\"\"\"say \"hi\" \"\"\")\n```", "say \"hi\" "),
        ("```tool_code\ngrep(r\"\\d+\\\"\")\n```", "\\d+\\\""),
    ];
    for (text, pattern) in rows {
        let (calls, malformed) = calls(said(text));
        assert_eq!(
            calls,
            [("grep".to_owned(), json!({"pattern": pattern}))],
            "{text} {malformed:?}"
        );
    }
    let repeated = said("<function=read><parameter=path>a</parameter><parameter=path>b</parameter></function>");
    assert_eq!(calls(repeated).0, [("read".to_owned(), json!({"path": ["a", "b"]}))]);
}

#[test]
fn what_was_meant_and_is_wrong_is_answered_in_words() {
    let rows = [
        (
            "<tool_call>{\"name\": \"grep\", \"arguments\": {\"pattern\": x}}</tool_call>",
            "expected a value in quotes",
        ),
        (
            "<tool_call>{\"name\": \"find_all\", \"arguments\": {}}</tool_call>",
            "no tool \"find_all\"",
        ),
        ("<tool_call>please search</tool_call>", "is no call"),
        ("<tool_call></tool_call>", "is no call"),
        (
            "<function=find_all><parameter=x>y</parameter></function>",
            "no tool \"find_all\"",
        ),
        ("<function=grep>{\"pattern\": </function>", "expected a value"),
        (
            "<invoke name=\"grep\"><parameter name=\"pattern\">x</parameter> and </invoke>",
            "text is between tags",
        ),
        (
            "I do {\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"} and wait",
            "expected ',' or '}'",
        ),
        (
            "{\"name\": \"find_all\", \"arguments\": {\"pattern\": \"x\"}}",
            "no tool \"find_all\"",
        ),
        ("```tool_code\nsearch everything\n```", "is no call"),
        ("[TOOL_CALLS]grep[ARGS]{\"pattern", "The arguments of grep"),
        (
            "<tool_call>{\"name\": \"grep\", \"arguments\": {\"type\": \"object\", \"properties\": {}}}</tool_call>",
            "description of the tool",
        ),
        ("<tool_call>[1, 2]</tool_call>", "1 is no call"),
    ];
    for (text, error) in rows {
        let (calls, malformed) = calls(said(text));
        assert!(calls.is_empty(), "{text}: {calls:?}");
        assert!(
            malformed.iter().any(|said| said.contains(error)),
            "{text}: {malformed:?}"
        );
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
        "grep x src/",
        "The `<list>` element holds `<read>` elements.",
        "<list><item>1</item></list>",
        "<grep>x</grep>",
        "```rust\nfn main() { read(\"a\"); }\n```",
        "```python\nlist(\"a\")\n```",
        "```\nread(fd, buffer)\n```",
        "```\nn = read(\"a\") + 1\n```",
        "```json\n{\"name\": \"muninn\", \"version\": \"1\"}\n```",
        "{\"name\": \"list\", \"version\": \"1\"}",
        "{\"citations\": [\"src/a.rs:1-2\"], \"answer\": \"here\"}",
        "package.json has {\"name\": \"left-pad\", \"arguments\": {\"x\": 1}} in it",
        "{\"name\": \"grep\", \"parameters\": {\"type\": \"object\", \"properties\": {\"pattern\": {}}}}",
        "let x = {a: 1}; if (a < b) { [1, 2] }",
        "{\"name\": 1} {\"name\": null} {} [] [[]] {\"tool\": {}}",
        "<tool name=\"hammer\">heavy</tool>",
        "<|channel|>final<|message|>It is in src/a.rs.<|return|>",
    ];
    for text in rows {
        let said = said(text);
        assert!(matches!(said, Said::Final(_)), "{text}: {said:?}");
    }
    assert_eq!(said("<think>grep?</think>\nDone. "), Said::Final("Done.".to_owned()));
    let harmony = "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Here.<|return|>";
    assert_eq!(said(harmony), Said::Final("Here.".to_owned()));
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
        "``` ",
        "{\"",
        "{\"a\":",
        "[{",
        "{'a':'",
        "<tool_call>",
        "<tool_call>{\"a",
        "<function=grep>",
        "<grep>",
        "<grep><pattern>",
        "<parameter=a>",
        "<invoke name=\"grep\"><parameter name=\"pattern\">",
        "```json\n{",
        "```tool_code\ngrep(",
        "[TOOL_CALLS]",
        "<|channel|>",
        "<|start|>a to=grep<|message|>",
        "<｜tool▁call▁begin｜>",
        "{\"name\":\"grep\",\"arguments\":{",
        "{\"name\":\"grep\",\"arguments\":{}} ",
        "grep(\"x\")\n",
        "<think>",
        "\\",
        "src/a.rs:1-",
        "a lines ",
        "a/",
        "[a]",
        " ",
        "<a>",
        "</a>",
        "\u{1f600}",
        "<tool_call>[",
        "{\"tool_calls\":[",
        "\"",
        "grep([[",
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
            let chars: Vec<char> = SHAPES[shape].2.chars().collect();
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
