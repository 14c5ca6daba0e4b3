//! Reading one TOML file, with errors that name the file, the key and the way to mend it.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use thiserror::Error;

/// Why a configuration cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file is there and cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is named by flag or environment and is not there.
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
        /// Line, key and a suggestion.
        message: String,
    },
    /// A value is of the right type but cannot hold.
    #[error("{setting}: {message}")]
    Value {
        /// A file and the dotted key in it, or the flag or environment variable that holds the value.
        setting: String,
        /// What is wrong and what would be right.
        message: String,
    },
    /// A repository's file asks for what only its user may decide.
    #[error("{}: `{key}` may not be set by a repository: it decides where requests and credentials go, or what they cost. Set it in your own muninn.toml if you want it", path.display())]
    NotForRepositories {
        /// The repository's file.
        path: PathBuf,
        /// The key that it tried to set.
        key: String,
    },
    /// No home directory, so that no default place can be derived.
    #[error("no home directory: set {0}")]
    NoHome(&'static str),
}

/// Reads a file, `None` where there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Read {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Parses TOML into `T`; an unknown key is answered with its line and the nearest known one.
pub(super) fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, ConfigError> {
    toml::from_str(text).map_err(|error| ConfigError::Parse {
        path: path.to_owned(),
        message: explain(text, &error),
    })
}

fn explain(text: &str, error: &toml::de::Error) -> String {
    let line = error
        .span()
        .and_then(|span| text.get(..span.start))
        .map(|before| before.matches('\n').count() + 1);
    let mut message = match line {
        Some(line) => format!("line {line}: {}", error.message()),
        None => error.message().to_owned(),
    };
    if let Some(suggestion) = suggest(error.message()) {
        message.push_str(&format!(". Did you mean `{suggestion}`?"));
    }
    message
}

/// The known key nearest to the unknown one, out of serde's "unknown field `x`, expected one of `y`, `z`".
fn suggest(message: &str) -> Option<String> {
    let (unknown, expected) = message.strip_prefix("unknown field ")?.split_once(',')?;
    let unknown = unknown.trim_matches('`');
    nearest(unknown, expected.split('`').skip(1).step_by(2)).map(str::to_owned)
}

/// The known word that an unknown one was meant to be, if there is one.
pub(crate) fn nearest<'k>(unknown: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    known
        .into_iter()
        .map(|known| (strsim::jaro_winkler(unknown, known), known))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::raw::UserFile;

    #[test]
    fn an_unknown_key_is_named_with_line_and_suggestion() {
        let text =
            "listen = \"127.0.0.1:1\"\n\n[[backends]]\nname = \"a\"\nurll = \"http://x\"\ndialect = \"openai\"\n";
        let error = parse::<UserFile>(Path::new("/etc/muninn.toml"), text).unwrap_err();
        let said = error.to_string();
        assert!(said.contains("/etc/muninn.toml"), "{said}");
        assert!(said.contains("line 5"), "{said}");
        assert!(said.contains("`urll`"), "{said}");
        assert!(said.contains("Did you mean `url`?"), "{said}");
    }

    #[test]
    fn a_wrong_type_is_named_with_its_line() {
        let error = parse::<UserFile>(Path::new("m.toml"), "[limits]\nbody_bytes = \"many\"\n").unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
    }
}
