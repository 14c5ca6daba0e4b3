//! Where requests may go: the `[[backends]]` and `[[routes]]` of a user's file, checked.

use std::str::FromStr;
use std::time::Duration;

use reqwest::Url;
use thiserror::Error;

use super::raw::{self, Fallback, OneOrMany};
use super::resolve::{UnknownWord, wrong};
use super::{BackendConfig, ConfigError, FallbackConfig, LimitsConfig, RouteConfig, UNCONFIGURED};
use crate::secrets::Secret;
use crate::wire::WireFormat;

/// What `dialect` may say.
const DIALECTS: &str = "openai (chat and responses), anthropic (messages), chat, messages or responses";

/// A name that no backend has.
#[derive(Debug, Error)]
#[error("there is no backend `{name}`; there is: {known}")]
pub(super) struct UnknownBackend {
    name: String,
    /// The names that there are.
    known: String,
}

/// Why a fallback or a new name of a model cannot work.
#[derive(Debug, Error)]
enum RouteError {
    #[error(transparent)]
    Backend(#[from] UnknownBackend),
    #[error("`{0}` is tried already; a fallback is another backend, or another model")]
    Tried(String),
    #[error("the new name is empty")]
    EmptyRename,
    #[error("`{rename}` has more `*` than the model `{pattern}` that fills them")]
    TooManyStars { rename: String, pattern: String },
}

/// Why a backend's address, dialect or key cannot hold.
#[derive(Debug, Error)]
enum BackendError {
    #[error("`{url}` is not a URL: {error}")]
    NoUrl { url: String, error: <Url as FromStr>::Err },
    #[error("`{0}` must start with http:// or https:// and name a host")]
    NoHost(String),
    #[error("holds a credential; use key_env or key_file")]
    Credential,
    #[error("`{0}` must not have a query or a fragment")]
    Query(String),
    #[error("is empty; write {DIALECTS}")]
    NoDialect,
    #[error(transparent)]
    Dialect(#[from] UnknownWord),
    #[error("has both key_env and key_file; one is enough")]
    TwoKeys,
    #[error("the environment variable {0} is not set")]
    NoVariable(String),
    #[error("{file}: {error}")]
    KeyFile { file: String, error: std::io::Error },
    #[error("is empty, or holds characters that no header can carry")]
    NoHeader,
}

pub(super) fn backends(
    origin: &str,
    written: &[raw::Backend],
    limits: &LimitsConfig,
) -> Result<Vec<BackendConfig>, ConfigError> {
    let names = Names::of(written);
    let mut backends: Vec<BackendConfig> = Vec::with_capacity(written.len());
    for (index, raw) in written.iter().enumerate() {
        let key = |name: &str| format!("backends[{index}].{name}");
        if backends.iter().any(|known| known.name == raw.name) {
            return Err(wrong(origin, key("name"), format!("`{}` is there twice", raw.name)));
        }
        if raw.name == "muninn" || raw.name.is_empty() {
            return Err(wrong(
                origin,
                key("name"),
                "must be a name of its own, and not `muninn`",
            ));
        }
        let fallbacks = fallbacks(&raw.fallbacks, &names, "*", (index, None))
            .map_err(|error| wrong(origin, key("fallbacks"), error))?;
        let url = base_url(&raw.url).map_err(|error| wrong(origin, key("url"), error))?;
        let http2_prior_knowledge = raw.http2_prior_knowledge.unwrap_or(false);
        if http2_prior_knowledge && url.starts_with("https:") {
            let message = "is for plain http; over https HTTP/2 is used wherever the server offers it";
            return Err(wrong(origin, key("http2_prior_knowledge"), message));
        }
        let formats = formats(&raw.dialect).map_err(|error| wrong(origin, key("dialect"), error))?;
        let plain = BackendConfig::new(raw.name.clone(), url, formats, limits);
        backends.push(BackendConfig {
            key: secret(raw).map_err(|error| wrong(origin, key("key"), error))?,
            client_credentials: raw.client_credentials.unwrap_or(false),
            default_model: raw.default_model.clone(),
            context_window: raw.context_window,
            fallbacks,
            retries: raw.retries.unwrap_or(plain.retries),
            first_byte_timeout: raw
                .first_byte_timeout_ms
                .map_or(plain.first_byte_timeout, Duration::from_millis),
            http2_prior_knowledge,
            ..plain
        });
    }
    Ok(backends)
}

pub(super) fn routes(
    origin: &str,
    written: &[raw::Route],
    backends: &[BackendConfig],
) -> Result<Vec<RouteConfig>, ConfigError> {
    let names = Names::of_settled(backends);
    let settle = |(index, raw): (usize, &raw::Route)| {
        let key = |name: &str| format!("routes[{index}].{name}");
        let backend = names
            .find(&raw.backend)
            .map_err(|error| wrong(origin, key("backend"), error))?;
        check_rename(raw.rename.as_deref(), &raw.model).map_err(|error| wrong(origin, key("rename"), error))?;
        let first = (backend, raw.rename.as_deref());
        Ok(RouteConfig {
            model: raw.model.clone(),
            backend,
            rename: raw.rename.clone(),
            fallbacks: fallbacks(&raw.fallbacks, &names, &raw.model, first)
                .map_err(|error| wrong(origin, key("fallbacks"), error))?,
        })
    };
    written.iter().enumerate().map(settle).collect()
}

/// The backends' names, in the order of the file.
pub(super) struct Names<'a>(Vec<&'a str>);

impl<'a> Names<'a> {
    pub(super) fn of_settled(backends: &'a [BackendConfig]) -> Names<'a> {
        Names(backends.iter().map(|backend| backend.name.as_str()).collect())
    }
}

impl Names<'_> {
    /// The names that hold where no backend is configured.
    pub(super) fn unconfigured() -> Names<'static> {
        Names(UNCONFIGURED.to_vec())
    }

    fn of(written: &[raw::Backend]) -> Names<'_> {
        Names(written.iter().map(|backend| backend.name.as_str()).collect())
    }

    /// The place of a backend.
    pub(super) fn find(&self, name: &str) -> Result<usize, UnknownBackend> {
        let place = self.0.iter().position(|known| *known == name);
        place.ok_or_else(|| UnknownBackend {
            name: name.to_owned(),
            known: self.0.join(", "),
        })
    }
}

/// Settles fallbacks. What was tried already, under the same name, is refused: it is no fallback.
fn fallbacks(
    written: &[Fallback],
    names: &Names<'_>,
    pattern: &str,
    first: (usize, Option<&str>),
) -> Result<Vec<FallbackConfig>, RouteError> {
    let mut tried = vec![first];
    for entry in written {
        let (name, rename) = match entry {
            Fallback::Name(name) => (name, None),
            Fallback::Renamed(entry) => (&entry.backend, entry.rename.as_deref()),
        };
        check_rename(rename, pattern)?;
        let next = (names.find(name)?, rename);
        if tried.contains(&next) {
            return Err(RouteError::Tried(name.clone()));
        }
        tried.push(next);
    }
    let settled = tried.into_iter().skip(1).map(|(backend, rename)| FallbackConfig {
        backend,
        rename: rename.map(str::to_owned),
    });
    Ok(settled.collect())
}

/// Every `*` of a new name stands for one of the pattern's.
fn check_rename(rename: Option<&str>, pattern: &str) -> Result<(), RouteError> {
    let stars = |text: &str| text.matches('*').count();
    match rename {
        Some("") => Err(RouteError::EmptyRename),
        Some(rename) if stars(rename) > stars(pattern) => Err(RouteError::TooManyStars {
            rename: rename.to_owned(),
            pattern: pattern.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// The address up to the `/v1` that all wire formats add themselves.
fn base_url(written: &str) -> Result<String, BackendError> {
    let url = Url::parse(written).map_err(|error| BackendError::NoUrl {
        url: written.to_owned(),
        error,
    })?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(BackendError::NoHost(written.to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(BackendError::Credential);
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(BackendError::Query(written.to_owned()));
    }
    let trimmed = written.trim_end_matches('/');
    Ok(trimmed.strip_suffix("/v1").unwrap_or(trimmed).to_owned())
}

/// The formats behind the names that `dialect` may hold: two families, and each format by itself.
fn formats(written: &OneOrMany) -> Result<Vec<WireFormat>, BackendError> {
    let names = match written {
        OneOrMany::One(name) => std::slice::from_ref(name),
        OneOrMany::Many(names) => names.as_slice(),
    };
    if names.is_empty() {
        return Err(BackendError::NoDialect);
    }
    let mut formats = Vec::new();
    for name in names {
        let meant: &[WireFormat] = match name.as_str() {
            "openai" => &[WireFormat::Chat, WireFormat::Responses],
            "anthropic" | "messages" => &[WireFormat::Messages],
            "chat" => &[WireFormat::Chat],
            "responses" => &[WireFormat::Responses],
            other => return Err(UnknownWord::new(other, DIALECTS).into()),
        };
        for format in meant {
            if !formats.contains(format) {
                formats.push(*format);
            }
        }
    }
    Ok(formats)
}

fn secret(raw: &raw::Backend) -> Result<Option<Secret>, BackendError> {
    let value = match (&raw.key_env, &raw.key_file) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => return Err(BackendError::TwoKeys),
        (Some(variable), None) => std::env::var(variable).map_err(|_| BackendError::NoVariable(variable.clone()))?,
        (None, Some(file)) => std::fs::read_to_string(file).map_err(|error| BackendError::KeyFile {
            file: file.clone(),
            error,
        })?,
    };
    let value = value.trim();
    match http::HeaderValue::from_str(value) {
        Ok(_) if !value.is_empty() => Ok(Some(Secret::new(value.to_owned()))),
        _ => Err(BackendError::NoHeader),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_url_stops_before_v1() {
        for written in [
            "http://127.0.0.1:8000",
            "http://127.0.0.1:8000/",
            "http://127.0.0.1:8000/v1",
            "http://127.0.0.1:8000/v1/",
        ] {
            assert_eq!(base_url(written).unwrap(), "http://127.0.0.1:8000");
        }
        for wrong in ["127.0.0.1:8000", "ftp://x", "http://user:pass@host", "http://x/?q"] {
            assert!(base_url(wrong).is_err(), "{wrong}");
        }
    }

    fn settled(dialect: &[&str]) -> Result<Vec<WireFormat>, BackendError> {
        formats(&OneOrMany::Many(
            dialect.iter().map(|name| (*name).to_owned()).collect(),
        ))
    }

    #[test]
    fn a_dialect_is_a_family_or_a_single_format() {
        use WireFormat::{Chat, Messages, Responses};
        assert_eq!(settled(&["openai"]).unwrap(), [Chat, Responses]);
        assert_eq!(settled(&["anthropic"]).unwrap(), [Messages]);
        assert_eq!(
            settled(&["chat", "openai", "messages"]).unwrap(),
            [Chat, Responses, Messages]
        );
        assert_eq!(formats(&OneOrMany::One("responses".to_owned())).unwrap(), [Responses]);
        assert!(settled(&[]).unwrap_err().to_string().contains("write openai"));
        assert!(
            settled(&["gemini"])
                .unwrap_err()
                .to_string()
                .contains("`gemini` is unknown")
        );
    }

    fn routes_of(text: &str) -> Result<Vec<RouteConfig>, String> {
        #[derive(serde::Deserialize)]
        struct File {
            backends: Vec<raw::Backend>,
            #[serde(default)]
            routes: Vec<raw::Route>,
        }
        let backend =
            |name: &str| format!("[[backends]]\nname = \"{name}\"\nurl = \"http://{name}\"\ndialect = \"chat\"\n");
        let file: File =
            toml::from_str(&format!("{}{}{text}", backend("a"), backend("b"))).map_err(|error| error.to_string())?;
        let backends = backends("file", &file.backends, &LimitsConfig::default()).map_err(|error| error.to_string())?;
        routes("file", &file.routes, &backends).map_err(|error| error.to_string())
    }

    #[test]
    fn fallbacks_are_names_or_names_with_another_model() {
        let routes = routes_of(
            "[[routes]]\nmodel = \"claude-*\"\nbackend = \"a\"\nrename = \"x\"\n\
             fallbacks = [\"b\", { backend = \"a\", rename = \"small-*\" }]\n",
        )
        .unwrap();
        let fallbacks: Vec<_> = routes[0]
            .fallbacks
            .iter()
            .map(|fallback| (fallback.backend, fallback.rename.as_deref()))
            .collect();
        assert_eq!(fallbacks, [(1, None), (0, Some("small-*"))]);
    }

    #[test]
    fn fallbacks_and_names_that_cannot_work_are_refused() {
        for (text, reason) in [
            ("fallbacks = [\"c\"]", "there is no backend `c`; there is: a, b"),
            ("fallbacks = [\"a\"]", "`a` is tried already"),
            ("fallbacks = [\"b\", \"b\"]", "`b` is tried already"),
            (
                "fallbacks = [{ backend = \"b\", name = \"x\" }]",
                "a fallback is a backend's name",
            ),
            ("fallbacks = [{ backend = \"b\", rename = \"*/*\" }]", "has more `*`"),
            ("rename = \"*-*\"", "has more `*`"),
            ("rename = \"\"", "empty"),
        ] {
            let route = format!("[[routes]]\nmodel = \"claude-*\"\nbackend = \"a\"\n{text}\n");
            let error = routes_of(&route).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
