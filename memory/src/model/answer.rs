//! Reading what a model wrote, which may be anything.

use crate::redact::redact;

/// What is inside a code fence, where there is one around all of it.
pub(crate) fn without_fence(answer: &str) -> &str {
    let answer = answer.trim();
    let inside = || {
        let (language, rest) = answer.strip_prefix("```")?.split_once('\n')?;
        let is_language = language.trim().chars().all(char::is_alphanumeric);
        rest.strip_suffix("```").filter(|_| is_language)
    };
    inside().unwrap_or(answer)
}

/// A text in one line, without control characters and without secrets. Some are told by their lines, and some could be
/// hidden by a character in between; so they are looked for before and after.
pub(crate) fn plain(text: &str) -> String {
    let text = redact(text).replace(|c: char| c.is_control() && !c.is_whitespace(), "");
    redact(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}
