//! Changes of single keys. All other bytes stay.

use std::ops::Range;

use serde_json::{Map, Value};

use super::{Entry, FrontMatter, UnclosedFrontMatter, is_key, quoted, yaml};

/// Why front matter was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// It has no closing line.
    #[error(transparent)]
    Unclosed(#[from] UnclosedFrontMatter),
    /// A key has other characters than letters, digits, blanks, `_`, `-` and `.`.
    #[error("`{key}` is no key of front matter: it needs letters, digits, blanks, _, - and . only")]
    Key { key: String },
    /// A key would not be read back as it was written, or another one would change.
    #[error("`{key}` cannot be set in front matter of this form; edit the text")]
    Form { key: String },
}

/// Returns a text whose front matter has other values; null removes a key. A new key comes last. Comments, the order and
/// the form of other keys stay, as do the text below and the comment behind a value that is replaced.
pub fn with_values(text: &str, values: &Map<String, Value>) -> Result<String, EditError> {
    if let Some(key) = values.keys().find(|key| !is_key(key)) {
        return Err(EditError::Key { key: key.clone() });
    }
    let Some(front) = FrontMatter::of(text)? else {
        let lines: String = values.iter().filter_map(|(key, value)| line(key, value, "", "\n")).collect();
        return Ok(if lines.is_empty() { text.to_owned() } else { format!("---\n{lines}---\n{text}") });
    };
    let line_end = if front.block.contains("\r\n") { "\r\n" } else { "\n" };
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut added = String::new();
    for (key, value) in values {
        let mut entries = front.entries.iter().filter(|entry| entry.key == key);
        match entries.next() {
            Some(entry) => {
                let comment = entry.comment().unwrap_or_default();
                edits.push((entry.lines.clone(), line(key, value, comment, line_end).unwrap_or_default()));
            }
            None => added.extend(line(key, value, "", line_end)),
        }
        // Of equal keys the first counts, and the others would contradict it.
        edits.extend(entries.map(|entry| (entry.lines.clone(), String::new())));
    }
    let mut block = front.block.to_owned();
    edits.sort_by_key(|(span, _)| span.start);
    for (span, new) in edits.into_iter().rev() {
        block.replace_range(span, &new);
    }
    let (above, below) = (&text[..front.block_start], &text[front.block_start + front.block.len()..]);
    let new = format!("{above}{block}{added}{below}");
    checked(&front, &new, values)?;
    Ok(new)
}

/// Reads the new text: each value must be there, and all others must be as they were.
fn checked(before: &FrontMatter<'_>, new: &str, values: &Map<String, Value>) -> Result<(), EditError> {
    let mut expected = before.values();
    for (key, value) in values {
        expected.remove(key);
        if !value.is_null() {
            expected.insert(key.clone(), value.clone());
        }
    }
    let read = FrontMatter::of(new)?.map(|front| front.values()).unwrap_or_default();
    let differs = |key: &&String| read.get(*key) != expected.get(*key);
    let Some(lost) = expected.keys().chain(read.keys()).find(differs) else { return Ok(()) };
    // Where another key changed, all that were set are to blame.
    let key = values.keys().find(|key| *key == lost).or(values.keys().next()).unwrap_or(lost);
    Err(EditError::Form { key: key.clone() })
}

/// The line of a key; `None` for null.
fn line(key: &str, value: &Value, comment: &str, line_end: &str) -> Option<String> {
    let written = match value {
        Value::Null => return None,
        Value::Array(items) if items.iter().all(|item| !item.is_array() && !item.is_object()) => {
            let items: Vec<String> = items.iter().map(scalar).collect();
            format!("[{}]", items.join(", "))
        }
        value => scalar(value),
    };
    Some(format!("{key}: {written}{comment}{line_end}"))
}

/// A value on one line. JSON is YAML.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) if !text.contains(char::is_control) => quoted(text),
        value => value.to_string(),
    }
}

impl<'t> Entry<'t> {
    /// The comment behind a value on one line, with the blanks in front of it.
    fn comment(&self) -> Option<&'t str> {
        if !self.below.is_empty() {
            return None;
        }
        let (_, end) = yaml::mapping(self.text)?;
        let rest = self.text.get(end..)?.trim_end();
        rest.trim_start().starts_with('#').then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(text: &str, values: Value) -> String {
        with_values(text, values.as_object().unwrap()).unwrap()
    }

    #[test]
    fn other_keys_comments_and_the_body_stay() {
        let text = "\u{feff}---\n# who wrote it\nauthor:   'Ann' # first\ntitle: Old # why\ntags:\n  - a # one\n  - b\n# last\n---\nbody\n---\n";
        let new = with(text, json!({"title": "New: one", "tags": ["x, y", 3], "draft": true, "absent": null}));
        let expected = "\u{feff}---\n# who wrote it\nauthor:   'Ann' # first\ntitle: \"New: one\" # why\ntags: [\"x, y\", 3]\n# last\ndraft: true\n---\nbody\n---\n";
        assert_eq!(new, expected);
        let removed = with(&new, json!({"tags": null, "title": null, "draft": null}));
        assert_eq!(removed, "\u{feff}---\n# who wrote it\nauthor:   'Ann' # first\n# last\n---\nbody\n---\n");
        assert_eq!(with(text, json!({})), text);
    }

    #[test]
    fn what_is_written_is_read_back_or_refused() {
        let set = |text: &str, key: &str| {
            let values = Map::from_iter([(key.to_owned(), json!("new"))]);
            with_values(&format!("---\n{text}\nlast: 1\n---\nbody"), &values)
        };
        for (text, key) in [
            ("\"my tag\": old", "my tag"),
            ("'other': x", "other"),
            ("\"a\": 1", "a"),
            ("'a' : 1", "a"),
            ("a : 1", "a"),
            ("a:\n  - b", "a"),
            ("a: |\n  text", "a"),
            ("a: &x 1", "a"),
            ("a: 1\n'a': 2", "a"),
            ("b: 1", "a"),
        ] {
            let new = set(text, key).unwrap_or_else(|error| panic!("{text}: {error}"));
            let front = FrontMatter::of(&new).unwrap().unwrap();
            assert_eq!(front.values()[key], "new", "{new}");
            assert_eq!(front.values()["last"], 1, "{new}");
            assert_eq!(new.matches("new").count(), 1, "{new}");
        }
        for (text, key) in [
            ("\"\\u0061\": 1", "a"),
            ("? a\n: 1", "a"),
            ("{a: 1, b: 2}", "a"),
            (" a: 1\n b: 2", "a"),
            ("a: &x 1\nb: *x", "a"),
        ] {
            match set(text, key) {
                Err(error) => assert_eq!(error, EditError::Form { key: key.to_owned() }, "{text}"),
                Ok(new) => {
                    let values = FrontMatter::of(&new).unwrap().unwrap().values();
                    assert_eq!(values[key], "new", "{text}: {new}");
                }
            }
        }
        // The change would lose another key.
        for text in ["{a: 1, b: 2}", " a: 1\n b: 2", "? a\n: 1\nb: 2"] {
            let values = Map::from_iter([("a".to_owned(), json!("new"))]);
            let refused = with_values(&format!("---\n{text}\n---\nbody"), &values);
            assert_eq!(refused, Err(EditError::Form { key: "a".to_owned() }), "{text}");
        }
    }

    #[test]
    fn front_matter_is_added_where_there_is_none() {
        assert_eq!(with("body\n", json!({"title": "T"})), "---\ntitle: T\n---\nbody\n");
        assert_eq!(with("body\n", json!({"title": null})), "body\n");
        assert_eq!(with("---\n---\n", json!({"a": 1})), "---\na: 1\n---\n");
        let refused = |text, values: Value| with_values(text, values.as_object().unwrap()).unwrap_err();
        assert_eq!(refused("---\na: 1\n", json!({"a": 2})), EditError::Unclosed(UnclosedFrontMatter));
        assert!(matches!(refused("", json!({"k: y": 2})), EditError::Key { .. }));
        assert_eq!(with("---\r\na: 1\r\n---\r\nx", json!({"a": 2, "b": 3})), "---\r\na: 2\r\nb: 3\r\n---\r\nx");
    }

    #[test]
    fn written_values_are_read_back() {
        let values = json!({
            "text": "a", "number": 12, "float": 1.5, "word": "1.5", "no": "no", "null": "null", "yes": true,
            "lines": "one\n\ttwo", "list": ["a", "b: c", "", "*.rs", 4, false], "nested": {"a": [1, {"b": "c"}]},
            "empty": [], "a key": "x", "ü": "Größe \u{1F600} \\ \"", "hash": "a # b",
        });
        let text = with("---\ntext: old\nlist:\n- x\n---\nbody", values.clone());
        let front = FrontMatter::of(&text).unwrap().unwrap();
        assert_eq!(Value::Object(front.values()), values, "{text}");
        assert_eq!(front.body, "body");
    }
}
