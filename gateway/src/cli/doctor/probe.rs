//! Probes of a backend: the wire formats that it supports, and its models.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode};
use muninn_backend::{Backend, FormatSupport, apply_credentials, innermost, probe_formats};
use muninn_wire::convert::{AnswerContext, AnswerConverter, OpeningReader, without_end};
use muninn_wire::{WireFormat, failure};
use serde_json::{Value, json};
use thiserror::Error;

use super::TIMEOUT;

const OPENAI: &str = "https://api.openai.com";
/// The time for a model's answer: it may have to be loaded first.
const PATIENCE: Duration = Duration::from_secs(60);

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
    /// Whether it answers each of the formats with a failure of its own.
    pub(super) fails: bool,
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
    let statuses = formats.formats.iter().filter_map(|(_, support)| match support {
        FormatSupport::Yes(status) => Some(*status),
        FormatSupport::No(_) | FormatSupport::Unknown(_) => None,
    });
    let statuses: Vec<u16> = statuses.collect();
    let mut probe = Probe {
        fails: !statuses.is_empty() && statuses.iter().all(|status| *status >= 500),
        supported: formats.supported_formats(),
        reachable: formats.is_reachable(),
        failure,
        ..Probe::default()
    };
    match models {
        Ok((status, _)) if matches!(status.as_u16(), 401 | 403) => probe.refuses_key = true,
        Ok((status, body)) if status.is_success() => probe.models = models_of(&body),
        Ok(_) => {}
        Err(error) => probe.failure = Some(reason(&error, TIMEOUT)),
    }
    probe
}

/// An HTTP client for the probes. Addresses of this machine never go through a proxy.
fn client(url: &str, timeout: Duration) -> reqwest::Result<reqwest::Client> {
    let builder = reqwest::Client::builder().timeout(timeout).redirect(reqwest::redirect::Policy::none());
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
    let client = client(&backend.url.base, TIMEOUT)?;
    let format = if backend.speaks(WireFormat::Chat) { WireFormat::Chat } else { WireFormat::Messages };
    let request = client.get(backend.url.of("/v1/models")).headers(headers(backend, format));
    let answer = request.send().await?;
    Ok((answer.status(), answer.text().await?))
}

/// The reason why a backend gave no answer to a request for one token.
#[derive(Debug, Error)]
pub(super) enum NoAnswer {
    #[error("{address}: {reason}")]
    Unreached { address: String, reason: String },
    #[error("{address} answered {status}: {message}")]
    Refused { address: String, status: StatusCode, message: String },
}

/// Asks a model for one token. Returns the address that was asked.
///
/// # Errors
/// [`NoAnswer`] with what happened instead.
pub(super) async fn ask(backend: &Backend, model: &str) -> Result<String, NoAnswer> {
    // OpenAI's newer models refuse `max_tokens`.
    let preferred = if backend.url.base == OPENAI { WireFormat::Responses } else { WireFormat::Chat };
    let format = backend.format_for(preferred);
    let address = backend.url.of(format.path());
    let body = match format {
        WireFormat::Responses => json!({"model": model, "input": "ping", "max_output_tokens": 16, "store": false}),
        _ => json!({"model": model, "max_tokens": 1, "messages": [{"role": "user", "content": "ping"}]}),
    };
    let request =
        |client: reqwest::Client| client.post(&address).headers(headers(backend, format)).body(body.to_string());
    let exchanged = async {
        let answer = request(client(&address, PATIENCE)?).send().await?;
        Ok((answer.status(), answer.bytes().await?))
    };
    let (status, bytes) = match exchanged.await {
        Ok(answer) => answer,
        Err(error) => return Err(NoAnswer::Unreached { reason: reason(&error, PATIENCE), address }),
    };
    let text = String::from_utf8_lossy(&bytes);
    let failure = if status.is_success() {
        let mut reader = OpeningReader::default();
        let opening = reader.push(&bytes).unwrap_or_else(|| reader.end());
        let read = || AnswerConverter::new(format, format, AnswerContext::default()).whole(without_end(&text)).err();
        opening.failure.or_else(read)
    } else {
        Some(failure::read(status, &text))
    };
    match failure {
        Some(failure) => Err(NoAnswer::Refused { address, status, message: failure.message }),
        None => Ok(address),
    }
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
fn reason(error: &reqwest::Error, timeout: Duration) -> String {
    if error.is_timeout() {
        return format!("no answer within {} s", timeout.as_secs());
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
