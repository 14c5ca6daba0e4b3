//! Where requests may go: the `[[backends]]` and `[[routes]]` of a user's file, checked.

use super::raw::{self, OneOrMany};
use super::resolve::wrong;
use super::{BackendConfig, ConfigError, RouteConfig, Secret};
use crate::wire::WireFormat;

pub(super) fn backends(origin: &str, written: &[raw::Backend]) -> Result<Vec<BackendConfig>, ConfigError> {
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
        backends.push(BackendConfig {
            name: raw.name.clone(),
            url: base_url(&raw.url).map_err(|message| wrong(origin, key("url"), message))?,
            formats: formats(&raw.dialect).map_err(|message| wrong(origin, key("dialect"), message))?,
            key: secret(raw).map_err(|message| wrong(origin, key("key"), message))?,
            client_credentials: raw.client_credentials.unwrap_or(false),
            default_model: raw.default_model.clone(),
            context_window: raw.context_window,
        });
    }
    Ok(backends)
}

pub(super) fn routes(
    origin: &str,
    written: &[raw::Route],
    backends: &[BackendConfig],
) -> Result<Vec<RouteConfig>, ConfigError> {
    let settle = |(index, raw): (usize, &raw::Route)| {
        let backend = backends
            .iter()
            .position(|backend| backend.name == raw.backend)
            .ok_or_else(|| {
                let known: Vec<_> = backends.iter().map(|backend| backend.name.as_str()).collect();
                let message = format!("there is no backend `{}`; there is: {}", raw.backend, known.join(", "));
                wrong(origin, format!("routes[{index}].backend"), message)
            })?;
        Ok(RouteConfig {
            model: raw.model.clone(),
            backend,
            rename: raw.rename.clone(),
        })
    };
    written.iter().enumerate().map(settle).collect()
}

/// The address up to the `/v1` that all wire formats add themselves.
fn base_url(written: &str) -> Result<String, String> {
    let url = reqwest::Url::parse(written).map_err(|error| format!("`{written}` is not a URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(format!(
            "`{written}` must start with http:// or https:// and name a host"
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("holds a credential; use key_env or key_file".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(format!("`{written}` must not have a query or a fragment"));
    }
    let trimmed = written.trim_end_matches('/');
    Ok(trimmed.strip_suffix("/v1").unwrap_or(trimmed).to_owned())
}

fn formats(written: &OneOrMany) -> Result<Vec<WireFormat>, String> {
    let names = match written {
        OneOrMany::One(name) => std::slice::from_ref(name),
        OneOrMany::Many(names) => names.as_slice(),
    };
    if names.is_empty() {
        return Err("is empty; write openai or anthropic".to_owned());
    }
    let parse = |name: &String| match name.as_str() {
        "openai" => Ok(vec![WireFormat::Chat, WireFormat::Responses]),
        "anthropic" | "messages" => Ok(vec![WireFormat::Messages]),
        "chat" => Ok(vec![WireFormat::Chat]),
        "responses" => Ok(vec![WireFormat::Responses]),
        other => Err(format!("`{other}` is unknown; write openai or anthropic")),
    };
    names
        .iter()
        .map(parse)
        .collect::<Result<Vec<_>, _>>()
        .map(|all| all.concat())
}

fn secret(raw: &raw::Backend) -> Result<Option<Secret>, String> {
    let value = match (&raw.key_env, &raw.key_file) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => return Err("has both key_env and key_file; one is enough".to_owned()),
        (Some(variable), None) => {
            std::env::var(variable).map_err(|_| format!("the environment variable {variable} is not set"))?
        }
        (None, Some(file)) => std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?,
    };
    let value = value.trim();
    match http::HeaderValue::from_str(value) {
        Ok(_) if !value.is_empty() => Ok(Some(Secret::new(value.to_owned()))),
        _ => Err("is empty, or holds characters that no header can carry".to_owned()),
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
}
