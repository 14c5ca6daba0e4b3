//! Probing the wire formats of a server without generating text. The probe sends an empty object, which is invalid in
//! every wire format. A server that knows the path refuses the body at once; another one reports the missing path.

use std::time::Duration;

use http::StatusCode;
use muninn_config::Address;
use muninn_wire::{ANTHROPIC_VERSION, WireFormat};
use serde::Serialize;

use super::send_error::innermost;
use super::transport::is_loopback;

/// The bytes of an answer that are searched for an error.
const SEARCHED_BYTES: usize = 4 << 10;

/// A server's answers on the paths of the three wire formats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Probe {
    /// The base address.
    pub url: String,
    pub formats: [(WireFormat, FormatSupport); 3],
}

/// Whether a server supports one wire format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FormatSupport {
    /// The path exists. Holds the status of the refusal, often 400, or 401 without a key.
    Yes(u16),
    /// The path does not exist. Holds the status.
    No(u16),
    /// No answer came. Holds the reason.
    Unknown(String),
}

impl Probe {
    /// Returns the formats whose paths exist.
    pub fn supported_formats(&self) -> Vec<WireFormat> {
        let supported = self.formats.iter().filter(|(_, support)| matches!(support, FormatSupport::Yes(_)));
        supported.map(|(format, _)| *format).collect()
    }

    /// Whether every path got an answer.
    pub fn is_complete(&self) -> bool {
        self.formats.iter().all(|(_, support)| !matches!(support, FormatSupport::Unknown(_)))
    }

    /// Whether at least one path got an answer.
    pub fn is_reachable(&self) -> bool {
        self.formats.iter().any(|(_, support)| !matches!(support, FormatSupport::Unknown(_)))
    }
}

/// Probes the three wire formats of a server. Each probe ends after `timeout`.
/// No credential is sent: a server that needs one answers 401 on the paths that it has.
pub async fn probe_formats(url: &Address, timeout: Duration) -> Probe {
    let client = client(&url.base, timeout);
    let probe = async |format: WireFormat| match &client {
        Ok(client) => probe_format(client, &url.of(format.path())).await,
        Err(error) => FormatSupport::Unknown(innermost(error)),
    };
    let (chat, messages, responses) =
        tokio::join!(probe(WireFormat::Chat), probe(WireFormat::Messages), probe(WireFormat::Responses));
    Probe {
        url: url.to_string(),
        formats: [(WireFormat::Chat, chat), (WireFormat::Messages, messages), (WireFormat::Responses, responses)],
    }
}

/// Builds a client for a few requests. It uses no proxy for loopback addresses.
pub(super) fn client(url: &str, timeout: Duration) -> reqwest::Result<reqwest::Client> {
    let mut builder = reqwest::Client::builder().timeout(timeout).redirect(reqwest::redirect::Policy::none());
    if url.parse().is_ok_and(|uri: http::Uri| uri.host().is_some_and(is_loopback)) {
        builder = builder.no_proxy().tls_certs_only([]);
    }
    builder.build()
}

async fn probe_format(client: &reqwest::Client, url: &str) -> FormatSupport {
    let request = client
        .post(url)
        .header("content-type", "application/json")
        .header("anthropic-version", ANTHROPIC_VERSION)
        .body("{}");
    let mut answer = match request.send().await {
        Ok(answer) => answer,
        Err(error) => return FormatSupport::Unknown(innermost(&error)),
    };
    let status = answer.status();
    let location = answer.headers().get("location").and_then(|to| to.to_str().ok()).map(str::to_owned);
    let mut start = Vec::new();
    while start.len() < SEARCHED_BYTES
        && let Ok(Some(chunk)) = answer.chunk().await
    {
        start.extend_from_slice(&chunk);
    }
    support(status, location.as_deref(), &String::from_utf8_lossy(&start))
}

/// Derives the support from the status and the start of the body. LM Studio answers 200 on missing paths, with an error
/// in the body. A page and a redirect do not tell that there is a model server.
fn support(status: StatusCode, location: Option<&str>, start: &str) -> FormatSupport {
    let is_missing = matches!(status.as_u16(), 404 | 405 | 501)
        || (status.is_success() && start.contains("Unexpected endpoint or method"));
    let start = start.trim_start();
    let is_answer = ["{", "[", "data:", "event:"].iter().any(|begin| start.starts_with(begin));
    // A server that wants a key may say so with a page.
    let is_page = (start.starts_with('<') || status.is_success()) && !matches!(status.as_u16(), 401 | 403);
    match () {
        () if is_missing => FormatSupport::No(status.as_u16()),
        () if status.is_redirection() => {
            FormatSupport::Unknown(format!("it redirects to {}", location.unwrap_or("another address")))
        }
        () if !is_answer && is_page => FormatSupport::Unknown(format!("it answers {status}, and no JSON")),
        () => FormatSupport::Yes(status.as_u16()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_path_differs_from_a_refused_body() {
        for (status, body, is_supported) in [
            (400, "", true),
            (401, "", true),
            (422, "", true),
            (401, "<html>", true),
            (500, "", true),
            (500, "{\"error\":{}}", true),
            (200, "{\"choices\":[]}", true),
            (404, "", false),
            (405, "", false),
            (501, "", false),
            (200, "{\"error\":\"Unexpected endpoint or method. (POST /v1/messages)\"}", false),
        ] {
            let expected = if is_supported { FormatSupport::Yes(status) } else { FormatSupport::No(status) };
            assert_eq!(support(StatusCode::from_u16(status).unwrap(), None, body), expected, "{status} {body}");
        }
        for (status, location, body, reason) in [
            (200, None, "<!doctype html><title>Sign in", "it answers 200 OK, and no JSON"),
            (200, None, "", "it answers 200 OK, and no JSON"),
            (500, None, "<html>", "it answers 500 Internal Server Error, and no JSON"),
            (302, Some("https://sso.example/"), "", "it redirects to https://sso.example/"),
            (301, None, "{}", "it redirects to another address"),
        ] {
            let support = support(StatusCode::from_u16(status).unwrap(), location, body);
            assert_eq!(support, FormatSupport::Unknown(reason.to_owned()), "{status} {body}");
        }
    }
}
