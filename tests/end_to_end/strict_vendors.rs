//! Strict backends judge converted requests by the limits that the vendors document, and refuse what breaks one.

mod judge;

use base64::Engine as _;
use muninn_tests::{Recorded, Reply};
use serde_json::{Value, json};

use crate::formats::{ALL, Format, call, serve};

/// Refuses as the vendor of the path would, and answers everything else.
fn strict(request: &Recorded) -> Reply {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let refusals = judge::refusals(&request.target, &body);
    if refusals.is_empty() {
        return call(request);
    }
    let message = format!("{}\n{body}", refusals.join("\n"));
    Reply::json(400, json!({"error": {"message": message, "type": "invalid_request_error"}}).to_string())
}

fn data(start: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode([start, &[7; 20]].concat())
}

/// Tools as MCP servers define them: name and schema.
fn tools() -> Vec<(String, Value)> {
    let text = json!({"type": "string"});
    vec![
        ("empty".into(), json!({})),
        ("bare".into(), json!({"type": "object"})),
        ("null".into(), json!({"type": "object", "properties": null})),
        (
            "any".into(),
            json!({"anyOf": [{"type": "object", "properties": {"a": text}}, {"type": "object", "properties": {"b": text}}]}),
        ),
        ("one".into(), json!({"type": "object", "properties": {"a": text}, "oneOf": [{"required": ["a"]}]})),
        (
            "all".into(),
            json!({"allOf": [{"$ref": "#/$defs/x"}], "$defs": {"x": {"type": "object", "properties": {"a": text}}}}),
        ),
        ("choice".into(), json!({"type": "object", "properties": {}, "enum": [{}], "not": {"required": ["z"]}})),
        (
            "list".into(),
            json!({"type": "object", "properties": {"l": {"type": "array"}, "m": {"type": ["array", "null"]}}}),
        ),
        (
            "deep".into(),
            json!({"type": "object", "properties": {"o": {"type": "object", "properties": {"l": {"type": "array"}}}}}),
        ),
        (
            "filter".into(),
            json!({"type": "object", "properties": {"filter[id]": text, "größe": text}, "required": ["filter[id]"]}),
        ),
        ("docs.search/v2 now".into(), json!({"type": "object", "properties": {}})),
        (format!("mcp__plugin_{}", "x".repeat(90)), json!({"type": ["object", "null"], "properties": {}})),
    ]
}

/// Requests of a format, each of which breaks limits of the others.
fn requests(format: Format) -> Vec<(&'static str, Value)> {
    let user = |content: Value| match format {
        Format::Responses => json!({"type": "message", "role": "user", "content": content}),
        _ => json!({"role": "user", "content": content}),
    };
    let part = |text: &str| match format {
        Format::Responses => json!({"type": "input_text", "text": text}),
        _ => json!({"type": "text", "text": text}),
    };
    let tool = |(name, schema): (String, Value)| match format {
        Format::Chat => json!({"type": "function", "function": {"name": name, "parameters": schema}}),
        Format::Messages => json!({"name": name, "input_schema": schema}),
        Format::Responses => json!({"type": "function", "name": name, "parameters": schema, "strict": false}),
    };
    let image = |media_type: &str, data: &str| {
        let url = format!("data:{media_type};base64,{data}");
        match format {
            Format::Chat => json!({"type": "image_url", "image_url": {"url": url}}),
            Format::Messages => {
                json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})
            }
            Format::Responses => json!({"type": "input_image", "image_url": url}),
        }
    };
    let request = |turns: Vec<Value>, more: Value| {
        let mut body = json!({"max_tokens": 100, format.conversation(): turns});
        if format == Format::Responses {
            body = json!({format.conversation(): turns});
        }
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let hi = || user(json!([part("hi")]));
    let many = (0..140).map(|number| (format!("tool_{number}"), json!({"type": "object", "properties": {}})));
    let twice = [("same".to_owned(), json!({"type": "object", "properties": {}})), ("same".to_owned(), json!({}))];
    let called = |ids: &[&str]| -> Vec<Value> {
        let turn = |id: &&str| match format {
            Format::Chat => vec![
                json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": {"name": "t", "arguments": ""}}]}),
                json!({"role": "tool", "tool_call_id": id, "content": "r"}),
            ],
            Format::Messages => vec![
                json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "t", "input": {}}]}),
                user(json!([{"type": "tool_result", "tool_use_id": id, "content": "r"}])),
            ],
            Format::Responses => vec![
                json!({"type": "function_call", "call_id": id, "name": "t", "arguments": ""}),
                json!({"type": "function_call_output", "call_id": id, "output": "r"}),
            ],
        };
        std::iter::once(hi()).chain(ids.iter().flat_map(turn)).collect()
    };
    let one_tool = json!({"tools": [tool(("t".into(), json!({"type": "object", "properties": {}})))]});
    let long = "x".repeat(120);
    let label = match format {
        Format::Messages => json!({"metadata": {"user_id": "u".repeat(186)}, "max_tokens": 1}),
        _ => json!({"user": "u".repeat(186), "prompt_cache_key": "k".repeat(90), "metadata": {"a": "b".repeat(600)}}),
    };
    let numbers = match format {
        Format::Chat => {
            json!({"temperature": 1.9, "top_p": 1.2, "max_tokens": 0, "presence_penalty": 3, "stop": ["a", "b", "c", "d"]})
        }
        Format::Messages => {
            json!({"temperature": 1.0, "max_tokens": 1, "stop_sequences": ["a", "b", "c", "d", "e", "f"]})
        }
        Format::Responses => json!({"temperature": 2, "top_p": 1, "max_output_tokens": 0}),
    };
    let shape = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    let shape = match format {
        Format::Chat => {
            json!({"response_format": {"type": "json_schema", "json_schema": {"name": "my answer, in full", "schema": shape}}})
        }
        Format::Messages => json!({"output_config": {"format": {"type": "json_schema", "schema": shape}}}),
        Format::Responses => {
            json!({"text": {"format": {"type": "json_schema", "name": "an answer!", "schema": shape}}})
        }
    };
    let pictures = vec![
        part("see"),
        image("image/jpg", &data(b"\xff\xd8\xff\xe0")),
        image("IMAGE/PNG", &data(b"\x89PNG\r\n\x1a\n")),
        image("application/octet-stream", &data(b"GIF89a")),
        image("image/png", &data(b"RIFF\x10\0\0\0WEBPVP8 ")),
        image("image/svg+xml", &data(b"<svg xmlns='x'/>").replace("Bwc", "Cgo")),
        image("image/tiff", &data(b"II*\0")),
    ];
    let prefill = match format {
        Format::Responses => {
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "{"}]})
        }
        _ => json!({"role": "assistant", "content": "{"}),
    };
    vec![
        (
            "tools of MCP servers",
            request(vec![hi()], json!({"tools": tools().into_iter().map(tool).collect::<Vec<_>>()})),
        ),
        ("many tools", request(vec![hi()], json!({"tools": many.map(tool).collect::<Vec<_>>()}))),
        ("a tool twice", request(vec![hi()], json!({"tools": twice.map(tool)}))),
        (
            "no tools",
            request(
                vec![hi()],
                json!({"tools": [], "tool_choice": if format == Format::Messages { json!({"type": "any"}) } else { json!("required") }}),
            ),
        ),
        ("long ids", request(called(&[&long, &format!("{long}y")]), one_tool.clone())),
        ("equal and empty ids", request(called(&["a", "a", "", "", "a"]), one_tool.clone())),
        ("odd ids", request(called(&["functions.read:0", "é 1", "call 1"]), one_tool.clone())),
        ("interrupted calls", request([called(&["a"]), called(&["b"])[..2].to_vec(), vec![hi()]].concat(), one_tool)),
        ("labels", request(vec![hi()], label)),
        ("numbers", request(vec![hi()], numbers)),
        ("a shape", request(vec![hi()], shape)),
        ("pictures", request(vec![user(pictures.into())], json!({}))),
        ("prefill", request(vec![hi(), prefill], json!({"model": "claude-opus-5"}))),
        ("blank texts", request(vec![user(json!([part("  "), part("hi")])), user(json!([part("more")]))], json!({}))),
    ]
}

#[test]
fn every_converted_request_is_within_the_vendors_limits() {
    let (upstream, _env, gateway) = serve(strict);
    let mut count = 0;
    for client in ALL {
        for (name, request) in requests(client) {
            for spoken in ALL.into_iter().filter(|spoken| *spoken != client) {
                count += 1;
                let mut body = request.clone();
                // A case may need a model's name. The route is told by the beginning.
                let model = body["model"].as_str().map(|model| format!("{}/{model}", spoken.dialect()));
                body["model"] = model.unwrap_or_else(|| spoken.dialect().to_owned()).into();
                let response = gateway.post(client.path(), &[], body.to_string().as_bytes());
                assert_eq!(response.status, 200, "{name}, {client:?} -> {spoken:?}: {}", response.text());
                // Nothing that the vendor reads was left out.
                let sent: Value = serde_json::from_slice(&upstream.last().body).unwrap();
                let text = sent.to_string();
                let results = ["\"role\":\"tool\"", "\"type\":\"tool_result\"", "\"type\":\"function_call_output\""];
                let results = results.map(|result| text.matches(result).count()).into_iter().sum::<usize>();
                let (seen, expected) = match name {
                    "tools of MCP servers" => (sent["tools"].as_array().unwrap().len(), 12),
                    "many tools" if spoken != Format::Messages => (sent["tools"].as_array().unwrap().len(), 128),
                    "pictures" => (text.matches("image/").count() + text.matches("<svg").count(), 5),
                    "long ids" => (results, 2),
                    "equal and empty ids" => (results, 5),
                    "odd ids" => (results, 3),
                    "prefill" => {
                        let expected = if spoken == Format::Messages { 1 } else { 2 };
                        (sent[spoken.conversation()].as_array().unwrap().len(), expected)
                    }
                    _ => continue,
                };
                assert_eq!(seen, expected, "{name}, {client:?} -> {spoken:?}: {text}");
            }
        }
    }
    assert_eq!(count, 14 * 6);
}

#[test]
fn judge_refuses_what_breaks_a_limit() {
    for client in ALL {
        for (name, body) in requests(client) {
            let is_fine = judge::refusals(client.path(), &body).is_empty();
            // These are sound in their own format.
            let sound = match client {
                Format::Chat => &["odd ids", "prefill", "blank texts"][..],
                Format::Messages => &["many tools", "no tools", "labels", "numbers", "a shape"],
                Format::Responses => &["odd ids", "prefill", "blank texts"],
            };
            assert_eq!(
                is_fine,
                sound.contains(&name),
                "{client:?}, {name}: {:?}",
                judge::refusals(client.path(), &body)
            );
        }
    }
}
