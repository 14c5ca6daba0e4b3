//! What models of OpenAI refuse, derived from their names: their API answers 400 to a parameter that a model does not
//! support. Other servers of this format ignore what they do not know.

/// The parameters that a model refuses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Capabilities {
    /// Whether it is a model of OpenAI, which takes `max_completion_tokens`, and no `top_k`.
    pub is_openai: bool,
    /// Whether it always reasons, and takes no sampling parameters and no stop sequences.
    pub reasons: bool,
}

impl Capabilities {
    pub(super) fn of(model: &str) -> Capabilities {
        let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        // Open weights run on other servers.
        if name.starts_with("gpt-oss") {
            return Capabilities::default();
        }
        let starts_with_digit = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
        if name.strip_prefix('o').is_some_and(starts_with_digit) {
            return Capabilities { is_openai: true, reasons: true };
        }
        let Some(rest) = name.strip_prefix("gpt-").filter(|rest| starts_with_digit(rest)) else {
            return Capabilities { is_openai: name.starts_with("chatgpt-"), reasons: false };
        };
        let major: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let reasons = major.parse::<u32>().is_ok_and(|major| major >= 5) && !rest.contains("chat");
        Capabilities { is_openai: true, reasons }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_told_by_their_names() {
        for model in
            ["o1", "o3-mini", "o4-mini-2025-04-16", "gpt-5", "gpt-5.1-codex", "openai/gpt-5-mini", "GPT-6", "gpt-10"]
        {
            assert_eq!(Capabilities::of(model), Capabilities { is_openai: true, reasons: true }, "{model}");
        }
        for model in
            ["gpt-4o", "gpt-4.1", "gpt-3.5-turbo", "gpt-5-chat-latest", "chatgpt-4o-latest", "openai/gpt-4o-mini"]
        {
            assert_eq!(Capabilities::of(model), Capabilities { is_openai: true, reasons: false }, "{model}");
        }
        for model in
            ["", "gpt-oss-120b", "openai/gpt-oss-20b", "qwen3-coder", "olmo-2", "opus", "claude-opus-4-5", "gpt-j", "o"]
        {
            assert_eq!(Capabilities::of(model), Capabilities::default(), "{model}");
        }
    }
}
