use std::ops::Range;

use serde_json::{Map, Value};

use super::entries::{Entry, FrontMatter, UnclosedFrontMatter, is_key};
use super::yaml::{self, Node};

impl<'t> FrontMatter<'t> {
    /// Reads the front matter of a text; `None` if it has none. Blank lines and a byte order mark before it are
    /// skipped.
    ///
    /// # Errors
    /// [`UnclosedFrontMatter`] if the closing line is missing.
    pub fn of(text: &'t str) -> Result<Option<Self>, UnclosedFrontMatter> {
        let rest = text.trim_start_matches('\u{feff}').trim_start();
        let above = text[..text.len() - rest.len()].matches('\n').count();
        let mut lines = (1u32..)
            .skip(above)
            .zip(rest.split_inclusive('\n'))
            .map(|(number, line)| (number, line.trim_end(), line.len()));
        let Some((_, "---", mut read)) = lines.next() else {
            return Ok(None);
        };
        let mut front = Self::default();
        let start = read;
        for (number, line, bytes) in lines {
            if matches!(line, "---" | "...") {
                front.last_line = number;
                front.block = &rest[start..read];
                front.block_start = text.len() - rest.len() + start;
                front.body = &rest[read + bytes..];
                front.entries.iter_mut().for_each(|entry| entry.text = &front.block[entry.lines.clone()]);
                return Ok(Some(front));
            }
            front.add_line(number, line, read - start..read - start + bytes);
            read += bytes;
        }
        Err(UnclosedFrontMatter)
    }

    /// Returns the front matter of a text with its first and its closing line; empty if it has none that is closed.
    pub fn head(text: &str) -> &str {
        match FrontMatter::of(text) {
            Ok(Some(front)) => &text[..text.len() - front.body.len()],
            _ => "",
        }
    }

    fn add_line(&mut self, number: u32, line: &'t str, span: Range<usize>) {
        let is_comment = line.is_empty() || line.starts_with('#');
        let is_continuation = line.starts_with([' ', '\t', '-', ']']);
        let key = key_and_value(line);
        match (key, self.entries.last_mut()) {
            _ if is_comment => {}
            (_, Some(entry)) if is_continuation => {
                entry.below.push(line.trim());
                entry.lines.end = span.end;
            }
            (Some((key, value)), _) if !is_continuation => self.entries.push(Entry {
                key,
                line: number,
                value: value.trim(),
                below: Vec::new(),
                lines: span,
                text: "",
            }),
            _ => self.unparsed_lines.push(number),
        }
    }

    /// Returns the first entry of a key.
    pub fn entry(&self, key: &str) -> Option<&Entry<'t>> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Returns the scalar of a key; `None` if it is missing, empty or null.
    pub fn text(&self, key: &str) -> Option<String> {
        self.entry(key)?.text()
    }

    /// Returns the list of a key; empty if it is missing.
    pub fn list(&self, key: &str) -> Vec<String> {
        self.entry(key).map_or_else(Vec::new, Entry::list)
    }

    /// Returns all values with their types. If the block as a whole is no YAML, these are the keys that can be read.
    pub fn values(&self) -> Map<String, Value> {
        if let Some((entries, _)) = yaml::mapping(self.block) {
            return yaml::to_map(&entries);
        }
        let mut values = Map::new();
        for entry in &self.entries {
            values.entry(entry.key).or_insert_with(|| entry.to_json());
        }
        values
    }
}

/// The key of a line, plain or in quotes, and what follows its colon.
fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let quote = line.chars().next().filter(|c| matches!(c, '"' | '\''));
    let (key, rest) = match quote {
        Some(quote) => line[1..].split_once(quote)?,
        None => line.split_at(line.find(':')?),
    };
    let value = rest.trim_start().strip_prefix(':')?;
    let key = if quote.is_some() { key } else { key.trim_end() };
    is_key(key).then_some((key, value))
}

impl Entry<'_> {
    /// Returns the scalar; `None` if it is empty or null. The lines of a block scalar are joined with spaces.
    pub fn text(&self) -> Option<String> {
        match self.node() {
            Some(node) => node.text(),
            None => self.lenient_text(),
        }
    }

    /// Returns the list. A scalar is a list with one item.
    pub fn list(&self) -> Vec<String> {
        match self.node() {
            Some(node) => node.list(),
            None => self.lenient_list(),
        }
    }

    /// The value, if it is YAML.
    fn node(&self) -> Option<Node> {
        let (mut entries, _) = yaml::mapping(self.text)?;
        let (_, node) = entries.pop()?;
        entries.is_empty().then_some(node)
    }

    fn to_json(&self) -> Value {
        match (self.node(), self.value.starts_with('[') || self.value.is_empty()) {
            (Some(node), _) => node.to_json(),
            (None, true) => Value::from(self.lenient_list()),
            (None, false) => Value::from(self.lenient_text()),
        }
    }

    fn lenient_text(&self) -> Option<String> {
        let value = match self.value {
            "|" | ">" | "|-" | ">-" => self.below.join(" "),
            value => scalar(value),
        };
        let nothing = matches!(value.as_str(), "" | "null" | "~" | "NULL" | "[]");
        (!nothing).then_some(value)
    }

    fn lenient_list(&self) -> Vec<String> {
        let below = self.below.iter().filter(|line| !line.starts_with('#'));
        if let Some(first) = self.value.strip_prefix('[') {
            let whole = below.fold(first.to_owned(), |whole, line| format!("{whole} {line}"));
            return flow_items(&whole);
        }
        match self.lenient_text() {
            Some(one) => vec![one],
            None => below.filter_map(|line| line.strip_prefix("- ")).map(|item| scalar(item.trim())).collect(),
        }
    }
}

/// Removes the quotes of a scalar, or the comment after it.
fn scalar(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some('"') => {
            let mut value = String::new();
            while let Some(c) = chars.next().filter(|c| *c != '"') {
                value.extend(if c == '\\' { chars.next() } else { Some(c) });
            }
            value
        }
        Some('\'') => {
            let inside = chars.as_str().replace("''", "\0");
            let end = inside.find('\'').unwrap_or(inside.len());
            inside[..end].replace('\0', "'")
        }
        _ => without_comment(text).to_owned(),
    }
}

fn without_comment(text: &str) -> &str {
    text.split_once(" #").map_or(text, |(plain, _)| plain).trim()
}

/// Splits a list at its commas, up to the closing bracket. Commas in quotes do not separate, nor do commas in braces
/// and brackets, which occur in globs.
fn flow_items(text: &str) -> Vec<String> {
    let mut items = Vec::new();
    let (mut from, mut quote, mut depth) = (0, None, 0usize);
    let mut end = text.len();
    for (at, c) in text.char_indices() {
        match (c, quote) {
            (c, Some(mark)) if c == mark && !text[..at].ends_with('\\') => quote = None,
            (_, Some(_)) => {}
            ('"' | '\'', None) if text[from..at].trim().is_empty() => quote = Some(c),
            ('{' | '[', None) => depth += 1,
            (']', None) if depth == 0 => {
                end = at;
                break;
            }
            ('}' | ']', None) => depth = depth.saturating_sub(1),
            (',', None) if depth == 0 => {
                items.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    items.push(&text[from..end]);
    let items = items.into_iter().map(|item| scalar(item.trim()));
    items.filter(|item| !item.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front_matter::quoted;

    fn of(text: &str) -> FrontMatter<'_> {
        FrontMatter::of(text).unwrap().unwrap()
    }

    #[test]
    fn reads_scalars() {
        let text = "---\na: 1 # one\nb: \"x # \\\"y\\\"\" # z\nc: 'it''s'\nd:\ne: null\nf: Auth: tokens\ng: >\n  two\n  lines\nh: #\n---\nrest";
        let front = of(text);
        let values = ["a", "b", "c", "d", "e", "f", "g", "i"].map(|key| front.text(key));
        let expected =
            [Some("1"), Some("x # \"y\""), Some("it's"), None, None, Some("Auth: tokens"), Some("two lines"), None];
        assert_eq!(values.each_ref().map(Option::as_deref), expected);
        assert_eq!((front.body, front.last_line, front.unparsed_lines.len()), ("rest", 12, 0));
        assert_eq!(front.entry("g").unwrap().line, 8);
    }

    #[test]
    fn reads_lists_however_they_are_written() {
        let text = "---\na: [*.rs, \"x,y/**\", 'z', src/{a,b}/[cd].py] # why\nb:\n  - '*.md'\n  # no\n  - docs/**\nc:\n- one\nd: alone\ne: []\nf: [one,\n  two\n]\ng: [open\nh: x\n---\n";
        let front = of(text);
        assert_eq!(front.list("a"), ["*.rs", "x,y/**", "z", "src/{a,b}/[cd].py"]);
        assert_eq!(front.list("b"), ["*.md", "docs/**"]);
        assert_eq!((front.list("c"), front.list("d")), (vec!["one".into()], vec!["alone".into()]));
        assert_eq!(front.list("e"), [] as [String; 0]);
        assert_eq!(front.list("f"), ["one", "two"]);
        assert_eq!((front.list("g"), front.text("h")), (vec!["open".into()], Some("x".to_owned())));
    }

    #[test]
    fn bom_blank_lines_and_carriage_returns_are_skipped() {
        let front = of("\u{feff}\r\n---\r\na: x\r\nb:\r\n  - y\r\n---\r\nrest\r\n");
        assert_eq!((front.text("a"), front.list("b")), (Some("x".into()), vec!["y".to_owned()]));
        assert_eq!((front.body, front.last_line), ("rest\r\n", 6));
    }

    #[test]
    fn unreadable_lines_are_reported() {
        assert_eq!(FrontMatter::of("no head\n---\n"), Ok(None));
        assert_eq!(FrontMatter::of(""), Ok(None));
        assert_eq!(FrontMatter::of("---\na: 1\nno end"), Err(UnclosedFrontMatter));
        let front = of("---\n- nobody's\na: 1\ntype convention\nwords and more: x\n---\n");
        assert_eq!((front.unparsed_lines.as_slice(), front.entries.len()), ([2, 4].as_slice(), 2));
    }

    #[test]
    fn quoted_scalars_are_read_back_unchanged() {
        for value in ["error-handling", "*.rs", "a: b", "say \"hi\" \\ # no", "no", "Größe", "- x", "[a]"] {
            let text = format!("---\na: {}\nb: [{}]\n---\n", quoted(value), quoted(value));
            let front = of(&text);
            assert_eq!((front.text("a").as_deref(), front.list("b")), (Some(value), vec![value.to_owned()]));
        }
        assert_eq!(quoted("team-decision"), "team-decision");
    }

    #[test]
    fn values_have_the_types_of_yaml() {
        let text = "---\nn: 12\nf: -1.5e3\nt: true\nnull_: ~\ndate: 2024-01-02\nversion: 1.10.2\nhex: 0x1F\nq: \"12\"\nhuge: 123456789012345678901234567890\ndate created: today\nm:\n  a: [1, {b: c}]\n  \"d e\": |\n    one\n    two\nx: [a, b]\nx: twice\n---\n";
        let expected = serde_json::json!({
            "n": 12, "f": -1500.0, "t": true, "null_": null, "date": "2024-01-02", "version": "1.10.2", "hex": "0x1F",
            "q": "12", "huge": "123456789012345678901234567890", "date created": "today",
            "m": {"a": [1, {"b": "c"}], "d e": "one\ntwo\n"}, "x": ["a", "b"],
        });
        assert_eq!(Value::Object(of(text).values()), expected);
    }

    #[test]
    fn values_are_read_where_yaml_refuses_the_block() {
        let text = "---\nglobs: [*.rs, !x]\ntitle: Auth: tokens\nn: 12\nopen: [a, \"b\nlist:\n  - *.md\n- item\nodd line\n---\n";
        let expected = serde_json::json!({
            "globs": ["*.rs", "!x"], "title": "Auth: tokens", "n": 12, "open": ["a", "b"], "list": ["*.md", "item"],
        });
        assert_eq!(Value::Object(of(text).values()), expected);
    }

    #[test]
    fn hostile_yaml_is_bounded() {
        let bomb: String = (1..30).map(|n| format!("a{n}: &a{n} [*a{0}, *a{0}]\n", n - 1)).collect();
        let text = format!("---\na0: &a0 [x, x]\n{bomb}---\nbody");
        assert_eq!(of(&text).list("a29"), ["&a29 [*a28, *a28]"]);
        assert!(Value::Object(of(&text).values()).to_string().len() < 2 * text.len());
        let deep = format!("---\ndeep: {}{}\nn: 1\n---\n", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(of(&deep).values().get("n"), Some(&Value::from(1)));
        let long = format!("---\ntitle: {}\n{}---\nbody", "x".repeat(1 << 20), "k: v\n".repeat(1_000));
        let front = of(&long);
        assert_eq!((front.text("title").map(|title| title.len()), front.body), (Some(1 << 20), "body"));
        for text in ["---\n- a\n- b\n---\nbody", "---\nonly text\n---\nbody", "---\n\0\u{7}: x\n---\nbody"] {
            assert!(of(text).values().is_empty() && of(text).body == "body", "{text:?}");
        }
    }
}
