//! Probes of a backend: the wire formats that it supports, and its models.

use http::{HeaderMap, HeaderValue, StatusCode};
use muninn_backend::{Backend, FormatSupport, apply_credentials, innermost, probe_formats};
use muninn_wire::WireFormat;
use serde_json::Value;

use super::TIMEOUT;

/// A backend's answers.
#[derive(Debug, Default)]
pub(super) struct Probe {
    /// The formats whose endpoints exist.
    pub(super) supported: Vec<WireFormat>,
    /// Its models and their context windows in tokens; `None` where it does not list them.
    pub(super) models: Option<Vec<(String, Option<u64>)>>,
    /// Whether anything answered.
    pub(super) reachable: bool,
    /// The error of a probe that failed.
    pub(super) failure: Option<String>,
    /// Whether it rejects the key that was sent.
    pub(super) refuses_key: bool,
}

/// Probes the three wire formats and the list of models at once. Only the list is asked for with the backend's key.
pub(super) async fn probe(backend: &Backend) -> Probe {
    let (formats, models) = tokio::join!(probe_formats(&backend.url, TIMEOUT), list(backend));
    let failure = formats.formats.iter().find_map(|(_, support)| match support {
        FormatSupport::Unknown(reason) => Some(reason.clone()),
        FormatSupport::Yes(_) | FormatSupport::No(_) => None,
    });
    let mut probe = Probe {
        supported: formats.supported_formats(),
        reachable: formats.is_reachable(),
        failure,
        ..Probe::default()
    };
    match models {
        Ok((status, _)) if matches!(status.as_u16(), 401 | 403) => probe.refuses_key = true,
        Ok((status, body)) if status.is_success() => probe.models = models_of(&body),
        Ok(_) => {}
        Err(error) => probe.failure = Some(reason(&error)),
    }
    probe
}

/// An HTTP client for the probes. Addresses of this machine never go through a proxy.
fn client(url: &str) -> reqwest::Result<reqwest::Client> {
    let builder = reqwest::Client::builder().timeout(TIMEOUT).redirect(reqwest::redirect::Policy::none());
    let host = url.parse::<http::Uri>().ok().and_then(|uri| uri.host().map(str::to_owned));
    let is_local = host.is_some_and(|host| {
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    });
    if is_local { builder.no_proxy().build() } else { builder.build() }
}

fn headers(backend: &Backend, format: WireFormat) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    apply_credentials(&mut headers, backend, format);
    headers
}

async fn list(backend: &Backend) -> reqwest::Result<(StatusCode, String)> {
    let client = client(&backend.url)?;
    let format = if backend.speaks(WireFormat::Chat) { WireFormat::Chat } else { WireFormat::Messages };
    let request = client.get(format!("{}/v1/models", backend.url)).headers(headers(backend, format));
    let answer = request.send().await?;
    Ok((answer.status(), answer.text().await?))
}

/// Names and context windows, which vLLM, LM Studio and llama.cpp report under different keys.
fn models_of(body: &str) -> Option<Vec<(String, Option<u64>)>> {
    let list: Value = serde_json::from_str(body).ok()?;
    let model = |model: &Value| {
        let window = ["/max_model_len", "/max_context_length", "/meta/n_ctx"]
            .iter()
            .find_map(|pointer| model.pointer(pointer)?.as_u64());
        Some((model["id"].as_str()?.to_owned(), window))
    };
    Some(list["data"].as_array()?.iter().filter_map(model).collect())
}

/// The innermost cause, since the outer ones repeat the URL.
fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no answer within {} s", TIMEOUT.as_secs());
    }
    innermost(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_windows_are_read_from_every_servers_key() {
        let body = r#"{"data":[{"id":"a","max_model_len":1},{"id":"b","max_context_length":2},{"id":"c","meta":{"n_ctx":3}},{"id":"d"},{"no":1}]}"#;
        let named = |name: &str, window| (name.to_owned(), window);
        let expected = vec![named("a", Some(1)), named("b", Some(2)), named("c", Some(3)), named("d", None)];
        assert_eq!(models_of(body), Some(expected));
        assert_eq!(models_of("<html>"), None);
    }
}
