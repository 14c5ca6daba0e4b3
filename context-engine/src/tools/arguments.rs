//! Reading the arguments of a call, tolerantly, because models write many variants.

use std::path::Path;

use muninn_base::RelPath;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::ToolError;
use super::parameter::Parameter;
use super::schema::kind;

/// The arguments of every tool: the page of a long result, and the worktree.
const EVERYWHERE: [&str; 2] = ["page", "root"];

/// Maximum length of a text argument, in bytes.
const MAX_TEXT_BYTES: usize = 4_000;

/// A file or directory as a caller names it. In JSON it is a text.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(from = "String")]
#[schemars(with = "String")]
pub enum PathArgument {
    /// From the worktree's root, in any form that models write.
    Written(String),
    /// A path that was checked.
    Checked(RelPath),
}

/// Files and directories; none for all of the scope. In JSON it is a text that names one.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(from = "String")]
#[schemars(with = "String")]
pub struct Paths(pub Vec<PathArgument>);

/// Globs; of those that fit a path, the last decides. In JSON it is a text that has commas or spaces between them:
/// `*.rs, *.toml` is two globs, `*.{rs,toml}` is one.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(from = "String")]
#[schemars(with = "String")]
pub struct Globs(pub Vec<String>);

/// Other names that models write for the `path` of tools that look into one file.
pub(super) const FILE_ALIASES: &[&str] = &["file", "file_path", "filename"];
/// Other names that models write for the `path` of tools that look into a part of the worktree.
pub(super) const PATH_ALIASES: &[&str] = &["file", "file_path", "filename", "directory", "dir", "scope"];
/// Other names that models write for `glob`.
pub(super) const GLOB_ALIASES: &[&str] = &["include", "globs"];

impl From<String> for PathArgument {
    fn from(text: String) -> Self {
        Self::Written(text)
    }
}

impl From<RelPath> for PathArgument {
    fn from(path: RelPath) -> Self {
        Self::Checked(path)
    }
}

impl From<String> for Paths {
    fn from(text: String) -> Self {
        Self(vec![text.into()])
    }
}

impl From<Vec<RelPath>> for Paths {
    fn from(paths: Vec<RelPath>) -> Self {
        Self(paths.into_iter().map(PathArgument::from).collect())
    }
}

impl From<String> for Globs {
    fn from(text: String) -> Self {
        let pieces: Vec<&str> = if text.contains('{') { vec![&text] } else { text.split([',', ' ']).collect() };
        let pieces = pieces.into_iter().map(str::trim).filter(|glob| !glob.is_empty());
        Self(pieces.map(str::to_owned).collect())
    }
}

impl PathArgument {
    /// The path; `None` for the root itself.
    pub(super) fn resolve(&self, root: &Path) -> Result<Option<RelPath>, ToolError> {
        match self {
            Self::Written(written) => path_of(root, written),
            Self::Checked(path) => Ok(Some(path.clone())),
        }
    }
}

/// Reads a path in the forms that models write: `./src`, `src/`, `src\a.rs`, or an absolute path below the root. `None`
/// for the root itself.
pub(crate) fn path_of(root: &Path, written: &str) -> Result<Option<RelPath>, ToolError> {
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
    RelPath::new(path).map(Some).map_err(|_| ToolError::Path(written.to_owned()))
}

/// Returns the requested page of a long result, counted from 1.
pub fn page(call: &Map<String, Value>) -> usize {
    number(call, ["page"]).map_or(1, |page| (page as usize).max(1))
}

/// Checks that each member of a call is an argument with a value of its type, or absent (`null`).
///
/// # Errors
/// [`ToolError::UnknownArgument`] or [`ToolError::WrongType`] of the first that is not.
pub(super) fn check(schema: &Value, parameters: &[Parameter], call: &Map<String, Value>) -> Result<(), ToolError> {
    for (name, value) in call.iter().filter(|(name, value)| !value.is_null() && !EVERYWHERE.contains(&name.as_str())) {
        let Some(parameter) = parameters.iter().find(|parameter| parameter.names().any(|known| known == name)) else {
            let known = parameters.iter().map(|parameter| parameter.name).collect();
            return Err(ToolError::UnknownArgument { name: name.clone(), known });
        };
        let names = || [name.as_str()];
        let is_blank = value.as_str().is_some_and(|text| text.trim().is_empty());
        let (is_read, expected) = match kind(&schema["properties"][parameter.name]) {
            Some("string") if parameter.is_document => (value.is_string(), "a text"),
            Some("string") => (is_blank || text(call, names()).is_some(), "a text"),
            Some("integer") => (number(call, names()).is_some(), "a whole number"),
            Some("boolean") => {
                let is_word = |word: &str| value.as_str().is_some_and(|text| text.eq_ignore_ascii_case(word));
                (value.is_boolean() || is_word("true") || is_word("false"), "true or false")
            }
            Some("object") => (object(call, names()).is_some(), "an object"),
            _ => (true, ""),
        };
        if !is_read && !is_blank {
            return Err(ToolError::WrongType { name: name.clone(), expected });
        }
    }
    Ok(())
}

/// Reads a call's arguments. Each parameter takes the first value under one of its names that fits its type in
/// `schema`. Other members are ignored.
pub(super) fn read<A: DeserializeOwned>(
    schema: &Value,
    parameters: &[Parameter],
    call: &Map<String, Value>,
) -> Result<A, ToolError> {
    let mut arguments = Map::new();
    for parameter in parameters {
        let value = match kind(&schema["properties"][parameter.name]) {
            Some("string") if parameter.is_document => document(call, parameter.names()).map(Value::from),
            Some("string") => text(call, parameter.names()).map(Value::from),
            Some("integer") => number(call, parameter.names()).map(Value::from),
            Some("boolean") => flag(call, parameter.names()).then_some(Value::Bool(true)),
            Some("array") => list(call, parameter.names()).map(Value::from),
            Some("object") => object(call, parameter.names()).map(Value::from),
            _ => parameter.names().find_map(|name| call.get(name)).cloned(),
        };
        if let Some(value) = value {
            arguments.insert(parameter.name.to_owned(), value);
        } else if parameter.is_required(schema) {
            return Err(ToolError::Missing(parameter.name));
        }
    }
    Ok(serde_json::from_value(Value::Object(arguments))?)
}

/// Returns the first text under one of these names that is not empty. Numbers and booleans count as texts.
fn text<'n>(call: &Map<String, Value>, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.trim_end_matches(['\n', '\r']).to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        // A list with one text counts as that text.
        Value::Array(values) => match values.as_slice() {
            [Value::String(only)] => Some(only.clone()),
            _ => None,
        },
        _ => None,
    };
    let mut found = names.into_iter().filter_map(|name| call.get(name).and_then(text));
    let mut text = found.find(|text| !text.is_empty())?;
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
    Some(text)
}

/// Returns the first text under one of these names as it is.
fn document<'n>(call: &Map<String, Value>, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    let mut found = names.into_iter().filter_map(|name| call.get(name)?.as_str());
    found.next().map(str::to_owned)
}

/// Returns the first object under one of these names, also from its JSON as a text.
fn object<'n>(call: &Map<String, Value>, names: impl IntoIterator<Item = &'n str>) -> Option<Map<String, Value>> {
    let object = |value: &Value| match value {
        Value::Object(object) => Some(object.clone()),
        Value::String(text) => serde_json::from_str(text).ok(),
        _ => None,
    };
    names.into_iter().find_map(|name| call.get(name).and_then(object))
}

/// Returns the first list under one of these names. Another value that is not null counts as a list of it.
fn list<'n>(call: &Map<String, Value>, names: impl IntoIterator<Item = &'n str>) -> Option<Vec<Value>> {
    let list = |value: &Value| match value {
        Value::Null => None,
        Value::Array(values) => Some(values.clone()),
        value => Some(vec![value.clone()]),
    };
    names.into_iter().find_map(|name| call.get(name).and_then(list))
}

/// Returns a whole number, also from a text.
fn number<'n>(call: &Map<String, Value>, names: impl IntoIterator<Item = &'n str>) -> Option<u32> {
    let number = |value: &Value| match value {
        Value::Number(number) => {
            number.as_u64().or_else(|| number.as_f64().filter(|float| *float >= 0.0).map(|float| float as u64))
        }
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let found = names.into_iter().find_map(|name| call.get(name).and_then(number))?;
    Some(u32::try_from(found).unwrap_or(u32::MAX))
}

fn flag<'n>(call: &Map<String, Value>, names: impl IntoIterator<Item = &'n str>) -> bool {
    names.into_iter().any(|name| match call.get(name) {
        Some(Value::Bool(flag)) => *flag,
        Some(Value::String(text)) => text.eq_ignore_ascii_case("true"),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_in_texts_and_lists_of_one_are_accepted() {
        let value = json!({"first": "12", "last": 20.0, "path": ["src/a.rs"], "word": "TRUE", "empty": "", "less": -3,
            "more": 1e300});
        let call = value.as_object().unwrap();
        assert_eq!((number(call, ["first"]), number(call, ["last"])), (Some(12), Some(20)));
        assert_eq!(text(call, ["empty", "path"]).as_deref(), Some("src/a.rs"));
        assert!(flag(call, ["word"]) && !flag(call, ["path"]));
        assert_eq!((number(call, ["less"]), number(call, ["more"])), (None, Some(u32::MAX)));
    }

    #[test]
    fn unknown_arguments_and_values_of_another_type_are_errors() {
        #[derive(Deserialize, JsonSchema)]
        #[expect(dead_code, reason = "only its schema is read")]
        struct Arguments {
            query: String,
            limit: Option<u32>,
            all: Option<bool>,
            front: Option<Map<String, Value>>,
        }
        let schema = schemars::schema_for!(Arguments).to_value();
        let parameter = |name| Parameter {
            name,
            aliases: if name == "query" { &["q"] } else { &[] },
            is_described: true,
            is_document: false,
        };
        let parameters = ["query", "limit", "all", "front"].map(parameter);
        let checked =
            |call: Value| check(&schema, &parameters, call.as_object().unwrap()).map_err(|error| error.to_string());
        for call in [
            json!({}),
            json!({"query": "a", "limit": 3, "all": true, "front": {}}),
            json!({"q": "a", "limit": "3", "all": "TRUE", "front": "{}"}),
            json!({"query": 7, "limit": null, "all": null, "page": 2, "root": "/x"}),
            json!({"query": "", "limit": "", "all": " "}),
        ] {
            assert_eq!(checked(call.clone()), Ok(()), "{call}");
        }
        for (call, expected) in [
            (json!({"bogus": 1}), "there is no argument `bogus`; there are query, limit, all, front"),
            (json!({"Query": "a"}), "there is no argument `Query`; there are query, limit, all, front"),
            (json!({"limit_": 1}), "there is no argument `limit_`; there are query, limit, all, front"),
            (json!({"query": {}}), "`query` takes a text"),
            (json!({"limit": "many"}), "`limit` takes a whole number"),
            (json!({"limit": -1}), "`limit` takes a whole number"),
            (json!({"limit": [1]}), "`limit` takes a whole number"),
            (json!({"all": 1}), "`all` takes true or false"),
            (json!({"all": "yes"}), "`all` takes true or false"),
            (json!({"front": "a: b"}), "`front` takes an object"),
        ] {
            assert_eq!(checked(call.clone()), Err(expected.to_owned()), "{call}");
        }
    }

    #[test]
    fn path_variants_are_accepted_and_never_lead_out() {
        let root = Path::new("/home/x/repo");
        let resolved = |written: &str| path_of(root, written).map(|path| path.map(|path| path.to_string()));
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
            assert_eq!(resolved(written).unwrap().as_deref(), meant, "{written}");
        }
        for outside in ["../../etc/passwd", "/etc/passwd", "src/../../x", "a\0b"] {
            assert!(resolved(outside).is_err(), "{outside}: {:?}", resolved(outside));
        }
    }
}
