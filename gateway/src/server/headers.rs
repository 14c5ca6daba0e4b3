//! Which headers travel on: all, except those that speak of one connection only and those that are meant for us.

use http::header::{self, HeaderMap, HeaderName};

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

/// Makes a backend's response headers fit for the client's connection.
pub(super) fn for_client(headers: &mut HeaderMap) {
    drop_hop_by_hop(headers);
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

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
