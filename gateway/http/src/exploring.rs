//! Progress events for a client that waits for an exploration.

use muninn_wire::WireFormat;
use serde_json::json;

/// A progress line as an event of the client's stream: reasoning text in chat, where it does not affect later events, and
/// a comment elsewhere.
pub(super) fn event(format: WireFormat, id: &str, model: &str, line: &str) -> String {
    match format {
        WireFormat::Chat => {
            let chunk = json!({
                "id": format!("chatcmpl-{id}"), "object": "chat.completion.chunk",
                "created": jiff::Timestamp::now().as_second(), "model": model,
                "choices": [{"index": 0, "finish_reason": null, "delta": {"role": "assistant", "content": null,
                             "reasoning_content": format!("{line}\n")}}],
            });
            format!("data: {chunk}\n\n")
        }
        WireFormat::Messages | WireFormat::Responses => format!(": muninn explores: {line}\n\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_line_is_one_event() {
        for format in [WireFormat::Chat, WireFormat::Messages, WireFormat::Responses] {
            let event = event(format, "01", "m", "grep pattern=\"a b\"");
            assert!(event.ends_with("\n\n") && event.matches('\n').count() == 2, "{event}");
        }
        assert!(event(WireFormat::Chat, "01", "m", "x").contains(r#""reasoning_content":"x\n""#));
    }
}
