//! Context overflow: recognises the errors of backends for a prompt that is longer than the context window, and writes
//! the message on which the client compacts its conversation.
//!
//! Servers have no common error code for it. The patterns come from their sources and answers. A message that matches
//! no pattern is passed on unchanged.

use std::sync::LazyLock;

use regex::Regex;

use super::WireFormat;

/// The token counts in a backend's overflow error. Counts that the error does not contain are `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Overflow {
    /// The prompt's tokens.
    pub prompt: Option<u64>,
    /// The requested tokens of the answer, if prompt and answer together are too long.
    pub answer: Option<u64>,
    /// The context window in tokens.
    pub window: Option<u64>,
}

/// Regular expressions for overflow messages; the first match counts. The groups `prompt`, `answer` and `window` are
/// numbers of tokens.
const PATTERNS: [&str; 19] = [
    // Anthropic
    r"prompt is too long: (?<prompt>\d+) tokens > (?<window>\d+) maximum",
    r"input length and `max_tokens` exceed context limit: (?<prompt>\d+) \+ (?<answer>\d+) > (?<window>\d+)",
    // vLLM: before 0.11, since 0.11, and since it stops counting at the limit
    r"maximum context length is (?<window>\d+) tokens.*?\((?<prompt>\d+) in the messages, (?<answer>\d+) in the completion\)",
    r"too large: (?<answer>\d+)\. .*maximum context length is (?<window>\d+) tokens and your request has (?<prompt>\d+) input tokens",
    r"passed (?<prompt>\d+) input tokens and requested (?<answer>\d+) output tokens.*context length is only (?<window>\d+)",
    r"maximum context length is (?<window>\d+) tokens.*you requested (?<answer>\d+) output tokens and your prompt contains (?:at least )?(?<prompt>\d+) input tokens",
    r"prompt \(length (?<prompt>\d+)\) is longer than the maximum model length of (?<window>\d+)",
    // OpenAI, and servers with its messages
    r"maximum context length is (?<window>\d+) tokens.*?(?:resulted in|requested) (?:about )?(?<prompt>\d+) tokens",
    r"maximum context length is (?<window>\d+) tokens",
    r"exceeds the context window of this model",
    // llama.cpp
    r"request \((?<prompt>\d+) tokens\) exceeds the available context size \((?<window>\d+) tokens\)",
    r"exceeds? the available context size",
    // SGLang
    r"maximum context length of (?<window>\d+) tokens.*: (?<prompt>\d+) tokens from the input messages and (?<answer>\d+) tokens for",
    r"input \((?<prompt>\d+) tokens\) is longer than the model's context length \((?<window>\d+) tokens\)",
    // LM Studio
    r"keep the first (?<prompt>\d+) tokens when context the overflows.*context length of only (?<window>\d+)",
    // Mistral
    r"Prompt contains (?<prompt>\d+) tokens.*too large for model with (?<window>\d+) maximum context length",
    // Gemini's OpenAI-compatible endpoint
    r"input token count \((?<prompt>\d+)\) exceeds the maximum number of tokens allowed \((?<window>\d+)\)",
    // ollama, Bedrock
    r"(?i)input length exceeds (?:the )?(?:maximum )?context length",
    r"Input is too long for requested model",
];

/// Codes and types of overflow errors, for errors that match no pattern.
const CODES: [&str; 4] = [
    "context_length_exceeded",
    "exceed_context_size_error",
    "ContextWindowExceededError",
    "model_context_window_exceeded",
];

static REGEXES: LazyLock<Vec<Regex>> =
    LazyLock::new(|| PATTERNS.iter().filter_map(|pattern| Regex::new(&format!("(?s){pattern}")).ok()).collect());

/// The longest text, in bytes, that is searched. Error messages are shorter.
const LONGEST: usize = 64 << 10;

impl Overflow {
    /// Reads the text of an error: a message, or a whole error body. `None` if the error is no context overflow.
    pub fn parse(text: &str) -> Option<Overflow> {
        if text.len() > LONGEST {
            return None;
        }
        let mut overflow = match REGEXES.iter().find_map(|regex| regex.captures(text)) {
            Some(found) => {
                let number = |name: &str| found.name(name)?.as_str().parse().ok();
                Overflow { prompt: number("prompt"), answer: number("answer"), window: number("window") }
            }
            None if CODES.iter().any(|code| text.contains(code)) => Overflow::default(),
            None => return None,
        };
        overflow.add_fields(text);
        Some(overflow)
    }

    /// Adds the counts that llama.cpp writes as fields of the error.
    fn add_fields(&mut self, text: &str) {
        let field = |name: &str| {
            let (_, after) = text.split_once(&format!("\"{name}\":"))?;
            let digits: String = after.trim_start().chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        };
        self.prompt = self.prompt.or_else(|| field("n_prompt_tokens"));
        self.window = self.window.or_else(|| field("n_ctx"));
    }

    /// Whether an error body already has the words on which clients of this format compact.
    pub fn is_in_words_of(format: WireFormat, body: &str) -> bool {
        let words: &[&str] = match format {
            WireFormat::Messages => &["prompt is too long: ", "exceed context limit: "],
            WireFormat::Chat | WireFormat::Responses => &["\"context_length_exceeded\""],
        };
        words.iter().any(|words| body.contains(words))
    }

    /// The overflow message of the format's vendor. `window` is the backend's context window in tokens from the
    /// configuration. An unknown count is written as the smallest or largest possible number.
    pub fn message(self, format: WireFormat, window: Option<u32>) -> String {
        let prompt_alone_fits = self.answer.is_some_and(|_| self.prompt < self.window);
        let window = self.window.or(window.map(u64::from));
        let (prompt, window) = match (self.prompt, window) {
            (Some(prompt), Some(window)) => (prompt, window),
            (Some(prompt), None) => (prompt, prompt.saturating_sub(1)),
            (None, Some(window)) => (window.saturating_add(1), window),
            (None, None) => (2, 1),
        };
        match (format, self.answer) {
            // A prompt of more than three quarters of the window leaves little room for an answer: a shorter answer
            // does not help, compacting does.
            (WireFormat::Messages, Some(answer)) if prompt_alone_fits && prompt > window / 4 * 3 => {
                let limit = window.saturating_sub(answer).min(prompt.saturating_sub(1));
                format!("prompt is too long: {prompt} tokens > {limit} maximum")
            }
            (WireFormat::Messages, Some(answer)) if prompt_alone_fits => format!(
                "input length and `max_tokens` exceed context limit: {prompt} + {answer} > {window}, decrease input length or `max_tokens` and try again"
            ),
            (WireFormat::Messages, _) => {
                format!("prompt is too long: {} tokens > {window} maximum", prompt.max(window.saturating_add(1)))
            }
            (WireFormat::Chat | WireFormat::Responses, Some(answer)) if prompt_alone_fits => format!(
                "This model's maximum context length is {window} tokens. However, you requested {} tokens ({prompt} in the messages, {answer} in the completion). Please reduce the length of the messages or completion.",
                prompt.saturating_add(answer)
            ),
            (WireFormat::Chat | WireFormat::Responses, _) => format!(
                "This model's maximum context length is {window} tokens. However, your messages resulted in {prompt} tokens. Please reduce the length of the messages."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type OverflowCase = (&'static str, Option<u64>, Option<u64>, Option<u64>);

    /// Errors of backends with the tokens of prompt, answer and window in them.
    const CASES: [OverflowCase; 19] = [
        ("prompt is too long: 208310 tokens > 200000 maximum", Some(208_310), None, Some(200_000)),
        (
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again",
            Some(188_240),
            Some(21_333),
            Some(200_000),
        ),
        (
            "This model's maximum context length is 4096 tokens. However, you requested 4200 tokens (200 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.",
            Some(200),
            Some(4000),
            Some(4096),
        ),
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum context length is 4096 tokens and your request has 3000 input tokens (8000 > 4096 - 3000).",
            Some(3000),
            Some(8000),
            Some(4096),
        ),
        (
            "You passed 5001 input tokens and requested 1 output tokens. However, the model's context length is only 4096 tokens, resulting in a maximum input length of 4095 tokens.",
            Some(5001),
            Some(1),
            Some(4096),
        ),
        (
            "This model's maximum context length is 4096 tokens. However, you requested 100 output tokens and your prompt contains at least 3997 input tokens, for a total of at least 4097 tokens. Please reduce the length of the input prompt or the number of requested output tokens.",
            Some(3997),
            Some(100),
            Some(4096),
        ),
        (
            "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure",
            Some(5000),
            None,
            Some(4096),
        ),
        (
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens. Please reduce the length of the messages.",
            Some(150_000),
            None,
            Some(128_000),
        ),
        ("This model's maximum context length is 4096 tokens. Please reduce", None, None, Some(4096)),
        (
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            None,
            None,
            None,
        ),
        (
            "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
            Some(9000),
            None,
            Some(8192),
        ),
        (
            r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}"#,
            Some(9000),
            None,
            Some(8192),
        ),
        (
            "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
            Some(9000),
            None,
            Some(8192),
        ),
        (
            "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of 9000 tokens: 8000 tokens from the input messages and 1000 tokens for the completion.",
            Some(8000),
            Some(1000),
            Some(8192),
        ),
        (
            "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
            Some(9000),
            None,
            Some(4096),
        ),
        (
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            Some(40_000),
            None,
            Some(32_768),
        ),
        (
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            Some(1_200_000),
            None,
            Some(1_048_576),
        ),
        ("the input length exceeds the context length", None, None, None),
        (r#"{"error":{"message":"too long","code":"context_length_exceeded"}}"#, None, None, None),
    ];

    #[test]
    fn overflow_errors_are_parsed_with_their_counts() {
        for (error, prompt, answer, window) in CASES {
            let expected = Overflow { prompt, answer, window };
            assert_eq!(Overflow::parse(error), Some(expected), "{error}");
        }
    }

    #[test]
    fn other_errors_are_no_overflow() {
        for error in ["max_tokens must be positive", "model not found", "rate limit: 4096 tokens per minute", ""] {
            assert_eq!(Overflow::parse(error), None, "{error}");
        }
    }

    #[test]
    fn written_messages_parse_as_overflow_in_all_formats() {
        for (error, ..) in CASES {
            let found = Overflow::parse(error).unwrap();
            for format in [WireFormat::Chat, WireFormat::Messages, WireFormat::Responses] {
                let message = found.message(format, Some(4096));
                let again = Overflow::parse(&message).unwrap();
                assert!(again.prompt.is_some() && again.window.is_some(), "{message}");
                if format == WireFormat::Messages && again.answer.is_none() {
                    assert!(again.prompt > again.window, "{message}");
                }
            }
        }
    }

    #[test]
    fn largest_counts_are_written_without_overflow() {
        let all = [None, Some(0), Some(u64::MAX)];
        for (prompt, answer, window) in all.iter().flat_map(|p| all.iter().flat_map(move |a| all.map(|w| (*p, *a, w))))
        {
            let overflow = Overflow { prompt, answer, window };
            for format in [WireFormat::Chat, WireFormat::Messages, WireFormat::Responses] {
                assert!(!overflow.message(format, Some(u32::MAX)).is_empty());
            }
        }
    }
}
