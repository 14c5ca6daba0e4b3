//! Who may talk to a gateway: programs, and no web page.
//!
//! A page can make a browser send requests to 127.0.0.1, either from its own origin (told by `Origin`) or by letting its
//! own host name resolve to loopback (told by `Host`). Neither is a client of ours.

use http::{HeaderMap, Uri, header};

/// Why a request is refused, `None` for one that may pass. `any_host` is for addresses that other machines know by names
/// of their own.
#[must_use]
pub(super) fn refusal(headers: &HeaderMap, uri: &Uri, any_host: bool) -> Option<String> {
    if headers.get_all(header::HOST).iter().count() > 1 {
        return Some("the request has more than one Host header".to_owned());
    }
    let host = match headers.get(header::HOST) {
        Some(host) => host.to_str().ok().map(str::to_owned),
        None => uri.authority().map(ToString::to_string),
    };
    match host {
        Some(host) if is_local(&host) || (any_host && !host.is_empty()) => {}
        Some(host) => {
            return Some(format!(
                "the Host header names `{host}`, and this gateway only answers to 127.0.0.1, localhost and [::1]"
            ));
        }
        None => return Some("the request has no Host header".to_owned()),
    }
    let origin = headers.get(header::ORIGIN)?;
    let local = origin
        .to_str()
        .ok()
        .and_then(|origin| origin.split_once("://"))
        .is_some_and(|(_, host)| is_local(host));
    (!local).then(|| "requests from web pages of other origins are refused".to_owned())
}

/// Whether `host`, with or without a port, is this machine by name or address.
fn is_local(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or(rest, |(name, _)| name),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn refused(host: &'static str, origin: Option<&'static str>) -> bool {
        refused_by(false, host, origin)
    }

    fn refused_by(any_host: bool, host: &'static str, origin: Option<&'static str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static(host));
        if let Some(origin) = origin {
            headers.insert("origin", HeaderValue::from_static(origin));
        }
        refusal(&headers, &Uri::from_static("/v1/models"), any_host).is_some()
    }

    #[test]
    fn other_names_pass_where_they_are_expected_and_pages_never_do() {
        assert!(!refused_by(true, "muninn.internal:4747", None));
        assert!(!refused_by(true, "10.0.0.1:4747", None));
        assert!(refused_by(true, "", None));
        assert!(refused_by(true, "muninn.internal", Some("https://evil.example")));
        assert!(refused_by(true, "muninn.internal", Some("http://muninn.internal")));
    }

    #[test]
    fn rebinding_and_foreign_pages_are_refused() {
        for host in [
            "127.0.0.1:4747",
            "localhost:4747",
            "LOCALHOST",
            "[::1]:4747",
            "127.0.0.1",
        ] {
            assert!(!refused(host, None), "{host}");
        }
        for host in [
            "evil.example:4747",
            "localhost.evil.example",
            "127.0.0.1.evil.example:80",
            "10.0.0.1:4747",
            "",
        ] {
            assert!(refused(host, None), "{host}");
        }
        assert!(!refused("localhost", Some("http://localhost:3000")));
        for origin in ["https://evil.example", "null", "http://127.0.0.1.evil.example"] {
            assert!(refused("localhost", Some(origin)), "{origin}");
        }
    }
}
