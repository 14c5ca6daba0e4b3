//! What a server speaks, found out without asking it to think: an empty object is no request in any wire format, so a
//! server that knows the path refuses it at once, and one that does not says so.

use std::time::Duration;

use http::StatusCode;
use serde::Serialize;

use super::transport::{innermost, is_loopback};
use crate::wire::{ANTHROPIC_VERSION, WireFormat};

/// Enough of an answer to recognise an error in it.
const LOOKED_AT: usize = 4 << 10;

/// What a server said on the three paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Probe {
    /// The base address.
    pub url: String,
    /// Each wire format, and what came of asking for it.
    pub formats: [(WireFormat, FormatSupport); 3],
}

/// What came of asking for one wire format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FormatSupport {
    /// The path is there; the status with which it refused, often 400 or, without a key, 401.
    Yes(u16),
    /// The path is not there.
    No(u16),
    /// No answer came, for this reason.
    Unknown(String),
}

impl Probe {
    /// The formats that it certainly speaks.
    #[must_use]
    pub fn probe_format(&self) -> Vec<WireFormat> {
        let probe_format = self
            .formats
            .iter()
            .filter(|(_, probe_format)| matches!(probe_format, FormatSupport::Yes(_)));
        probe_format.map(|(format, _)| *format).collect()
    }

    /// Whether every path got an answer.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.formats
            .iter()
            .all(|(_, probe_format)| !matches!(probe_format, FormatSupport::Unknown(_)))
    }

    /// Whether anything answered at all.
    #[must_use]
    pub fn is_reachable(&self) -> bool {
        self.formats
            .iter()
            .any(|(_, probe_format)| !matches!(probe_format, FormatSupport::Unknown(_)))
    }
}

/// Asks a server, by its base address without `/v1`, which wire formats it speaks. Takes `patience` at most. Sends no
/// credential: a server that wants one says so on the paths that it has.
pub async fn probe_formats(url: &str, patience: Duration) -> Probe {
    let client = client(url, patience);
    let ask = async |format: WireFormat| match &client {
        Ok(client) => ask(client, url, format).await,
        Err(error) => FormatSupport::Unknown(innermost(error)),
    };
    let (chat, messages, responses) = tokio::join!(
        ask(WireFormat::Chat),
        ask(WireFormat::Messages),
        ask(WireFormat::Responses)
    );
    Probe {
        url: url.to_owned(),
        formats: [
            (WireFormat::Chat, chat),
            (WireFormat::Messages, messages),
            (WireFormat::Responses, responses),
        ],
    }
}

/// A client for a few questions; a proxy is never asked about this machine.
pub(super) fn client(url: &str, patience: Duration) -> reqwest::Result<reqwest::Client> {
    let mut builder = reqwest::Client::builder()
        .timeout(patience)
        .redirect(reqwest::redirect::Policy::none());
    if url
        .parse()
        .is_ok_and(|uri: http::Uri| uri.host().is_some_and(is_loopback))
    {
        builder = builder.no_proxy().tls_certs_only([]);
    }
    builder.build()
}

async fn ask(client: &reqwest::Client, url: &str, format: WireFormat) -> FormatSupport {
    let request = client
        .post(format!("{url}{}", format.path()))
        .header("content-type", "application/json")
        .header("anthropic-version", ANTHROPIC_VERSION)
        .body("{}");
    let mut answer = match request.send().await {
        Ok(answer) => answer,
        Err(error) => return FormatSupport::Unknown(innermost(&error)),
    };
    let status = answer.status();
    let mut start = Vec::new();
    if status.is_success() {
        while start.len() < LOOKED_AT
            && let Ok(Some(chunk)) = answer.chunk().await
        {
            start.extend_from_slice(&chunk);
        }
    }
    judged(status, &String::from_utf8_lossy(&start))
}

/// What a status says about a path; LM Studio answers 200 on paths that it does not have, and says so in the body.
fn judged(status: StatusCode, start: &str) -> FormatSupport {
    let is_missing = matches!(status.as_u16(), 404 | 405 | 501)
        || (status.is_success() && start.contains("Unexpected endpoint or method"));
    if is_missing {
        FormatSupport::No(status.as_u16())
    } else {
        FormatSupport::Yes(status.as_u16())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_path_is_told_from_a_refused_body() {
        for (status, body, probe_format) in [
            (400, "", true),
            (401, "", true),
            (422, "", true),
            (500, "", true),
            (200, "{\"choices\":[]}", true),
            (404, "", false),
            (405, "", false),
            (501, "", false),
            (
                200,
                "{\"error\":\"Unexpected endpoint or method. (POST /v1/messages)\"}",
                false,
            ),
        ] {
            let expected = if probe_format {
                FormatSupport::Yes(status)
            } else {
                FormatSupport::No(status)
            };
            assert_eq!(
                judged(StatusCode::from_u16(status).unwrap(), body),
                expected,
                "{status} {body}"
            );
        }
    }
}
