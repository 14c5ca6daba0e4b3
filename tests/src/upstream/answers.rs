//! Valid answers in all three wire formats, streamed and whole, with the text `ok`.

use super::{Recorded, Reply};

/// The answer to any request; a 404 for unknown paths.
#[must_use]
pub fn ok(request: &Recorded) -> Reply {
    let path = request.target.split('?').next().unwrap_or_default();
    let wants_stream = wants_stream(&request.body);
    match (request.method.as_str(), path) {
        ("POST", "/v1/chat/completions") if wants_stream => events(streamed(path)),
        ("POST", "/v1/chat/completions") => Reply::json(200, whole(path)),
        ("POST", "/v1/messages") if wants_stream => events(streamed(path)),
        ("POST", "/v1/messages") => Reply::json(200, whole(path)),
        ("POST", "/v1/responses") if wants_stream => events(streamed(path)),
        ("POST", "/v1/responses") => Reply::json(200, whole(path)),
        ("POST", "/v1/responses/compact") => Reply::json(
            200,
            r#"{"id":"resp_2","object":"response.compaction","created_at":1,"output":[{"type":"compaction","id":"cmp_1","encrypted_content":"e"}],"usage":{"input_tokens":5,"output_tokens":2,"total_tokens":7}}"#,
        ),
        ("POST", "/v1/messages/count_tokens") => Reply::json(200, r#"{"input_tokens":7}"#),
        ("POST", "/v1/embeddings") => Reply::json(
            200,
            r#"{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5]}],"model":"mock-1"}"#,
        ),
        ("POST", "/v1/completions") => Reply::json(200, r#"{"object":"text_completion","choices":[{"text":"ok"}]}"#),
        (_, "/v1/models") => Reply::json(
            200,
            r#"{"object":"list","data":[{"id":"mock-1","object":"model","max_model_len":32768},{"id":"mock-2","object":"model"}]}"#,
        ),
        _ => Reply::json(404, r#"{"error":{"message":"the mock does not know this path","type":"not_found"}}"#),
    }
}

/// Whether a body contains `"stream":true`. The body is searched, not parsed, because tests send invalid JSON.
#[must_use]
pub fn wants_stream(body: &[u8]) -> bool {
    let dense: Vec<u8> = body.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let needle = br#""stream":true"#;
    dense.windows(needle.len()).any(|window| window == needle)
}

/// The event stream that answers a conversation request at this path.
///
/// # Panics
/// If the path is not one of the three conversation paths.
#[must_use]
pub fn streamed(path: &str) -> &'static str {
    match path {
        "/v1/chat/completions" => CHAT_EVENTS,
        "/v1/messages" => MESSAGES_EVENTS,
        "/v1/responses" => RESPONSES_EVENTS,
        _ => panic!("no conversation at {path}"),
    }
}

/// The whole answer to a conversation request at this path.
///
/// # Panics
/// If the path is not one of the three conversation paths.
#[must_use]
pub fn whole(path: &str) -> &'static str {
    match path {
        "/v1/chat/completions" => CHAT,
        "/v1/messages" => MESSAGES,
        "/v1/responses" => RESPONSES,
        _ => panic!("no conversation at {path}"),
    }
}

fn events(text: &str) -> Reply {
    Reply::new(200, "text/event-stream", text)
}

const CHAT: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"mock-1","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;

const CHAT_EVENTS: &str = r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"mock-1","choices":[{"index":0,"delta":{"role":"assistant","content":"ok"},"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"mock-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

"#;

const MESSAGES: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"mock-1","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}"#;

const MESSAGES_EVENTS: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"mock-1","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":0}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ok"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":1}}

event: message_stop
data: {"type":"message_stop"}

"#;

const RESPONSES: &str = r#"{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"mock-1","output":[{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"ok","annotations":[]}]}],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}"#;

const RESPONSES_EVENTS: &str = r#"event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":1,"status":"in_progress","model":"mock-1","output":[]}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","role":"assistant","status":"in_progress","content":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"ok"}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":3,"output_index":0,"item":{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"ok","annotations":[]}]}}

event: response.completed
data: {"type":"response.completed","sequence_number":4,"response":{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"mock-1","output":[{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"ok","annotations":[]}]}],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}}

"#;
