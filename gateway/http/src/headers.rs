//! The headers that are forwarded: all except hop-by-hop headers and Muninn's own.

use http::header::{self, HeaderMap, HeaderName};
use http::{HeaderValue, Version, response};
use muninn_backend::access::remove_keys;
use muninn_wire::{ANTHROPIC_VERSION, WireFormat};

/// Prefixes of headers that belong to one vendor's API.
const API_PREFIXES: [&str; 2] = ["anthropic-", "openai-"];

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

/// Removes the hop-by-hop headers: the fixed names, and those that `connection` lists.
pub(super) fn drop_hop_by_hop(headers: &mut HeaderMap) {
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

/// The headers of a request for its backend, before credentials are added. The transport writes host and length; headers
/// with the prefix `x-muninn-` are Muninn's own. Admission removed access keys already; they are removed again because this
/// is the last step before the network.
pub(super) fn for_backend(client: &HeaderMap) -> HeaderMap {
    let mut headers = client.clone();
    drop_hop_by_hop(&mut headers);
    remove_keys(&mut headers);
    headers.remove(header::HOST);
    headers.remove(header::CONTENT_LENGTH);
    let ours: Vec<_> = headers.keys().filter(|name| name.as_str().starts_with("x-muninn-")).cloned().collect();
    for name in ours {
        headers.remove(name);
    }
    headers
}

/// Asks for an answer without a content coding, because the gateway reads it.
pub(super) fn ask_for_identity(headers: &mut HeaderMap) {
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
}

/// Adapts a request's headers to a backend that speaks another format: headers of the client's own API are removed.
pub(super) fn for_other_format(headers: &mut HeaderMap, spoken: WireFormat) {
    let foreign: Vec<HeaderName> = headers
        .keys()
        .filter(|name| API_PREFIXES.iter().any(|prefix| name.as_str().starts_with(prefix)))
        .cloned()
        .collect();
    for name in foreign {
        headers.remove(name);
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if spoken == WireFormat::Messages {
        headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
    }
}

/// Adapts the headers of a backend's answer to a rewritten body.
pub(super) fn for_converted(headers: &mut HeaderMap) {
    for name in [header::CONTENT_LENGTH, header::CONTENT_ENCODING, header::TRANSFER_ENCODING, header::ETAG] {
        headers.remove(name);
    }
}

/// Adapts a backend's response headers to the client's connection. With a transfer coding, `content-length` is invalid and
/// removed (RFC 9112, 6.3).
pub(super) fn for_client(headers: &mut HeaderMap) {
    if headers.contains_key(header::TRANSFER_ENCODING) {
        headers.remove(header::CONTENT_LENGTH);
    }
    drop_hop_by_hop(headers);
}

/// Whether the framing marks the end of a response's body; otherwise only the end of the connection does.
pub(super) fn is_framed(head: &response::Parts) -> bool {
    let codings = head.headers.get_all(header::TRANSFER_ENCODING);
    match codings.iter().next_back() {
        Some(codings) => codings.as_bytes().to_ascii_lowercase().ends_with(b"chunked"),
        None => head.version > Version::HTTP_11 || head.headers.contains_key(header::CONTENT_LENGTH),
    }
}

pub(super) fn is_events(headers: &HeaderMap) -> bool {
    content_type_is(headers, "text/event-stream")
}

pub(super) fn is_json(headers: &HeaderMap) -> bool {
    content_type_is(headers, "application/json")
}

fn content_type_is(headers: &HeaderMap, name: &str) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.is_some_and(|value| value.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_beside_a_transfer_coding_does_not_reach_the_client() {
        let answer = |headers: &[(&'static str, &'static str)]| {
            let mut head = http::Response::new(()).into_parts().0;
            for (name, value) in headers {
                head.headers.append(*name, HeaderValue::from_static(value));
            }
            let framed = is_framed(&head);
            for_client(&mut head.headers);
            (framed, head.headers.contains_key("content-length"), head.headers.contains_key("transfer-encoding"))
        };
        let (chunked, length) = (("transfer-encoding", "gzip, Chunked"), ("content-length", "3"));
        assert_eq!(answer(&[length]), (true, true, false));
        assert_eq!(answer(&[chunked]), (true, false, false));
        assert_eq!(answer(&[chunked, length]), (true, false, false));
        assert_eq!(answer(&[("transfer-encoding", "gzip"), length]), (false, false, false));
        assert_eq!(answer(&[]), (false, false, false));
    }

    #[test]
    fn other_headers_are_forwarded() {
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
            client.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_static(value));
        }
        client.append("anthropic-beta", HeaderValue::from_static("c"));
        let sent = for_backend(&client);
        let mut names: Vec<_> =
            sent.iter().map(|(name, value)| format!("{name}={}", value.to_str().unwrap())).collect();
        names.sort();
        assert_eq!(names, ["accept-encoding=gzip", "anthropic-beta=a,b", "anthropic-beta=c"]);
    }
}
