//! Reading one TOML file, with errors that name the file, the key and the fix.

use std::path::{Path, PathBuf};

#[cfg(unix)]
use crate::ownership::OwnershipError;
use muninn_base::{Links, read_regular_text};
use serde::de::DeserializeOwned;
use thiserror::Error;
use toml::de::{DeTable, DeValue};

/// The reason why a configuration cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file exists but cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A flag or an environment variable names the file, and it does not exist.
    #[error("{} does not exist", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file is not valid TOML, or holds a wrong key or type.
    #[error("{}: {message}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The line, the key and a suggestion.
        message: String,
    },
    /// A value has the right type but is invalid.
    #[error("{setting}: {message}")]
    Value {
        /// The file with the dotted key, or the flag or environment variable.
        setting: String,
        /// The problem and the fix.
        message: String,
    },
    /// A repository's file sets a key that is reserved for the user's file.
    #[error("{}: `{key}` may not be set by a repository: it decides where requests and credentials go, or what they cost. Set it in your own muninn.toml if you want it", path.display())]
    NotForRepositories {
        /// The repository's file.
        path: PathBuf,
        /// The reserved key.
        key: String,
    },
    /// There is no home directory, so no default path can be derived. Holds the variable to set.
    #[error("no home directory: set {0}")]
    NoHome(&'static str),
    /// Other users control the state directory.
    #[cfg(unix)]
    #[error("the state directory is not used: {0}")]
    StateDirectory(#[from] OwnershipError),
}

/// The most bytes of a configuration file. A large one has some kilobytes.
const MOST_BYTES: u64 = 1 << 20;

/// Reads a file. Returns `None` if it does not exist.
pub(super) fn read(path: &Path, links: Links) -> Result<Option<String>, ConfigError> {
    if path == Path::new("/dev/null") {
        return Ok(Some(String::new()));
    }
    match read_regular_text(path, links, MOST_BYTES) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Read { path: path.to_owned(), source }),
    }
}

/// Parses TOML into `T`. The error about an unknown key has its line and the nearest known key.
pub(super) fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, ConfigError> {
    toml::from_str(text).map_err(|error| ConfigError::Parse { path: path.to_owned(), message: explain(text, &error) })
}

fn explain(text: &str, error: &toml::de::Error) -> String {
    let line = error.span().and_then(|span| text.get(..span.start)).map(|before| before.matches('\n').count() + 1);
    let mut message = match line {
        Some(line) => format!("line {line}: {}", in_words_of_toml(error.message())),
        None => in_words_of_toml(error.message()),
    };
    if let Some(suggestion) = suggest(error.message()) {
        message.push_str(&format!(". Did you mean `{suggestion}`?"));
    }
    message
}

/// The message of an error, in which a type of this program is named as TOML names it.
fn in_words_of_toml(message: &str) -> String {
    let Some((found, expected)) = message.rsplit_once(", expected ") else { return message.to_owned() };
    let named = match expected.split(' ').next() {
        Some("struct") => "a table",
        Some("a") if expected == "a sequence" => "a list",
        Some("usize" | "u8" | "u16" | "u32" | "u64") => "a whole number that is not negative",
        Some("f32" | "f64") => "a number",
        _ => expected,
    };
    format!("{found}, expected {named}")
}

/// Adds the line of its key in the file to an error about a value.
pub(super) fn with_line(error: ConfigError, path: &Path, text: &str) -> ConfigError {
    let ConfigError::Value { setting, mut message } = error else { return error };
    let key = setting.strip_prefix(&path.display().to_string()).and_then(|rest| rest.strip_prefix(": "));
    if let Some(line) = key.and_then(|key| line_of(text, key)) {
        message.push_str(&format!(" (line {line})"));
    }
    ConfigError::Value { setting, message }
}

/// The line of a key such as `routes[0].backend`, or of the last part of it that is written; `None` if none is.
fn line_of(text: &str, key: &str) -> Option<usize> {
    let file = DeTable::parse(text).ok()?;
    let (mut table, mut found) = (Some(file.get_ref()), None);
    for part in key.split('.') {
        let (name, index) = part.split_once('[').map_or((part, None), |(name, index)| (name, index.strip_suffix(']')));
        let Some((written, mut value)) = table.and_then(|table| table.get_key_value(name)) else { break };
        found = Some(written.span().start);
        if let (Some(index), DeValue::Array(items)) = (index, value.get_ref()) {
            let Some(item) = index.parse().ok().and_then(|index: usize| items.get(index)) else { break };
            found = Some(item.span().start);
            value = item;
        }
        table = match value.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => None,
        };
    }
    Some(text.get(..found?)?.matches('\n').count() + 1)
}

/// Returns the known key nearest to an unknown one. `message` is serde's "unknown field `x`, expected one of `y`, `z`".
fn suggest(message: &str) -> Option<String> {
    let (unknown, expected) = message.strip_prefix("unknown field ")?.split_once(',')?;
    let unknown = unknown.trim_matches('`');
    nearest(unknown, expected.split('`').skip(1).step_by(2)).map(str::to_owned)
}

/// Returns the known word that is most similar to an unknown one, if any is similar enough.
pub fn nearest<'k>(unknown: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    known
        .into_iter()
        .map(|known| (strsim::jaro_winkler(unknown, known), known))
        .filter(|(similarity, _)| *similarity > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::UserFile;

    #[test]
    fn the_line_of_a_key_is_found() {
        let text = "listen = \"x\"\n\n[[backends]]\nname = \"a\"\n\n[[backends]]\nname = \"b\"\nurl = \"u\"\n\n[memory.summarizer]\n\
            backend = \"none\"\n[context]\nhosts = [\n  \"a\",\n  \"b\",\n]\n";
        for (key, line) in [
            ("listen", Some(1)),
            ("backends[0].name", Some(4)),
            ("backends[1].url", Some(8)),
            ("backends[1].key", Some(6)),
            ("backends[7].key", Some(3)),
            ("memory.summarizer.backend", Some(11)),
            ("context.hosts[1]", Some(15)),
            ("context.threshold", Some(12)),
            ("personal.key", None),
            ("", None),
        ] {
            assert_eq!(line_of(text, key), line, "{key}");
        }
        assert_eq!(line_of("a = [", "a"), None);
    }

    #[test]
    fn an_unknown_key_is_reported_with_line_and_suggestion() {
        let text =
            "listen = \"127.0.0.1:1\"\n\n[[backends]]\nname = \"a\"\nurll = \"http://x\"\ndialect = \"openai\"\n";
        let error = parse::<UserFile>(Path::new("/etc/muninn.toml"), text).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("/etc/muninn.toml"), "{message}");
        assert!(message.contains("line 5"), "{message}");
        assert!(message.contains("`urll`"), "{message}");
        assert!(message.contains("Did you mean `url`?"), "{message}");
    }

    #[test]
    fn a_wrong_type_is_reported_with_its_line() {
        let error = parse::<UserFile>(Path::new("m.toml"), "[limits]\nbody_bytes = \"many\"\n").unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
    }
}
