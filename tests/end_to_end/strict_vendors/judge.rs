//! What the vendors of each format refuse: a judge of request bodies by the limits that they document, and by the errors of
//! their servers that people reported. It knows nothing of Muninn's own table.

use std::collections::HashSet;

use base64::Engine as _;
use serde_json::Value;

/// The errors for which the vendor of a path refuses a request.
pub(crate) fn refusals(path: &str, body: &Value) -> Vec<String> {
    let mut judge = Judge { path: path.to_owned(), errors: Vec::new() };
    match path {
        "/v1/chat/completions" => judge.chat(body),
        "/v1/messages" => judge.messages(body),
        "/v1/responses" => judge.responses(body),
        _ => {}
    }
    judge.errors
}

struct Judge {
    path: String,
    errors: Vec<String>,
}

/// The elements of an array; none of anything else.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn is_plain(text: &str, longest: usize) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    (1..=longest).contains(&text.len()) && text.bytes().all(plain)
}

/// Whether a model is one of Anthropic's since 4.6, which continue no turn of their own.
fn refuses_prefill(model: &Value) -> bool {
    let model = model.as_str().unwrap_or_default();
    let newer = ["opus-4-6", "sonnet-4-6", "opus-4-7", "opus-4-8", "sonnet-5", "opus-5", "fable", "mythos"];
    model.contains("claude-") && newer.iter().any(|name| model.contains(name))
}

impl Judge {
    fn refuse(&mut self, when: bool, error: impl Into<String>) {
        if when {
            self.errors.push(format!("{}: {}", self.path, error.into()));
        }
    }

    fn range(&mut self, body: &Value, name: &str, least: f64, most: f64) {
        let Some(value) = body.get(name).filter(|value| !value.is_null()) else { return };
        let is_within = value.as_f64().is_some_and(|number| (least..=most).contains(&number));
        self.refuse(!is_within, format!("{name}: {value} is not within {least} and {most}"));
    }

    fn length(&mut self, body: &Value, name: &str, longest: usize) {
        let length = body[name].as_str().map_or(0, |text| text.chars().count());
        self.refuse(
            length > longest,
            format!("Invalid '{name}': string too long. Expected a string with maximum length {longest}"),
        );
    }

    fn names(&mut self, names: &[&str], longest: usize) {
        for name in names {
            self.refuse(
                !is_plain(name, longest),
                format!("tools: `{name}` does not match '^[a-zA-Z0-9_-]{{1,{longest}}}$'"),
            );
        }
        let distinct: HashSet<_> = names.iter().collect();
        self.refuse(distinct.len() < names.len(), "tools: Tool names must be unique.");
    }

    fn openai_tools(&mut self, body: &Value, definitions: &[&Value], parameters: &str) {
        self.refuse(body["tools"].as_array().is_some_and(Vec::is_empty), "Invalid 'tools': empty array");
        self.refuse(definitions.len() > 128, "Invalid 'tools': array too long");
        for name in ["tool_choice", "parallel_tool_calls"] {
            let is_given = body.get(name).is_some();
            self.refuse(
                is_given && definitions.is_empty(),
                format!("'{name}' is only allowed when 'tools' are specified."),
            );
        }
        let names: Vec<&str> = definitions.iter().map(|tool| tool["name"].as_str().unwrap_or_default()).collect();
        self.names(&names, 64);
        for tool in definitions {
            let schema = &tool[parameters];
            let is_object = schema["type"] == "object" && schema["properties"].is_object();
            self.refuse(!is_object, format!("Invalid schema for function '{}': {schema}", tool["name"]));
            for keyword in ["oneOf", "anyOf", "allOf", "enum", "not"] {
                self.refuse(
                    schema.get(keyword).is_some(),
                    format!("schema must not have '{keyword}' at the top level"),
                );
            }
            self.items(schema);
        }
    }

    /// OpenAI: "array schema missing items".
    fn items(&mut self, schema: &Value) {
        let is_array = schema["type"] == "array" || list(&schema["type"]).iter().any(|kind| kind == "array");
        self.refuse(is_array && schema.get("items").is_none(), format!("array schema missing items: {schema}"));
        for map in ["properties", "$defs"] {
            schema[map].as_object().into_iter().flatten().for_each(|(_, inner)| self.items(inner));
        }
        for keyword in ["anyOf", "oneOf", "allOf"] {
            list(&schema[keyword]).iter().for_each(|inner| self.items(inner));
        }
        if let Some(items) = schema.get("items") {
            self.items(items);
        }
    }

    fn ids(&mut self, calls: &[&str], longest: usize) {
        for id in calls {
            self.refuse(
                !(1..=longest).contains(&id.len()),
                format!("Invalid id '{id}': expected 1 to {longest} characters"),
            );
        }
        let distinct: HashSet<_> = calls.iter().collect();
        self.refuse(distinct.len() < calls.len(), format!("Duplicate ids: {calls:?}"));
    }

    /// An image or a document in base64: its label must say what the data is.
    fn data(&mut self, media_type: &str, data: &str, allowed: &[&str]) {
        self.refuse(
            !allowed.contains(&media_type),
            format!("media_type: Input should be one of {allowed:?}, not {media_type}"),
        );
        let Ok(bytes) = base64::engine::general_purpose::STANDARD.decode(data) else {
            return self.refuse(true, format!("invalid base64: {data:.40}"));
        };
        let is = match media_type {
            "image/png" => bytes.starts_with(b"\x89PNG"),
            "image/jpeg" => bytes.starts_with(b"\xff\xd8\xff"),
            "image/gif" => bytes.starts_with(b"GIF8"),
            "image/webp" => bytes.get(8..12) == Some(b"WEBP"),
            "application/pdf" => bytes.starts_with(b"%PDF"),
            _ => false,
        };
        self.refuse(!is, format!("the data is no {media_type}"));
    }

    fn data_url(&mut self, url: &str, allowed: &[&str]) {
        if url.starts_with("https://") || url.starts_with("http://") {
            return;
        }
        match url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) {
            Some((media_type, data)) => self.data(media_type, data, allowed),
            None => self.refuse(true, format!("Invalid URL: {url:.60}")),
        }
    }

    fn chat(&mut self, body: &Value) {
        let definitions: Vec<&Value> = list(&body["tools"]).iter().map(|tool| &tool["function"]).collect();
        self.openai_tools(body, &definitions, "parameters");
        self.refuse(list(&body["stop"]).len() > 4, "Invalid 'stop': array too long. Expected maximum length 4");
        self.range(body, "max_tokens", 1.0, 1e9);
        self.range(body, "temperature", 0.0, 2.0);
        self.range(body, "top_p", 0.0, 1.0);
        self.range(body, "presence_penalty", -2.0, 2.0);
        self.range(body, "frequency_penalty", -2.0, 2.0);
        self.length(body, "user", 64);
        self.length(body, "prompt_cache_key", 64);
        self.refuse(body.get("metadata").is_some(), "'metadata' is only allowed when 'store' is enabled");
        if let Some(name) = body.pointer("/response_format/json_schema/name").and_then(Value::as_str) {
            self.refuse(!is_plain(name, 64), format!("Invalid 'response_format.json_schema.name': {name}"));
        }
        let (mut calls, mut open): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        for message in list(&body["messages"]) {
            if message["role"] == "tool" {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                let at = open.iter().position(|known| *known == id);
                self.refuse(at.is_none(), format!("a 'tool' message without a call: {id}"));
                at.map(|at| open.remove(at));
                continue;
            }
            self.refuse(!open.is_empty(), format!("calls without results: {open:?}"));
            open = list(&message["tool_calls"]).iter().map(|call| call["id"].as_str().unwrap_or_default()).collect();
            calls.extend(&open);
            self.refuse(
                message["role"] == "assistant" && message["content"].is_null() && open.is_empty(),
                "content is null",
            );
            for part in list(&message["content"]) {
                if let Some(url) = part.pointer("/image_url/url").and_then(Value::as_str) {
                    self.data_url(url, &["image/png", "image/jpeg", "image/gif", "image/webp"]);
                }
                if let Some(file) = part.pointer("/file/file_data").and_then(Value::as_str) {
                    self.data_url(file, &["application/pdf"]);
                }
            }
        }
        self.refuse(!open.is_empty(), format!("calls without results: {open:?}"));
        self.ids(&calls, 40);
    }

    fn responses(&mut self, body: &Value) {
        let definitions: Vec<&Value> = list(&body["tools"]).iter().collect();
        self.openai_tools(body, &definitions, "parameters");
        self.refuse(body.get("stop").is_some(), "Unknown parameter: 'stop'");
        self.range(body, "max_output_tokens", 16.0, 1e9);
        self.range(body, "temperature", 0.0, 2.0);
        self.range(body, "top_p", 0.0, 1.0);
        self.length(body, "safety_identifier", 64);
        self.length(body, "prompt_cache_key", 64);
        let metadata: Vec<_> = body["metadata"].as_object().into_iter().flatten().collect();
        let is_short =
            |(key, value): &&(&String, &Value)| key.len() <= 64 && value.as_str().is_some_and(|text| text.len() <= 512);
        self.refuse(metadata.len() > 16 || !metadata.iter().all(|entry| is_short(&entry)), "Invalid 'metadata'");
        if body.pointer("/text/format/type").is_some_and(|kind| kind == "json_schema") {
            let name = body.pointer("/text/format/name").and_then(Value::as_str).unwrap_or_default();
            self.refuse(!is_plain(name, 64), format!("Invalid 'text.format.name': {name}"));
        }
        let (mut calls, mut outputs): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        for item in list(&body["input"]) {
            let id = item["call_id"].as_str().unwrap_or_default();
            match item["type"].as_str() {
                Some("function_call") => calls.push(id),
                Some("function_call_output") => {
                    self.refuse(
                        !calls.contains(&id),
                        format!("No tool call found for function call output with call_id {id}."),
                    );
                    outputs.push(id);
                }
                _ => {}
            }
            for part in list(&item["content"]).iter().chain(list(&item["output"])) {
                if let Some(url) = part["image_url"].as_str() {
                    self.data_url(url, &["image/png", "image/jpeg", "image/gif", "image/webp"]);
                }
            }
        }
        for call in &calls {
            self.refuse(!outputs.contains(call), format!("No tool output found for function call {call}."));
        }
        self.ids(&calls, 64);
        self.ids(&outputs, 64);
    }

    fn messages(&mut self, body: &Value) {
        self.range(body, "max_tokens", 1.0, 1e9);
        self.refuse(body.get("max_tokens").is_none(), "max_tokens: Field required");
        self.range(body, "temperature", 0.0, 1.0);
        self.range(body, "top_p", 0.0, 1.0);
        let is_blank = |text: &Value| text.as_str().is_none_or(|text| text.trim().is_empty());
        self.refuse(list(&body["stop_sequences"]).iter().any(is_blank), "stop_sequences: must contain non-whitespace");
        self.refuse(
            body.pointer("/metadata/user_id").and_then(Value::as_str).is_some_and(|id| id.len() > 256),
            "user_id",
        );
        let tools = list(&body["tools"]);
        let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap_or_default()).collect();
        self.names(&names, 128);
        for tool in tools {
            let schema = &tool["input_schema"];
            self.refuse(schema["type"] != "object", format!("input_schema.type: Field required: {schema}"));
            for keyword in ["oneOf", "anyOf", "allOf"] {
                self.refuse(
                    schema.get(keyword).is_some(),
                    "input_schema does not support oneOf, allOf, or anyOf at the top level",
                );
            }
            for name in schema["properties"].as_object().into_iter().flat_map(|map| map.keys()) {
                let name = name.replace('.', "_");
                self.refuse(!is_plain(&name, 64), format!("Property keys should match pattern: {name}"));
            }
        }
        let (mut calls, mut open): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        for (number, message) in list(&body["messages"]).iter().enumerate() {
            let expected = if number % 2 == 0 { "user" } else { "assistant" };
            self.refuse(message["role"] != expected, format!("messages.{number}: roles must alternate"));
            let content = list(&message["content"]);
            self.refuse(
                content.is_empty() && !message["content"].is_string(),
                format!("messages.{number}: non-empty content"),
            );
            for block in content {
                match block["type"].as_str().unwrap_or_default() {
                    "text" => self.refuse(is_blank(&block["text"]), "text content blocks must be non-empty"),
                    "tool_use" => {
                        let id = block["id"].as_str().unwrap_or_default();
                        self.refuse(!is_plain(id, 64), format!("tool_use.id: String should match pattern: {id}"));
                        self.refuse(!block["input"].is_object(), "tool_use.input: Input should be a valid dictionary");
                        calls.push(id);
                        open.push(id);
                    }
                    "tool_result" => {
                        let id = block["tool_use_id"].as_str().unwrap_or_default();
                        let at = open.iter().position(|known| *known == id);
                        self.refuse(
                            at.is_none(),
                            format!("unexpected `tool_use_id` found in `tool_result` blocks: {id}"),
                        );
                        at.map(|at| open.remove(at));
                    }
                    "image" => self.source(&block["source"], &["image/png", "image/jpeg", "image/gif", "image/webp"]),
                    "document" => self.source(&block["source"], &["application/pdf"]),
                    _ => {}
                }
            }
            if message["role"] == "user" {
                self.refuse(
                    !open.is_empty(),
                    format!("`tool_use` ids were found without `tool_result` blocks: {open:?}"),
                );
                open.clear();
            }
        }
        self.refuse(
            refuses_prefill(&body["model"])
                && list(&body["messages"]).last().is_some_and(|message| message["role"] == "assistant"),
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        );
        self.ids(&calls, 64);
        let markers = body.to_string().matches("\"cache_control\":{").count();
        self.refuse(markers > 4, format!("A maximum of 4 blocks with cache_control may be provided. Found {markers}."));
    }

    fn source(&mut self, source: &Value, allowed: &[&str]) {
        if source["type"] == "base64" {
            let text = |name: &str| source[name].as_str().unwrap_or_default().to_owned();
            self.data(&text("media_type"), &text("data"), allowed);
        }
    }
}
