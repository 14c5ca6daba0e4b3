//! What models of OpenAI refuse, derived from their names: their API answers 400 to a parameter that a model does not
//! support. Other servers of this format ignore what they do not know.

/// The efforts of other servers: vLLM, SGLang and ollama refuse all others.
const LOCAL_EFFORTS: &[&str] = &["none", "low", "medium", "high"];

/// The parameters that a model refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Capabilities {
    /// Whether it is a model of OpenAI, which takes `max_completion_tokens`, and no `top_k`.
    pub is_openai: bool,
    /// Whether it always reasons, and takes no sampling parameters and no stop sequences.
    pub reasons: bool,
    /// The efforts that it takes, from the least to the most.
    pub efforts: &'static [&'static str],
}

impl Default for Capabilities {
    fn default() -> Capabilities {
        Capabilities { is_openai: false, reasons: false, efforts: LOCAL_EFFORTS }
    }
}

impl Capabilities {
    pub(in super::super) fn of(model: &str) -> Capabilities {
        let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        // Open weights run on other servers.
        if name.starts_with("gpt-oss") {
            return Capabilities::default();
        }
        let starts_with_digit = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
        if name.strip_prefix('o').is_some_and(starts_with_digit) {
            return Capabilities { is_openai: true, reasons: true, efforts: &["low", "medium", "high"] };
        }
        let plain = Capabilities { is_openai: true, reasons: false, efforts: &[] };
        let Some(rest) = name.strip_prefix("gpt-").filter(|rest| starts_with_digit(rest)) else {
            return if name.starts_with("chatgpt-") { plain } else { Capabilities::default() };
        };
        let version = version(rest);
        if version < (5, 0) || rest.contains("chat") {
            return plain;
        }
        Capabilities { is_openai: true, reasons: true, efforts: efforts(version, rest) }
    }
}

/// Returns the version at the start of names like `5-mini`, `5.1-codex` or `4o`.
fn version(name: &str) -> (u32, u32) {
    let end = name.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(name.len());
    let (major, minor) = name[..end].split_once('.').unwrap_or((&name[..end], "0"));
    (major.parse().unwrap_or(0), minor.parse().unwrap_or(0))
}

/// Returns the efforts of a GPT model from version 5 on. Where the vendor's pages do not agree on an effort, it is absent.
fn efforts(version: (u32, u32), name: &str) -> &'static [&'static str] {
    let is_codex = name.contains("codex");
    match version {
        _ if name.contains("-pro") => &["high"],
        (5, 0) if !is_codex => &["minimal", "low", "medium", "high"],
        (5, 0 | 1) if is_codex => &["low", "medium", "high"],
        (5, 1) => &["none", "low", "medium", "high"],
        (5, ..6) if is_codex => &["low", "medium", "high", "xhigh"],
        (5, ..6) => &["none", "low", "medium", "high", "xhigh"],
        _ if is_codex => &["low", "medium", "high", "xhigh", "max"],
        _ => &["none", "low", "medium", "high", "xhigh", "max"],
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
            let of_model = Capabilities::of(model);
            assert!(of_model.is_openai && of_model.reasons && !of_model.efforts.is_empty(), "{model}");
        }
        for model in
            ["gpt-4o", "gpt-4.1", "gpt-3.5-turbo", "gpt-5-chat-latest", "chatgpt-4o-latest", "openai/gpt-4o-mini"]
        {
            assert_eq!(
                Capabilities::of(model),
                Capabilities { is_openai: true, reasons: false, efforts: &[] },
                "{model}"
            );
        }
        for model in
            ["", "gpt-oss-120b", "openai/gpt-oss-20b", "qwen3-coder", "olmo-2", "opus", "claude-opus-4-5", "gpt-j", "o"]
        {
            assert_eq!(Capabilities::of(model), Capabilities::default(), "{model}");
        }
    }
}
