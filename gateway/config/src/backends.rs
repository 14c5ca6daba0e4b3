//! Resolving and checking `[[backends]]` and `[[routes]]` of a user's file.

use std::time::Duration;

use muninn_context_engine::value::Prices;
use muninn_wire::WireFormat;
use thiserror::Error;

use super::address::Address;
use super::backend_names::{Names, UnknownBackend};
use super::invalid::{UnknownValue, invalid};
use super::raw::{self, ApiKey, Fallback, OneOrMany};
use super::{BackendConfig, ConfigError, FallbackConfig, LimitsConfig, RouteConfig};
use crate::secrets::Secret;

/// The values of `dialect`, as errors list them.
const DIALECTS: &str = "openai (chat and responses), anthropic (messages), chat, messages or responses";

/// The reason why a fallback or a `rename` is refused.
#[derive(Debug, Error)]
enum InvalidRoute {
    #[error(transparent)]
    Backend(#[from] UnknownBackend),
    #[error("`{0}` is already tried; a fallback must name another backend or another model")]
    AlreadyTried(String),
    #[error("`rename` is empty")]
    EmptyRename,
    #[error(
        "`{rename}` has more `*` than the pattern `{pattern}`; each stands for the text that one `*` of the pattern matched"
    )]
    TooManyStars { rename: String, pattern: String },
}

/// The reason why a backend's dialect or key is invalid.
#[derive(Debug, Error)]
enum InvalidBackend {
    #[error("is empty; write {DIALECTS}")]
    NoDialect,
    #[error(transparent)]
    Dialect(#[from] UnknownValue),
    #[error("has more than one of key_env, key_file and api_keys; keep one of them")]
    TwoKeys,
    #[error("the environment variable {0} is not set")]
    NoVariable(String),
    #[error("{file}: {error}")]
    KeyFile { file: String, error: std::io::Error },
    #[error("is empty, or contains white space or characters that are not allowed in a header")]
    InvalidHeader,
}

pub(super) fn backends(
    origin: &str,
    written: &[raw::Backend],
    limits: &LimitsConfig,
) -> Result<Vec<BackendConfig>, ConfigError> {
    let names = Names(written.iter().map(|backend| backend.name.as_str()).collect());
    let mut backends: Vec<BackendConfig> = Vec::with_capacity(written.len());
    for (index, raw) in written.iter().enumerate() {
        let key = |name: &str| format!("backends[{index}].{name}");
        if backends.iter().any(|known| known.name == raw.name) {
            return Err(invalid(origin, key("name"), format!("`{}` is used twice", raw.name)));
        }
        if raw.name == "muninn" || raw.name.is_empty() {
            return Err(invalid(origin, key("name"), "must be a unique name other than `muninn`"));
        }
        let fallbacks = fallbacks(&raw.fallbacks, &names, "*", (index, None))
            .map_err(|error| invalid(origin, key("fallbacks"), error))?;
        let url = Address::read(&raw.url).map_err(|error| invalid(origin, key("url"), error))?;
        let http2_prior_knowledge = raw.http2_prior_knowledge.unwrap_or(false);
        if http2_prior_knowledge && url.base.starts_with("https:") {
            let message = "applies to http:// only; over https:// HTTP/2 is negotiated";
            return Err(invalid(origin, key("http2_prior_knowledge"), message));
        }
        let formats = formats(&raw.dialect).map_err(|error| invalid(origin, key("dialect"), error))?;
        let mut keys = secrets(raw).map_err(|error| invalid(origin, key("key"), error))?.into_iter();
        let default = BackendConfig::new(raw.name.clone(), String::new(), formats, limits);
        backends.push(BackendConfig {
            url,
            key: keys.next(),
            further_keys: keys.collect(),
            client_credentials: raw.client_credentials.unwrap_or(false),
            default_model: raw.default_model.clone(),
            context_window: raw.context_window,
            prices: prices(raw.prices.unwrap_or_default())
                .map_err(|name| invalid(origin, key(&format!("prices.{name}")), "must be a number of at least 0"))?,
            fallbacks,
            retries: raw.retries.unwrap_or(default.retries),
            first_byte_timeout: raw.first_byte_timeout_ms.map_or(default.first_byte_timeout, Duration::from_millis),
            http2_prior_knowledge,
            ..default
        });
    }
    Ok(backends)
}

/// Resolves prices; fails with the name of an invalid one.
fn prices(raw: raw::Prices) -> Result<Prices, &'static str> {
    let default = Prices::default();
    let valid = |name, price: Option<f32>, default| match price.unwrap_or(default) {
        price if price.is_finite() && price >= 0.0 => Ok(price),
        _ => Err(name),
    };
    Ok(Prices {
        cache_write: valid("cache_write", raw.cache_write, default.cache_write)?,
        cache_write_1h: valid("cache_write_1h", raw.cache_write_1h, default.cache_write_1h)?,
        cached_read: valid("cached_read", raw.cached_read, default.cached_read)?,
        output: valid("output", raw.output, default.output)?,
    })
}

pub(super) fn routes(
    origin: &str,
    written: &[raw::Route],
    backends: &[BackendConfig],
) -> Result<Vec<RouteConfig>, ConfigError> {
    let names = Names::of(backends);
    let resolve = |(index, raw): (usize, &raw::Route)| {
        let key = |name: &str| format!("routes[{index}].{name}");
        let backend = names.find(&raw.backend).map_err(|error| invalid(origin, key("backend"), error))?;
        check_rename(raw.rename.as_deref(), &raw.model).map_err(|error| invalid(origin, key("rename"), error))?;
        let first = (backend, raw.rename.as_deref());
        Ok(RouteConfig {
            model: raw.model.clone(),
            backend,
            rename: raw.rename.clone(),
            fallbacks: fallbacks(&raw.fallbacks, &names, &raw.model, first)
                .map_err(|error| invalid(origin, key("fallbacks"), error))?,
        })
    };
    written.iter().enumerate().map(resolve).collect()
}

/// Resolves fallbacks. A backend that is already tried with the same model name is refused.
fn fallbacks(
    written: &[Fallback],
    names: &Names<'_>,
    pattern: &str,
    first: (usize, Option<&str>),
) -> Result<Vec<FallbackConfig>, InvalidRoute> {
    let mut tried = vec![first];
    for entry in written {
        let (name, rename) = match entry {
            Fallback::Name(name) => (name, None),
            Fallback::Renamed(entry) => (&entry.backend, entry.rename.as_deref()),
        };
        check_rename(rename, pattern)?;
        let next = (names.find(name)?, rename);
        if tried.contains(&next) {
            return Err(InvalidRoute::AlreadyTried(name.clone()));
        }
        tried.push(next);
    }
    let fallbacks = tried
        .into_iter()
        .skip(1)
        .map(|(backend, rename)| FallbackConfig { backend, rename: rename.map(str::to_owned) });
    Ok(fallbacks.collect())
}

/// Checks that the pattern has a `*` for every `*` of a new name.
fn check_rename(rename: Option<&str>, pattern: &str) -> Result<(), InvalidRoute> {
    let stars = |text: &str| text.matches('*').count();
    match rename {
        Some("") => Err(InvalidRoute::EmptyRename),
        Some(rename) if stars(rename) > stars(pattern) => {
            Err(InvalidRoute::TooManyStars { rename: rename.to_owned(), pattern: pattern.to_owned() })
        }
        _ => Ok(()),
    }
}

/// Returns the wire formats of the names in `dialect`. A name stands for a family or a single format.
fn formats(written: &OneOrMany) -> Result<Vec<WireFormat>, InvalidBackend> {
    let names = match written {
        OneOrMany::One(name) => std::slice::from_ref(name),
        OneOrMany::Many(names) => names.as_slice(),
    };
    if names.is_empty() {
        return Err(InvalidBackend::NoDialect);
    }
    let mut formats = Vec::new();
    for name in names {
        let named: &[WireFormat] = match name.as_str() {
            "openai" => &[WireFormat::Chat, WireFormat::Responses],
            "anthropic" | "messages" => &[WireFormat::Messages],
            "chat" => &[WireFormat::Chat],
            "responses" => &[WireFormat::Responses],
            other => return Err(UnknownValue::new(other, DIALECTS).into()),
        };
        for format in named {
            if !formats.contains(format) {
                formats.push(*format);
            }
        }
    }
    Ok(formats)
}

/// The keys of a backend.
fn secrets(raw: &raw::Backend) -> Result<Vec<Secret>, InvalidBackend> {
    let one = |key: Option<ApiKey>| key.into_iter().collect::<Vec<_>>();
    let ways =
        [one(raw.key_env.clone().map(ApiKey::Env)), one(raw.key_file.clone().map(ApiKey::File)), raw.api_keys.clone()];
    if ways.iter().filter(|keys| !keys.is_empty()).count() > 1 {
        return Err(InvalidBackend::TwoKeys);
    }
    ways.iter().flatten().map(secret).collect()
}

fn secret(key: &ApiKey) -> Result<Secret, InvalidBackend> {
    let value = match key {
        ApiKey::Env(variable) => std::env::var(variable).map_err(|_| InvalidBackend::NoVariable(variable.clone()))?,
        ApiKey::File(file) => {
            std::fs::read_to_string(file).map_err(|error| InvalidBackend::KeyFile { file: file.clone(), error })?
        }
    };
    let value = bare_key(&value);
    match http::HeaderValue::from_str(value) {
        Ok(_) if !value.is_empty() && !value.contains(char::is_whitespace) => Ok(Secret::new(value.to_owned())),
        _ => Err(InvalidBackend::InvalidHeader),
    }
}

/// Returns a key without what people paste with it: a byte order mark, the name of a variable, quotes, `Bearer`.
fn bare_key(written: &str) -> &str {
    let mut key = written.trim_start_matches('\u{feff}').trim();
    let exported = key.strip_prefix("export ");
    key = exported.unwrap_or(key).trim_start();
    // A key may end in signs of equality.
    let is_name = |name: &str| {
        (exported.is_some() || name.contains('_'))
            && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    if let Some((name, value)) = key.split_once('=')
        && is_name(name.trim_end())
    {
        key = value.trim();
    }
    for quote in ['"', '\''] {
        key = key.strip_prefix(quote).and_then(|key| key.strip_suffix(quote)).unwrap_or(key).trim();
    }
    let scheme = key.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("bearer "));
    scheme.map_or(key, |scheme| key[scheme.len()..].trim())
}

#[cfg(test)]
mod tests {
    use super::super::address::InvalidAddress;
    use super::*;

    fn base_url(written: &str) -> Result<String, InvalidAddress> {
        Address::read(written).map(|address| address.base)
    }

    #[test]
    fn the_base_url_stops_before_v1() {
        for written in
            ["http://127.0.0.1:8000", "http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1/"]
        {
            assert_eq!(base_url(written).unwrap(), "http://127.0.0.1:8000");
        }
        for wrong in ["127.0.0.1:8000", "ftp://x", "http://user:pass@host", "http://x/#q"] {
            assert!(base_url(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn usable_addresses_can_be_asked() {
        for written in [
            "https://api.example.com",
            "HTTPS://API.Example.com/x",
            "http://localhost:8000/a/b",
            "http://localhost:",
            "http://localhost:065535",
            "http://host_name/a b",
            "http://[::1]:8000",
            "http://[::ffff:1.2.3.4]",
            "http://127.1",
            "http://0x7f.0.0.1",
            "http://2130706433",
            "http://256.example",
            "http://xn--bcher-kva.example",
            "http://b\u{fc}cher.example",
            "http://%65xample.com",
            "http:example.com",
            "http:\\\\example.com\\x",
            "http:///example.com",
            " http://example.com",
            "http://@example.com",
            "http://:@example.com",
        ] {
            let asked = Address::read(written).unwrap().of("/v1/models");
            assert!(asked.ends_with("/v1/models") && asked.parse::<http::Uri>().is_ok(), "{written}: {asked}");
        }
    }

    #[test]
    fn unusable_addresses_are_refused_with_their_reason() {
        let no_url = |written: &str, reason: &str| (written.to_owned(), format!("`{written}` is not a URL: {reason}"));
        let no_host = |written: &str| {
            (written.to_owned(), format!("`{written}` must start with http:// or https:// and contain a host"))
        };
        let credential =
            |written: &str| (written.to_owned(), "contains a credential; use key_env or key_file instead".to_owned());
        let fragment = |written: &str| (written.to_owned(), format!("`{written}` must not have a fragment"));
        for (written, expected) in [
            no_url("", "relative URL without a base"),
            no_url("example.com", "relative URL without a base"),
            no_url("/v1", "relative URL without a base"),
            no_url("//example.com", "relative URL without a base"),
            no_url("127.0.0.1:8000", "relative URL without a base"),
            no_url("[::1]:8000", "relative URL without a base"),
            no_url("http", "relative URL without a base"),
            no_url("http://", "empty host"),
            no_url("http:", "empty host"),
            no_url("https:///", "empty host"),
            no_url("http://:8000", "empty host"),
            no_url("http://user@", "empty host"),
            no_url("http://user@:80", "empty host"),
            no_url("http://?x", "empty host"),
            no_url("http://x:y", "invalid port number"),
            no_url("http://x:65536", "invalid port number"),
            no_url("http://x:8000a/", "invalid port number"),
            no_url("http://x:-1", "invalid port number"),
            no_url("http://user:p@x:port", "invalid port number"),
            no_url("http://[::1", "invalid IPv6 address"),
            no_url("http://[::1]8000", "invalid IPv6 address"),
            no_url("http://[1.2.3.4]", "invalid IPv6 address"),
            no_url("http://[]", "invalid IPv6 address"),
            no_url("http://256.0.0.1", "invalid IPv4 address"),
            no_url("http://1.2.3.4.5", "invalid IPv4 address"),
            no_url("http://1.2.3.0x100", "invalid IPv4 address"),
            no_url("http://a.1", "invalid IPv4 address"),
            no_url("http://4294967296", "invalid IPv4 address"),
            no_url("http://a b", "invalid international domain name"),
            no_url("http://a|b", "invalid international domain name"),
            no_url("http://a%20b", "invalid international domain name"),
            no_url("http://a%b", "invalid international domain name"),
            no_url("http://a<b:x", "invalid international domain name"),
            no_host("ftp://example.com"),
            no_host("localhost:8000"),
            no_host("mailto:x@example.com"),
            no_host("unix:/run/x"),
            no_host("httpx://example.com"),
            credential("http://user@example.com"),
            credential("http://user:pass@example.com?x"),
            credential("http://:pass@example.com"),
            credential("http://a@b@example.com"),
            fragment("http://example.com#x"),
            fragment("http://example.com/#"),
        ] {
            assert_eq!(base_url(&written).unwrap_err().to_string(), expected, "{written}");
        }
    }

    #[test]
    fn prices_are_at_least_zero_and_missing_ones_have_defaults() {
        let written = |text: &str| prices(toml::from_str(text).unwrap());
        assert_eq!(written("").unwrap(), Prices::default());
        let free = written("cache_write = 0\ncache_write_1h = 0\ncached_read = 0.0\noutput = 0").unwrap();
        assert!(free.cache_write == 0.0 && free.cache_write_1h == 0.0 && free.cached_read == 0.0 && free.output == 0.0);
        let some = written("output = 6").unwrap();
        assert_eq!((some.output, some.cache_write), (6.0, Prices::default().cache_write));
        for (text, name) in
            [("output = -1", "output"), ("cached_read = nan", "cached_read"), ("cache_write = inf", "cache_write")]
        {
            assert_eq!(written(text), Err(name));
        }
        assert!(toml::from_str::<raw::Prices>("input = 1").is_err());
    }

    fn resolved(dialect: &[&str]) -> Result<Vec<WireFormat>, InvalidBackend> {
        formats(&OneOrMany::Many(dialect.iter().map(|name| (*name).to_owned()).collect()))
    }

    #[test]
    fn keys_are_freed_of_what_is_pasted_with_them() {
        for written in [
            "sk-1=",
            " sk-1=\r\n",
            "\u{feff}sk-1=\n",
            "\"sk-1=\"",
            "'sk-1='",
            "Bearer sk-1=",
            "bearer  sk-1=",
            "OPENAI_API_KEY=sk-1=",
            "export OPENAI_API_KEY = \"sk-1=\"\n",
            "ANTHROPIC_AUTH_TOKEN='Bearer sk-1='",
        ] {
            assert_eq!(bare_key(written), "sk-1=", "{written:?}");
        }
        for key in ["abc=def", "MFRGGZDFMZTWQ2LK====", "A_B="] {
            let expected = if key == "A_B=" { "" } else { key };
            assert_eq!(bare_key(key), expected);
        }
    }

    #[test]
    fn several_keys_keep_their_order_and_exclude_a_single_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, key: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, key).unwrap();
            path.display().to_string()
        };
        let (one, two, empty) = (file("one", "Bearer sk-1\n"), file("two", "sk-2"), file("empty", " \n"));
        let read = |text: String| {
            let text = format!("name = \"a\"\nurl = \"http://a\"\ndialect = \"chat\"\n{text}");
            let keys = secrets(&toml::from_str(&text).map_err(|error| error.to_string())?);
            keys.map_err(|error| error.to_string())
        };
        let keys = read(format!("api_keys = [{{ file = \"{two}\" }}, {{ file = \"{one}\" }}]")).unwrap();
        assert_eq!(keys.iter().map(Secret::reveal).collect::<Vec<_>>(), ["sk-2", "sk-1"]);
        assert_eq!(read(format!("key_file = \"{one}\"")).unwrap().len(), 1);
        assert!(read(String::new()).unwrap().is_empty() && read("api_keys = []".to_owned()).unwrap().is_empty());
        for (text, expected) in [
            (format!("key_file = \"{one}\"\napi_keys = [{{ file = \"{two}\" }}]"), "more than one of"),
            (format!("key_file = \"{one}\"\nkey_env = \"A\""), "more than one of"),
            (format!("api_keys = [{{ file = \"{one}\" }}, {{ file = \"{empty}\" }}]"), "is empty"),
            ("api_keys = [{ env = \"MUNINN_TEST_NO_SUCH\" }]".to_owned(), "MUNINN_TEST_NO_SUCH is not set"),
            ("api_keys = [\"sk-1\"]".to_owned(), "sk-1"),
            ("api_keys = [{ key = \"sk-1\" }]".to_owned(), "unknown variant"),
        ] {
            let error = read(text.clone()).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_dialect_is_a_family_or_a_single_format() {
        use WireFormat::{Chat, Messages, Responses};
        assert_eq!(resolved(&["openai"]).unwrap(), [Chat, Responses]);
        assert_eq!(resolved(&["anthropic"]).unwrap(), [Messages]);
        assert_eq!(resolved(&["chat", "openai", "messages"]).unwrap(), [Chat, Responses, Messages]);
        assert_eq!(formats(&OneOrMany::One("responses".to_owned())).unwrap(), [Responses]);
        assert!(resolved(&[]).unwrap_err().to_string().contains("write openai"));
        assert!(resolved(&["gemini"]).unwrap_err().to_string().contains("`gemini` is unknown"));
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
    fn a_dialect_is_a_name_or_a_list_of_names() {
        for wrong in ["5", "{ name = 'chat' }", "[1]", "true"] {
            let text = format!("[[backends]]\nname = 'a'\nurl = 'http://a'\ndialect = {wrong}\n");
            let error = crate::load_text(&text).unwrap_err().to_string();
            assert!(error.ends_with("muninn.toml: line 4: `dialect` is a name, or a list of names"), "{error}");
        }
    }

    #[test]
    fn a_fallback_is_a_backend_with_or_without_a_rename() {
        let routes = routes_of(
            "[[routes]]\nmodel = \"claude-*\"\nbackend = \"a\"\nrename = \"x\"\n\
             fallbacks = [\"b\", { backend = \"a\", rename = \"small-*\" }]\n",
        )
        .unwrap();
        let fallbacks: Vec<_> =
            routes[0].fallbacks.iter().map(|fallback| (fallback.backend, fallback.rename.as_deref())).collect();
        assert_eq!(fallbacks, [(1, None), (0, Some("small-*"))]);
    }

    #[test]
    fn invalid_fallbacks_and_renames_are_refused() {
        for (text, reason) in [
            ("fallbacks = [\"c\"]", "there is no backend `c`; known backends: a, b"),
            ("fallbacks = [\"a\"]", "`a` is already tried"),
            ("fallbacks = [\"b\", \"b\"]", "`b` is already tried"),
            ("fallbacks = [{ backend = \"b\", name = \"x\" }]", "a fallback is a backend's name"),
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
