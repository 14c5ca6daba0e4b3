//! The agent's last answer in a turn.

use std::ops::Range;

use muninn_wire::{Message, Prompt, Role};

use super::human::without_packs;

/// The agent's last text in these messages, without repeated packs; empty if there is none.
pub fn answer(prompt: &Prompt<'_>, messages: Range<usize>) -> String {
    let assistant = prompt.messages[messages].iter().rev().filter(|message| message.role == Role::Assistant);
    assistant.map(text_of).find(|text| !text.is_empty()).unwrap_or_default()
}

fn text_of(message: &Message<'_>) -> String {
    let texts = message.texts().map(|text| without_packs(text.decoded()).trim().to_owned());
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    texts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use muninn_wire::WireFormat;

    fn of(format: WireFormat, body: &str) -> String {
        let prompt = Prompt::parse(format, body.as_bytes()).unwrap();
        answer(&prompt, 0..prompt.messages.len())
    }

    #[test]
    fn last_text_is_the_answer_in_every_format_and_thinking_is_not() {
        let messages = r#"{"messages":[{"role":"user","content":"why?"},{"role":"assistant","content":"I look."},
            {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":" So. "},{"type":"text","text":"Done."}]},
            {"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Read","input":{}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}]}"#;
        assert_eq!(of(WireFormat::Messages, messages), "So.\n\nDone.");
        let chat =
            r#"{"messages":[{"role":"user","content":"why?"},{"role":"assistant","content":"So.","tool_calls":[]}]}"#;
        assert_eq!(of(WireFormat::Chat, chat), "So.");
        let responses = r#"{"input":[{"role":"user","content":"why?"},{"type":"reasoning","id":"r","summary":[]},
            {"type":"message","role":"assistant","content":[{"type":"output_text","text":"So."}]}]}"#;
        assert_eq!(of(WireFormat::Responses, responses), "So.");
        assert_eq!(of(WireFormat::Chat, r#"{"messages":[{"role":"user","content":"why?"}]}"#), "");
    }

    #[test]
    fn repeated_pack_is_no_answer() {
        let body = r#"{"messages":[{"role":"assistant","content":"It says <muninn-context>\n## a.rs\nsecret plan\n</muninn-context> so."}]}"#;
        assert_eq!(of(WireFormat::Chat, body), "It says so.");
    }
}
