//! The arguments of a call, as tolerantly as models write them.

use muninn_repo_tools::RelPath;
use serde_json::{Map, Value};

/// What a tool was called with.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Arguments(pub(crate) Map<String, Value>);

/// The longest text that is taken for an argument, in bytes.
const LONGEST: usize = 4_000;

impl Arguments {
    /// The first of these that is there and not empty. Numbers and flags are taken as they are written.
    pub(super) fn text(&self, names: &[&str]) -> Option<String> {
        let text = |value: &Value| match value {
            Value::String(text) => Some(text.trim_end_matches(['\n', '\r']).to_owned()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            // A list of one is one.
            Value::Array(values) => match values.as_slice() {
                [Value::String(only)] => Some(only.clone()),
                _ => None,
            },
            _ => None,
        };
        let mut found = names.iter().filter_map(|name| self.0.get(*name).and_then(text));
        let mut text = found.find(|text| !text.is_empty())?;
        text.truncate(text.floor_char_boundary(LONGEST));
        Some(text)
    }

    /// [`Self::text`], or what to tell the model.
    pub(super) fn needed(&self, names: &[&str]) -> Result<String, String> {
        let name = names.first().copied().unwrap_or_default();
        self.text(names)
            .ok_or_else(|| format!("`{name}` is missing: call it with a text"))
    }

    /// A whole number, also one in a text.
    pub(super) fn number(&self, names: &[&str]) -> Option<u32> {
        let number = |value: &Value| match value {
            Value::Number(number) => number
                .as_u64()
                .or_else(|| number.as_f64().filter(|float| *float >= 0.0).map(|float| float as u64)),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        let found = names.iter().find_map(|name| self.0.get(*name).and_then(number))?;
        Some(u32::try_from(found).unwrap_or(u32::MAX))
    }

    pub(super) fn flag(&self, names: &[&str]) -> bool {
        names.iter().any(|name| match self.0.get(*name) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(text)) => text.eq_ignore_ascii_case("true"),
            _ => false,
        })
    }

    /// Which page of a long result, from 1.
    pub(crate) fn page(&self) -> usize {
        self.number(&["page"]).map_or(1, |page| (page as usize).max(1))
    }

    /// What tells a call from others, whatever order its arguments came in; pages of one result are one call.
    pub(crate) fn key(&self, tool: &str) -> String {
        let mut told: Vec<_> = self.0.iter().filter(|(name, _)| *name != "page").collect();
        told.sort_by_key(|(name, _)| name.as_str());
        let told: Vec<String> = told.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{tool}({})", told.join(","))
    }

    /// As the trace shows it.
    pub(crate) fn short(&self) -> String {
        let shown = self.0.iter().map(|(name, value)| match value {
            Value::String(text) => format!("{name}={text:?}"),
            other => format!("{name}={other}"),
        });
        let mut text = shown.collect::<Vec<_>>().join(" ");
        let end = text.floor_char_boundary(160);
        if end < text.len() {
            text.truncate(end);
            text.push_str("...");
        }
        text
    }
}

/// A path as models write it, as a path of the worktree: `./src`, `/src/`, `src\a.rs`, an absolute path below the root,
/// and `repo/src` are all meant well. `None` for the root itself.
pub(crate) fn path_of(root: &std::path::Path, written: &str) -> Result<Option<RelPath>, String> {
    let written = written.trim().trim_matches(['`', '"', '\'']);
    let below_root = root.to_str().and_then(|root| written.strip_prefix(root));
    let mut path = below_root.unwrap_or(written).replace('\\', "/");
    if below_root.is_some() {
        path = path.trim_start_matches('/').to_owned();
    }
    while let Some(rest) = path.strip_prefix("./") {
        path = rest.to_owned();
    }
    let path = path.trim_end_matches('/');
    if matches!(path, "" | "." | "/" | "*") {
        return Ok(None);
    }
    let wrong = |_| format!("{written:?} is no path inside the repository");
    RelPath::new(path).map(Some).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    fn arguments(value: Value) -> Arguments {
        Arguments(value.as_object().cloned().unwrap_or_default())
    }

    #[test]
    fn numbers_in_texts_and_lists_of_one_are_understood() {
        let given = arguments(json!({"first": "12", "last": 20.0, "path": ["src/a.rs"], "word": "TRUE", "empty": ""}));
        assert_eq!(
            (given.number(&["first"]), given.number(&["last"])),
            (Some(12), Some(20))
        );
        assert_eq!(given.text(&["empty", "path"]).as_deref(), Some("src/a.rs"));
        assert!(given.flag(&["word"]) && !given.flag(&["path"]));
        assert!(
            given
                .needed(&["pattern", "query"])
                .unwrap_err()
                .contains("`pattern` is missing")
        );
        assert_eq!(arguments(json!({"first": -3})).number(&["first"]), None);
        assert_eq!(arguments(json!({"first": 1e300})).number(&["first"]), Some(u32::MAX));
    }

    #[test]
    fn the_same_call_has_the_same_key_in_any_order_and_on_any_page() {
        let one = arguments(json!({"a": 1, "b": "x", "page": 2}));
        let other = arguments(json!({"b": "x", "a": 1}));
        assert_eq!(one.key("grep"), other.key("grep"));
        assert_ne!(one.key("grep"), arguments(json!({"a": 1, "b": "y"})).key("grep"));
        assert_eq!((one.page(), other.page()), (2, 1));
    }

    #[test]
    fn paths_are_understood_and_never_lead_out() {
        let root = Path::new("/home/x/repo");
        let told = |written: &str| path_of(root, written).map(|path| path.map(|path| path.to_string()));
        for (written, meant) in [
            ("src/a.rs", Some("src/a.rs")),
            ("./src/", Some("src")),
            ("/home/x/repo/src/a.rs", Some("src/a.rs")),
            ("/home/x/repo", None),
            ("src\\a.rs", Some("src/a.rs")),
            ("`src/a.rs`", Some("src/a.rs")),
            (".", None),
            ("", None),
        ] {
            assert_eq!(told(written), Ok(meant.map(str::to_owned)), "{written}");
        }
        for outside in ["../../etc/passwd", "/etc/passwd", "src/../../x", "a\0b"] {
            assert!(told(outside).is_err(), "{outside}: {:?}", told(outside));
        }
    }
}
