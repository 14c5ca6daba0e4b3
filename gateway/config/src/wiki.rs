//! `[wiki]`: the team's wiki and its digest.

use std::path::PathBuf;
use std::time::Duration;

use muninn_notebooks::wiki::{LinkStyle, MOST_BYTES};
use muninn_team::knowledge;
use serde::Deserialize;

use super::ConfigError;
use super::invalid::invalid;

/// The shortest pause between two countings of a wiki's terms.
const SHORTEST_REFRESH: Duration = Duration::from_secs(30);

/// The team's wiki. `Wiki` documents the keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WikiConfig {
    pub path: PathBuf,
    pub link_style: LinkStyle,
    pub digest_in_prompt: DigestInPrompt,
    pub digest: DigestConfig,
}

/// When the digest is part of a preamble.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DigestInPrompt {
    /// If the wiki has at least five pages.
    #[default]
    Auto,
    /// If there is a page.
    Always,
    Never,
}

/// The digest of a wiki. `WikiDigest` documents the keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestConfig {
    pub cloud_size: usize,
    pub recents_size: usize,
    pub cloud_refresh: Duration,
    pub stopwords_extra: Vec<String>,
    pub max_render_bytes: usize,
}

/// The team's wiki: linked Markdown pages.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Wiki {
    /// Folder of the pages. A relative path is below the root of each repository.
    pub(crate) path: Option<String>,
    /// Which half of `[[a|b]]` is the target: `obsidian` (the first), `mind-map` (the second) or `auto` (the one that
    /// names a page).
    pub(crate) link_style: Option<String>,
    /// When a conversation begins with the digest: `auto` (if the wiki has at least five pages), `always` or `never`.
    pub(crate) digest_in_prompt: Option<String>,
    #[serde(default)]
    pub(crate) digest: WikiDigest,
}

/// The digest of the wiki.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct WikiDigest {
    /// Number of terms.
    pub(crate) cloud_size: Option<usize>,
    /// Number of recently used pages.
    pub(crate) recents_size: Option<usize>,
    /// Pause between two countings of the terms of a wiki that changes, such as `5m`; at least `30s`.
    pub(crate) cloud_refresh: Option<String>,
    /// Words that are no terms, besides the stop words of the wiki's languages.
    pub(crate) stopwords_extra: Option<Vec<String>>,
    /// Size above which the digest is trimmed, in bytes. 0 or less: no trimming.
    pub(crate) max_render_bytes: Option<i64>,
}

pub(super) fn wiki(origin: &str, raw: &Wiki) -> Result<WikiConfig, ConfigError> {
    let link_style = match raw.link_style.as_deref() {
        None | Some("auto") => LinkStyle::Auto,
        Some("obsidian") => LinkStyle::Obsidian,
        Some("mind-map") => LinkStyle::MindMap,
        Some(other) => {
            let message = format!("`{other}` is not auto, obsidian or mind-map");
            return Err(invalid(origin, "wiki.link_style", message));
        }
    };
    let digest_in_prompt = match raw.digest_in_prompt.as_deref() {
        None | Some("auto") => DigestInPrompt::Auto,
        Some("always") => DigestInPrompt::Always,
        Some("never") => DigestInPrompt::Never,
        Some(other) => {
            let message = format!("`{other}` is not auto, always or never");
            return Err(invalid(origin, "wiki.digest_in_prompt", message));
        }
    };
    Ok(WikiConfig {
        path: PathBuf::from(raw.path.as_deref().unwrap_or(knowledge::ROOT)),
        link_style,
        digest_in_prompt,
        digest: digest(origin, &raw.digest)?,
    })
}

fn digest(origin: &str, raw: &WikiDigest) -> Result<DigestConfig, ConfigError> {
    let refresh = raw.cloud_refresh.as_deref().map(|written| {
        let parsed: Option<Duration> = written.parse().ok().and_then(|time: jiff::SignedDuration| time.try_into().ok());
        parsed.ok_or_else(|| {
            let message = format!("`{written}` is no time such as 5m or 90s");
            invalid(origin, "wiki.digest.cloud_refresh", message)
        })
    });
    Ok(DigestConfig {
        cloud_size: raw.cloud_size.unwrap_or(50),
        recents_size: raw.recents_size.unwrap_or(20),
        cloud_refresh: refresh.transpose()?.unwrap_or(Duration::from_mins(5)).max(SHORTEST_REFRESH),
        stopwords_extra: raw.stopwords_extra.clone().unwrap_or_default(),
        max_render_bytes: match raw.max_render_bytes {
            Some(bytes) => usize::try_from(bytes).unwrap_or_default(),
            None => MOST_BYTES,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_text;

    #[test]
    fn settings_are_read_and_absent_ones_default() {
        let default = WikiConfig {
            path: PathBuf::from(knowledge::ROOT),
            link_style: LinkStyle::Auto,
            digest_in_prompt: DigestInPrompt::Auto,
            digest: DigestConfig {
                cloud_size: 50,
                recents_size: 20,
                cloud_refresh: Duration::from_mins(5),
                stopwords_extra: Vec::new(),
                max_render_bytes: MOST_BYTES,
            },
        };
        assert_eq!(load_text("").unwrap().wiki, default);
        let text = "[wiki]\npath = \"docs\"\nlink_style = \"mind-map\"\ndigest_in_prompt = \"never\"\n[wiki.digest]\n\
            cloud_size = 9\ncloud_refresh = \"1s\"\nstopwords_extra = [\"TODO\"]\nmax_render_bytes = -1\n";
        let wiki = load_text(text).unwrap().wiki;
        assert_eq!((wiki.path.to_str(), wiki.link_style), (Some("docs"), LinkStyle::MindMap));
        assert_eq!(wiki.digest_in_prompt, DigestInPrompt::Never);
        let expected = DigestConfig {
            cloud_size: 9,
            cloud_refresh: SHORTEST_REFRESH,
            stopwords_extra: vec!["TODO".to_owned()],
            max_render_bytes: 0,
            recents_size: 20,
        };
        assert_eq!(wiki.digest, expected);
    }

    #[test]
    fn invalid_settings_are_named() {
        for (text, named) in [
            ("[wiki]\nlink_style = \"roam\"\n", "wiki.link_style"),
            ("[wiki]\ndigest_in_prompt = \"maybe\"\n", "wiki.digest_in_prompt"),
            ("[wiki.digest]\ncloud_refresh = \"soon\"\n", "wiki.digest.cloud_refresh"),
            ("[wiki.digest]\ncloud_refresh = \"-5m\"\n", "wiki.digest.cloud_refresh"),
            ("[wiki.digest]\nstopwords_extra = [42]\n", "line 2: invalid type: integer `42`"),
            ("[wiki.digest]\nclout_size = 1\n", "clout_size"),
        ] {
            let error = load_text(text).unwrap_err().to_string();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
