//! Removes inserted blocks from a recorded body without a JSON parser: the rest must be the client's bytes.

use crate::stage::quoted;

const OPEN: &str = "<muninn-context>";
const CLOSE: &str = "</muninn-context>";

/// How a block may have been put in: text before and after the block's escaped text, and what may have been put further
/// in front to make a list out of a string.
struct Way {
    opening: &'static str,
    before: &'static str,
    after: &'static str,
}

const fn way(opening: &'static str, before: &'static str, after: &'static str) -> Way {
    Way { opening, before, after }
}

const WAYS: [Way; 6] = [
    // Chat completions: inside the text.
    way("", r"\n\n", ""),
    // Messages: one more block, or a list made of a string.
    way("", r#",{"type":"text","text":""#, "\"}"),
    way(r#"[{"type":"text","text":"#, r#"},{"type":"text","text":""#, "\"}]"),
    // Responses: one more part, a list made of a string, a message made of a bare input.
    way("", r#",{"type":"input_text","text":""#, "\"}"),
    way(r#"[{"type":"input_text","text":"#, r#"},{"type":"input_text","text":""#, "\"}]"),
    way(
        r#"[{"type":"message","role":"user","content":[{"type":"input_text","text":"#,
        r#"},{"type":"input_text","text":""#,
        "\"}]}]",
    ),
];

/// The blocks that were inserted into `original`, in order.
///
/// Panics unless cutting them out gives `original` back byte for byte.
pub(crate) fn inserted(original: &[u8], recorded: &[u8]) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("a body is UTF-8");
    let (original, recorded) = (text(original), text(recorded));
    assert!(!original.contains(OPEN), "the original already holds a fence");
    let Some(mut blocks) = cut(&original, &recorded) else {
        panic!("not the original and insertions\noriginal: {original}\nrecorded: {recorded}");
    };
    blocks.reverse();
    for block in &blocks {
        assert!(block.starts_with(&format!("{OPEN}\n")), "{block}");
        assert!(block.ends_with(&format!("{CLOSE}\n")), "{block}");
        assert_eq!(block.matches(OPEN).count(), 1, "{block}");
        assert_eq!(block.matches(CLOSE).count(), 1, "{block}");
    }
    blocks
}

/// Cuts the last block out in every way in which it can have been put in, and goes on with what is left.
fn cut(original: &str, recorded: &str) -> Option<Vec<String>> {
    let Some(start) = recorded.rfind(OPEN) else {
        return (original == recorded).then(Vec::new);
    };
    let end = start + recorded[start..].find(CLOSE)? + CLOSE.len();
    let end = end + recorded[end..].strip_prefix(r"\n").map(|_| 2)?;
    let block: String = serde_json::from_str(&format!("\"{}\"", &recorded[start..end])).ok()?;
    assert_eq!(quoted(&block), format!("\"{}\"", &recorded[start..end]), "escaped as serde_json escapes");
    let without = WAYS.iter().find_map(|way| {
        let head = recorded[..start].strip_suffix(way.before)?;
        let tail = recorded[end..].strip_prefix(way.after)?;
        if way.opening.is_empty() {
            return cut(original, &format!("{head}{tail}"));
        }
        let mut openings = head.match_indices(way.opening).map(|(at, _)| at).collect::<Vec<_>>();
        openings.reverse();
        openings.into_iter().find_map(|at| {
            let string = &head[at + way.opening.len()..];
            // What was made into a list was one string literal, nothing else.
            let is_literal =
                serde_json::from_str::<&serde_json::value::RawValue>(string).is_ok() && string.starts_with('"');
            is_literal.then(|| cut(original, &format!("{}{string}{tail}", &head[..at]))).flatten()
        })
    });
    without.map(|mut blocks| {
        blocks.insert(0, block);
        blocks
    })
}

#[test]
fn span_checker_detects_a_changed_byte() {
    let original = r#"{"messages":[{"role":"user","content":"hi"}],"x":1.0}"#;
    let good = r#"{"messages":[{"role":"user","content":"hi\n\n<muninn-context>\na\n</muninn-context>\n"}],"x":1.0}"#;
    assert_eq!(inserted(original.as_bytes(), good.as_bytes()).len(), 1);
    for bad in [good.replace("1.0", "1"), good.replace("hi", "ho"), good.replace("}]", "} ]")] {
        assert!(cut(original, &bad).is_none(), "{bad}");
    }
    let listed = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":"<muninn-context>\na\n</muninn-context>\n"}]}],"x":1.0}"#;
    assert_eq!(inserted(original.as_bytes(), listed.as_bytes()).len(), 1);
    assert!(cut(original, &listed.replace("\"hi\"", "\"hi\" ")).is_none());
}
