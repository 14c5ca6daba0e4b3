//! `[journal]`: the git journal.

use std::path::PathBuf;

use super::ConfigError;
use super::raw;
use super::resolve::invalid;

/// The git journal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JournalConfig {
    /// A repository of its own; `None` for a ref of each repository.
    pub path: Option<PathBuf>,
    /// The name and the address of the author of entries; `None` for those of git's configuration.
    pub author: Option<(String, String)>,
}

pub(super) fn journal(origin: &str, raw: &raw::Journal) -> Result<JournalConfig, ConfigError> {
    let path = raw.path.as_ref().map(PathBuf::from);
    if path.as_ref().is_some_and(|path| !path.is_absolute()) {
        return Err(invalid(origin, "journal.path", "it must be absolute".to_owned()));
    }
    let author = raw.author.as_deref().map(|written| {
        author(written).ok_or_else(|| {
            let message = format!("`{written}` is not of the form NAME <ADDRESS>");
            invalid(origin, "journal.author", message)
        })
    });
    Ok(JournalConfig {
        path,
        author: author.transpose()?,
    })
}

/// The halves of `NAME <ADDRESS>`.
fn author(written: &str) -> Option<(String, String)> {
    let (name, address) = written.strip_suffix('>')?.split_once('<')?;
    let (name, address) = (name.trim(), address.trim());
    let is_foreign = |text: &str| text.is_empty() || text.contains(|c: char| c.is_control() || matches!(c, '<' | '>'));
    (!is_foreign(name) && !is_foreign(address)).then(|| (name.to_owned(), address.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load_text;

    #[test]
    fn settings_are_read_or_named() {
        let of = |text: &str| load_text(text).map(|config| config.journal);
        assert_eq!(of("").unwrap(), JournalConfig::default());
        let found = of("[journal]\npath = \"/srv/journal\"\nauthor = \"Ann B <ann@example.com>\"\n").unwrap();
        assert_eq!(found.author, Some(("Ann B".to_owned(), "ann@example.com".to_owned())));
        assert_eq!(found.path, Some(PathBuf::from("/srv/journal")));
        for (text, named) in [
            ("[journal]\nauthor = \"Ann\"\n", "journal.author"),
            ("[journal]\nauthor = \"<a@b>\"\n", "journal.author"),
            ("[journal]\nauthor = \"A\\nB <a@b>\"\n", "journal.author"),
            ("[journal]\npath = \"here\"\n", "journal.path"),
            ("[journal]\npaht = \"/x\"\n", "paht"),
        ] {
            let error = of(text).unwrap_err().to_string();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
