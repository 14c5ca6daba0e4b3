//! The format against itself: what a client or a backend says, read, and written again.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use super::super::answer::{Answer, BlockKind, Event, Failure, FailureKind, Stop, Usage};
use super::super::request::{Dropped, Part, Request};
use super::super::{AnswerContext, ConvertError, ReadAnswer, SpecialKind, SpecialTool, ToolNames, WriteAnswer};
use super::{Reader, Writer, read_request, write_request};
use crate::wire::Members;

fn golden(kind: &str) -> BTreeMap<String, String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("src/wire/convert/golden/responses")
        .join(kind);
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect()
}

fn events_of(stream: &str) -> Vec<(String, String)> {
    let event = |text: &str| {
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        let name = field("event: ").unwrap_or_else(|| "message".to_owned());
        (name, field("data: ").unwrap_or_default())
    };
    stream
        .split("\n\n")
        .filter(|text| !text.is_empty())
        .map(event)
        .collect()
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

/// Events in one line: blocks as `kind:text{seal}`, then what ended them.
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

/// Fails where the events are not those of one answer.
fn check_grammar(name: &str, events: &[Event]) {
    let (mut next, mut open, mut stopped) = (0, Vec::new(), false);
    for (at, event) in events.iter().enumerate() {
        assert_eq!(
            matches!(event, Event::Start { .. }),
            at == 0 && !matches!(event, Event::Failed(_)),
            "{name}: {events:?}"
        );
        match event {
            Event::Open { block, .. } => {
                assert_eq!(*block, next, "{name}: {events:?}");
                assert!(!stopped, "{name}: {events:?}");
                next += 1;
                open.push(*block);
            }
            Event::Delta { block, .. } | Event::Seal { block, .. } => {
                assert!(open.contains(block), "{name}: {events:?}");
            }
            Event::Close { block } => {
                assert!(open.contains(block), "{name}: {events:?}");
                open.retain(|other| other != block);
            }
            Event::Stop(_) => {
                assert!(open.is_empty() && !stopped, "{name}: {events:?}");
                stopped = true;
            }
            Event::End => assert!(stopped && at + 1 == events.len(), "{name}: {events:?}"),
            Event::Failed(_) => assert_eq!(at + 1, events.len(), "{name}: {events:?}"),
            Event::Start { .. } | Event::Usage(_) => {}
        }
    }
}

#[test]
fn streams_are_read_whatever_they_leave_out() {
    let cases = [
        ("openai_text", "text:Hello there. | Done."),
        (
            "openai_reasoning_summary_and_calls",
            "thinking:**Reading**\n\n**Fixing**{responses:gAAAA1} | exec_command(call_1):{\"cmd\":\"ls\"} | \
             exec_command(call_2):{\"cmd\":\"pwd\"} | ToolCalls.",
        ),
        (
            "openai_sealed_reasoning_only",
            "sealed:{responses:gAAAA1} | text:42 | Done.",
        ),
        ("openai_incomplete", "text:Once upon | Length."),
        (
            "openai_failed_rate_limit",
            "RateLimit: Rate limit reached for gpt-5.1. Please try again in 11.054s.",
        ),
        (
            "openai_error_event",
            "text:HalServer: The server had an error while processing your request.",
        ),
        ("openai_refusal", "refusal:I can't do that. | Done."),
        (
            "vllm_reasoning_text_and_call",
            "thinking:I should look.{muninn-1} | read(chatcmpl-tool-9f):{\"path\": \"a.rs\"} | ToolCalls.",
        ),
        ("llama_cpp_without_indices", "text:Hello | Done."),
        ("transformers_without_event_lines", "text:Hello | Done."),
        ("litellm_other_ids_in_deltas", "text:Hello | Done."),
        (
            "ollama_arguments_only_when_done",
            "read(call_o1):{\"path\":\"a\"} | ToolCalls.",
        ),
        (
            "items_only_when_done",
            "text:All at once. | now(call_1):{} | ToolCalls.",
        ),
        ("everything_in_completed", "text:All at the end. | Done."),
        ("call_named_when_done", "read(call_1):{\"p\":1} | ToolCalls."),
        ("ends_in_the_middle", "text:Hel"),
        ("not_json", "Server: the backend sent something that is not valid JSON"),
        (
            "llama_cpp_overflow",
            "ContextOverflow: the request exceeds the available context size, try increasing it",
        ),
    ];
    let streams = golden("stream");
    for (name, expected) in cases {
        assert_eq!(line(&read(&events_of(&streams[name]))), expected, "{name}");
    }
    // Blocks overlap here, so they are looked at one by one.
    let answer = Answer::collect(read(&events_of(&streams["interleaved_calls"]))).unwrap();
    let texts: Vec<_> = answer.blocks.iter().map(|block| &*block.text).collect();
    assert_eq!(texts, ["{\"p\":1}", "{\"p\":2}"]);
}

#[test]
fn streams_with_events_lost_repeated_or_swapped_are_still_answers() {
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
fn events_with_wrong_types_do_no_harm() {
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
    let events: Vec<_> = data
        .iter()
        .map(|data| ("message".to_owned(), (*data).to_owned()))
        .collect();
    let read = read(&events);
    check_grammar("wrong types", &read);
    assert_eq!(line(&read), "text:ok | Done.");
}

#[test]
fn whole_answers_are_read() {
    let cases = [
        ("openai_text", "text:Hello there. | Done."),
        (
            "openai_sealed_reasoning_and_call",
            "sealed:{responses:gAAAAABpIH} | get_weather(call_Jd1):{\"city\":\"Bern\"} | ToolCalls.",
        ),
        (
            "openai_summary_and_text",
            "thinking:**First**\n\n**Second**{responses:gAAAAABpIH} | text:42 | Done.",
        ),
        (
            "openai_parallel_calls",
            "read(call_1):{\"p\":1} | read(call_2):{\"p\":2} | ToolCalls.",
        ),
        ("openai_refusal", "refusal:I can't help with that. | Done."),
        ("openai_incomplete_length", "text:Once upon a | Length."),
        ("openai_incomplete_filter", "text:Well | Filtered."),
        ("openai_failed", "Server: The model failed to generate a response."),
        (
            "vllm_open_reasoning",
            "thinking:The user greets me.{muninn-1} | text:Hi! | Done.",
        ),
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
    let usage = Answer::collect(read_whole(&answers["vllm_open_reasoning"]))
        .unwrap()
        .usage;
    let expected = Usage {
        input: Some(20),
        cached: Some(16),
        cache_write: None,
        output: Some(12),
        reasoning: Some(7),
    };
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
            (
                "exec".to_owned(),
                special(SpecialKind::Custom, Some("functions"), "exec"),
            ),
            (
                "mcp__docs__search".to_owned(),
                special(SpecialKind::Function, Some("mcp__docs"), "search"),
            ),
            (
                "tool_search".to_owned(),
                special(SpecialKind::Search, None, "tool_search"),
            ),
        ]),
        ..AnswerContext::default()
    }
}

fn block(number: usize, kind: BlockKind, texts: &[&str], seal: Option<&str>) -> Vec<Event> {
    let mut events = vec![Event::Open { block: number, kind }];
    events.extend(texts.iter().map(|text| Event::Delta {
        block: number,
        text: (*text).to_owned(),
    }));
    events.extend(seal.map(|seal| Event::Seal {
        block: number,
        seal: seal.to_owned(),
    }));
    events.push(Event::Close { block: number });
    events
}

fn call(id: &str, name: &str) -> BlockKind {
    BlockKind::ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
    }
}

fn an_answer() -> Vec<Event> {
    let mut events = vec![Event::Start { model: None }];
    events.extend(block(0, BlockKind::Thinking, &["Let me", " see."], Some("muninn-1")));
    events.extend(block(1, BlockKind::SealedThinking, &[], Some("EoC")));
    events.extend(block(2, BlockKind::Text, &["Look:", " here"], None));
    events.extend(block(3, call("call_1", "exec"), &["{\"input\":\"ls", "\\n\"}"], None));
    events.extend(block(
        4,
        call("functions.f:0", "mcp__docs__search"),
        &["{\"q\":", "1}"],
        None,
    ));
    events.extend(block(5, call("call_3", "tool_search"), &["{\"query\":\"x\"}"], None));
    events.extend(block(6, BlockKind::Refusal, &["No."], None));
    let usage = Usage {
        input: Some(10),
        cached: Some(8),
        output: Some(5),
        ..Usage::default()
    };
    events.extend([Event::Usage(usage), Event::Stop(Stop::ToolCalls), Event::End]);
    events
}

fn written(events: &[Event]) -> Vec<(String, Value)> {
    let (mut writer, mut out) = (Writer::new(context()), String::new());
    for event in events {
        writer.event(event, &mut out);
    }
    let events = events_of(&out).into_iter();
    events
        .map(|(name, data)| (name, serde_json::from_str(&data).unwrap()))
        .collect()
}

#[test]
fn a_stream_has_every_event_in_its_order() {
    let events = written(&an_answer());
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
fn the_last_event_holds_the_items_that_were_done_and_equals_the_whole_answer() {
    let events = written(&an_answer());
    let done = events.iter().filter(|(name, _)| name == "response.output_item.done");
    let done: Vec<_> = done.map(|(_, data)| data["item"].clone()).collect();
    let response = &events.last().unwrap().1["response"];
    assert_eq!(response["output"], Value::Array(done.clone()));
    let answer = Answer::collect(an_answer()).unwrap();
    let whole: Value = serde_json::from_str(&Writer::new(context()).whole(&answer)).unwrap();
    assert_eq!(*response, whole);
    let required = [
        "id",
        "object",
        "created_at",
        "status",
        "error",
        "incomplete_details",
        "instructions",
        "metadata",
        "model",
        "output",
        "parallel_tool_calls",
        "temperature",
        "tool_choice",
        "tools",
        "top_p",
        "usage",
    ];
    for member in required {
        assert!(response.get(member).is_some(), "{member}");
    }
    assert_eq!(response["usage"]["total_tokens"], 15);
    assert_eq!(response["usage"]["input_tokens_details"]["cached_tokens"], 8);
    assert_eq!(done[0]["encrypted_content"], "muninn-1");
    assert_eq!(done[1]["encrypted_content"], "EoC");
    assert_eq!(done[3]["type"], "custom_tool_call");
    assert_eq!(
        (&done[3]["namespace"], &done[3]["input"]),
        (&"functions".into(), &"ls\n".into())
    );
    assert_eq!(
        (&done[4]["namespace"], &done[4]["name"]),
        (&"mcp__docs".into(), &"search".into())
    );
    assert_eq!(done[4]["call_id"], "call_m_functions_2ef_3a0");
    assert_eq!(
        (&done[5]["type"], &done[5]["arguments"]["query"]),
        (&"tool_search_call".into(), &"x".into())
    );
}

#[test]
fn what_is_written_is_read_the_same() {
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
        // An id that our clients cannot take is wrapped, and every seal is taken for the backend's.
        let expected = line(&events).replace("(chatcmpl-tool-9f)", "(call_m_chatcmpl-tool-9f)");
        assert_eq!(
            again
                .replace("responses:responses:", "responses:")
                .replace("responses:muninn", "muninn"),
            expected
        );
    }
}

#[test]
fn failures_and_cuts_end_a_stream_as_clients_need_it() {
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
        assert_eq!(
            (&data["response"]["status"], &data["response"]["error"]),
            (&"failed".into(), &expected)
        );
    }
    for (stop, reason) in [(Stop::Length, "max_output_tokens"), (Stop::Filtered, "content_filter")] {
        let events = written(&[Event::Start { model: None }, Event::Stop(stop), Event::End]);
        let (name, data) = events.last().unwrap();
        assert_eq!(name, "response.incomplete");
        assert_eq!(data["response"]["incomplete_details"]["reason"], reason);
    }
}

struct Round {
    body: Value,
    dropped: Vec<String>,
    special: BTreeMap<String, SpecialTool>,
}

fn round(body: &str) -> Round {
    let (mut dropped, mut context) = (Dropped::default(), AnswerContext::default());
    let members = Members::of(body.trim()).unwrap();
    let request = read_request(&members, &mut dropped, &mut context).unwrap();
    let body = write_request(&request, &mut dropped, &mut ToolNames::default());
    Round {
        body: serde_json::from_str(&body).unwrap(),
        dropped: dropped.iter().map(|(name, _)| name.to_owned()).collect(),
        special: context.special,
    }
}

#[test]
fn what_has_no_neutral_form_is_named() {
    let cases: [(&str, &[&str]); 12] = [
        ("codex_first_turn", &["tools.web_search"]),
        ("codex_parallel_calls", &["tools.web_search"]),
        ("codex_tools_as_items", &[]),
        ("codex_tool_search", &[]),
        ("codex_title", &[]),
        ("plain_string", &[]),
        ("sdk_items_without_type", &["service_tier", "truncation"]),
        ("image_and_file", &["input.input_audio", "messages.document.file"]),
        (
            "hosted_tools_and_their_items",
            &[
                "include.web_search_call.action.sources",
                "input.web_search_call",
                "tools.code_interpreter",
                "tools.file_search",
                "tools.image_generation",
                "tools.mcp",
                "tools.web_search",
            ],
        ),
        ("foreign_sealed_reasoning", &["messages.thinking"]),
        ("local_shell_history", &["tools.local_shell"]),
        ("agent_message", &["input.encrypted_content"]),
    ];
    let requests = golden("request");
    for (name, expected) in cases {
        assert_eq!(round(&requests[name]).dropped, expected, "{name}");
    }
    for (name, body) in requests {
        let round = round(&body);
        assert_eq!(round.body["store"], false, "{name}");
        assert!(!round.body["input"].as_array().unwrap().is_empty(), "{name}");
    }
}

#[test]
fn a_conversation_that_is_appended_to_keeps_its_beginning() {
    let requests = golden("request");
    let items = |name: &str| round(&requests[name]).body["input"].as_array().unwrap().clone();
    let turns = [
        "codex_first_turn",
        "codex_parallel_calls",
        "codex_custom_tool_in_history",
    ]
    .map(items);
    for pair in turns.windows(2) {
        assert!(pair[1].starts_with(&pair[0]), "{pair:#?}");
    }
    let plain = round(r#"{"model":"m","input":"hi"}"#).body;
    let listed =
        r#"{"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}"#;
    assert_eq!(plain, round(listed).body);
}

#[test]
fn tools_come_flat_and_are_known_again() {
    let requests = golden("request");
    let Round { body, special, .. } = round(&requests["codex_tools_as_items"]);
    let names: Vec<_> = body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["exec", "wait", "mcp__docs__search"]);
    assert_eq!(special["exec"].kind, SpecialKind::Custom);
    assert_eq!(special["exec"].namespace.as_deref(), Some("functions"));
    assert_eq!(special["mcp__docs__search"].name, "search");
    let said = |tool: usize| body["tools"][tool]["description"].as_str().unwrap();
    assert!(said(0).contains("lark grammar:\n\nstart: /[^]+/"), "{}", said(0));
    assert_eq!(said(2), "Looks things up in the project's documents.\n\nSearches");
    let input = body["input"].as_array().unwrap();
    assert_eq!(
        input[1]["arguments"],
        r#"{"input":"text(await tools.exec_command({cmd:\"ls\"}))"}"#
    );
    assert_eq!(input[2]["output"], "Script completed\n\nCargo.toml\nsrc");
    assert_eq!(input[3]["content"][0]["text"], "Further output of exec:");
    assert_eq!(input[4]["name"], "mcp__docs__search");

    let Round { body, special, .. } = round(&requests["codex_tool_search"]);
    assert_eq!(special["tool_search"].kind, SpecialKind::Search);
    assert_eq!(body["tools"][2]["name"], "mcp__tracker__create_issue");
    assert_eq!(body["input"][2]["output"], "Tools found: mcp__tracker__create_issue");
}

#[test]
fn choices_settings_and_messages_are_carried() {
    let requests = golden("request");
    let body = |name: &str| round(&requests[name]).body;
    assert_eq!(body("forced_function")["tool_choice"]["name"], "get_weather");
    assert_eq!(body("forced_function")["tools"][0]["strict"], true);
    let allowed = body("allowed_tools");
    assert_eq!(
        (&allowed["tool_choice"], allowed["tools"].as_array().unwrap().len()),
        (&"required".into(), 1)
    );
    assert_eq!(body("hosted_tools_and_their_items").get("tool_choice"), None);
    assert_eq!(body("codex_configuration_update")["reasoning"]["effort"], "high");
    assert_eq!(
        body("codex_configuration_update")["include"][0],
        "reasoning.encrypted_content"
    );
    let title = body("codex_title");
    assert_eq!(
        (&title["text"]["format"]["name"], &title["text"]["verbosity"]),
        (&"codex_output_schema".into(), &"low".into())
    );
    let sdk = body("sdk_items_without_type");
    assert_eq!(
        (&sdk["instructions"], &sdk["safety_identifier"]),
        (&"Be brief.".into(), &"u-17".into())
    );
    let middle = body("system_in_the_middle");
    assert_eq!(middle["instructions"], "You are helpful.\n\nHouse rules.");
    assert_eq!(middle["input"][2]["role"], "developer");
    assert_eq!(
        body("open_reasoning")["input"][1]["content"][0]["text"],
        "Let me think.\n\nYes."
    );
    let image = body("codex_view_image");
    assert_eq!(
        image["input"][2]["output"][0]["image_url"],
        "data:image/png;base64,iVBORw0KGgo="
    );
}

#[test]
fn numbers_are_the_clients_text() {
    let members = Members::of(r#"{"model":"m","input":"x","temperature":0.20,"max_output_tokens":5}"#).unwrap();
    let request = read_request(&members, &mut Dropped::default(), &mut AnswerContext::default()).unwrap();
    let body = write_request(&request, &mut Dropped::default(), &mut ToolNames::default());
    assert!(body.contains(r#""temperature":0.20"#), "{body}");
    assert!(body.contains(r#""max_output_tokens":16"#), "{body}");
}

#[test]
fn every_call_has_one_output_and_every_output_a_call() {
    let input = round(&golden("request")["interrupted_call"]).body["input"].clone();
    let kinds: Vec<_> = input
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "message",
            "function_call",
            "function_call_output",
            "message",
            "message",
            "message"
        ]
    );
    assert_eq!(input[1]["arguments"], "{}");
    assert_eq!(input[2]["output"], "[no result: the call was interrupted]");
    assert_eq!(input[4]["content"][0]["text"], "Result of the tool call call_gone:");
    assert_eq!(input[5]["content"][1]["text"], "no call");
}

#[test]
fn a_failed_tool_says_so() {
    let result = |text: &'static str| super::super::request::Message {
        speaker: super::super::request::Speaker::User,
        parts: vec![Part::ToolResult(super::super::request::ToolResult {
            call: "c".into(),
            parts: vec![Part::text(text)],
            is_error: true,
        })],
    };
    let call = || super::super::request::Message {
        speaker: super::super::request::Speaker::Assistant,
        parts: vec![Part::ToolCall(super::super::request::ToolCall {
            id: "c".into(),
            name: "t".into(),
            arguments: "{}".into(),
        })],
    };
    for (text, expected) in [
        ("no such file", "Error: no such file"),
        ("error: denied", "error: denied"),
    ] {
        let request = Request {
            messages: vec![call(), result(text)],
            ..Request::default()
        };
        let body = write_request(&request, &mut Dropped::default(), &mut ToolNames::default());
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["input"][1]["output"], expected);
    }
}

#[test]
fn what_is_held_elsewhere_is_refused() {
    let cases = [
        (r#""previous_response_id":"resp_1""#, "previous_response_id"),
        (r#""conversation":"conv_1""#, "conversation"),
        (r#""prompt":{"id":"p"}"#, "prompt"),
        (r#""background":true"#, "background"),
        (
            r#""input":[{"type":"item_reference","id":"msg_1"}]"#,
            "input.item_reference",
        ),
        (
            r#""input":[{"type":"compaction","encrypted_content":"gAAA"}]"#,
            "input.compaction",
        ),
    ];
    for (member, field) in cases {
        let body = format!(r#"{{"model":"m","input":"x",{member}}}"#);
        let members = Members::of(&body).unwrap();
        let error = read_request(&members, &mut Dropped::default(), &mut AnswerContext::default()).unwrap_err();
        let format = "responses";
        assert_eq!(error, ConvertError::HeldElsewhere { field, format });
    }
    for body in [r#"{"model":"m"}"#, r#"{"input":"x"}"#, r#"{"model":"m","input":7}"#] {
        let members = Members::of(body).unwrap();
        let read = read_request(&members, &mut Dropped::default(), &mut AnswerContext::default());
        assert!(matches!(read, Err(ConvertError::Parse(_))), "{body}");
    }
    let body = r#"{"model":"m","input":"x","previous_response_id":null,"background":false,"prompt":null}"#;
    assert!(round(body).dropped.is_empty());
}
