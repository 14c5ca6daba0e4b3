//! The format against itself: what is read and written again says the same.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::super::answer::{Answer, BlockKind, Event, Stop};
use super::super::request::{Dropped, Message, Part, Request, Source, Speaker, Thinking, ToolCall, ToolResult};
use super::super::{AnswerContext, ReadAnswer, ToolNames, WriteAnswer};
use super::{Reader, Writer};
use crate::wire::Members;

/// The cases in a folder of the golden corpus, by name.
fn golden(kind: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src/wire/convert/golden/chat")
        .join(kind);
    let mut cases: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    cases.sort();
    assert!(cases.len() >= 10, "{kind}");
    cases
}

fn case(kind: &str, name: &str) -> String {
    golden(kind).into_iter().find(|(found, _)| found == name).unwrap().1
}

fn again(body: &str) -> (String, Dropped) {
    let mut dropped = Dropped::default();
    let members = Members::of(body.trim()).unwrap();
    let request = super::read_request(&members, &mut dropped).unwrap();
    let body = super::write_request(&request, &mut dropped, &mut ToolNames::default());
    (body, dropped)
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

fn written(messages: Vec<Message<'_>>) -> Value {
    let request = Request {
        messages,
        ..Request::default()
    };
    let body = super::write_request(&request, &mut Dropped::default(), &mut ToolNames::default());
    parsed(&body)["messages"].take()
}

fn message(speaker: Speaker, parts: Vec<Part<'_>>) -> Message<'_> {
    Message { speaker, parts }
}

fn call(id: &'static str) -> Part<'static> {
    Part::ToolCall(ToolCall {
        id: id.into(),
        name: "read".into(),
        arguments: "{}".into(),
    })
}

fn result(call: &'static str, parts: Vec<Part<'static>>, is_error: bool) -> Part<'static> {
    Part::ToolResult(ToolResult {
        call: call.into(),
        parts,
        is_error,
    })
}

fn image() -> Part<'static> {
    Part::Image {
        source: Source::Base64 {
            media_type: "image/png".into(),
            data: "AAAA".into(),
        },
        detail: None,
    }
}

fn data_of(stream: &str) -> Vec<&str> {
    stream.lines().filter_map(|line| line.strip_prefix("data: ")).collect()
}

fn read(data: &[&str]) -> Vec<Event> {
    let (mut reader, mut events) = (Reader::default(), Vec::new());
    for data in data {
        reader.event("message", data, &mut events);
    }
    reader.end(&mut events);
    events
}

/// An answer in one line, for tables.
fn told(events: Vec<Event>) -> String {
    let ended = matches!(events.last(), Some(Event::End | Event::Failed(_)));
    let answer = match Answer::collect(events) {
        Ok(answer) => answer,
        Err(failure) => return format!("{:?}", failure.kind),
    };
    let mut line = String::new();
    for block in &answer.blocks {
        let kind = match &block.kind {
            BlockKind::ToolCall { id, name } => format!("{id}:{name}"),
            kind => format!("{kind:?}"),
        };
        line += &format!("{kind}({}){} ", block.text, block.seal.as_deref().unwrap_or_default());
    }
    let usage = answer.usage;
    line += &answer.stop.map_or("-".to_owned(), |stop| format!("{stop:?}"));
    line += &format!(" {:?}/{:?}>{:?}", usage.input, usage.cached, usage.output)
        .replace("Some(", "")
        .replace(')', "");
    line + if ended { "" } else { " open" }
}

/// Checks what every reader promises about the order of its events.
fn assert_grammar(events: &[Event], case: &str) {
    let (mut open, mut next, mut starts, mut stops, mut over) = (Vec::new(), 0, 0, 0, false);
    for event in events {
        assert!(!over, "{case}: after the end {event:?}");
        assert!(
            starts == 1 || matches!(event, Event::Start { .. } | Event::Failed(_)),
            "{case}: {event:?}"
        );
        match event {
            Event::Start { .. } => starts += 1,
            Event::Open { block, .. } => {
                assert_eq!((*block, stops), (next, 0), "{case}");
                open.push(*block);
                next += 1;
            }
            Event::Delta { block, .. } | Event::Seal { block, .. } => assert!(open.contains(block), "{case}"),
            Event::Close { block } => {
                assert!(open.contains(block), "{case}");
                open.retain(|open| open != block);
            }
            Event::Usage(_) => {}
            Event::Stop(_) => {
                assert!(open.is_empty(), "{case}");
                stops += 1;
            }
            Event::End => {
                assert_eq!(stops, 1, "{case}");
                over = true;
            }
            Event::Failed(_) => over = true,
        }
    }
    assert!(starts <= 1, "{case}");
}

#[test]
fn requests_stay_as_they_are_once_written() {
    for (name, body) in golden("request") {
        let (once, _) = again(&body);
        let (twice, _) = again(&once);
        assert_eq!(once, twice, "{name}");
        assert_eq!(parsed(&once)["model"], parsed(&body)["model"], "{name}");
    }
}

#[test]
fn what_is_portable_is_written_as_it_was_read() {
    // `max_completion_tokens`, `metadata` and what asks for nothing are written otherwise on purpose.
    let portable = [
        "plain",
        "parallel_calls_and_results",
        "opencode_tools",
        "json_object",
        "images",
    ];
    for name in portable {
        let (mut before, mut after) = (parsed(&case("request", name)), parsed(&again(&case("request", name)).0));
        for body in [&mut before, &mut after] {
            for message in body["messages"].as_array_mut().unwrap() {
                let message = message.as_object_mut().unwrap();
                message.retain(|key, value| {
                    !value.is_null() && value != &json!([]) && !(key == "content" && value == &json!(""))
                });
            }
        }
        if name == "parallel_calls_and_results" {
            before["messages"][3]["content"] = json!("sun\n\n17 degrees");
        }
        if name == "opencode_tools" {
            before["tools"][1]["function"]["parameters"] = json!({"type": "object", "properties": {}});
        }
        assert_eq!(before, after, "{name}");
    }
}

#[test]
fn numbers_and_schemas_are_the_clients_text() {
    let (body, dropped) = again(&case("request", "every_parameter"));
    for text in [
        r#""temperature":0.70"#,
        r#""top_p":1e-1"#,
        r#""seed":12345678901234567890"#,
        r#""top_k":20"#,
    ] {
        assert!(body.contains(text), "{text} in {body}");
    }
    assert_eq!(dropped.iter().collect::<Vec<_>>(), [("metadata", 1)]);
    let (body, _) = again(&case("request", "tool_choice_required_no_parallel"));
    assert!(body.contains(r#""maximum":9007199254740993"#), "{body}");
}

#[test]
fn a_string_and_a_list_of_one_text_are_the_same() {
    let (plain, parts) = (case("request", "plain"), case("request", "text_parts_equal_plain"));
    assert_eq!(again(&plain), again(&parts));
}

#[test]
fn what_is_left_out_is_named_and_counted() {
    let cases = [
        (
            "what_no_other_format_has",
            "audio,function_call,functions,guided_regex,logit_bias,logprobs,messages.audio,messages.function,min_p,\
             modalities,n,prediction,service_tier,store,tools.custom,top_logprobs",
        ),
        ("cache_control", "messages.cache_control,tools.cache_control"),
        ("files_and_audio", "messages.document,messages.input_audio"),
        ("plain", ""),
        ("opencode_tools", ""),
        ("parallel_calls_and_results", ""),
        ("thinking_switched_by_template", "reasoning.enabled"),
    ];
    for (name, expected) in cases {
        let (_, dropped) = again(&case("request", name));
        let names: Vec<_> = dropped.iter().map(|(name, _)| name).collect();
        assert_eq!(names.join(","), expected, "{name}");
    }
    let (_, dropped) = again(&case("request", "cache_control"));
    assert_eq!(dropped.iter().next(), Some(("messages.cache_control", 2)));
}

#[test]
fn what_is_no_request_is_refused() {
    for body in [r#"{"model":"m"}"#, r#"{"messages":{}}"#, r#"{"messages":["hi"]}"#] {
        let members = Members::of(body).unwrap();
        assert!(
            super::read_request(&members, &mut Dropped::default()).is_err(),
            "{body}"
        );
    }
    let odd = r#"{"messages":[{},{"role":3,"content":7},{"role":"user","content":[1,{"type":2},"a"]},
        {"role":"assistant","tool_calls":[1,{},{"function":{"name":"f","arguments":{"a":1}}}]}],
        "tools":[1,{"name":"g"}],"tool_choice":7,"stop":[1],"temperature":"hot","response_format":1,"stream":1}"#;
    let (body, _) = again(odd);
    assert_eq!(
        parsed(&body)["messages"],
        json!([
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}]},
            {"role": "tool", "tool_call_id": "", "content": "[no result: the call was interrupted]"},
        ])
    );
}

#[test]
fn results_stand_behind_their_calls() {
    let text = Part::text;
    let user = |parts| message(Speaker::User, parts);
    let model = |parts| message(Speaker::Assistant, parts);
    let called = |ids: &[&str]| {
        let calls: Vec<_> = ids
            .iter()
            .map(|id| json!({"id": id, "type": "function", "function": {"name": "read", "arguments": "{}"}}))
            .collect();
        json!({"role": "assistant", "content": null, "tool_calls": calls})
    };
    let tool = |id: &str, content: &str| json!({"role": "tool", "tool_call_id": id, "content": content});
    let cases = [
        (
            // Words before a result come after it, and an interrupted call has one too.
            vec![
                model(vec![call("a"), call("b")]),
                user(vec![text("stop"), result("a", vec![text("1"), text("2")], false)]),
            ],
            json!([called(&["a", "b"]), tool("a", "1\n\n2"), tool("b", "[no result: the call was interrupted]"),
                {"role": "user", "content": "stop"}]),
        ),
        (
            // Errors say that they are, once.
            vec![
                model(vec![call("a"), call("b")]),
                user(vec![
                    result("a", vec![text("no such file")], true),
                    result("b", vec![text("ERROR 2")], true),
                ]),
            ],
            json!([
                called(&["a", "b"]),
                tool("a", "Error: no such file"),
                tool("b", "ERROR 2")
            ]),
        ),
        (
            // Images follow as the user's.
            vec![
                model(vec![call("a"), call("b")]),
                user(vec![
                    result("a", vec![image()], false),
                    result("b", vec![text("ok")], false),
                    text("see?"),
                ]),
            ],
            json!([called(&["a", "b"]), tool("a", "[an image, which follows]"), tool("b", "ok"),
            {"role": "user", "content": [
                {"type": "text", "text": "From the result of read:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                {"type": "text", "text": "see?"},
            ]}]),
        ),
        (
            // A result of no call, or a second one of the same call, is the user's words.
            vec![
                model(vec![call("a")]),
                user(vec![
                    result("a", vec![text("1")], false),
                    result("a", vec![text("2")], false),
                ]),
            ],
            json!([called(&["a"]), tool("a", "1"), {"role": "user", "content": "Result of an earlier tool call:\n2"}]),
        ),
        (
            // What is empty is no message, and neighbours of one side are one message.
            vec![
                user(vec![text("1")]),
                model(vec![
                    text(""),
                    Part::Thinking(Thinking {
                        text: "hm".into(),
                        seal: Some("muninn-1".into()),
                    }),
                ]),
                user(vec![text("2")]),
                message(Speaker::System, vec![text("mode"), text("plan")]),
            ],
            json!([{"role": "user", "content": "1\n\n2\n\n<system-reminder>\nmode\n\nplan\n</system-reminder>"}]),
        ),
    ];
    for (messages, expected) in cases {
        assert_eq!(written(messages), expected);
    }
}

#[test]
fn thinking_goes_back_under_the_name_that_it_came_under() {
    let thinking = |seal: &'static str| {
        Part::Thinking(Thinking {
            text: "hm".into(),
            seal: Some(seal.into()),
        })
    };
    for (seal, name) in [
        ("muninn-1", Some("reasoning_content")),
        ("muninn-2", Some("reasoning")),
        ("ErUB", None),
    ] {
        let said = vec![message(Speaker::Assistant, vec![thinking(seal), Part::text("Yes.")])];
        let mut expected = json!({"role": "assistant", "content": "Yes."});
        if let Some(name) = name {
            expected[name] = json!("hm");
        }
        assert_eq!(written(said), json!([expected]), "{seal}");
    }
}

#[test]
fn a_conversation_that_goes_on_keeps_its_beginning() {
    for (name, body) in golden("request") {
        let whole = parsed(&body);
        let messages = whole["messages"].as_array().unwrap();
        let all = again(&body).0;
        let all = Members::of(&all).unwrap().get("messages").unwrap();
        // A request ends before the model speaks.
        let ends = messages.iter().enumerate().skip(1);
        for (end, _) in ends.filter(|(_, message)| message["role"] == "assistant") {
            let mut earlier = whole.clone();
            earlier["messages"].as_array_mut().unwrap().truncate(end);
            let earlier = again(&earlier.to_string()).0;
            let earlier = Members::of(&earlier).unwrap().get("messages").unwrap();
            let beginning = earlier.trim_end_matches([']', '}', '"']);
            assert!(all.starts_with(beginning), "{name} at {end}: {beginning}");
        }
    }
}

#[test]
fn long_names_of_tools_are_shortened_everywhere() {
    let mut names = ToolNames::default();
    let body = case("request", "tool_choice_required_no_parallel");
    let members = Members::of(body.trim()).unwrap();
    let request = super::read_request(&members, &mut Dropped::default()).unwrap();
    let body = super::write_request(&request, &mut Dropped::default(), &mut names);
    let name = parsed(&body)["tools"][0]["function"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(name.len(), 64);
    assert_eq!(names.of_client(&name), request.tools[0].name);
}

#[test]
fn streams_of_many_servers_are_understood() {
    let made = |answer: &str, block: usize| format!("call_{}_{block}", &blake3::hash(answer.as_bytes()).to_hex()[..12]);
    let cases = [
        ("openai_text", "Text(Hello!) Done 19/16>10".to_owned()),
        (
            "openai_parallel_calls",
            r#"call_a:weather({"city":"Oslo"}) call_b:weather({"city":"Bergen"}) ToolCalls 19/16>10"#.to_owned(),
        ),
        (
            "interleaved_calls",
            r#"Text(Both.) call_a:weather({"city":"Oslo"}) call_b:time({"zone":"CET"}) ToolCalls 19/16>10"#.to_owned(),
        ),
        (
            "vllm_thinking_then_call",
            "Thinking(I need a tool.)muninn-2 Text(\n\n) chatcmpl-tool-91:weather({\"city\": \"Oslo\"}) ToolCalls 19/16>10"
                .to_owned(),
        ),
        (
            "vllm_named_tool_says_stop",
            r#"chatcmpl-tool-1:weather({"city": "Oslo"}) ToolCalls 211/None>14"#.to_owned(),
        ),
        ("vllm_error_in_the_middle", "Server".to_owned()),
        ("llama_cpp_usage_in_last_chunk", "Text(Hi.) Length 985/983>2".to_owned()),
        (
            "llama_cpp_thinking",
            "Thinking(Short one.)muninn-1 Text(Hi.) Done 19/16>10".to_owned(),
        ),
        ("transformers_without_done", "Text(Hi there) Done 12/None>3".to_owned()),
        ("ends_in_the_middle", "Text(Half an ans) - None/None>None open".to_owned()),
        (
            "ollama_whole_call_in_one_delta",
            r#"call_9w:read({"filePath":"a.rs"}) call_3x:read({"filePath":"b.rs"}) ToolCalls 19/16>10"#.to_owned(),
        ),
        (
            "gemini_calls_without_ids",
            format!(
                r#"{}:read({{"p":1}}) {}:read({{"p":2}}) ToolCalls 19/16>10"#,
                made("g1", 0),
                made("g1", 1)
            ),
        ),
        ("name_after_id", r#"call_late:late({"a":1}) ToolCalls None/None>None"#.to_owned()),
        (
            "kimi_ids_and_usage_in_choice",
            r#"functions.bash:0:bash({"command":"ls"}) ToolCalls 50/48>9"#.to_owned(),
        ),
        ("call_without_arguments", "call_t:todoread() ToolCalls 19/16>10".to_owned()),
        ("azure_filter_results_first", "Text(Hm) Filtered 19/16>10".to_owned()),
        ("openai_refusal", "Refusal(I can't help.) Done 19/16>10".to_owned()),
        ("usage_repeated_in_every_chunk", "Text(ab) Done 7/None>2".to_owned()),
        (
            "openrouter_comments_and_crlf",
            "Thinking(Hm.)muninn-2 Text(Ok.) Done 19/16>10".to_owned(),
        ),
        ("not_json", "Server".to_owned()),
    ];
    let golden = golden("stream");
    assert_eq!(golden.len(), cases.len());
    for (name, expected) in cases {
        let stream = case("stream", name);
        assert_eq!(told(read(&data_of(&stream))), expected, "{name}");
    }
}

#[test]
fn whole_answers_of_many_servers_are_understood() {
    let cases = [
        (
            "openai_text",
            "Text(Hello! How can I assist you today?) Done 1190/1024>10",
        ),
        (
            "openai_parallel_calls",
            "call_abc123:weather({\n\"city\": \"Oslo\"\n}) call_abc124:weather({\"city\":\"Bergen\"}) ToolCalls 82/None>17",
        ),
        (
            "vllm_named_tool_says_stop",
            r#"chatcmpl-tool-0d1c:weather({"city": "Oslo"}) ToolCalls 211/192>14"#,
        ),
        (
            "vllm_arguments_in_a_string_in_a_string",
            r#"chatcmpl-tool-1:weather({"city": "Oslo"}) ToolCalls 20/None>10"#,
        ),
        (
            "vllm_thinking_under_both_names",
            "Thinking(Easy.)muninn-2 Text(\n\nYes.) Done 9/None>11",
        ),
        (
            "vllm_stop_sequence",
            r#"Text(<block>no) Sequence(Some("</block>")) 9/None>3"#,
        ),
        (
            "mistral_thinking_in_parts",
            "Thinking(Two and two.)muninn-1 Text(Four.) Done 10/None>10",
        ),
        ("second_choice_is_not_read", "Text(first) Done 1/None>2"),
        (
            "deepseek_thinking_and_call",
            "Thinking(The user asks whether 91 is prime.\nI have a tool.)muninn-1 Text(Let me check.) \
             call_00_Zk:check({\"n\": 91}) ToolCalls 300/256>60",
        ),
    ];
    for (name, expected) in cases {
        let mut events = Vec::new();
        Reader::default().whole(&case("answer", name), &mut events);
        assert_eq!(told(events), expected, "{name}");
    }
    for (name, body) in golden("answer") {
        let mut events = Vec::new();
        Reader::default().whole(&body, &mut events);
        assert_grammar(&events, &name);
        assert_eq!(events.last(), Some(&Event::End), "{name}");
    }
    for body in ["", "null", "[]", "{}", r#"{"choices":[]}"#, "<html>"] {
        let mut events = Vec::new();
        Reader::default().whole(body, &mut events);
        assert!(!events.contains(&Event::End), "{body}");
    }
}

#[test]
fn no_stream_breaks_the_order_of_events() {
    for (name, stream) in golden("stream") {
        let data = data_of(&stream);
        assert_grammar(&read(&data), &name);
        for at in 0..data.len() {
            let mut without = data.clone();
            without.remove(at);
            assert_grammar(&read(&without), &name);
            let mut twice = data.clone();
            twice.insert(at, data[at]);
            assert_grammar(&read(&twice), &name);
            let mut swapped = data.clone();
            swapped.swap(at, data.len() / 2);
            assert_grammar(&read(&swapped), &name);
            for cut in (0..data[at].len())
                .step_by(7)
                .filter(|cut| data[at].is_char_boundary(*cut))
            {
                let mut broken = data[..=at].to_vec();
                broken[at] = &data[at][..cut];
                assert_grammar(&read(&broken), &name);
            }
        }
    }
    let odd = [
        r#"{"choices":7}"#,
        r#"{"choices":[1,{"index":0,"delta":[]}]}"#,
        r#"{"choices":[{"delta":{"content":7,"tool_calls":{}}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[7,{},{"index":-1,"function":{"name":3,"arguments":4}}]}}]}"#,
        r#"{"choices":[{"finish_reason":9}],"usage":[],"model":{}}"#,
        "7",
        r#"{"choices":[{"finish_reason":"stop"}]}"#,
    ];
    assert_grammar(&read(&odd), "odd");
    assert_eq!(told(read(&odd)), "Done None/None>None");
}

#[test]
fn a_stream_that_never_stops_opening_calls_is_given_up() {
    let call = |number: usize| {
        format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":{number},"function":{{"name":"f"}}}}]}}}}]}}"#)
    };
    let data: Vec<_> = (0..2000).map(call).collect();
    let events = read(&data.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(matches!(events.last(), Some(Event::Failed(_))));
}

fn context() -> AnswerContext {
    AnswerContext {
        id: "01J".into(),
        created: 7,
        model: "asked-for".into(),
        stream_usage: true,
        ..AnswerContext::default()
    }
}

/// An answer as a client has it, without what the format cannot say.
fn of_client(events: Vec<Event>) -> Option<Answer> {
    let mut answer = Answer::collect(events).ok()?;
    answer.model = None;
    for block in &mut answer.blocks {
        block.seal = None;
        if let BlockKind::ToolCall { id, .. } = &mut block.kind {
            *id = super::super::ids::unwrap(super::CALL, id).into_owned();
            if block.text.is_empty() {
                block.text.push_str("{}");
            }
        }
    }
    if matches!(answer.stop, Some(Stop::Sequence(_))) {
        answer.stop = Some(Stop::Done);
    }
    let usage = &mut answer.usage;
    usage.cache_write = None;
    for count in [
        &mut usage.input,
        &mut usage.cached,
        &mut usage.output,
        &mut usage.reasoning,
    ] {
        count.get_or_insert(0);
    }
    Some(answer)
}

#[test]
fn answers_are_written_as_they_are_read() {
    let streams = golden("stream")
        .into_iter()
        .map(|(name, stream)| (name, read(&data_of(&stream))));
    let wholes = golden("answer").into_iter().map(|(name, body)| {
        let mut events = Vec::new();
        Reader::default().whole(&body, &mut events);
        (name, events)
    });
    for (name, events) in streams.chain(wholes) {
        let Some(before) = of_client(events.clone()).filter(|_| events.last() == Some(&Event::End)) else {
            continue;
        };
        let (mut writer, mut stream) = (Writer::new(context()), String::new());
        events.iter().for_each(|event| writer.event(event, &mut stream));
        assert!(stream.ends_with("data: [DONE]\n\n"), "{name}");
        assert_eq!(
            of_client(read(&data_of(&stream))).as_ref(),
            Some(&before),
            "{name}, streamed"
        );
        let whole = Writer::new(context()).whole(&Answer::collect(events).unwrap());
        let mut again = Vec::new();
        Reader::default().whole(&whole, &mut again);
        assert_eq!(of_client(again), Some(before), "{name}, whole");
    }
}

#[test]
fn streams_have_what_clients_need() {
    let mut writer = Writer::new(context());
    let mut out = String::new();
    for event in read(&data_of(&case("stream", "call_without_arguments"))) {
        writer.event(&event, &mut out);
    }
    let chunks: Vec<Value> = data_of(&out)
        .into_iter()
        .filter(|data| *data != "[DONE]")
        .map(parsed)
        .collect();
    for chunk in &chunks {
        assert_eq!(chunk["id"], "chatcmpl-01J");
        assert_eq!(chunk["object"], "chat.completion.chunk");
        assert_eq!(chunk["model"], "asked-for");
        assert_eq!(chunk["created"], 7);
    }
    let deltas: Vec<_> = chunks.iter().map(|chunk| &chunk["choices"][0]["delta"]).collect();
    assert_eq!(deltas[0], &json!({"role": "assistant", "content": ""}));
    let begun =
        json!({"index": 0, "id": "call_t", "type": "function", "function": {"name": "todoread", "arguments": ""}});
    assert_eq!(deltas[1]["tool_calls"], json!([begun]));
    assert_eq!(
        deltas[2]["tool_calls"],
        json!([{"index": 0, "function": {"arguments": "{}"}}])
    );
    assert_eq!(chunks[3]["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(chunks[4]["choices"], json!([]));
    assert_eq!(chunks[4]["usage"]["total_tokens"], 29);

    let silent = AnswerContext {
        stream_usage: false,
        ..context()
    };
    let (mut writer, mut out) = (Writer::new(silent), String::new());
    writer.event(&Event::Start { model: None }, &mut out);
    writer.event(&Event::End, &mut out);
    assert!(!out.contains("usage"), "{out}");
}

#[test]
fn words_that_were_apart_stay_apart() {
    let words = |block, text: &str| {
        [
            Event::Open {
                block,
                kind: BlockKind::Text,
            },
            Event::Delta {
                block,
                text: text.into(),
            },
            Event::Close { block },
        ]
    };
    let thinking = [
        Event::Open {
            block: 2,
            kind: BlockKind::Thinking,
        },
        Event::Close { block: 2 },
    ];
    let mut events = vec![Event::Start { model: None }];
    events.extend(words(0, "a"));
    events.extend(words(1, "b"));
    events.extend(thinking);
    events.extend(words(3, "c"));
    events.extend([Event::Stop(Stop::Done), Event::End]);
    let whole = Writer::new(context()).whole(&Answer::collect(events.clone()).unwrap());
    assert_eq!(parsed(&whole)["choices"][0]["message"]["content"], "ab\n\nc");
    let (mut writer, mut out) = (Writer::new(context()), String::new());
    events.iter().for_each(|event| writer.event(event, &mut out));
    assert_eq!(told(read(&data_of(&out))), "Text(ab\n\nc) Done 0/0>0");
}
