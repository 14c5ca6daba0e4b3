//! Front matter: the little of YAML that stands between two lines of `---` at the head of a Markdown file.
//!
//! Keys at the start of a line, scalars with or without quotes, lists in one line or one to a line. A YAML parser would
//! refuse what people do write there: `applies_to: [*.rs]` is an alias to it, `title: Auth: tokens` is no mapping, and
//! for one such line all others would be lost. So each key is read by itself, and what cannot be is told by its line.

/// What stands between the two lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrontMatter<'t> {
    /// The keys in order, each as often as it is written.
    pub entries: Vec<Entry<'t>>,
    /// Lines that are no part of any key, counted from 1.
    pub unparsed_lines: Vec<u32>,
    /// The line that closes it, counted from 1.
    pub last_line: u32,
    /// The text below.
    pub body: &'t str,
}

/// A key with what is written behind and below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'t> {
    /// The key.
    pub key: &'t str,
    /// Its line, counted from 1.
    pub line: u32,
    value: &'t str,
    below: Vec<&'t str>,
}

/// It is opened and never closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("front matter is never closed by a line of ---")]
pub struct UnclosedFrontMatter;

impl<'t> FrontMatter<'t> {
    /// The front matter of a text; `None` where it has none. Blank lines before it are passed over, and so is a byte
    /// order mark.
    ///
    /// # Errors
    /// [`UnclosedFrontMatter`].
    pub fn of(text: &'t str) -> Result<Option<Self>, UnclosedFrontMatter> {
        let begun = text.trim_start_matches('\u{feff}').trim_start();
        let above = text[..text.len() - begun.len()].matches('\n').count();
        let mut lines = (1u32..)
            .skip(above)
            .zip(begun.split_inclusive('\n'))
            .map(|(number, line)| (number, line.trim_end(), line.len()));
        let Some((_, "---", mut read)) = lines.next() else {
            return Ok(None);
        };
        let mut front = Self::default();
        for (number, line, bytes) in lines {
            read += bytes;
            if matches!(line, "---" | "...") {
                front.last_line = number;
                front.body = &begun[read..];
                return Ok(Some(front));
            }
            front.take(number, line);
        }
        Err(UnclosedFrontMatter)
    }

    fn take(&mut self, number: u32, line: &'t str) {
        let is_comment = line.is_empty() || line.starts_with('#');
        let goes_on = line.starts_with([' ', '\t', '-', ']']);
        let key = line.split_once(':').filter(|(key, _)| is_key(key));
        match (key, self.entries.last_mut()) {
            _ if is_comment => {}
            (_, Some(entry)) if goes_on => entry.below.push(line.trim()),
            (Some((key, value)), _) if !goes_on => self.entries.push(Entry {
                key,
                line: number,
                value: value.trim(),
                below: Vec::new(),
            }),
            _ => self.unparsed_lines.push(number),
        }
    }

    /// The first entry of a key.
    pub fn entry(&self, key: &str) -> Option<&Entry<'t>> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// A scalar; `None` where it is missing, empty or null.
    pub fn text(&self, key: &str) -> Option<String> {
        self.entry(key)?.text()
    }

    /// A list; empty where it is missing.
    pub fn list(&self, key: &str) -> Vec<String> {
        self.entry(key).map_or_else(Vec::new, Entry::list)
    }
}

impl Entry<'_> {
    /// The scalar; `None` where it is empty or null. A text in the lines below is joined to one.
    pub fn text(&self) -> Option<String> {
        let value = match self.value {
            "|" | ">" | "|-" | ">-" => self.below.join(" "),
            value => scalar(value),
        };
        let nothing = matches!(value.as_str(), "" | "null" | "~" | "NULL" | "[]");
        (!nothing).then_some(value)
    }

    /// The list; a scalar is a list of one.
    pub fn list(&self) -> Vec<String> {
        let below = self.below.iter().filter(|line| !line.starts_with('#'));
        if let Some(begun) = self.value.strip_prefix('[') {
            let whole = below.fold(begun.to_owned(), |whole, line| format!("{whole} {line}"));
            return flow_items(&whole);
        }
        match self.text() {
            Some(one) => vec![one],
            None => below
                .filter_map(|line| line.strip_prefix("- "))
                .map(|item| scalar(item.trim()))
                .collect(),
        }
    }
}

/// Writes a scalar so that [`FrontMatter`], and any parser of YAML, reads the same.
pub fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/');
    let begins_plainly = value.starts_with(char::is_alphanumeric);
    if begins_plainly && !value.ends_with(' ') && value.chars().all(plain) && !is_a_word_of_yaml(value) {
        return value.to_owned();
    }
    let line = value.replace(char::is_control, " ");
    format!("\"{}\"", line.replace('\\', "\\\\").replace('"', "\\\""))
}

/// What YAML takes for something else than a text.
fn is_a_word_of_yaml(value: &str) -> bool {
    let word = value.to_ascii_lowercase();
    matches!(
        word.as_str(),
        "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n"
    )
}

fn is_key(key: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    !key.is_empty() && key.chars().all(part)
}

/// A scalar without its quotes, or without the comment behind it.
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

/// What stands between the commas up to the bracket that closes the list. Commas in quotes are no such, nor, since globs
/// have them, in braces and brackets.
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

    fn of(text: &str) -> FrontMatter<'_> {
        FrontMatter::of(text).unwrap().unwrap()
    }

    #[test]
    fn reads_scalars() {
        let text = "---\na: 1 # one\nb: \"x # \\\"y\\\"\" # z\nc: 'it''s'\nd:\ne: null\nf: Auth: tokens\ng: >\n  two\n  lines\nh: #\n---\nrest";
        let front = of(text);
        let values = ["a", "b", "c", "d", "e", "f", "g", "i"].map(|key| front.text(key));
        let expected = [
            Some("1"),
            Some("x # \"y\""),
            Some("it's"),
            None,
            None,
            Some("Auth: tokens"),
            Some("two lines"),
            None,
        ];
        assert_eq!(values.each_ref().map(Option::as_deref), expected);
        assert_eq!(
            (front.body, front.last_line, front.unparsed_lines.len()),
            ("rest", 12, 0)
        );
        assert_eq!(front.entry("g").unwrap().line, 8);
    }

    #[test]
    fn reads_lists_however_they_are_written() {
        let text = "---\na: [*.rs, \"x,y/**\", 'z', src/{a,b}/[cd].py] # why\nb:\n  - '*.md'\n  # no\n  - docs/**\nc:\n- one\nd: alone\ne: []\nf: [one,\n  two\n]\ng: [open\nh: x\n---\n";
        let front = of(text);
        assert_eq!(front.list("a"), ["*.rs", "x,y/**", "z", "src/{a,b}/[cd].py"]);
        assert_eq!(front.list("b"), ["*.md", "docs/**"]);
        assert_eq!(
            (front.list("c"), front.list("d")),
            (vec!["one".into()], vec!["alone".into()])
        );
        assert_eq!(front.list("e"), [] as [String; 0]);
        assert_eq!(front.list("f"), ["one", "two"]);
        assert_eq!(
            (front.list("g"), front.text("h")),
            (vec!["open".into()], Some("x".to_owned()))
        );
    }

    #[test]
    fn bom_blank_lines_and_carriage_returns_are_no_trouble() {
        let front = of("\u{feff}\r\n---\r\na: x\r\nb:\r\n  - y\r\n---\r\nrest\r\n");
        assert_eq!(
            (front.text("a"), front.list("b")),
            (Some("x".into()), vec!["y".to_owned()])
        );
        assert_eq!((front.body, front.last_line), ("rest\r\n", 6));
    }

    #[test]
    fn tells_what_it_cannot_read() {
        assert_eq!(FrontMatter::of("no head\n---\n"), Ok(None));
        assert_eq!(FrontMatter::of(""), Ok(None));
        assert_eq!(FrontMatter::of("---\na: 1\nno end"), Err(UnclosedFrontMatter));
        let front = of("---\n- nobody's\na: 1\ntype convention\nwords and more: x\n---\n");
        assert_eq!(
            (front.unparsed_lines.as_slice(), front.entries.len()),
            ([2, 4, 5].as_slice(), 1)
        );
    }

    #[test]
    fn what_is_quoted_is_read_as_it_was() {
        for value in [
            "error-handling",
            "*.rs",
            "a: b",
            "say \"hi\" \\ # no",
            "no",
            "Größe",
            "- x",
            "[a]",
        ] {
            let text = format!("---\na: {}\nb: [{}]\n---\n", quoted(value), quoted(value));
            let front = of(&text);
            assert_eq!(
                (front.text("a").as_deref(), front.list("b")),
                (Some(value), vec![value.to_owned()])
            );
        }
        assert_eq!(quoted("team-decision"), "team-decision");
    }
}
