//! A prompt that is longer than the model's context window, in the words of every backend, put into the words that make
//! the client compact its conversation.
//!
//! There is no common code for it. What each server says was read from its source or its answers; the table below is
//! all that is known of it, and a message that fits no row is passed on as it came.

use std::sync::LazyLock;

use regex::Regex;

use super::WireFormat;

/// What a backend said of a prompt that does not fit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Overflow {
    /// The prompt's tokens.
    pub prompt: Option<u64>,
    /// The tokens that were asked for as an answer, where the two together are too many.
    pub answer: Option<u64>,
    /// The context window in tokens.
    pub window: Option<u64>,
}

/// One way of saying it. The groups `prompt`, `answer`, `total` and `window` are numbers of tokens.
const SAYINGS: [&str; 19] = [
    // Anthropic
    r"prompt is too long: (?<prompt>\d+) tokens > (?<window>\d+) maximum",
    r"input length and `max_tokens` exceed context limit: (?<prompt>\d+) \+ (?<answer>\d+) > (?<window>\d+)",
    // vLLM, before and since 0.11, and since it stops counting at the limit
    r"maximum context length is (?<window>\d+) tokens.*?\((?<prompt>\d+) in the messages, (?<answer>\d+) in the completion\)",
    r"too large: (?<answer>\d+)\. .*maximum context length is (?<window>\d+) tokens and your request has (?<prompt>\d+) input tokens",
    r"passed (?<prompt>\d+) input tokens and requested (?<answer>\d+) output tokens.*context length is only (?<window>\d+)",
    r"maximum context length is (?<window>\d+) tokens.*you requested (?<answer>\d+) output tokens and your prompt contains (?:at least )?(?<prompt>\d+) input tokens",
    r"prompt \(length (?<prompt>\d+)\) is longer than the maximum model length of (?<window>\d+)",
    // OpenAI and those that repeat its words
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

/// Codes and types that say it without a sentence.
const CODES: [&str; 4] = [
    "context_length_exceeded",
    "exceed_context_size_error",
    "ContextWindowExceededError",
    "model_context_window_exceeded",
];

static SAID: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    SAYINGS
        .iter()
        .filter_map(|saying| Regex::new(&format!("(?s){saying}")).ok())
        .collect()
});

/// Longer texts than this are no error messages.
const LONGEST: usize = 64 << 10;

/// Reads an error's text: a message, or a whole error body.
#[must_use]
pub fn overflow(text: &str) -> Option<Overflow> {
    if text.len() > LONGEST {
        return None;
    }
    for said in &*SAID {
        let Some(found) = said.captures(text) else { continue };
        let number = |name: &str| found.name(name)?.as_str().parse().ok();
        let mut overflow = Overflow {
            prompt: number("prompt"),
            answer: number("answer"),
            window: number("window"),
        };
        overflow.fill_in(text);
        return Some(overflow);
    }
    CODES.iter().any(|code| text.contains(code)).then(|| {
        let mut overflow = Overflow::default();
        overflow.fill_in(text);
        overflow
    })
}

impl Overflow {
    /// llama.cpp gives the numbers as fields of their own.
    fn fill_in(&mut self, text: &str) {
        let field = |name: &str| {
            let (_, after) = text.split_once(&format!("\"{name}\":"))?;
            let digits: String = after.trim_start().chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        };
        self.prompt = self.prompt.or_else(|| field("n_prompt_tokens"));
        self.window = self.window.or_else(|| field("n_ctx"));
    }

    /// The words of a client's own vendor. `window` is what the configuration knows of the backend; a number that nobody
    /// knows is given as the smallest or largest that it can be.
    #[must_use]
    pub fn message(self, format: WireFormat, window: Option<u32>) -> String {
        let prompt_alone_fits = self.answer.is_some_and(|_| self.prompt < self.window);
        let window = self.window.or(window.map(u64::from));
        let (prompt, window) = match (self.prompt, window) {
            (Some(prompt), Some(window)) => (prompt, window),
            (Some(prompt), None) => (prompt, prompt.saturating_sub(1)),
            (None, Some(window)) => (window + 1, window),
            (None, None) => (2, 1),
        };
        match (format, self.answer) {
            // With little room left behind the prompt a shorter answer is no help, and compacting is.
            (WireFormat::Messages, Some(answer)) if prompt_alone_fits && prompt > window / 4 * 3 => {
                let most = window.saturating_sub(answer).min(prompt.saturating_sub(1));
                format!("prompt is too long: {prompt} tokens > {most} maximum")
            }
            (WireFormat::Messages, Some(answer)) if prompt_alone_fits => format!(
                "input length and `max_tokens` exceed context limit: {prompt} + {answer} > {window}, decrease input length or `max_tokens` and try again"
            ),
            (WireFormat::Messages, _) => {
                format!(
                    "prompt is too long: {} tokens > {window} maximum",
                    prompt.max(window + 1)
                )
            }
            (WireFormat::Chat | WireFormat::Responses, Some(answer)) if prompt_alone_fits => format!(
                "This model's maximum context length is {window} tokens. However, you requested {} tokens ({prompt} in the messages, {answer} in the completion). Please reduce the length of the messages or completion.",
                prompt + answer
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

    type OverflowPattern = (&'static str, Option<u64>, Option<u64>, Option<u64>);

    /// What backends say, with the prompt, the answer and the window that are in it.
    const SAID: [OverflowPattern; 19] = [
        (
            "prompt is too long: 208310 tokens > 200000 maximum",
            Some(208_310),
            None,
            Some(200_000),
        ),
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
        (
            "This model's maximum context length is 4096 tokens. Please reduce",
            None,
            None,
            Some(4096),
        ),
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
        (
            r#"{"error":{"message":"too long","code":"context_length_exceeded"}}"#,
            None,
            None,
            None,
        ),
    ];

    #[test]
    fn every_saying_is_read_with_its_numbers() {
        for (said, prompt, answer, window) in SAID {
            let expected = Overflow { prompt, answer, window };
            assert_eq!(overflow(said), Some(expected), "{said}");
        }
    }

    #[test]
    fn other_errors_are_not_taken_for_it() {
        for said in [
            "max_tokens must be positive",
            "model not found",
            "rate limit: 4096 tokens per minute",
            "",
        ] {
            assert_eq!(overflow(said), None, "{said}");
        }
    }

    #[test]
    fn a_client_reads_the_words_of_its_own_vendor_and_they_are_read_back() {
        for (said, ..) in SAID {
            let found = overflow(said).unwrap();
            for format in [WireFormat::Chat, WireFormat::Messages, WireFormat::Responses] {
                let message = found.message(format, Some(4096));
                let again = overflow(&message).unwrap();
                assert!(again.prompt.is_some() && again.window.is_some(), "{message}");
                if format == WireFormat::Messages && again.answer.is_none() {
                    assert!(again.prompt > again.window, "{message}");
                }
            }
        }
    }
}
