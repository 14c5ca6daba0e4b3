use std::path::PathBuf;

use muninn_core::LocalRequest;
use serde_json::json;

use super::*;
use crate::hooks::{addresses, request};

fn asked(event: Event, input: &Value) -> Option<LocalRequest> {
    request(event, Client::ClaudeCode, input, || Some(PathBuf::from("/here")))
}

#[test]
fn prompt_of_claude_code_becomes_a_turn() {
    let input = json!({"session_id": "s", "transcript_path": "/t.jsonl", "cwd": "/w", "prompt_id": "p",
        "hook_event_name": "UserPromptSubmit", "prompt": "Where is f?"});
    let Some(LocalRequest::HookTurn(turn)) = asked(Event::UserPromptSubmit, &input) else { panic!("no turn") };
    assert_eq!(turn.prompt, "Where is f?");
    assert_eq!(turn.session.session.as_deref(), Some("s"));
    assert_eq!(turn.session.directory, PathBuf::from("/w"));
    assert_eq!(turn.session.transcript, Some(PathBuf::from("/t.jsonl")));
}

#[test]
fn fields_that_are_missing_or_of_another_type_count_as_absent() {
    let input = json!({"session_id": 7, "transcript_path": [], "cwd": null, "prompt": "Where?", "messages": "x"});
    let Some(LocalRequest::HookTurn(turn)) = asked(Event::UserPromptSubmit, &input) else { panic!("no turn") };
    assert_eq!((turn.session.session, turn.session.transcript), (None, None));
    assert_eq!(turn.session.directory, PathBuf::from("/here"));
    let relative = json!({"cwd": "w", "prompt": "Where?"});
    assert_eq!(asked(Event::UserPromptSubmit, &relative).unwrap().directory(), &PathBuf::from("/here"));
    for input in [json!({}), json!({"prompt": 1}), json!({"prompt": " "}), json!([]), json!(null)] {
        assert!(asked(Event::UserPromptSubmit, &input).is_none(), "{input}");
    }
}

#[test]
fn subagents_and_continued_sessions_ask_nothing() {
    let of_agent = json!({"cwd": "/w", "prompt": "Where?", "agent_id": "a"});
    assert!(asked(Event::UserPromptSubmit, &of_agent).is_none());
    for (source, is_asked) in
        [("startup", true), ("clear", true), ("compact", true), ("resume", false), ("fork", false)]
    {
        let input = json!({"cwd": "/w", "source": source});
        assert_eq!(asked(Event::SessionStart, &input).is_some(), is_asked, "{source}");
    }
}

#[test]
fn reply_is_written_as_each_client_reads_it() {
    let reply = || LocalReply::Context("block".to_owned());
    let written = |event, client| answer(event, client, reply()).map(|answer| answer.to_string());
    let claude = r#"{"hookSpecificOutput":{"additionalContext":"block","hookEventName":"UserPromptSubmit"}}"#;
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let turn = Event::UserPromptSubmit;
    assert_eq!(parsed(&written(turn, Client::ClaudeCode).unwrap()), parsed(claude));
    assert_eq!(parsed(&written(turn, Client::Codex).unwrap()), parsed(claude));
    assert_eq!(written(turn, Client::Opencode).as_deref(), Some(r#"{"context":"block"}"#));
    assert_eq!(written(Event::SessionEnd, Client::ClaudeCode), None);
    assert_eq!(answer(turn, Client::ClaudeCode, LocalReply::Nothing), None);
}

#[test]
fn input_is_bounded() {
    assert!(matches!(read(io::repeat(b' ')), Err(InputError::TooLarge)));
    assert!(matches!(read(&b"{\"prompt\":"[..]), Err(InputError::Json(_))));
    assert_eq!(read(&b"{\"a\":1}"[..]).unwrap(), json!({"a": 1}));
}

#[test]
fn addresses_of_codex_are_those_of_the_selected_provider() {
    let of = addresses::in_codex_config;
    let both = "[model_providers.a]\nbase_url = \"http://a\"\n[model_providers.b]\nbase_url = \"http://b\"\n";
    assert_eq!(of(&format!("model_provider = \"b\"\n{both}")), ["http://b"]);
    assert_eq!(of(both), ["http://a", "http://b"]);
    assert_eq!(of("openai_base_url = \"http://c\""), ["http://c"]);
    assert!(of("not toml [").is_empty());
}

#[test]
fn inputs_are_read_as_programs_really_send_them() {
    let asked_with = |bytes: &[u8]| {
        let input = read(bytes).unwrap_or_else(|error| panic!("{error}: {bytes:?}"));
        match asked(Event::UserPromptSubmit, &input) {
            Some(LocalRequest::HookTurn(turn)) => turn.prompt,
            _ => panic!("no turn: {input}"),
        }
    };
    let utf16: Vec<u8> = "\u{feff}{\"prompt\":\"Where is f?\"}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (bytes, expected) in [
        (&b"\xef\xbb\xbf{\"prompt\":\"Where is f?\"}"[..], "Where is f?"),
        (&utf16, "Where is f?"),
        (b"{\"prompt\":\"Where is \\ud83d f?\"}", "Where is \u{fffd} f?"),
        (b"{\"prompt\":\"Where is f?\",\"session_id\":\"\\ude00\"}", "Where is f?"),
        (b"{\"prompt\":\"Where is f?\",\"\\ud83d\":1}", "Where is f?"),
        (b"{\"prompt\":\"Where is \xff f?\"}", "Where is \u{fffd} f?"),
        (b"{\"prompt\":\"Where\n\tis f?\"}", "Where\n\tis f?"),
        (b"{\"prompt\":\"Where is f?\"}\0", "Where is f?"),
        (br#"{"prompt":[{"type":"text","text":"Where"},{"type":"image","source":{}},{"type":"text","text":"is f?"}]}"#, "Where\nis f?"),
        (br#"{"prompt":[{"type":"input_text","text":"Where is f?"}]}"#, "Where is f?"),
        (br#"{"prompt":["Where is f?"]}"#, "Where is f?"),
        (br#"{"prompt":{"role":"user","content":[{"type":"text","text":"Where is f?"}]}}"#, "Where is f?"),
    ] {
        assert_eq!(asked_with(bytes), expected, "{}", String::from_utf8_lossy(bytes));
    }
    for input in [json!({"prompt": []}), json!({"prompt": [{"type": "image"}]}), json!({"prompt": {"a": "b"}})] {
        assert!(asked(Event::UserPromptSubmit, &input).is_none(), "{input}");
    }
}
