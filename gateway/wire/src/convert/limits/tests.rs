//! Siblings of each limit, converted from one of the other formats, and the vendors' rules as a strict server has them.

use serde_json::{Value, json};

use super::super::golden::FORMATS;
use super::super::request;
use crate::WireFormat;
use WireFormat::{Chat, Messages, Responses};

/// Returns the body for a backend, and what was left out or changed.
fn converted(from: WireFormat, to: WireFormat, body: &Value) -> (Value, Vec<String>) {
    let converted = request(from, to, &body.to_string()).unwrap();
    let dropped = converted.dropped.iter().map(|(name, _)| name.to_owned()).collect();
    (serde_json::from_str(&converted.body).unwrap(), dropped)
}

/// A chat request with more members.
fn chat(more: Value) -> Value {
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

fn schema_for(to: WireFormat, parameters: Value) -> (Value, Vec<String>) {
    let body = chat(json!({"tools": [{"type": "function", "function": {"name": "t", "parameters": parameters}}]}));
    let (sent, dropped) = match to {
        Messages | Responses => converted(Chat, to, &body),
        Chat => {
            let tool = json!({"name": "t", "input_schema": body["tools"][0]["function"]["parameters"]});
            let body = json!({"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "hi"}], "tools": [tool]});
            converted(Messages, Chat, &body)
        }
    };
    let schema = match to {
        Messages => &sent["tools"][0]["input_schema"],
        Responses => &sent["tools"][0]["parameters"],
        Chat => &sent["tools"][0]["function"]["parameters"],
    };
    (schema.clone(), dropped)
}

#[test]
fn schemas_are_objects_with_properties_and_without_alternatives_at_the_top() {
    let text = json!({"type": "string"});
    for (given, expected, changed) in [
        (json!({}), json!({"type": "object", "properties": {}}), "properties,type"),
        (json!({"type": "object"}), json!({"type": "object", "properties": {}}), "properties"),
        (json!({"properties": {"a": text}}), json!({"type": "object", "properties": {"a": text}}), "type"),
        (json!({"type": ["object", "null"], "properties": {}}), json!({"type": "object", "properties": {}}), "type"),
        (json!({"type": "string"}), json!({"type": "object", "properties": {}}), "properties,type"),
        (json!({"type": "object", "properties": null}), json!({"type": "object", "properties": {}}), "properties"),
        (
            json!({"type": "object", "properties": {"a": text}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            json!({"type": "object", "properties": {"a": text}}),
            "anyOf",
        ),
        (
            json!({"oneOf": [
                {"type": "object", "properties": {"a": text, "b": text}, "required": ["a", "b"]},
                {"type": "object", "properties": {"b": text, "c": text}, "required": ["b"]},
            ]}),
            json!({"type": "object", "properties": {"a": text, "b": text, "c": text}, "required": ["b"]}),
            "oneOf,type",
        ),
        (
            json!({"type": "object", "allOf": [{"$ref": "#/$defs/base"}, {"properties": {"b": text}, "required": ["b"]}],
                "$defs": {"base": {"properties": {"a": text}, "required": ["a"]}}}),
            json!({"type": "object", "$defs": {"base": {"properties": {"a": text}, "required": ["a"]}},
                "properties": {"a": text, "b": text}, "required": ["a", "b"]}),
            "allOf",
        ),
        (
            json!({"$ref": "#/definitions/x", "definitions": {"x": {"type": "object", "properties": {"a": text}, "required": ["a"]}}}),
            json!({"type": "object", "definitions": {"x": {"type": "object", "properties": {"a": text}, "required": ["a"]}},
                "properties": {"a": text}, "required": ["a"]}),
            "ref,type",
        ),
        (
            json!({"type": "object", "properties": {"a": {"anyOf": [text, {"type": "null"}]}}}),
            json!({"type": "object", "properties": {"a": {"anyOf": [text, {"type": "null"}]}}}),
            "",
        ),
    ] {
        for (to, name) in FORMATS {
            let (schema, dropped) = schema_for(to, given.clone());
            assert_eq!(schema, expected, "{name}: {given}");
            let changed: Vec<String> =
                changed.split(',').filter(|one| !one.is_empty()).map(|one| format!("tools.schema.{one}")).collect();
            assert_eq!(dropped, changed, "{name}: {given}");
        }
    }
}

#[test]
fn openai_needs_items_of_arrays_and_anthropic_plain_names() {
    let list = json!({"type": "object", "properties": {"l": {"type": "array"}, "m": {"type": ["array", "null"]}}});
    for to in [Chat, Responses] {
        let (schema, _) = schema_for(to, list.clone());
        assert_eq!(schema["properties"]["l"]["items"], json!({}), "{to:?}");
        assert_eq!(schema["properties"]["m"]["items"], json!({}), "{to:?}");
        let (schema, _) = schema_for(to, json!({"enum": [1], "not": {}, "type": "object", "properties": {}}));
        assert_eq!(schema, json!({"type": "object", "properties": {}}), "{to:?}");
    }
    assert_eq!(schema_for(Messages, list.clone()), (list, Vec::new()));
    let named =
        json!({"type": "object", "properties": {"filter[id]": {}, "a.b-c": {}}, "required": ["filter[id]", "a.b-c"]});
    let (schema, dropped) = schema_for(Messages, named.clone());
    assert_eq!(schema, json!({"type": "object", "properties": {"a.b-c": {}}, "required": ["a.b-c"]}));
    assert_eq!(dropped, ["tools.schema.properties"]);
    assert_eq!(schema_for(Responses, named.clone()).0, named);
}

#[test]
fn text_of_a_sound_schema_stays() {
    let text = r#"{"type":"object","properties":{"z":{"minimum":1.0},"a":{"default":1e400}}}"#;
    let body = format!(
        r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}}],"tools":[{{"type":"function","function":{{"name":"t","parameters":{text}}}}}]}}"#
    );
    assert!(request(Chat, Messages, &body).unwrap().body.contains(text));
    let faulty = text.replacen(r#""type":"object","#, "", 1);
    let sent = request(Chat, Messages, &body.replace(text, &faulty)).unwrap().body;
    assert!(sent.contains(text), "keys keep their order and numbers their digits: {sent}");
}

#[test]
fn tools_are_at_most_128_and_each_once() {
    let tool = |name: String| json!({"name": name, "input_schema": {"type": "object", "properties": {}}});
    let body = |count: usize, choice: &str| {
        let tools: Vec<Value> = (0..count).map(|at| tool(format!("t{at}"))).collect();
        json!({"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "hi"}], "tools": tools,
            "tool_choice": {"type": "tool", "name": choice}})
    };
    for to in [Chat, Responses] {
        let (sent, dropped) = converted(Messages, to, &body(130, "t129"));
        let tools = sent["tools"].as_array().unwrap();
        assert_eq!((tools.len(), dropped), (128, vec!["tools".to_owned()]), "{to:?}");
        assert!(tools.iter().any(|tool| tool.to_string().contains("\"t129\"")), "the chosen one stays");
        let mut twice = body(3, "t1");
        twice["tools"].as_array_mut().unwrap().push(tool("t1".to_owned()));
        let (sent, dropped) = converted(Messages, to, &twice);
        assert_eq!((sent["tools"].as_array().unwrap().len(), dropped), (3, vec!["tools.duplicate".to_owned()]));
    }
    let all: Vec<Value> =
        (0..130).map(|at| json!({"type": "function", "function": {"name": format!("t{at}")}})).collect();
    let (sent, dropped) = converted(Chat, Messages, &chat(json!({"tools": all})));
    assert_eq!((sent["tools"].as_array().unwrap().len(), dropped), (130, Vec::new()));
    for to in [Messages, Responses] {
        let (sent, dropped) =
            converted(Chat, to, &chat(json!({"tools": [], "tool_choice": "required", "parallel_tool_calls": false})));
        assert!(sent.get("tool_choice").is_none() && sent.get("parallel_tool_calls").is_none(), "{sent}");
        assert_eq!(dropped, ["tool_choice"], "{to:?}");
    }
}

/// A conversation of calls with these ids, each answered in the next message.
fn called(turns: &[&[&str]]) -> Value {
    let mut messages = vec![json!({"role": "user", "content": "hi"})];
    for ids in turns {
        let call = |id: &&str| json!({"id": id, "type": "function", "function": {"name": "t", "arguments": "{}"}});
        messages.push(
            json!({"role": "assistant", "content": null, "tool_calls": ids.iter().map(call).collect::<Vec<_>>()}),
        );
        messages.extend(
            ids.iter()
                .enumerate()
                .map(|(at, id)| json!({"role": "tool", "tool_call_id": id, "content": format!("r{at}")})),
        );
    }
    json!({"model": "m", "messages": messages})
}

/// The ids of calls and of results, in order.
fn ids(to: WireFormat, sent: &Value) -> (Vec<String>, Vec<String>) {
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    match to {
        Messages => {
            for block in
                sent["messages"].as_array().unwrap().iter().flat_map(|turn| turn["content"].as_array().unwrap())
            {
                match block["type"].as_str().unwrap() {
                    "tool_use" => calls.push(text(&block["id"])),
                    "tool_result" => results.push(text(&block["tool_use_id"])),
                    _ => {}
                }
            }
        }
        Responses => {
            for item in sent["input"].as_array().unwrap() {
                match item["type"].as_str().unwrap() {
                    "function_call" => calls.push(text(&item["call_id"])),
                    "function_call_output" => results.push(text(&item["call_id"])),
                    _ => {}
                }
            }
        }
        Chat => {
            for message in sent["messages"].as_array().unwrap() {
                calls.extend(message["tool_calls"].as_array().into_iter().flatten().map(|call| text(&call["id"])));
                results.extend(message.get("tool_call_id").map(text));
            }
        }
    }
    (calls, results)
}

#[test]
fn ids_of_calls_are_short_and_unique_and_results_have_them_too() {
    let long = "x".repeat(100);
    let other = format!("{long}y");
    for turns in [
        &[&["a", "b"][..], &["c"]][..],
        &[&["a"], &["a"], &["a"]],
        &[&["a", "a"]],
        &[&[""], &[""]],
        &[&["", ""]],
        &[&[long.as_str(), other.as_str()], &[long.as_str()]],
        &[&["functions.read:0"], &["functions.read:0"]],
        &[&["é 1"], &["call 1"]],
        &[&["a"], &["a_2"], &["a"]],
    ] {
        for (to, longest) in [(Messages, 64), (Responses, 64)] {
            let (sent, dropped) = converted(Chat, to, &called(turns));
            let (calls, results) = ids(to, &sent);
            assert_eq!(calls, results, "{to:?}: {turns:?}");
            assert!(calls.iter().all(|id| (1..=longest).contains(&id.len())), "{to:?}: {calls:?}");
            let distinct: std::collections::BTreeSet<_> = calls.iter().collect();
            assert_eq!(distinct.len(), calls.len(), "{to:?}: {calls:?}");
            let own: Vec<&str> = turns.iter().flat_map(|ids| ids.iter().copied()).collect();
            assert_eq!(dropped.contains(&"messages.call_id".to_owned()), own != calls, "{to:?}: {turns:?}");
            let outputs = sent.to_string();
            assert!((0..turns[0].len()).all(|at| outputs.contains(&format!("r{at}"))), "no result is lost: {outputs}");
            if to == Messages {
                // The shortest limit is that of chat.
                let (sent, _) = converted(Messages, Chat, &with_limit(&sent));
                let (calls, results) = ids(Chat, &sent);
                assert_eq!(calls, results);
                assert!(calls.iter().all(|id| (1..=40).contains(&id.len())), "{calls:?}");
            }
        }
    }
}

fn with_limit(body: &Value) -> Value {
    let mut body = body.clone();
    body["max_tokens"] = json!(99);
    body
}

#[test]
fn many_equal_ids_take_linear_time_and_late_results_find_their_call() {
    let all = vec!["call_0"; 5_000];
    let (calls, results) = ids(Responses, &converted(Chat, Responses, &called(&[&all])).0);
    assert_eq!((calls.len(), &calls), (5_000, &results));
    let long = "x".repeat(80);
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "t", "arguments": "{}"});
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": id});
    let said = json!({"type": "message", "role": "assistant", "content": "well"});
    let input = json!([call("a"), call(&long), output("a"), said, output(&long)]);
    let (sent, _) = converted(Responses, Chat, &json!({"model": "m", "input": input}));
    let (calls, results) = ids(Chat, &sent);
    assert_eq!(calls, results, "{sent}");
}

#[test]
fn an_appended_conversation_keeps_the_ids_of_its_beginning() {
    let turns: [&[&str]; 4] = [&["a"], &["a", ""], &["x.y"], &["a"]];
    let whole = ids(Responses, &converted(Chat, Responses, &called(&turns)).0).0;
    for count in 1..turns.len() {
        let start = ids(Responses, &converted(Chat, Responses, &called(&turns[..count])).0).0;
        assert_eq!(start, whole[..start.len()]);
    }
}

#[test]
fn numbers_and_labels_are_in_their_ranges() {
    for (from, to, given, path, expected, changed) in [
        (Messages, Chat, json!({"max_tokens": 0}), "/max_tokens", json!(1), "max_tokens"),
        (Messages, Responses, json!({"max_tokens": 1}), "/max_output_tokens", json!(16), "max_tokens"),
        (Chat, Messages, json!({"max_tokens": 0}), "/max_tokens", json!(1), "max_tokens"),
        (Chat, Messages, json!({"max_completion_tokens": -1}), "/max_tokens", json!(null), "max_tokens"),
        (Chat, Responses, json!({"max_tokens": -1}), "/max_output_tokens", json!(null), "max_tokens"),
        (Chat, Messages, json!({"temperature": 1.7}), "/temperature", json!(1), "temperature"),
        (Chat, Responses, json!({"temperature": 2.5}), "/temperature", json!(2), "temperature"),
        (Chat, Responses, json!({"temperature": -0.5}), "/temperature", json!(0), "temperature"),
        (Chat, Responses, json!({"top_p": 1.5}), "/top_p", json!(1), "top_p"),
        (Messages, Chat, json!({"temperature": 0.20}), "/temperature", json!(0.2), ""),
        (
            Messages,
            Chat,
            json!({"stop_sequences": ["a", "b", "c", "d", "e", ""]}),
            "/stop",
            json!(["a", "b", "c", "d"]),
            "stop",
        ),
        (Chat, Messages, json!({"stop": ["a", "b", "c", "d", "e"]}), "/stop_sequences/4", json!("e"), ""),
    ] {
        let mut body = chat(given.clone());
        if from == Messages && body.get("max_tokens").is_none() {
            body["max_tokens"] = json!(99);
        }
        let (sent, dropped) = converted(from, to, &body);
        let seen = sent.pointer(path).cloned().unwrap_or_default();
        let is_as_expected =
            if expected.is_null() { seen.as_i64().is_none_or(|seen| seen >= 1) } else { seen == expected };
        assert!(is_as_expected, "{from:?} to {to:?}: {given} {sent}");
        assert_eq!(dropped.join(","), changed, "{from:?} to {to:?}: {given}");
    }
    let user = "u".repeat(150);
    let body = json!({"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "hi"}], "metadata": {"user_id": user}});
    for to in [Chat, Responses] {
        let (sent, dropped) = converted(Messages, to, &body);
        assert!(!sent.to_string().contains("uuu"), "{to:?}: {sent}");
        assert_eq!(dropped, ["user"], "{to:?}");
    }
    let (sent, dropped) = converted(Chat, Responses, &chat(json!({"prompt_cache_key": user, "user": &user[..64]})));
    assert_eq!(sent["safety_identifier"], user[..64]);
    assert_eq!((sent["prompt_cache_key"].as_str().unwrap().len(), dropped), (64, vec!["prompt_cache_key".to_owned()]));
    let shape = json!({"type": "json_schema", "json_schema": {"name": "my answer", "schema": {"type": "object", "properties": {}}}});
    let (sent, dropped) = converted(Chat, Responses, &chat(json!({"response_format": shape})));
    assert!(sent["text"]["format"]["name"].as_str().unwrap().starts_with("my_answer_"), "{sent}");
    assert_eq!(dropped, ["response_format.name"]);
}

/// Data of a kind, in base64.
fn data(start: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode([start, &[7; 20]].concat())
}

#[test]
fn images_are_labelled_by_their_bytes() {
    let (png, jpeg, gif) = (data(b"\x89PNG\r\n\x1a\n"), data(b"\xff\xd8\xff\xe0"), data(b"GIF89a"));
    let webp = data(b"RIFF\x10\0\0\0WEBPVP8 ");
    let lines: String =
        png.as_bytes().chunks(8).map(|line| format!("{}\r\n", std::str::from_utf8(line).unwrap())).collect();
    let unpadded = png.trim_end_matches('=').to_owned();
    let svg = "<svg xmlns='http://www.w3.org/2000/svg'/>";
    let in_base64 = data(svg.as_bytes());
    for (url, label, is_changed) in [
        (format!("data:image/png;base64,{png}"), "image/png", false),
        (format!("data:image/jpg;base64,{jpeg}"), "image/jpeg", true),
        (format!("data:IMAGE/PNG;base64,{png}"), "image/png", true),
        (format!("data:;base64,{png}"), "image/png", true),
        (format!("data:application/octet-stream;base64,{gif}"), "image/gif", true),
        (format!("data:image/png;base64,{jpeg}"), "image/jpeg", true),
        (format!("data:image/webp;name=a.webp;base64,{webp}"), "image/webp", false),
        (format!("data:image/png;BASE64,{png}"), "image/png", false),
        (format!("DATA:image/png;base64,{png}"), "image/png", false),
        (format!("data:image/png;base64,{lines}"), "image/png", false),
        (format!("data:image/png;base64,{unpadded}"), "image/png", false),
        (format!("data: image/png ; base64,{png}"), "image/png", false),
        (format!("data:image/svg+xml;base64,{in_base64}"), "text", true),
        (format!("data:image/svg+xml,{svg}"), "text", true),
        ("data:image/svg+xml;utf8,%3Csvg/%3E".to_owned(), "text", true),
        (format!("data:image/bmp;base64,{}", data(b"BM")), "", true),
        ("file:///a.png".to_owned(), "", true),
        ("https://example.com/a.png".to_owned(), "url", false),
    ] {
        let image = json!({"type": "image_url", "image_url": {"url": url}});
        let body =
            json!({"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "see"}, image]}]});
        let (sent, dropped) = converted(Chat, Messages, &body);
        let block = sent["messages"][0]["content"].get(1).cloned().unwrap_or_default();
        match label {
            "" => assert!(block.is_null(), "{url}: {block}"),
            "text" => assert!(block["text"].as_str().unwrap().starts_with("<svg"), "{url}: {block}"),
            "url" => assert_eq!(block["source"]["url"], url.as_str()),
            label => {
                assert_eq!(block["source"]["media_type"], label, "{url}");
                let sent = block["source"]["data"].as_str().unwrap();
                assert!(sent.len().is_multiple_of(4) && !sent.contains(char::is_whitespace), "{url}: {sent}");
            }
        }
        assert_eq!(!dropped.is_empty(), is_changed, "{url}: {dropped:?}");
    }
}

#[test]
fn documents_are_pdf_or_text() {
    let pdf = data(b"%PDF-1.7");
    let text = data(b"just text").replace("Bwc", "Cgo");
    let document = |label: &str, data: &str| {
        let file =
            json!({"type": "file", "file": {"filename": "a", "file_data": format!("data:{label};base64,{data}")}});
        let body =
            json!({"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "see"}, file]}]});
        let (sent, dropped) = converted(Chat, Messages, &body);
        (sent["messages"][0]["content"].get(1).cloned().unwrap_or_default(), dropped)
    };
    for label in ["application/pdf", "application/x-pdf", "application/octet-stream"] {
        assert_eq!(document(label, &pdf).0["source"]["media_type"], "application/pdf", "{label}");
    }
    assert_eq!(document("text/markdown", &text).0["source"]["type"], "text");
    assert_eq!(document("application/pdf", &data(b"\x89PNG\r\n\x1a\n")).0["type"], "image");
    assert_eq!(document("application/zip", &data(b"PK\x03\x04\xff")).1, ["messages.document"]);
}
