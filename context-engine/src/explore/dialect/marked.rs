//! Calls behind special tokens, which a server that does not know the model's format leaves in the text.

/// A call, or calls, behind a token; and how much of the text they take, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marked<'t> {
    /// Calls in one of the ways to write them.
    Calls(&'t str, usize),
    /// A tool's name, and its arguments.
    Named(&'t str, &'t str, usize),
}

/// What begins calls, and what ends them.
const CALLS: [(&str, &[&str]); 4] = [
    // Llama 3
    ("<|python_tag|>", &["<|eom_id|>", "<|eot_id|>", "<|python_tag|>"]),
    // Granite, Phi
    ("<|tool_call|>", &["<|/tool_call|>", "<|tool_call|>", "<|end|>"]),
    // LFM
    ("<|tool_call_start|>", &["<|tool_call_end|>", "<|tool_call_start|>"]),
    // Mistral
    ("[TOOL_CALLS]", &["[TOOL_CALLS]", "</s>"]),
];

/// What begins a call, stands between its name and its arguments, and ends it.
const NAMED: [(&str, &str, &str); 2] = [
    // DeepSeek
    ("<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"),
    // Kimi
    (
        "<|tool_call_begin|>",
        "<|tool_call_argument_begin|>",
        "<|tool_call_end|>",
    ),
];

/// GPT-OSS: a message has a head, in which an addressee may stand.
const HEADS: [&str; 2] = ["<|start|>", "<|channel|>"];
const MESSAGE: &str = "<|message|>";
const MESSAGE_ENDS: [&str; 5] = ["<|call|>", "<|end|>", "<|return|>", "<|start|>", "<|channel|>"];
/// The longest head, in bytes.
const MAX_HEAD: usize = 300;
const FINAL: &str = "<|channel|>final<|message|>";

/// The calls that begin at the start of a text, if any do.
pub(super) fn at_start(text: &str) -> Option<Marked<'_>> {
    for (begin, ends) in CALLS {
        if let Some(inner) = text.strip_prefix(begin) {
            let calls = until(inner, ends);
            return Some(match calls.split_once("[ARGS]") {
                Some((name, arguments)) if begin == "[TOOL_CALLS]" => {
                    let name = name.split("[CALL_ID]").next().unwrap_or(name);
                    Marked::Named(name, arguments, begin.len() + calls.len())
                }
                _ => Marked::Calls(calls, begin.len() + calls.len()),
            });
        }
    }
    for (begin, separator, end) in NAMED {
        if let Some(inner) = text.strip_prefix(begin) {
            let call = until(inner, &[end, begin]);
            let (name, arguments) = call.split_once(separator).unwrap_or((call, ""));
            // The kind of call may stand where the name does later, which then is a line of its own.
            let (name, arguments) = match name.trim() {
                "function" => arguments.split_once('\n').unwrap_or((arguments, "")),
                _ => (name, arguments),
            };
            return Some(Marked::Named(name, arguments, begin.len() + call.len()));
        }
    }
    HEADS.iter().find_map(|head| addressed(text, text.strip_prefix(head)?))
}

fn addressed<'t>(text: &'t str, inner: &'t str) -> Option<Marked<'t>> {
    let head = &inner[..inner.floor_char_boundary(MAX_HEAD)];
    let head = &head[..head.find(MESSAGE)?];
    let (_, name) = head.split_once("to=")?;
    let name = name.split([' ', '<', '\n']).next()?;
    let body = &inner[head.len() + MESSAGE.len()..];
    let arguments = until(body, &MESSAGE_ENDS);
    let used = text.len() - body.len() + arguments.len();
    Some(Marked::Named(name, arguments, used))
}

/// What of a text is meant for its reader: of messages with heads, the last one to nobody else.
pub(super) fn final_words(text: &str) -> &str {
    match text.rfind(FINAL) {
        Some(at) => until(&text[at + FINAL.len()..], &MESSAGE_ENDS),
        None => text,
    }
}

/// What stands before the first of these, each of which begins with `<` or `[`.
fn until<'t>(text: &'t str, ends: &[&str]) -> &'t str {
    let mut from = 0;
    while let Some(found) = text[from..].find(['<', '[']) {
        let at = from + found;
        if ends.iter().any(|end| text[at..].starts_with(end)) {
            return &text[..at];
        }
        from = at + 1;
    }
    text
}
