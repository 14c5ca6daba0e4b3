//! Fenced blocks: three backticks or more, what the block is, and the block.

/// A block, and how much of the text it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence<'t> {
    pub(super) body: &'t str,
    pub(super) kind: Kind,
    /// In bytes, its fences included.
    pub(super) len: usize,
    /// In bytes, its first line alone.
    pub(super) head: usize,
    /// There is a fence at its end.
    pub(super) closed: bool,
}

/// What a block may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A call, by its name.
    Call,
    /// Anything.
    Any,
    /// Code that is shown.
    Code,
}

/// The block at the start of a text, if there is one.
pub(super) fn at_start(text: &str) -> Option<Fence<'_>> {
    let ticks = text.bytes().take_while(|byte| *byte == b'`').count();
    if ticks < 3 {
        return None;
    }
    // Behind the fence the name of a language may stand, or the block itself.
    let rest = &text[ticks..];
    let name = rest
        .bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"_-+.#".contains(byte))
        .count();
    let (name, begins) = match rest.as_bytes().get(name) {
        Some(b'(') => ("", 0),
        _ => (&rest[..name], name),
    };
    let head = ticks + begins;
    let end = closing(&text[head..], ticks);
    let body = &text[head..head + end.unwrap_or(text.len() - head)];
    let closing = text[head + body.len()..]
        .bytes()
        .take_while(|byte| *byte == b'`')
        .count();
    Some(Fence {
        body,
        kind: kind(name),
        len: head + body.len() + closing,
        head,
        closed: end.is_some(),
    })
}

/// Where the first run of so many backticks begins.
fn closing(text: &str, ticks: usize) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = text[from..].find('`') {
        let start = from + found;
        let run = text[start..].bytes().take_while(|byte| *byte == b'`').count();
        if run >= ticks {
            return Some(start);
        }
        from = start + run;
    }
    None
}

fn kind(name: &str) -> Kind {
    match name.to_ascii_lowercase().as_str() {
        "tool_call" | "tool_calls" | "tool_code" | "tool" | "tool_use" | "function_call" | "function" => Kind::Call,
        "" | "json" | "jsonc" | "json5" | "xml" => Kind::Any,
        _ => Kind::Code,
    }
}
