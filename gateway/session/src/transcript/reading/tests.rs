use std::fmt::Write as _;
use std::path::Path;

use muninn_wire::{Prompt, Role};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{answer, human_turn, newest_human_turn};

const CLAUDE_197: &str = include_str!("../golden/claude-code-2.1.197.jsonl");
const CLAUDE_329: &str = include_str!("../golden/claude-code-2.1.329.jsonl");
const CODEX: &str = include_str!("../golden/codex-0.169.jsonl");

/// The transcript of a file with this text.
fn of(client: Client, text: &[u8]) -> Transcript {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("transcript.jsonl");
    std::fs::write(&path, text).unwrap();
    Transcript::read(client, &path).unwrap()
}

/// The messages of a body: the role, and the human text, the agent's text, or the number of blocks.
fn shown(transcript: &Transcript, prompt: Option<&str>) -> String {
    let body = transcript.body(prompt);
    let view = Prompt::parse(transcript.format(), &body).unwrap();
    let mut shown = String::new();
    for (index, message) in view.messages.iter().enumerate() {
        let text = match message.role {
            Role::Assistant => answer(&view, index..index + 1),
            _ => human_turn(&view, index).map(|turn| turn.question).unwrap_or_default(),
        };
        let _ = writeln!(shown, "{:?} {text}", message.role);
    }
    shown
}

#[test]
fn recorded_sessions_of_claude_code_become_messages() {
    let expected = "User Where is f?\nAssistant \nUser \nAssistant \nUser \nAssistant \nUser \nAssistant \nUser \n\
                    Assistant It is in a.py:1.\nUser And then?\nAssistant Second.\n";
    assert_eq!(shown(&of(Client::ClaudeCode, CLAUDE_197.as_bytes()), None), expected);
    assert_eq!(shown(&of(Client::ClaudeCode, CLAUDE_329.as_bytes()), None), expected);
}

#[test]
fn recorded_session_of_codex_becomes_items() {
    let transcript = of(Client::Codex, CODEX.as_bytes());
    let all = shown(&transcript, Some("And now?"));
    let turns: Vec<_> =
        all.lines().filter(|line| line.split_once(' ').is_some_and(|(_, text)| !text.is_empty())).collect();
    assert_eq!(
        turns,
        ["User Where is f?", "Assistant It is in a.py:1.", "User And then?", "Assistant Second.", "User And now?"]
    );
    let body = String::from_utf8(transcript.body(None)).unwrap();
    assert!(body.contains("Process exited with code 2"), "results keep their exit code");
}

#[test]
fn spaces_and_a_byte_order_mark_change_nothing() {
    for (client, text) in [(Client::ClaudeCode, CLAUDE_197), (Client::ClaudeCode, CLAUDE_329), (Client::Codex, CODEX)] {
        let spaced = text.replace("\":", "\" : ").replace(",\"", ",  \"");
        let marked = format!("\u{feff}{spaced}").replace('\n', " \r\n");
        assert_eq!(
            shown(&of(client, marked.as_bytes()), None),
            shown(&of(client, text.as_bytes()), None),
            "{client:?}"
        );
    }
}

#[test]
fn new_prompt_is_the_newest_human_turn_in_each_format() {
    let prompt = "Why \"this\"?\nAnd that?";
    for client in [Client::ClaudeCode, Client::Codex, Client::Opencode] {
        let transcript = Transcript::empty(client);
        let body = transcript.body(Some(prompt));
        let view = Prompt::parse(transcript.format(), &body).unwrap();
        assert_eq!(newest_human_turn(&view).unwrap().question, prompt, "{client:?}");
        assert!(crate::has_file_tools(&view), "{client:?}");
    }
}

#[test]
fn lines_that_are_no_turn_of_the_conversation_are_skipped() {
    let message = r#""message":{"role":"user","content":"no"}"#;
    let lines = [
        format!(r#"{{"type":"user","isSidechain":true,{message}}}"#),
        format!(r#"{{"type":"user","isMeta":true,{message}}}"#),
        format!(r#"{{"type":"assistant","isApiErrorMessage":true,{message}}}"#),
        format!(r#"{{"type":"progress","data":{{"type":"user",{message}}}}}"#),
        r#"{"type":"user","message":"#.to_owned(),
        r#"{"type":"user"}"#.to_owned(),
        "\u{0}\u{1}".to_owned(),
        r#"{"type":"user","message":{"role":"user","content":"yes"}}"#.to_owned(),
        r#"{"type":"assistant","message":{"role":"assistant","content":"to"#.to_owned(),
    ];
    assert_eq!(shown(&of(Client::ClaudeCode, lines.join("\n").as_bytes()), None), "User yes\n");
}

#[test]
fn compaction_drops_what_it_replaced() {
    let summary = r#"{"type":"user","isCompactSummary":true,"message":{"role":"user","content":"This session is being continued from a previous conversation"}}"#;
    let after = r#"{"type":"user","message":{"role":"user","content":"after"}}"#;
    let text = format!("{CLAUDE_197}{summary}\n{after}\n");
    assert_eq!(shown(&of(Client::ClaudeCode, text.as_bytes()), None), "User \nUser after\n");

    let kept = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "kept"}]});
    let compacted = json!({"type": "compacted", "payload": {"message": "s", "replacement_history": [kept]}});
    let text = format!("{CODEX}{compacted}\n");
    assert_eq!(shown(&of(Client::Codex, text.as_bytes()), None), "User kept\n");
}

#[test]
fn messages_of_opencode_become_calls_and_results() {
    let tool =
        |id: &str, state: serde_json::Value| json!({"type": "tool", "callID": id, "tool": "bash", "state": state});
    let messages = [
        json!({"info": {"role": "user"}, "parts": [
            {"type": "text", "text": "Where is f?"},
            {"type": "text", "synthetic": true, "text": "<muninn-context>BLOCK</muninn-context>"}]}),
        json!({"info": {"role": "assistant"}, "parts": [
            {"type": "step-start"},
            tool("c1", json!({"status": "completed", "input": {"command": "ls x"}, "output": "none", "metadata": {"exit": 2}})),
            tool("c2", json!({"status": "error", "input": {"command": "ls y"}, "error": "denied"})),
            {"type": "text", "text": "It is in a.py:1."}]}),
    ];
    let transcript = Transcript::of_messages(Client::Opencode, &messages);
    assert_eq!(
        shown(&transcript, Some("And then?")),
        "User Where is f?\nAssistant \nUser \nAssistant It is in a.py:1.\nUser And then?\n"
    );
    let body: serde_json::Value = serde_json::from_slice(&transcript.body(None)).unwrap();
    let results = &body["messages"][2]["content"];
    assert_eq!(results[0], json!({"type": "tool_result", "tool_use_id": "c1", "content": "none", "is_error": true}));
    assert_eq!((&results[1]["content"], &results[1]["is_error"]), (&json!("denied"), &json!(true)));
    assert!(!body.to_string().contains("BLOCK"), "injected text is not learned");
}

#[test]
fn oldest_messages_are_dropped_and_later_lines_do_not_change_which() {
    let line = |index: usize| {
        let text = format!("{index} {}", "x".repeat(1 << 20));
        format!("{}\n", json!({"type": "user", "message": {"role": "user", "content": text}}))
    };
    let text: String = (0..6).map(line).collect();
    let transcript = of(Client::ClaudeCode, text.as_bytes());
    assert!(transcript.bytes <= MOST_BYTES);
    let first = transcript.messages.front().unwrap()[..40].to_owned();
    assert!(!first.contains("0 x"), "{first}");
    let more = of(Client::ClaudeCode, (text + &line(6)).as_bytes());
    assert_eq!(more.messages.front().unwrap()[..40], first);
}

#[test]
fn missing_file_is_an_empty_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let transcript = Transcript::read(Client::ClaudeCode, &folder.path().join("absent.jsonl")).unwrap();
    assert!(transcript.messages.is_empty());
}

#[test]
fn huge_file_is_refused_unread() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.jsonl");
    std::fs::File::create(&path).unwrap().set_len(MOST_READ + 1).unwrap();
    assert!(matches!(
        Transcript::read(Client::ClaudeCode, &path),
        Err(TranscriptError::TooLarge { size, .. }) if size == MOST_READ + 1
    ));
}

#[cfg(unix)]
#[test]
fn devices_pipes_and_directories_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    for path in [Path::new("/dev/zero"), &pipe, folder.path()] {
        assert!(
            matches!(Transcript::read(Client::ClaudeCode, path), Err(TranscriptError::NotRegular(_))),
            "{}",
            path.display()
        );
    }
}

proptest! {
    /// A damaged transcript gives a body that can be read.
    #[test]
    fn any_damage_leaves_a_readable_body(
        which in 0..3usize,
        cuts in prop::collection::vec((0usize..30_000, 0usize..2_000, any::<u8>()), 0..8),
    ) {
        let (client, text) = [
            (Client::ClaudeCode, CLAUDE_197),
            (Client::ClaudeCode, CLAUDE_329),
            (Client::Codex, CODEX),
        ][which];
        let mut bytes = text.as_bytes().to_vec();
        for (at, length, byte) in cuts {
            let at = at % bytes.len();
            let end = (at + length).min(bytes.len());
            bytes.splice(at..end, [byte]);
        }
        let transcript = of(client, &bytes);
        let body = transcript.body(Some("And now?"));
        let view = Prompt::parse(transcript.format(), &body).unwrap();
        prop_assert_eq!(newest_human_turn(&view).unwrap().question, "And now?");
    }
}
