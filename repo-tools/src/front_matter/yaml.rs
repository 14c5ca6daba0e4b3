//! Values of YAML. Documents come from a repository, so nothing is expanded: an alias makes a document unreadable.

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Map, Value};

/// The deepest nesting that is read.
const MOST_DEPTH: usize = 32;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// A text, and whether it stands without quotes, so that it can be a number, a truth value or null.
    Scalar {
        text: String,
        is_plain: bool,
    },
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// A mapping with the end of its last scalar, in bytes; `None` if the text is none, or has aliases or types of its own.
pub(super) fn mapping(text: &str) -> Option<(Vec<(String, Node)>, usize)> {
    let mut open: Vec<Open> = Vec::new();
    let (mut whole, mut end) = (None, 0);
    for event in Parser::new_from_str(text) {
        let (event, span) = event.ok()?;
        let node = match event {
            Event::Scalar(scalar, style, _, tag) => {
                has_plain_type(tag.as_deref()).then_some(())?;
                end = span.end.index();
                Node::Scalar { text: scalar.into_owned(), is_plain: style == ScalarStyle::Plain }
            }
            Event::SequenceStart(_, tag) | Event::MappingStart(_, tag)
                if open.len() >= MOST_DEPTH || !has_plain_type(tag.as_deref()) =>
            {
                return None;
            }
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Map(Vec::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => open.pop()?.closed(),
            Event::Alias(_) => return None,
            // A second document.
            Event::DocumentStart(_) if whole.is_some() => return None,
            _ => continue,
        };
        match open.last_mut() {
            Some(parent) => parent.add(node)?,
            None => whole = Some(node),
        }
    }
    match whole {
        Some(Node::Map(entries)) => Some((entries, byte_offset(text, end))),
        _ => None,
    }
}

fn has_plain_type(tag: Option<&Tag>) -> bool {
    tag.is_none_or(Tag::is_yaml_core_schema)
}

fn byte_offset(text: &str, chars: usize) -> usize {
    text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at)
}

/// A collection whose end was not read yet.
enum Open {
    List(Vec<Node>),
    /// With the key whose value comes next.
    Map(Vec<(String, Node)>, Option<String>),
}

impl Open {
    /// Adds a value, or a key, which must be a scalar.
    fn add(&mut self, node: Node) -> Option<()> {
        match (self, node) {
            (Self::List(items), node) => items.push(node),
            (Self::Map(entries, key @ Some(_)), node) => entries.push((key.take()?, node)),
            (Self::Map(_, key), Node::Scalar { text, .. }) => *key = Some(text),
            _ => return None,
        }
        Some(())
    }

    fn closed(self) -> Node {
        match self {
            Self::List(items) => Node::List(items),
            Self::Map(entries, _) => Node::Map(entries),
        }
    }
}

impl Node {
    /// The text of a scalar; `None` if it is empty or null, or for another value. Several lines become one.
    pub(super) fn text(&self) -> Option<String> {
        let Self::Scalar { text, is_plain } = self else {
            return None;
        };
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let is_nothing = lines.is_empty() || *is_plain && is_null(text);
        (!is_nothing).then(|| lines.join(" "))
    }

    /// The texts of a list. A scalar is a list with one item.
    pub(super) fn list(&self) -> Vec<String> {
        match self {
            Self::List(items) => items.iter().filter_map(Self::text).collect(),
            node => node.text().into_iter().collect(),
        }
    }

    /// The value, by the core schema of YAML 1.2.
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Scalar { text, is_plain: false } => Value::from(text.as_str()),
            Self::Scalar { text, is_plain: true } => plain(text),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Map(entries) => Value::Object(to_map(entries)),
        }
    }
}

/// A mapping as JSON. Of equal keys the first counts.
pub(super) fn to_map(entries: &[(String, Node)]) -> Map<String, Value> {
    let mut map = Map::new();
    for (key, node) in entries {
        map.entry(key).or_insert_with(|| node.to_json());
    }
    map
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// The value of a scalar without quotes. Special and huge numbers, which JSON has not, are texts.
pub(super) fn plain(text: &str) -> Value {
    match text {
        text if is_null(text) => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        text => number(text).unwrap_or_else(|| Value::from(text)),
    }
}

fn number(text: &str) -> Option<Value> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_decimal = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && digits.contains(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '-' | '+'));
    if !is_decimal {
        return None;
    }
    match text.parse::<i64>() {
        Ok(integer) => Some(Value::from(integer)),
        Err(_) => {
            let float: f64 = text.parse().ok().filter(|float: &f64| float.is_finite())?;
            // An integer that is too large for JSON's readers would lose digits.
            text.contains(['.', 'e', 'E']).then(|| Value::from(float))
        }
    }
}
