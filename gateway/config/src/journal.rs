//! `[journal]`: the git journal.

use std::path::PathBuf;

use muninn_notebooks::journal::SearchSettings;
use serde::Deserialize;

use super::chosen::chosen;
use super::chosen_model::ChosenModel;
use super::invalid::invalid;
use super::{BackendConfig, ConfigError};

/// The git journal. `Journal` documents the keys.
#[derive(Debug, Clone, PartialEq)]
pub struct JournalConfig {
    /// A repository of its own; `None` for a ref of each repository.
    pub path: Option<PathBuf>,
    /// The name and the address of the author of entries; `None` for those of git's configuration.
    pub author: Option<(String, String)>,
    pub strict: bool,
    pub auto_gc: bool,
    /// The model that merges overviews.
    pub model: Option<ChosenModel>,
    pub max_answer_tokens: u32,
    pub search: SearchSettings,
}

/// The git journal: sections whose entries are commits.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Journal {
    /// Repository of its own, bare or not, made if it is missing. Default: the ref `refs/muninn/journal` of each repository.
    pub(crate) path: Option<String>,
    /// Author of entries, `NAME <ADDRESS>`. Default: that of git's configuration.
    pub(crate) author: Option<String>,
    /// Whether a write is refused if any section has changed since its writer read one, not only the section that it writes.
    pub(crate) strict: Option<bool>,
    /// Whether `git gc --auto` packs a repository of its own in the background. In the user's repository nothing runs.
    pub(crate) auto_gc: Option<bool>,
    /// Backend of `model`. Default: no model merges overviews.
    pub(crate) backend: Option<String>,
    /// Model that merges two overviews of a section when it is asked to.
    pub(crate) model: Option<String>,
    /// Most tokens of the merged overview.
    pub(crate) max_answer_tokens: Option<u32>,
    #[serde(default)]
    pub(crate) search: JournalSearch,
}

/// The search of the git journal.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct JournalSearch {
    /// Most results.
    pub(crate) max_results: Option<usize>,
    /// Score that a new entry needs, from 0 to 1.
    pub(crate) default_salience_threshold: Option<f32>,
    /// Days after which the salience of an entry is half as large: an old entry needs a better match.
    pub(crate) half_life_days: Option<f64>,
    /// Least salience, from 0 to 1.
    pub(crate) minimum_salience: Option<f64>,
    /// Weight of the context of the work.
    pub(crate) context_weight: Option<f32>,
    /// Weight of the content.
    pub(crate) content_weight: Option<f32>,
}

pub(super) fn journal(origin: &str, raw: &Journal, backends: &[BackendConfig]) -> Result<JournalConfig, ConfigError> {
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
    if raw.max_answer_tokens == Some(0) {
        return Err(invalid(origin, "journal.max_answer_tokens", "must be at least 1"));
    }
    let written = (raw.backend.as_deref(), raw.model.as_deref());
    Ok(JournalConfig {
        path,
        author: author.transpose()?,
        strict: raw.strict.unwrap_or(false),
        auto_gc: raw.auto_gc.unwrap_or(true),
        model: chosen(origin, ("journal", "merges overviews"), written, backends)?,
        max_answer_tokens: raw.max_answer_tokens.unwrap_or(8_192),
        search: search(origin, &raw.search)?,
    })
}

fn search(origin: &str, raw: &JournalSearch) -> Result<SearchSettings, ConfigError> {
    let default = SearchSettings::default();
    let settings = SearchSettings {
        max_results: raw.max_results.unwrap_or(default.max_results),
        default_salience_threshold: raw.default_salience_threshold.unwrap_or(default.default_salience_threshold),
        half_life_days: raw.half_life_days.unwrap_or(default.half_life_days),
        minimum_salience: raw.minimum_salience.unwrap_or(default.minimum_salience),
        context_weight: raw.context_weight.unwrap_or(default.context_weight),
        content_weight: raw.content_weight.unwrap_or(default.content_weight),
    };
    let invalid = |key: &str, message: &str| Err(invalid(origin, format!("journal.search.{key}"), message));
    if !(0.0..=1.0).contains(&settings.default_salience_threshold) {
        return invalid("default_salience_threshold", "it must be from 0 to 1");
    }
    if !(0.0..=1.0).contains(&settings.minimum_salience) {
        return invalid("minimum_salience", "it must be from 0 to 1");
    }
    if settings.half_life_days.is_nan() || settings.half_life_days <= 0.0 {
        return invalid("half_life_days", "it must be above 0");
    }
    let weights = [settings.context_weight, settings.content_weight];
    if weights.iter().any(|weight| weight.is_nan() || *weight < 0.0) || weights == [0.0, 0.0] {
        return invalid("context_weight", "the weights must not be negative, and one must be above 0");
    }
    Ok(settings)
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
    use crate::load_text;

    #[test]
    fn settings_are_read_or_named() {
        let of = |text: &str| load_text(text).map(|config| config.journal);
        let default = JournalConfig {
            path: None,
            author: None,
            strict: false,
            auto_gc: true,
            model: None,
            max_answer_tokens: 8_192,
            search: SearchSettings::default(),
        };
        assert_eq!(of("").unwrap(), default);
        let found = of("[journal]\npath = \"/srv/journal\"\nauthor = \"Ann B <ann@example.com>\"\n").unwrap();
        assert_eq!(found.author, Some(("Ann B".to_owned(), "ann@example.com".to_owned())));
        assert_eq!(found.path, Some(PathBuf::from("/srv/journal")));
        for (text, named) in [
            ("[journal]\nauthor = \"Ann\"\n", "journal.author"),
            ("[journal]\nauthor = \"<a@b>\"\n", "journal.author"),
            ("[journal]\nauthor = \"A\\nB <a@b>\"\n", "journal.author"),
            ("[journal]\npath = \"here\"\n", "journal.path"),
            ("[journal]\npaht = \"/x\"\n", "paht"),
            ("[journal]\nmodel = \"m\"\n", "journal.backend"),
            ("[journal]\nmax_answer_tokens = 0\n", "journal.max_answer_tokens"),
            ("[journal.search]\nhalf_life_days = 0.0\n", "journal.search.half_life_days"),
            ("[journal.search]\ndefault_salience_threshold = 2.0\n", "default_salience_threshold"),
            ("[journal.search]\ncontext_weight = 0.0\ncontent_weight = 0.0\n", "journal.search.context_weight"),
        ] {
            let error = of(text).unwrap_err().to_string();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
