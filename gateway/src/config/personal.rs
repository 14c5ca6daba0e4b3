//! `[personal]`: one person's memory.

use std::path::PathBuf;

use super::resolve::invalid;
use super::{ConfigError, KeyConfig, raw};

/// The most tokens that a question gets if the user names none.
const MAX_TOKENS: u32 = 300;
/// The days for which signals are kept if the user names none.
const SIGNALS_DAYS: u32 = 90;

/// Personal memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonalConfig {
    /// Whether personal memory is enabled.
    pub enabled: bool,
    /// Its directory, if the user names one.
    pub path: Option<PathBuf>,
    /// The name of the owner's access key.
    pub key: Option<String>,
    /// The most tokens of what a question recalls.
    pub max_tokens: u32,
    /// The days for which signals are kept.
    pub signals_days: u32,
}

impl Default for PersonalConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            path: None,
            key: None,
            max_tokens: MAX_TOKENS,
            signals_days: SIGNALS_DAYS,
        }
    }
}

pub(super) fn personal(origin: &str, raw: &raw::Personal, keys: &[KeyConfig]) -> Result<PersonalConfig, ConfigError> {
    let default = PersonalConfig::default();
    let path = raw.path.as_ref().map(PathBuf::from);
    if path.as_ref().is_some_and(|path| !path.is_absolute()) {
        return Err(invalid(origin, "personal.path", "it must be absolute"));
    }
    if let Some(name) = &raw.key
        && !keys.iter().any(|key| key.name == *name)
    {
        return Err(invalid(origin, "personal.key", format!("there is no key `{name}`")));
    }
    Ok(PersonalConfig {
        enabled: raw.enabled.unwrap_or(default.enabled),
        path,
        key: raw.key.clone(),
        max_tokens: raw.max_tokens.unwrap_or(default.max_tokens),
        signals_days: raw.signals_days.unwrap_or(default.signals_days),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load_text;

    #[test]
    fn settings_are_read_or_named() {
        let of = |text: &str| load_text(text).map(|config| config.personal);
        assert_eq!(of("").unwrap(), PersonalConfig::default());
        let found = of("[personal]\npath = \"/me\"\nmax_tokens = 5\n").unwrap();
        assert_eq!((found.path, found.max_tokens), (Some(PathBuf::from("/me")), 5));
        for (text, named) in [
            ("[personal]\npath = \"me\"\n", "personal.path"),
            ("[personal]\nkey = \"ann\"\n", "personal.key"),
            ("[personal]\nkeys = \"ann\"\n", "keys"),
        ] {
            let error = of(text).unwrap_err().to_string();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
