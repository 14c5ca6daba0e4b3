//! What a server speaks, found out without asking it to think: an empty object is no request in any wire format, so one
//! that knows a path refuses it at once, and one that does not says so.

use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::Value;

use super::PATIENCE;
use crate::backend::{Backend, apply_credentials};
use crate::wire::WireFormat;

const FORMATS: [(WireFormat, &str); 3] = [
    (WireFormat::Chat, "/v1/chat/completions"),
    (WireFormat::Messages, "/v1/messages"),
    (WireFormat::Responses, "/v1/responses"),
];

/// What a backend said.
#[derive(Debug, Default)]
pub(super) struct Probe {
    /// The formats whose paths are there.
    pub(super) spoken: Vec<WireFormat>,
    /// Its models and their windows in tokens; `None` where it did not list them.
    pub(super) models: Option<Vec<(String, Option<u64>)>>,
    /// Why a question got no answer.
    pub(super) silence: Option<String>,
    /// Whether it wants another key than it got.
    pub(super) refuses_key: bool,
}

impl Probe {
    /// Whether anything answered.
    pub(super) fn is_reachable(&self) -> bool {
        !self.spoken.is_empty() || self.models.is_some() || self.silence.is_none()
    }
}

/// Asks a backend all four questions at once, with its own key and nobody else's.
pub(super) async fn probe(backend: &Backend) -> Probe {
    let client = match client(&backend.url) {
        Ok(client) => client,
        Err(error) => {
            return Probe {
                silence: Some(error.to_string()),
                ..Probe::default()
            };
        }
    };
    let formats = FORMATS.map(|(format, path)| speaks(&client, backend, format, path));
    let (formats, models) = tokio::join!(futures_util::future::join_all(formats), list(&client, backend));
    let mut probe = Probe::default();
    for ((format, _), answer) in FORMATS.iter().zip(formats) {
        match answer {
            Ok(status) if is_refusal(status) => {
                probe.refuses_key = true;
                probe.spoken.push(*format);
            }
            Ok(status) if is_missing(status) => {}
            Ok(_) => probe.spoken.push(*format),
            Err(error) => probe.silence = Some(error),
        }
    }
    match models {
        Ok((status, _)) if is_refusal(status) => probe.refuses_key = true,
        Ok((status, body)) if status.is_success() => probe.models = models_of(&body),
        Ok(_) => {}
        Err(error) => probe.silence = Some(error),
    }
    probe
}

fn is_refusal(status: StatusCode) -> bool {
    matches!(status.as_u16(), 401 | 403)
}

fn is_missing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 404 | 405 | 501)
}

/// A client for a few questions. A proxy is never asked about this machine.
fn client(url: &str) -> reqwest::Result<reqwest::Client> {
    let builder = reqwest::Client::builder()
        .timeout(PATIENCE)
        .redirect(reqwest::redirect::Policy::none());
    let host = url
        .parse::<http::Uri>()
        .ok()
        .and_then(|uri| uri.host().map(str::to_owned));
    let is_here = host.is_some_and(|host| {
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        host == "localhost"
            || host
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    });
    if is_here {
        builder.no_proxy().build()
    } else {
        builder.build()
    }
}

fn headers(backend: &Backend, format: WireFormat) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    apply_credentials(&mut headers, backend, format);
    headers
}

async fn speaks(
    client: &reqwest::Client,
    backend: &Backend,
    format: WireFormat,
    path: &str,
) -> Result<StatusCode, String> {
    let request = client
        .post(format!("{}{path}", backend.url))
        .headers(headers(backend, format))
        .body("{}");
    let answer = request.send().await.map_err(reason)?;
    let status = answer.status();
    // LM Studio answers 200 on paths that it does not have, and says so in the body. Only a short body is looked at: a
    // server that takes an empty object for a question may go on and on.
    if status.is_success() && answer.content_length().is_some_and(|length| length < 4096) {
        let said = answer.text().await.map_err(reason)?;
        if said.contains("Unexpected endpoint or method") {
            return Ok(StatusCode::NOT_FOUND);
        }
    }
    Ok(status)
}

async fn list(client: &reqwest::Client, backend: &Backend) -> Result<(StatusCode, String), String> {
    let format = if backend.speaks(WireFormat::Chat) {
        WireFormat::Chat
    } else {
        WireFormat::Messages
    };
    let request = client
        .get(format!("{}/v1/models", backend.url))
        .headers(headers(backend, format));
    let answer = request.send().await.map_err(reason)?;
    Ok((answer.status(), answer.text().await.map_err(reason)?))
}

/// Names and windows, the latter under the names that vLLM, LM Studio and llama.cpp give them.
fn models_of(body: &str) -> Option<Vec<(String, Option<u64>)>> {
    let list: Value = serde_json::from_str(body).ok()?;
    let model = |model: &Value| {
        let window = ["/max_model_len", "/max_context_length", "/meta/n_ctx"]
            .iter()
            .find_map(|place| model.pointer(place)?.as_u64());
        Some((model["id"].as_str()?.to_owned(), window))
    };
    Some(list["data"].as_array()?.iter().filter_map(model).collect())
}

/// The innermost cause: the outer ones repeat the URL.
fn reason(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no answer within {} s", PATIENCE.as_secs());
    }
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_path_is_told_from_a_refused_body() {
        for status in [404, 405, 501] {
            assert!(is_missing(StatusCode::from_u16(status).unwrap()), "{status}");
        }
        for status in [200, 400, 401, 422, 500] {
            assert!(!is_missing(StatusCode::from_u16(status).unwrap()), "{status}");
        }
    }

    #[test]
    fn windows_are_read_under_every_servers_name_for_them() {
        let body = r#"{"data":[{"id":"a","max_model_len":1},{"id":"b","max_context_length":2},{"id":"c","meta":{"n_ctx":3}},{"id":"d"},{"no":1}]}"#;
        let named = |name: &str, window| (name.to_owned(), window);
        let expected = vec![
            named("a", Some(1)),
            named("b", Some(2)),
            named("c", Some(3)),
            named("d", None),
        ];
        assert_eq!(models_of(body), Some(expected));
        assert_eq!(models_of("<html>"), None);
    }
}
