//! Reading the places that an answer cites: paths, with line numbers if the answer has them.
//!
//! A place is recognised by its form only; the caller checks whether it exists. Many words with a slash or a dot are
//! not paths. So a bare word counts as a path only with lines, quotes or a usual extension.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::json::Reader;

/// A place as a model wrote it. Nothing about it is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cited {
    /// The path, without `./` before it.
    pub(crate) path: String,
    /// The first and the last line, from 1, in order; none for all of the file.
    pub(crate) lines: Option<(u32, u32)>,
}

/// Maximum number of places that are read from one answer.
const MAX_CITED: usize = 4_096;
/// Maximum number of times that a text is searched for JSON.
const READINGS: usize = 8;
const PATHS: [&str; 7] = ["path", "file", "file_path", "filename", "filepath", "uri", "source"];
const FIRSTS: [&str; 7] = ["start_line", "start", "first", "line", "first_line", "from", "line_start"];
const LASTS: [&str; 6] = ["end_line", "end", "last", "last_line", "to", "line_end"];
const RANGES: [&str; 4] = ["lines", "range", "line_range", "span"];

/// The places that a text cites, in order, each once.
pub(crate) fn citations(text: &str) -> Vec<Cited> {
    let mut cited = Vec::new();
    let (mut at, mut words, mut left) = (0, 0, text.len() * READINGS + 4_096);
    while let Some(next) = text[at..].find(['{', '[']) {
        at += next;
        let mut reader = Reader::new(&text[at..]);
        let value = reader.value();
        left = left.saturating_sub(reader.at().max(1));
        if left == 0 || cited.len() >= MAX_CITED {
            break;
        }
        let Ok(value) = value else {
            at += 1;
            continue;
        };
        let mut of_value = citations_in(&value);
        if of_value.is_empty() {
            at += 1;
            continue;
        }
        in_words(&text[words..at], &mut cited);
        cited.append(&mut of_value);
        at += reader.at();
        words = at;
    }
    in_words(&text[words..], &mut cited);
    each_once(cited)
}

/// The places that a JSON value cites: strings that are places, objects with a path and lines, lists of both and
/// `["src/a.rs", 10, 20]`.
pub(crate) fn citations_in(value: &Value) -> Vec<Cited> {
    let mut cited = Vec::new();
    collect(value, &mut cited);
    each_once(cited)
}

fn collect(value: &Value, cited: &mut Vec<Cited>) {
    match value {
        Value::String(text) => match whole(text) {
            Some(place) => cited.push(place),
            None => in_words(text, cited),
        },
        Value::Array(items) => match items.as_slice() {
            [Value::String(path), numbers @ ..] if !numbers.is_empty() && numbers.iter().all(Value::is_number) => {
                cited.extend(whole(path).map(|place| Cited { lines: range_in(numbers).or(place.lines), ..place }));
            }
            _ => items.iter().for_each(|item| collect(item, cited)),
        },
        Value::Object(object) => {
            let path = PATHS.iter().find_map(|key| object.get(*key)).and_then(Value::as_str);
            match path.and_then(named) {
                Some(place) => {
                    let lines = lines_of(object).or(place.lines);
                    cited.push(Cited { lines, ..place });
                }
                None => object.values().for_each(|value| collect(value, cited)),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the lines that an object with a path names.
fn lines_of(object: &Map<String, Value>) -> Option<(u32, u32)> {
    let number = |keys: &[&str]| keys.iter().find_map(|key| number(object.get(*key)?));
    let range = RANGES.iter().find_map(|key| match object.get(*key)? {
        Value::Array(items) => match items.as_slice() {
            [Value::Array(first), ..] => range_in(first),
            items => range_in(items),
        },
        Value::String(text) => range(text),
        Value::Object(inner) => lines_of(inner),
        other => number_alone(other),
    });
    range.or_else(|| {
        let first = number(&FIRSTS)?;
        Some(in_order(first, number(&LASTS).unwrap_or(first)))
    })
}

fn number_alone(value: &Value) -> Option<(u32, u32)> {
    number(value).map(|line| in_order(line, line))
}

fn number(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => number.as_u64().and_then(|line| u32::try_from(line).ok()),
        Value::String(text) => text.trim().trim_start_matches(['L', 'l']).parse().ok(),
        _ => None,
    }
}

fn range_in(numbers: &[Value]) -> Option<(u32, u32)> {
    let first = number(numbers.first()?)?;
    let last = numbers.get(1).and_then(number).unwrap_or(first);
    Some(in_order(first, last))
}

/// `10-20`, `L10-L20`, `10`.
fn range(text: &str) -> Option<(u32, u32)> {
    static RANGE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?i)^\D{0,8}(\d+)(?:\s*(?:-|–|—|\.\.=?|,|:|to|through)\s*L?(\d+))?").ok());
    let found = RANGE.as_ref()?.captures(text)?;
    lines(found.get(1)?.as_str(), found.get(2).map(|last| last.as_str()))
}

fn lines(first: &str, last: Option<&str>) -> Option<(u32, u32)> {
    let first = first.parse().ok()?;
    // A line that no number holds is none.
    let last = last.map_or(Ok(first), str::parse).ok()?;
    Some(in_order(first, last))
}

fn in_order(first: u32, last: u32) -> (u32, u32) {
    (first.min(last).max(1), first.max(last).max(1))
}

/// A string that is a place and nothing else; its path may have spaces in it.
fn whole(text: &str) -> Option<Cited> {
    let text = text.trim();
    let path = |path: &str| {
        let last = path.rsplit('/').next().unwrap_or(path);
        let extension = last.rsplit_once('.').is_some_and(|(_, end)| is_extension(end));
        let words = path.split(' ').count();
        (words <= 4 && (extension || path.contains('/')) && !path.contains(['\n', ':', '(', '`'])).then(|| bare(path))
    };
    if let Some(path) = path(text).filter(|path| !path.is_empty() && !path.contains('#')) {
        return Some(Cited { path, lines: None });
    }
    let (name, rest) = text.split_once("#L").or_else(|| text.split_once(':'))?;
    let only = |c: char| c.is_ascii_digit() || "L-–:,. ".contains(c);
    if !rest.starts_with(|c: char| c.is_ascii_digit() || c == 'L') || !rest.chars().all(only) {
        return None;
    }
    let path = path(name).unwrap_or_else(|| bare(name));
    (!path.is_empty() && !path.contains(' ')).then(|| Cited { path, lines: column_or_range(rest) })
}

/// The path of an object that says that it is one.
fn named(text: &str) -> Option<Cited> {
    whole(text).or_else(|| {
        let path = bare(text.trim());
        let plausible = !path.is_empty() && path.len() < 1_000 && !path.contains('\n');
        plausible.then_some(Cited { path, lines: None })
    })
}

/// In `10:5` the second number is a column.
fn column_or_range(text: &str) -> Option<(u32, u32)> {
    range(text.split(':').next().unwrap_or(text))
}

fn bare(path: &str) -> String {
    let path = path.trim_matches(['`', '"', '\'', '<', '>', '*']);
    path.trim_start_matches("./").to_owned()
}

/// A path, what may close quotes, brackets and links behind it, and lines.
fn place() -> Option<&'static Regex> {
    static PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let path = r"(?P<path>[\p{L}\p{N}_.@~$+/-]+(?:\[[\p{L}\p{N}_.-]+\][\p{L}\p{N}_.@~$+/-]*)*)";
        let close = r#"[`"'*\])>]{0,4}"#;
        let to = r"\s{0,4}(?:-|–|—|\.\.=?|to|through)\s{0,4}L?";
        let colon = format!(r"(?::|#)L?(?P<a>\d+)(?::\d+)?(?:{to}(?P<b>\d+))?");
        let words = format!(
            r"{close}(?:\s|[,;:(\[]){{0,4}}(?:lines?|ll?\.|L)\s{{0,4}}(?:L|:\s{{0,4}})?(?P<c>\d+)(?:(?:{to}|\s{{1,4}}and\s{{1,4}})(?P<d>\d+))?"
        );
        Regex::new(&format!("(?i){path}(?:{colon}|{words})?")).ok()
    });
    PLACE.as_ref()
}

fn in_words(text: &str, cited: &mut Vec<Cited>) {
    static MORE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^\s*(?:,|and|&)\s*(?:lines?\s+)?L?(\d+)(?:\s*[-–—]\s*L?(\d+))?").ok());
    let Some(place) = place() else { return };
    for found in place.captures_iter(text) {
        if cited.len() >= MAX_CITED {
            return;
        }
        let (Some(all), Some(path)) = (found.get(0), found.name("path")) else {
            continue;
        };
        let part = |name: &str| found.name(name).map(|part| part.as_str());
        let first = part("a").or(part("c"));
        let lines_said = first.and_then(|first| lines(first, part("b").or(part("d"))));
        let (before, after) = (&text[..path.start()], &text[path.end()..]);
        let Some(path) = plausible(path.as_str(), before, after, lines_said.is_some()) else {
            continue;
        };
        let cite = |lines| Cited { path: path.clone(), lines };
        cited.push(cite(lines_said));
        // `src/a.rs:10-20, 30-40`
        let mut rest = &text[all.end()..];
        while let (true, Some(more)) = (lines_said.is_some(), MORE.as_ref().and_then(|more| more.captures(rest))) {
            let next = &rest[more.get(0).map_or(0, |more| more.end())..];
            let range = more.get(1).and_then(|first| lines(first.as_str(), more.get(2).map(|last| last.as_str())));
            let (Some(range), false) = (range, next.starts_with(|c: char| c.is_alphanumeric() || c == '/')) else {
                break;
            };
            // One number alone may count anything else.
            if more.get(2).is_none() {
                break;
            }
            cited.push(cite(Some(range)));
            rest = next;
        }
    }
}

/// The path that a word is, if it looks like one where it stands.
fn plausible(word: &str, before: &str, after: &str, has_lines: bool) -> Option<String> {
    let previous = before.chars().next_back();
    let quoted =
        previous.is_some_and(|c| "`\"'([<".contains(c)) && after.starts_with(['`', '"', '\'', ')', ']', '>', '#', ':']);
    // Addresses, names in code, calls.
    if word.starts_with("//") || after.starts_with("://") || after.starts_with("::") || after.starts_with('(') {
        return None;
    }
    let scheme = previous == Some(':') && word.starts_with('/');
    if scheme || before.ends_with("::") {
        return None;
    }
    let path = bare(word.trim_end_matches(['.', '-', '/']));
    let last = path.rsplit('/').next().unwrap_or(&path);
    let (stem, extension) = last.rsplit_once('.').unwrap_or((last, ""));
    let slash = path.contains('/');
    let named = path.chars().any(char::is_alphabetic);
    let enough = if has_lines {
        slash || is_extension(extension) || quoted || stem.starts_with(char::is_uppercase)
    } else if slash {
        is_extension(extension) || quoted
    } else {
        USUAL.contains(&extension) && !stem.is_empty()
    };
    (named && enough && !path.is_empty()).then_some(path)
}

fn is_extension(end: &str) -> bool {
    (1..=10).contains(&end.len())
        && end.starts_with(|c: char| c.is_ascii_alphabetic())
        && end.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// Extensions by which a bare word is a file's name.
const USUAL: &[&str] = &[
    "rs", "py", "pyi", "js", "jsx", "ts", "tsx", "mjs", "cjs", "go", "java", "kt", "kts", "c", "h", "cc", "cpp", "cxx",
    "hpp", "hh", "cs", "php", "rb", "swift", "scala", "sh", "bash", "md", "rst", "txt", "toml", "yaml", "yml", "json",
    "xml", "html", "css", "scss", "sql", "proto", "lua", "ex", "exs", "erl", "hs", "ml", "vue", "svelte", "cfg", "ini",
    "lock", "gradle",
];

fn each_once(mut cited: Vec<Cited>) -> Vec<Cited> {
    let mut seen = std::collections::HashSet::new();
    cited.retain(|place| seen.insert((place.path.clone(), place.lines)));
    cited
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text, and the places in it.
    type Row = (&'static str, &'static [(&'static str, Option<(u32, u32)>)]);

    #[test]
    fn places_as_models_cite_them() {
        let rows: &[Row] = &[
            ("See src/a.rs:10-20.", &[("src/a.rs", Some((10, 20)))]),
            ("See src/a.rs:10, which", &[("src/a.rs", Some((10, 10)))]),
            ("src/a.rs:10:5: error", &[("src/a.rs", Some((10, 10)))]),
            ("src/a.rs lines 10 to 20", &[("src/a.rs", Some((10, 20)))]),
            ("src/a.rs, lines 10–20, does", &[("src/a.rs", Some((10, 20)))]),
            ("src/a.rs (lines 10-20)", &[("src/a.rs", Some((10, 20)))]),
            ("`src/a.rs` (line 7)", &[("src/a.rs", Some((7, 7)))]),
            ("**src/a.rs** L10-L20", &[("src/a.rs", Some((10, 20)))]),
            ("src/a.rs#L10-L20", &[("src/a.rs", Some((10, 20)))]),
            ("src/a.rs:L10-L20", &[("src/a.rs", Some((10, 20)))]),
            ("`src/a.rs:20-10`", &[("src/a.rs", Some((10, 20)))]),
            ("[src/a.rs:1-2]", &[("src/a.rs", Some((1, 2)))]),
            ("[the loop](src/a.rs#L10)", &[("src/a.rs", Some((10, 10)))]),
            ("[a.rs](./src/a.rs)", &[("a.rs", None), ("src/a.rs", None)]),
            (
                "src/a.rs:10-20, 30-40 and b/c.py:1-2",
                &[("src/a.rs", Some((10, 20))), ("src/a.rs", Some((30, 40))), ("b/c.py", Some((1, 2)))],
            ),
            (
                "- src/a.rs:1-2\n- src/b.rs\n- `Makefile:3`",
                &[("src/a.rs", Some((1, 2))), ("src/b.rs", None), ("Makefile", Some((3, 3)))],
            ),
            ("app/[id]/page.tsx:3 and `docs/guide`", &[("app/[id]/page.tsx", Some((3, 3))), ("docs/guide", None)]),
            ("[\"src/a.rs:1-2\", \"src/b.rs\"]", &[("src/a.rs", Some((1, 2))), ("src/b.rs", None)]),
            ("[[\"src/a.rs\", 1, 2], [\"b.py\", 7]]", &[("src/a.rs", Some((1, 2))), ("b.py", Some((7, 7)))]),
            ("{\"path\": \"src/a.rs\", \"start_line\": 1, \"end_line\": 2}", &[("src/a.rs", Some((1, 2)))]),
            ("{\"lines\": \"10-20\", \"path\": \"src/a.rs\"}", &[("src/a.rs", Some((10, 20)))]),
            ("{\"file\": \"my docs/a b.md\", \"lines\": [1, 2]}", &[("my docs/a b.md", Some((1, 2)))]),
            ("{\"file\": \"Makefile\", \"line\": \"L4\"}", &[("Makefile", Some((4, 4)))]),
            (
                "Found: {\"citations\": [{\"path\": \"src/a.rs\", \"lines\": [[1, 2]]}, \"b.rs#L3\"], \"answer\": \"in src/c.rs:9\"} done, d.rs",
                &[("src/c.rs", Some((9, 9))), ("src/a.rs", Some((1, 2))), ("b.rs", Some((3, 3))), ("d.rs", None)],
            ),
            ("src/a.rs:1-2 again src/a.rs:1-2", &[("src/a.rs", Some((1, 2)))]),
            ("e.g. std::io and/or self.tokens, i.e. https://a.b/c.rs:8 or foo.bar() at 10:20", &[]),
            ("src/a.rs:99999999999", &[("src/a.rs", None)]),
        ];
        for (text, expected) in rows {
            let found = citations(text);
            let found: Vec<_> = found.iter().map(|place| (place.path.as_str(), place.lines)).collect();
            let mut sorted = (found.clone(), expected.to_vec());
            sorted.0.sort_unstable();
            sorted.1.sort_unstable();
            assert_eq!(sorted.0, sorted.1, "{text}");
        }
    }
}
