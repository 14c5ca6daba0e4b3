//! Who may ask: the `[[keys]]` of a user's file, checked.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::backends::{Names, UnknownBackend};
use super::resolve::wrong;
use super::{BackendConfig, Config, ConfigError, KeyConfig, raw};
use crate::secrets::KeyHash;

/// The times of a minute's requests are kept for each key, so there has to be a limit to them.
const MOST_PER_MINUTE: u32 = 100_000;
/// Names stand in logs, receipts and metrics.
const LONGEST_NAME: usize = 64;

/// Why a key may not have a name.
#[derive(Debug, Error)]
pub enum NameError {
    /// Empty, or with a blank at either end.
    #[error("must be a name that neither is empty nor begins or ends with a blank")]
    Blank,
    /// Too long, or with control characters.
    #[error("must be at most {LONGEST_NAME} bytes long and without control characters")]
    Unprintable,
    /// It begins as a key does.
    #[error("must not begin as a key does")]
    Key,
}

/// Why a restriction of a key cannot hold.
#[derive(Debug, Error)]
enum RestrictionError {
    /// An empty list could mean all or nothing.
    #[error("names nothing; leave it out to allow everything")]
    Nothing,
    #[error(transparent)]
    Backend(#[from] UnknownBackend),
    #[error("`{root}`: {error}")]
    Root { root: String, error: std::io::Error },
    #[error("must lie between 1 and {MOST_PER_MINUTE}; leave it out for no limit")]
    PerMinute,
}

pub(super) fn keys(
    origin: &str,
    written: &[raw::Key],
    backends: &[BackendConfig],
) -> Result<Vec<KeyConfig>, ConfigError> {
    let mut keys: Vec<KeyConfig> = Vec::with_capacity(written.len());
    for (index, raw) in written.iter().enumerate() {
        let wrong = |name: &str, message: &dyn Display| wrong(origin, format!("keys[{index}].{name}"), message);
        check_name(&raw.name).map_err(|error| wrong("name", &error))?;
        if keys.iter().any(|known| known.name == raw.name) {
            return Err(wrong("name", &format_args!("`{}` is there twice", raw.name)));
        }
        let hash = KeyHash::parse(&raw.hash).ok_or_else(|| {
            let message = "must be `blake3:` and 64 hexadecimal digits, as `muninn key new NAME` prints it; the key itself does not belong here";
            wrong("hash", &message)
        })?;
        if keys.iter().any(|known| known.hash == hash) {
            return Err(wrong("hash", &"is another key's as well"));
        }
        keys.push(KeyConfig {
            name: raw.name.clone(),
            hash,
            models: some_of(raw.models.as_deref()).map_err(|error| wrong("models", &error))?,
            backends: known_backends(raw.backends.as_deref(), backends).map_err(|error| wrong("backends", &error))?,
            roots: roots(raw.roots.as_deref()).map_err(|error| wrong("roots", &error))?,
            requests_per_minute: per_minute(raw.requests_per_minute)
                .map_err(|error| wrong("requests_per_minute", &error))?,
        });
    }
    Ok(keys)
}

/// Whether a key may have this name.
///
/// # Errors
/// [`NameError`]: what is wrong with it.
pub fn check_name(name: &str) -> Result<(), NameError> {
    if name.trim().is_empty() || name.trim() != name {
        return Err(NameError::Blank);
    }
    if name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
        return Err(NameError::Unprintable);
    }
    // People paste the wrong line; a name is shown everywhere that a key must not be.
    if name.starts_with("muninn-") {
        return Err(NameError::Key);
    }
    Ok(())
}

/// A list that is there must name something.
fn some_of(written: Option<&[String]>) -> Result<Option<Vec<String>>, RestrictionError> {
    match written {
        Some(names) if names.iter().all(|name| name.trim().is_empty()) => Err(RestrictionError::Nothing),
        names => Ok(names.map(<[String]>::to_vec)),
    }
}

fn known_backends(
    written: Option<&[String]>,
    backends: &[BackendConfig],
) -> Result<Option<Vec<String>>, RestrictionError> {
    let names = some_of(written)?;
    let known = if backends.is_empty() {
        Names::unconfigured()
    } else {
        Names::of_settled(backends)
    };
    for name in names.iter().flatten() {
        known.find(name)?;
    }
    Ok(names)
}

fn roots(written: Option<&[String]>) -> Result<Option<Vec<PathBuf>>, RestrictionError> {
    let canonical = |root: &String| {
        let canonical = Path::new(root).canonicalize();
        canonical.map_err(|error| RestrictionError::Root {
            root: root.clone(),
            error,
        })
    };
    some_of(written)?
        .map(|roots| roots.iter().map(canonical).collect())
        .transpose()
}

fn per_minute(written: Option<u32>) -> Result<Option<u32>, RestrictionError> {
    match written {
        Some(limit) if limit == 0 || limit > MOST_PER_MINUTE => Err(RestrictionError::PerMinute),
        limit => Ok(limit),
    }
}

impl Config {
    /// A key as errors name it, with the file that it is in.
    pub(crate) fn setting(&self, key: &str) -> String {
        match &self.file {
            Some(file) => format!("{}: {key}", file.display()),
            None => key.to_owned(),
        }
    }

    /// Checks that every directory that a key is held to is one that can be served: the served root or a directory of
    /// `roots`, or inside of either. `served` is canonical; it is only known once a command says where it works.
    ///
    /// # Errors
    /// [`ConfigError::Value`] with the first key and directory that is not.
    pub fn check_key_roots(&self, served: &Path) -> Result<(), ConfigError> {
        for (index, key) in self.keys.iter().enumerate() {
            for root in key.roots.iter().flatten() {
                let servable = root.starts_with(served) || self.roots.iter().any(|allowed| root.starts_with(allowed));
                // A directory above the served root holds it, so it can be allowed; it opens nothing that is not served.
                if !servable && !served.starts_with(root) {
                    let message = format!(
                        "{} is neither in the served {} nor in a directory of `roots`",
                        root.display(),
                        served.display()
                    );
                    let setting = self.setting(&format!("keys[{index}].roots"));
                    return Err(ConfigError::Value { setting, message });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "blake3:0000000000000000000000000000000000000000000000000000000000000000";
    const OTHER: &str = "blake3:1111111111111111111111111111111111111111111111111111111111111111";

    fn load_text(text: &str) -> Result<Config, String> {
        crate::config::load_text(text).map_err(|error| error.to_string())
    }

    fn key(name: &str, hash: &str, more: &str) -> String {
        format!("[[keys]]\nname = \"{name}\"\nhash = \"{hash}\"\n{more}\n")
    }

    #[test]
    fn a_whole_key_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let backend = "[[backends]]\nname = \"local\"\nurl = \"http://x\"\ndialect = \"openai\"\n";
        let more = format!(
            "models = [\"qwen*\"]\nbackends = [\"local\"]\nroots = [\"{}\"]\nrequests_per_minute = 60",
            root.display()
        );
        let config = load_text(&format!("{backend}{}", key("ana", HASH, &more))).unwrap();
        let ana = &config.keys[0];
        assert_eq!(ana.models.as_deref(), Some(&["qwen*".to_owned()][..]));
        assert_eq!(ana.roots.as_deref(), Some(&[root.clone()][..]));
        assert_eq!(ana.requests_per_minute, Some(60));
        assert!(config.check_key_roots(&root).is_ok());
        assert!(config.check_key_roots(&root.join("inside")).is_ok());
        let said = config.check_key_roots(Path::new("/elsewhere")).unwrap_err().to_string();
        assert!(said.contains("keys[0].roots"), "{said}");
    }

    #[test]
    fn what_cannot_hold_is_refused_with_its_key() {
        let twice = key("ana", HASH, "") + &key("ana", OTHER, "");
        let same_hash = key("ana", HASH, "") + &key("ben", HASH, "");
        for (text, said) in [
            (key("", HASH, ""), "keys[0].name"),
            (key(" ana", HASH, ""), "keys[0].name"),
            (key("muninn-0000", HASH, ""), "keys[0].name"),
            (twice, "keys[1].name"),
            (same_hash, "keys[1].hash"),
            (key("ana", "muninn-0000", ""), "keys[0].hash"),
            (key("ana", HASH, "models = []"), "keys[0].models"),
            (key("ana", HASH, "backends = [\"nowhere\"]"), "keys[0].backends"),
            (
                key("ana", HASH, "roots = [\"/there/is/no/such/place\"]"),
                "keys[0].roots",
            ),
            (
                key("ana", HASH, "requests_per_minute = 0"),
                "keys[0].requests_per_minute",
            ),
            (key("ana", HASH, "model = \"x\""), "unknown field"),
        ] {
            let error = load_text(&text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn other_machines_are_listened_to_with_keys_only() {
        assert!(
            load_text("listen = \"0.0.0.0:80\"")
                .unwrap_err()
                .contains("muninn key new")
        );
        assert!(load_text(&format!("listen = \"0.0.0.0:80\"\n{}", key("ana", HASH, ""))).is_ok());
    }
}
