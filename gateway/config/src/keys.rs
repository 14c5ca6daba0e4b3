//! Resolving and checking `[[keys]]` of a user's file.

use std::fmt::Display;
use std::path::Path;

use thiserror::Error;

use super::backend_names::Names;
use super::invalid::invalid;
use super::{BackendConfig, ConfigError, KeyConfig, raw};
use crate::secrets::{KeyHash, PREFIX};

/// The highest rate limit. The times of all requests within a minute are stored per key.
const MOST_PER_MINUTE: u32 = 100_000;
/// The most bytes of a name, which appears in logs, receipts and metrics.
const LONGEST_NAME: usize = 64;

/// The reason why a key's name is invalid.
#[derive(Debug, Error)]
pub enum NameError {
    /// The name is empty, or begins or ends with white space.
    #[error("must be a non-empty name without white space at its beginning and end")]
    Blank,
    /// The name is too long or has control characters.
    #[error("must be at most {LONGEST_NAME} bytes long and without control characters")]
    Unprintable,
    /// The name has the prefix of keys.
    #[error("must not begin with `{PREFIX}`, the prefix of keys")]
    Key,
}

pub(super) fn keys(
    origin: &str,
    written: &[raw::Key],
    backends: &[BackendConfig],
) -> Result<Vec<KeyConfig>, ConfigError> {
    let known_backends = if backends.is_empty() { Names::unconfigured() } else { Names::of(backends) };
    let mut keys: Vec<KeyConfig> = Vec::with_capacity(written.len());
    for (index, raw) in written.iter().enumerate() {
        let invalid = |name: &str, message: &dyn Display| invalid(origin, format!("keys[{index}].{name}"), message);
        check_name(&raw.name).map_err(|error| invalid("name", &error))?;
        if keys.iter().any(|known| known.name == raw.name) {
            return Err(invalid("name", &format_args!("`{}` is used twice", raw.name)));
        }
        let hash = KeyHash::parse(&raw.hash).ok_or_else(|| {
            let message = "must be `blake3:` and 64 hexadecimal digits, as printed by `muninn key new NAME`; do not write the key itself here";
            invalid("hash", &message)
        })?;
        if keys.iter().any(|known| known.hash == hash) {
            return Err(invalid("hash", &"is also the hash of another key"));
        }
        // An empty list could mean all or nothing.
        let refuse_empty = |name: &str, list: &Option<Vec<String>>| match list {
            Some(list) if list.iter().all(|entry| entry.trim().is_empty()) => {
                Err(invalid(name, &"is an empty list; remove it to allow everything"))
            }
            _ => Ok(()),
        };
        refuse_empty("models", &raw.models)?;
        refuse_empty("backends", &raw.backends)?;
        for name in raw.backends.iter().flatten() {
            known_backends.find(name).map_err(|error| invalid("backends", &error))?;
        }
        refuse_empty("roots", &raw.roots)?;
        let mut roots = Vec::new();
        for root in raw.roots.iter().flatten() {
            let canonical = Path::new(root).canonicalize();
            roots.push(canonical.map_err(|error| invalid("roots", &format_args!("`{root}`: {error}")))?);
        }
        if raw.requests_per_minute.is_some_and(|limit| limit == 0 || limit > MOST_PER_MINUTE) {
            let message = format_args!("must be between 1 and {MOST_PER_MINUTE}; remove it for no limit");
            return Err(invalid("requests_per_minute", &message));
        }
        keys.push(KeyConfig {
            name: raw.name.clone(),
            hash,
            models: raw.models.clone(),
            backends: raw.backends.clone(),
            roots: raw.roots.is_some().then_some(roots),
            requests_per_minute: raw.requests_per_minute,
            write: raw.write.unwrap_or(true),
        });
    }
    Ok(keys)
}

/// Checks the name of a key.
pub fn check_name(name: &str) -> Result<(), NameError> {
    if name.trim().is_empty() || name.trim() != name {
        return Err(NameError::Blank);
    }
    if name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
        return Err(NameError::Unprintable);
    }
    // A pasted key must not become a name, because names are logged.
    if name.starts_with(PREFIX) {
        return Err(NameError::Key);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    const HASH: &str = "blake3:0000000000000000000000000000000000000000000000000000000000000000";
    const OTHER: &str = "blake3:1111111111111111111111111111111111111111111111111111111111111111";

    fn load_text(text: &str) -> Result<Config, String> {
        crate::load_text(text).map_err(|error| error.to_string())
    }

    fn key(name: &str, hash: &str, more: &str) -> String {
        format!("[[keys]]\nname = \"{name}\"\nhash = \"{hash}\"\n{more}\n")
    }

    #[test]
    fn a_key_with_all_restrictions_is_read() {
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
        let message = config.check_key_roots(Path::new("/elsewhere")).unwrap_err().to_string();
        assert!(message.contains("keys[0].roots"), "{message}");
    }

    #[test]
    fn an_invalid_value_is_refused_with_its_key() {
        let same_name = key("ana", HASH, "") + &key("ana", OTHER, "");
        let same_hash = key("ana", HASH, "") + &key("ben", HASH, "");
        for (text, words) in [
            (key("", HASH, ""), "keys[0].name"),
            (key(" ana", HASH, ""), "keys[0].name"),
            (key("muninn-0000", HASH, ""), "keys[0].name"),
            (same_name, "keys[1].name"),
            (same_hash, "keys[1].hash"),
            (key("ana", "muninn-0000", ""), "keys[0].hash"),
            (key("ana", HASH, "models = []"), "keys[0].models"),
            (key("ana", HASH, "backends = [\"nowhere\"]"), "keys[0].backends"),
            (key("ana", HASH, "roots = [\"/there/is/no/such/place\"]"), "keys[0].roots"),
            (key("ana", HASH, "requests_per_minute = 0"), "keys[0].requests_per_minute"),
            (key("ana", HASH, "model = \"x\""), "unknown field"),
        ] {
            let error = load_text(&text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn an_address_beyond_loopback_needs_a_key() {
        assert!(load_text("listen = \"0.0.0.0:80\"").unwrap_err().contains("muninn key new"));
        assert!(load_text(&format!("listen = \"0.0.0.0:80\"\n{}", key("ana", HASH, ""))).is_ok());
    }
}
