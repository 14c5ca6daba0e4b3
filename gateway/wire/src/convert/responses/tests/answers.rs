//! Tests of answers, read and written.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::super::answer::{Answer, BlockKind, Event, Failure, FailureKind, Stop, Usage};
use super::super::super::golden::check_grammar;
use super::super::super::{AnswerContext, ReadAnswer, SpecialKind, SpecialTool, WriteAnswer};
use super::super::{Reader, Writer};
use super::golden;

fn events_of(stream: &str) -> Vec<(String, String)> {
    let event = |text: &str| {
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        let name = field("event: ").unwrap_or_else(|| "message".to_owned());
        (name, field("data: ").unwrap_or_default())
    };
    stream.split("\n\n").filter(|text| !text.is_empty()).map(event).collect()
}

fn read(stream: &[(String, String)]) -> Vec<Event> {
    let (mut reader, mut events) = (Reader::default(), Vec::new());
    for (name, data) in stream {
        reader.event(name, data, &mut events);
    }
    reader.end(&mut events);
    events
}

fn read_whole(body: &str) -> Vec<Event> {
    let mut events = Vec::new();
    Reader::default().whole(body, &mut events);
    events
}

/// Events in one line: blocks as `kind:text{seal}`, then the stop or the failure.
fn line(events: &[Event]) -> String {
    let mut line = String::new();
    for event in events {
        match event {
            Event::Open { kind, .. } => line.push_str(&match kind {
                BlockKind::Text => "text:".to_owned(),
                BlockKind::Refusal => "refusal:".to_owned(),
                BlockKind::Thinking => "thinking:".to_owned(),
                BlockKind::SealedThinking => "sealed:".to_owned(),
                BlockKind::ToolCall { id, name } => format!("{name}({id}):"),
            }),
            Event::Delta { text, .. } => line.push_str(text),
            Event::Seal { seal, .. } => line.push_str(&format!("{{{seal}}}")),
            Event::Close { .. } => line.push_str(" | "),
            Event::Stop(stop) => line.push_str(&format!("{stop:?}")),
            Event::End => line.push('.'),
            Event::Failed(failure) => line.push_str(&format!("{:?}: {}", failure.kind, failure.message)),
            Event::Start { .. } | Event::Usage(_) => {}
        }
    }
    line
}

#[test]
fn streams_of_many_servers_are_read() {
    let cases = [
        ("openai_text", "text:Hello there. | Done."),
        (
            "openai_reasoning_summary_and_calls",
            "thinking:**Reading**\n\n**Fixing**{responses:gAAAA1} | exec_command(call_1):{\"cmd\":\"ls\"} | \
             exec_command(call_2):{\"cmd\":\"pwd\"} | ToolCalls.",
        ),
        ("openai_sealed_reasoning_only", "sealed:{responses:gAAAA1} | text:42 | Done."),
        ("openai_incomplete", "text:Once upon | Length."),
        ("openai_failed_rate_limit", "RateLimit: Rate limit reached for gpt-5.1. Please try again in 11.054s."),
        ("openai_error_event", "text:HalServer: The server had an error while processing your request."),
        ("openai_refusal", "refusal:I can't do that. | Done."),
        (
            "vllm_reasoning_text_and_call",
            "thinking:I should look.{muninn-1} | read(chatcmpl-tool-9f):{\"path\": \"a.rs\"} | ToolCalls.",
        ),
        ("llama_cpp_without_indices", "text:Hello | Done."),
        ("transformers_without_event_lines", "text:Hello | Done."),
        ("litellm_other_ids_in_deltas", "text:Hello | Done."),
        ("ollama_arguments_only_when_done", "read(call_o1):{\"path\":\"a\"} | ToolCalls."),
        ("items_only_when_done", "text:All at once. | now(call_1):{} | ToolCalls."),
        ("everything_in_completed", "text:All at the end. | Done."),
        ("call_named_when_done", "read(call_1):{\"p\":1} | ToolCalls."),
        ("ends_in_the_middle", "text:Hel"),
        ("not_json", "Server: the backend sent something that is not valid JSON"),
        ("llama_cpp_overflow", "ContextOverflow: the request exceeds the available context size, try increasing it"),
    ];
    let streams = golden("stream");
    for (name, expected) in cases {
        assert_eq!(line(&read(&events_of(&streams[name]))), expected, "{name}");
    }
    // These blocks overlap, so their texts are compared separately.
    let answer = Answer::collect(read(&events_of(&streams["interleaved_calls"]))).unwrap();
    let texts: Vec<_> = answer.blocks.iter().map(|block| &*block.text).collect();
    assert_eq!(texts, ["{\"p\":1}", "{\"p\":2}"]);
}

#[test]
fn damaged_streams_keep_the_grammar_of_events() {
    for (name, stream) in golden("stream") {
        let events = events_of(&stream);
        for at in 0..events.len() {
            let mut lost = events.clone();
            lost.remove(at);
            let mut twice = events.clone();
            twice.insert(at, events[at].clone());
            let mut swapped = events.clone();
            swapped.swap(at, (at + 1).min(events.len() - 1));
            for changed in [lost, twice, swapped] {
                check_grammar(&name, &read(&changed));
            }
        }
    }
}

#[test]
fn events_with_wrong_types_are_ignored() {
    let data = [
        r#"{"type":"response.output_item.added","output_index":"x","item":{"type":"message","id":7}}"#,
        r#"{"type":"response.output_item.added","item":null}"#,
        r#"{"type":"response.output_text.delta","content_index":-1,"delta":{"a":1}}"#,
        r#"{"type":"response.output_text.delta","delta":"ok"}"#,
        r#"{"type":7}"#,
        r#"{"type":"response.function_call_arguments.delta","delta":"{"}"#,
        r#"{"type":"response.output_item.done","item":{"type":"function_call","arguments":{"a":1}}}"#,
        r#"{"type":"response.output_item.done","item":{"type":"message","content":"words"}}"#,
        r#"{"type":"response.completed","response":[1]}"#,
        r#"{"type":"response.output_text.delta","delta":"late"}"#,
    ];
    let events: Vec<_> = data.iter().map(|data| ("message".to_owned(), (*data).to_owned())).collect();
    let read = read(&events);
    check_grammar("wrong types", &read);
    assert_eq!(line(&read), "text:ok | Done.");
}

#[test]
fn whole_answers_of_many_servers_are_read() {
    let cases = [
        ("openai_text", "text:Hello there. | Done."),
        (
            "openai_sealed_reasoning_and_call",
            "sealed:{responses:gAAAAABpIH} | get_weather(call_Jd1):{\"city\":\"Bern\"} | ToolCalls.",
        ),
        ("openai_summary_and_text", "thinking:**First**\n\n**Second**{responses:gAAAAABpIH} | text:42 | Done."),
        ("openai_parallel_calls", "read(call_1):{\"p\":1} | read(call_2):{\"p\":2} | ToolCalls."),
        ("openai_refusal", "refusal:I can't help with that. | Done."),
        ("openai_incomplete_length", "text:Once upon a | Length."),
        ("openai_incomplete_filter", "text:Well | Filtered."),
        ("openai_failed", "Server: The model failed to generate a response."),
        ("vllm_open_reasoning", "thinking:The user greets me.{muninn-1} | text:Hi! | Done."),
        ("llama_cpp_text", "text:Hello | Done."),
        ("two_messages_and_two_parts", "text:one | text:two | text:three | Done."),
        ("hosted_items_between", "text:Found. | Done."),
        (
            "error_body",
            "ContextOverflow: This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
        ),
    ];
    let answers = golden("answer");
    assert_eq!(cases.len(), answers.len());
    for (name, expected) in cases {
        let events = read_whole(&answers[name]);
        check_grammar(name, &events);
        assert_eq!(line(&events), expected, "{name}");
    }
    let usage = Answer::collect(read_whole(&answers["vllm_open_reasoning"])).unwrap().usage;
    let expected = Usage { input: Some(20), cached: Some(16), cache_write: None, output: Some(12), reasoning: Some(7) };
    assert_eq!(usage, expected);
    assert_eq!(read_whole("{}"), []);
    assert_eq!(read_whole("<html>").len(), 1);
}

fn context() -> AnswerContext {
    let special = |kind, namespace: Option<&str>, name: &str| SpecialTool {
        kind,
        namespace: namespace.map(str::to_owned),
        name: name.to_owned(),
    };
    AnswerContext {
        id: "01K".to_owned(),
        created: 1_763_713_000,
        model: "gpt-5.1".to_owned(),
        special: BTreeMap::from([
            ("exec".to_owned(), special(SpecialKind::Custom, Some("functions"), "exec")),
            ("mcp__docs__search".to_owned(), special(SpecialKind::Function, Some("mcp__docs"), "search")),
            ("tool_search".to_owned(), special(SpecialKind::Search, None, "tool_search")),
        ]),
        ..AnswerContext::default()
    }
}

fn block(number: usize, kind: BlockKind, texts: &[&str], seal: Option<&str>) -> Vec<Event> {
    let mut events = vec![Event::Open { block: number, kind }];
    events.extend(texts.iter().map(|text| Event::Delta { block: number, text: (*text).to_owned() }));
    events.extend(seal.map(|seal| Event::Seal { block: number, seal: seal.to_owned() }));
    events.push(Event::Close { block: number });
    events
}

fn call(id: &str, name: &str) -> BlockKind {
    BlockKind::ToolCall { id: id.to_owned(), name: name.to_owned() }
}

fn answer() -> Vec<Event> {
    let mut events = vec![Event::Start { model: None }];
    events.extend(block(0, BlockKind::Thinking, &["Let me", " see."], Some("muninn-1")));
    events.extend(block(1, BlockKind::SealedThinking, &[], Some("EoC")));
    events.extend(block(2, BlockKind::Text, &["Look:", " here"], None));
    events.extend(block(3, call("call_1", "exec"), &["{\"input\":\"ls", "\\n\"}"], None));
    events.extend(block(4, call("functions.f:0", "mcp__docs__search"), &["{\"q\":", "1}"], None));
    events.extend(block(5, call("call_3", "tool_search"), &["{\"query\":\"x\"}"], None));
    events.extend(block(6, BlockKind::Refusal, &["No."], None));
    let usage = Usage { input: Some(10), cached: Some(8), output: Some(5), ..Usage::default() };
    events.extend([Event::Usage(usage), Event::Stop(Stop::ToolCalls), Event::End]);
    events
}

fn written(events: &[Event]) -> Vec<(String, Value)> {
    let (mut writer, mut out) = (Writer::new(context()), String::new());
    for event in events {
        writer.event(event, &mut out);
    }
    let events = events_of(&out).into_iter();
    events.map(|(name, data)| (name, serde_json::from_str(&data).unwrap())).collect()
}

#[test]
fn stream_has_all_events_in_order() {
    let events = written(&answer());
    for (at, (name, data)) in events.iter().enumerate() {
        assert_eq!(data["sequence_number"], at);
        assert_eq!(data["type"], **name);
    }
    let of_item = |index: u64| {
        let names = events.iter().filter(|(_, data)| data["output_index"] == index);
        let names: Vec<_> = names.map(|(name, _)| name.strip_prefix("response.").unwrap()).collect();
        names.join(" ")
    };
    assert_eq!(
        of_item(0),
        "output_item.added reasoning_summary_part.added reasoning_summary_text.delta reasoning_summary_text.delta \
         reasoning_summary_text.done reasoning_summary_part.done output_item.done"
    );
    assert_eq!(of_item(1), "output_item.added output_item.done");
    assert_eq!(
        of_item(2),
        "output_item.added content_part.added output_text.delta output_text.delta output_text.done content_part.done \
         output_item.done"
    );
    assert_eq!(
        of_item(3),
        "output_item.added custom_tool_call_input.delta custom_tool_call_input.delta custom_tool_call_input.done \
         output_item.done"
    );
    assert_eq!(
        of_item(4),
        "output_item.added function_call_arguments.delta function_call_arguments.delta function_call_arguments.done \
         output_item.done"
    );
    assert_eq!(of_item(5), "output_item.added output_item.done");
    assert!(of_item(6).contains("refusal.delta refusal.done content_part.done"));
    let names: Vec<_> = events.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names[..2], ["response.created", "response.in_progress"]);
    assert_eq!(*names.last().unwrap(), "response.completed");
}

#[test]
fn last_event_has_all_complete_items_and_equals_the_whole_answer() {
    let events = written(&answer());
    let done = events.iter().filter(|(name, _)| name == "response.output_item.done");
    let done: Vec<_> = done.map(|(_, data)| data["item"].clone()).collect();
    let response = &events.last().unwrap().1["response"];
    assert_eq!(response["output"], Value::Array(done.clone()));
    let answer = Answer::collect(answer()).unwrap();
    let whole: Value = serde_json::from_str(&Writer::new(context()).whole(&answer)).unwrap();
    assert_eq!(*response, whole);
    let required = [
        "id", "object", "created_at", "status", "error", "incomplete_details", "instructions", "metadata", "model",
        "output", "parallel_tool_calls", "temperature", "tool_choice", "tools", "top_p", "usage",
    ];
    for member in required {
        assert!(response.get(member).is_some(), "{member}");
    }
    assert_eq!(response["usage"]["total_tokens"], 15);
    // OpenAI's client library requires the member even if the count is unknown.
    assert_eq!(response["usage"]["input_tokens_details"]["cache_write_tokens"], 0);
    assert_eq!(response["usage"]["input_tokens_details"]["cached_tokens"], 8);
    assert_eq!(done[0]["encrypted_content"], "muninn-1");
    assert_eq!(done[1]["encrypted_content"], "EoC");
    assert_eq!(done[3]["type"], "custom_tool_call");
    assert_eq!((&done[3]["namespace"], &done[3]["input"]), (&"functions".into(), &"ls\n".into()));
    assert_eq!((&done[4]["namespace"], &done[4]["name"]), (&"mcp__docs".into(), &"search".into()));
    assert_eq!(done[4]["call_id"], "call_m_functions_2ef_3a0");
    assert_eq!((&done[5]["type"], &done[5]["arguments"]["query"]), (&"tool_search_call".into(), &"x".into()));
}

#[test]
fn written_answers_are_read_unchanged() {
    for (name, stream) in golden("stream") {
        let events = read(&events_of(&stream));
        if name == "interleaved_calls" || !matches!(events.last(), Some(Event::End)) {
            continue;
        }
        let (mut writer, mut out) = (Writer::new(AnswerContext::default()), String::new());
        for event in &events {
            writer.event(event, &mut out);
        }
        let again = line(&read(&events_of(&out)));
        // Ids without the format's prefix are wrapped, and every seal is read as the backend's.
        let expected = line(&events).replace("(chatcmpl-tool-9f)", "(call_m_chatcmpl-tool-9f)");
        assert_eq!(again.replace("responses:responses:", "responses:").replace("responses:muninn", "muninn"), expected);
    }
}

#[test]
fn failures_and_incomplete_answers_end_with_their_own_event() {
    let kinds = [
        (FailureKind::ContextOverflow, "context_length_exceeded"),
        (FailureKind::Authentication, "invalid_prompt"),
        (FailureKind::RateLimit, "rate_limit_exceeded"),
        (FailureKind::Overloaded, "server_is_overloaded"),
        (FailureKind::Server, "server_error"),
    ];
    for (kind, code) in kinds {
        let message = "no".to_owned();
        let events = written(&[Event::Failed(Failure { kind, message })]);
        assert_eq!(events[0].0, "response.created");
        let (name, data) = events.last().unwrap();
        assert_eq!(name, "response.failed");
        let expected = serde_json::json!({"code": code, "message": "no"});
        assert_eq!((&data["response"]["status"], &data["response"]["error"]), (&"failed".into(), &expected));
    }
    for (stop, reason) in [(Stop::Length, "max_output_tokens"), (Stop::Filtered, "content_filter")] {
        let events = written(&[Event::Start { model: None }, Event::Stop(stop), Event::End]);
        let (name, data) = events.last().unwrap();
        assert_eq!(name, "response.incomplete");
        assert_eq!(data["response"]["incomplete_details"]["reason"], reason);
    }
}
