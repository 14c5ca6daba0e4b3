//! Tests of answers, streamed and whole.

use serde_json::{Value, json};

use super::super::super::answer::{Answer, BlockKind, Event, Stop};
use super::super::super::golden::check_grammar;
use super::super::super::{AnswerContext, ReadAnswer, WriteAnswer, ids};
use super::super::{CALL, Reader, Writer};
use super::{case, golden, parsed};

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
fn summary(events: Vec<Event>) -> String {
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
    line += &format!(" {:?}/{:?}>{:?}", usage.input, usage.cached, usage.output).replace("Some(", "").replace(')', "");
    line + if ended { "" } else { " open" }
}

#[test]
fn streams_of_many_servers_are_read() {
    let derived =
        |answer: &str, block: usize| format!("call_{}_{block}", &blake3::hash(answer.as_bytes()).to_hex()[..12]);
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
                derived("g1", 0),
                derived("g1", 1)
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
        (
            "surrogate_pairs_split",
            "Text(Look\n\u{1f600} \"done\" \u{fffd}) call_1:write({\"text\":\"\u{1f600}\\n\"}) ToolCalls None/None>None".to_owned(),
        ),
    ];
    let golden = golden("stream");
    assert_eq!(golden.len(), cases.len());
    for (name, expected) in cases {
        let stream = case("stream", name);
        assert_eq!(summary(read(&data_of(&stream))), expected, "{name}");
    }
}

#[test]
fn whole_answers_of_many_servers_are_read() {
    let cases = [
        ("openai_text", "Text(Hello! How can I assist you today?) Done 1190/1024>10"),
        (
            "openai_parallel_calls",
            "call_abc123:weather({\n\"city\": \"Oslo\"\n}) call_abc124:weather({\"city\":\"Bergen\"}) ToolCalls 82/None>17",
        ),
        ("vllm_named_tool_says_stop", r#"chatcmpl-tool-0d1c:weather({"city": "Oslo"}) ToolCalls 211/192>14"#),
        ("vllm_arguments_in_a_string_in_a_string", r#"chatcmpl-tool-1:weather({"city": "Oslo"}) ToolCalls 20/None>10"#),
        ("vllm_thinking_under_both_names", "Thinking(Easy.)muninn-2 Text(\n\nYes.) Done 9/None>11"),
        ("vllm_stop_sequence", r#"Text(<block>no) Sequence(Some("</block>")) 9/None>3"#),
        ("mistral_thinking_in_parts", "Thinking(Two and two.)muninn-1 Text(Four.) Done 10/None>10"),
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
        assert_eq!(summary(events), expected, "{name}");
    }
    for (name, body) in golden("answer") {
        let mut events = Vec::new();
        Reader::default().whole(&body, &mut events);
        check_grammar(&name, &events);
        assert_eq!(events.last(), Some(&Event::End), "{name}");
    }
    for body in ["", "null", "[]", "{}", r#"{"choices":[]}"#, "<html>"] {
        let mut events = Vec::new();
        Reader::default().whole(body, &mut events);
        assert!(!events.contains(&Event::End), "{body}");
    }
}

#[test]
fn damaged_streams_keep_the_grammar_of_events() {
    for (name, stream) in golden("stream") {
        let data = data_of(&stream);
        check_grammar(&name, &read(&data));
        for at in 0..data.len() {
            let mut without = data.clone();
            without.remove(at);
            check_grammar(&name, &read(&without));
            let mut twice = data.clone();
            twice.insert(at, data[at]);
            check_grammar(&name, &read(&twice));
            let mut swapped = data.clone();
            swapped.swap(at, data.len() / 2);
            check_grammar(&name, &read(&swapped));
            for cut in (0..data[at].len()).step_by(7).filter(|cut| data[at].is_char_boundary(*cut)) {
                let mut broken = data[..=at].to_vec();
                broken[at] = &data[at][..cut];
                check_grammar(&name, &read(&broken));
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
    check_grammar("odd", &read(&odd));
    assert_eq!(summary(read(&odd)), "Done None/None>None");
}

#[test]
fn stream_with_too_many_calls_fails() {
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

/// The answer that a client gets, without the values that the format cannot express.
fn client_answer(events: Vec<Event>) -> Option<Answer> {
    let mut answer = Answer::collect(events).ok()?;
    answer.model = None;
    for block in &mut answer.blocks {
        block.seal = None;
        if let BlockKind::ToolCall { id, .. } = &mut block.kind {
            *id = ids::unwrap(CALL, id.as_str()).into_owned();
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
    for count in [&mut usage.input, &mut usage.cached, &mut usage.output, &mut usage.reasoning] {
        count.get_or_insert(0);
    }
    Some(answer)
}

#[test]
fn written_answers_are_read_unchanged() {
    let streams = golden("stream").into_iter().map(|(name, stream)| (name, read(&data_of(&stream))));
    let wholes = golden("answer").into_iter().map(|(name, body)| {
        let mut events = Vec::new();
        Reader::default().whole(&body, &mut events);
        (name, events)
    });
    for (name, events) in streams.chain(wholes) {
        let Some(before) = client_answer(events.clone()).filter(|_| events.last() == Some(&Event::End)) else {
            continue;
        };
        let (mut writer, mut stream) = (Writer::new(context()), String::new());
        events.iter().for_each(|event| writer.event(event, &mut stream));
        assert!(stream.ends_with("data: [DONE]\n\n"), "{name}");
        assert_eq!(client_answer(read(&data_of(&stream))).as_ref(), Some(&before), "{name}, streamed");
        let whole = Writer::new(context()).whole(&Answer::collect(events).unwrap());
        let mut again = Vec::new();
        Reader::default().whole(&whole, &mut again);
        assert_eq!(client_answer(again), Some(before), "{name}, whole");
    }
}

#[test]
fn stream_has_the_members_that_clients_need() {
    let mut writer = Writer::new(context());
    let mut out = String::new();
    for event in read(&data_of(&case("stream", "call_without_arguments"))) {
        writer.event(&event, &mut out);
    }
    let chunks: Vec<Value> = data_of(&out).into_iter().filter(|data| *data != "[DONE]").map(parsed).collect();
    for chunk in &chunks {
        assert_eq!(chunk["id"], "chatcmpl-01J");
        assert_eq!(chunk["object"], "chat.completion.chunk");
        assert_eq!(chunk["model"], "asked-for");
        assert_eq!(chunk["created"], 7);
    }
    let deltas: Vec<_> = chunks.iter().map(|chunk| &chunk["choices"][0]["delta"]).collect();
    assert_eq!(deltas[0], &json!({"role": "assistant", "content": ""}));
    let start =
        json!({"index": 0, "id": "call_t", "type": "function", "function": {"name": "todoread", "arguments": ""}});
    assert_eq!(deltas[1]["tool_calls"], json!([start]));
    assert_eq!(deltas[2]["tool_calls"], json!([{"index": 0, "function": {"arguments": "{}"}}]));
    assert_eq!(chunks[3]["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(chunks[4]["choices"], json!([]));
    assert_eq!(chunks[4]["usage"]["total_tokens"], 29);

    let without_usage = AnswerContext { stream_usage: false, ..context() };
    let (mut writer, mut out) = (Writer::new(without_usage), String::new());
    writer.event(&Event::Start { model: None }, &mut out);
    writer.event(&Event::End, &mut out);
    assert!(!out.contains("usage"), "{out}");
}

#[test]
fn texts_with_a_block_between_them_are_separated() {
    let text_block = |block, text: &str| {
        [
            Event::Open { block, kind: BlockKind::Text },
            Event::Delta { block, text: text.into() },
            Event::Close { block },
        ]
    };
    let thinking = [Event::Open { block: 2, kind: BlockKind::Thinking }, Event::Close { block: 2 }];
    let mut events = vec![Event::Start { model: None }];
    events.extend(text_block(0, "a"));
    events.extend(text_block(1, "b"));
    events.extend(thinking);
    events.extend(text_block(3, "c"));
    events.extend([Event::Stop(Stop::Done), Event::End]);
    let whole = Writer::new(context()).whole(&Answer::collect(events.clone()).unwrap());
    assert_eq!(parsed(&whole)["choices"][0]["message"]["content"], "ab\n\nc");
    let (mut writer, mut out) = (Writer::new(context()), String::new());
    events.iter().for_each(|event| writer.event(event, &mut out));
    assert_eq!(summary(read(&data_of(&out))), "Text(ab\n\nc) Done 0/0>0");
}
