//! Which headers travel on: all, except those that speak of one connection only and those that are meant for us.

use http::HeaderValue;
use http::header::{self, HeaderMap, HeaderName};

use crate::wire::{ANTHROPIC_VERSION, WireFormat};

/// Headers of one vendor's API, which mean nothing, or something else, to another.
const API_PREFIXES: [&str; 2] = ["anthropic-", "openai-"];

use crate::access::remove_keys;

const HOP_BY_HOP: [HeaderName; 10] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::EXPECT,
];

/// Removes what concerns one connection: the fixed names, and those that `connection` lists.
fn drop_hop_by_hop(headers: &mut HeaderMap) {
    let listed: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in HOP_BY_HOP.iter().chain(&listed) {
        headers.remove(name);
    }
}

/// The headers of a request as its backend gets them, before credentials are settled. Host and length are the
/// transport's to write; `x-muninn-` is for us alone. Access keys were taken off at the door; here they are once more, since
/// this is the last place before they would leave.
#[must_use]
pub(super) fn for_backend(client: &HeaderMap) -> HeaderMap {
    let mut headers = client.clone();
    drop_hop_by_hop(&mut headers);
    remove_keys(&mut headers);
    headers.remove(header::HOST);
    headers.remove(header::CONTENT_LENGTH);
    let ours: Vec<_> = headers
        .keys()
        .filter(|name| name.as_str().starts_with("x-muninn-"))
        .cloned()
        .collect();
    for name in ours {
        headers.remove(name);
    }
    headers
}

/// Makes a request's headers fit for a backend that speaks another format than the client: what belongs to the client's
/// own API goes, and the answer must come in a form that can be read.
pub(super) fn for_other_format(headers: &mut HeaderMap, spoken: WireFormat) {
    let foreign: Vec<HeaderName> = headers
        .keys()
        .filter(|name| API_PREFIXES.iter().any(|prefix| name.as_str().starts_with(prefix)))
        .cloned()
        .collect();
    for name in foreign {
        headers.remove(name);
    }
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if spoken == WireFormat::Messages {
        headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
    }
}

/// Makes the headers of a backend's answer fit for a body that was made anew.
pub(super) fn for_converted(headers: &mut HeaderMap) {
    for name in [
        header::CONTENT_LENGTH,
        header::CONTENT_ENCODING,
        header::TRANSFER_ENCODING,
        header::ETAG,
    ] {
        headers.remove(name);
    }
}

/// Makes a backend's response headers fit for the client's connection.
pub(super) fn for_client(headers: &mut HeaderMap) {
    drop_hop_by_hop(headers);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_else_travels() {
        let mut client = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("transfer-encoding", "chunked"),
            ("host", "h"),
            ("x-muninn-key", "secret"),
            ("X-Muninn-Project", "demo"),
            ("x-api-key", "muninn-0123456789abcdef"),
            ("anthropic-beta", "a,b"),
            ("accept-encoding", "gzip"),
        ] {
            client.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_static(value),
            );
        }
        client.append("anthropic-beta", HeaderValue::from_static("c"));
        let sent = for_backend(&client);
        let mut names: Vec<_> = sent
            .iter()
            .map(|(name, value)| format!("{name}={}", value.to_str().unwrap()))
            .collect();
        names.sort();
        assert_eq!(
            names,
            ["accept-encoding=gzip", "anthropic-beta=a,b", "anthropic-beta=c"]
        );
    }
}
