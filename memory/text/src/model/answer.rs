//! Cleans up a model's answer.

use crate::redact::redact;

/// Returns the content of a code fence that encloses the whole answer, or else the answer.
pub fn without_fence(answer: &str) -> &str {
    let answer = answer.trim();
    let inside = || {
        let (language, rest) = answer.strip_prefix("```")?.split_once('\n')?;
        let is_language = language.trim().chars().all(char::is_alphanumeric);
        rest.strip_suffix("```").filter(|_| is_language)
    };
    inside().unwrap_or(answer)
}

/// Returns a text as one line, without control characters and secrets. The text is redacted before and after control
/// characters are removed: some secrets are recognised by their lines, and a control character can hide others.
pub fn plain(text: &str) -> String {
    let text = redact(text).replace(|c: char| c.is_control() && !c.is_whitespace(), "");
    redact(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}
