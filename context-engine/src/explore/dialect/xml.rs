//! Calls in tags.
//!
//! Values are taken as they stand between their tags: entities are not decoded, because code has them too.

use serde_json::{Map, Value};

/// Longer tags are none.
const MAX_TAG: usize = 200;

/// A tag: `<name>`, `<name=value>`, `<name name="value">`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag<'t> {
    /// Without a namespace.
    pub(super) name: &'t str,
    /// As it is written in the tag that closes it.
    pub(super) full: &'t str,
    /// The value behind the first `=`, without its quotes.
    pub(super) value: Option<&'t str>,
    /// Its length in bytes.
    pub(super) len: usize,
}

/// The opening tag at the start of a text, if there is one.
pub(super) fn tag(text: &str) -> Option<Tag<'_>> {
    let inside = text.strip_prefix('<')?;
    let within = inside.as_bytes().get(..MAX_TAG).unwrap_or(inside.as_bytes());
    let end = within.iter().position(|byte| *byte == b'>')?;
    let inside = &inside[..end];
    let part = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
    let full = &inside[..inside.find(|c| !part(c)).unwrap_or(inside.len())];
    if !full.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return None;
    }
    let rest = inside[full.len()..].trim();
    let value = rest.split_once('=').map(|(_, value)| {
        let value = value.trim();
        match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value[1..].split(quote).next().unwrap_or_default(),
            _ => value,
        }
    });
    Some(Tag {
        name: full.rsplit(':').next().unwrap_or(full),
        full,
        value,
        len: end + 2,
    })
}

/// The arguments that a text consists of, each in a tag; none where something else stands in it.
///
/// `<parameter=pattern>x</parameter>`, `<parameter name="pattern">x</parameter>`, `<pattern>x</pattern>`,
/// `<arg_key>pattern</arg_key><arg_value>x</arg_value>`. The last one need not be closed.
pub(super) fn arguments(text: &str) -> Option<Map<String, Value>> {
    let mut arguments = Map::new();
    let mut key_alone = None;
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let open = tag(rest)?;
        let inner = &rest[open.len..];
        let (value, used) = until_closed(inner, open, open.value.is_some());
        rest = inner[used..].trim_start();
        match (open.name, open.value, key_alone.take()) {
            ("arg_key", _, _) => key_alone = Some(value.trim()),
            ("arg_value", _, Some(key)) => put(&mut arguments, key, value),
            ("parameter" | "param" | "argument" | "arg", Some(key), _) => put(&mut arguments, key.trim(), value),
            (name, _, _) => put(&mut arguments, name, value),
        }
    }
    (!arguments.is_empty()).then_some(arguments)
}

/// What stands before the closing tag, or, for tags that do not nest, before the next that opens, or before the end; and
/// how much of the text that is with the closing tag, in bytes.
pub(super) fn until_closed<'t>(inner: &'t str, open: Tag<'_>, flat: bool) -> (&'t str, usize) {
    let mut from = 0;
    while let Some(found) = inner[from..].find('<') {
        let at = from + found;
        let after = &inner[at + 1..];
        if let Some(end) = after.strip_prefix('/').and_then(|after| after.strip_prefix(open.full))
            && end.trim_start().starts_with('>')
        {
            let used = inner.len() - end.len() + end.find('>').unwrap_or(0) + 1;
            return (trimmed(&inner[..at]), used);
        }
        let again = flat
            && after
                .strip_prefix(open.full)
                .is_some_and(|rest| rest.starts_with(['=', ' ', '>']));
        if again {
            return (trimmed(&inner[..at]), at);
        }
        from = at + 1;
    }
    (trimmed(inner), inner.len())
}

/// A value without the line ends that set it off from its tags.
fn trimmed(value: &str) -> &str {
    let value = value.strip_prefix("\r\n").or(value.strip_prefix('\n')).unwrap_or(value);
    value
        .strip_suffix('\n')
        .map_or(value, |value| value.strip_suffix('\r').unwrap_or(value))
}

fn put(arguments: &mut Map<String, Value>, key: &str, value: &str) {
    let value = Value::String(value.to_owned());
    match arguments.get_mut(key) {
        None => {
            arguments.insert(key.to_owned(), value);
        }
        Some(Value::Array(values)) => values.push(value),
        Some(first) => *first = Value::Array(vec![first.take(), value]),
    }
}
