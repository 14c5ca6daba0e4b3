//! Who may talk to a gateway: programs, and no web page.
//!
//! A page can make a browser send requests to 127.0.0.1, either from its own origin (told by `Origin`, or where a browser
//! leaves that out by `Sec-Fetch-Site`) or by letting its own host name resolve to loopback (told by `Host`). Neither is
//! a client of ours.

use http::{HeaderMap, Uri, header};

use crate::config::HostPattern;

/// Which `Host` headers are answered besides those that name this machine.
#[derive(Clone, Copy)]
pub(super) enum Hosts<'a> {
    /// Any: other machines know the address by names of their own, and a page does not know the key.
    Any,
    /// Those that the user's configuration names.
    Named(&'a [HostPattern]),
}

/// Why a request is refused, `None` for one that may pass.
#[must_use]
pub(super) fn refusal(headers: &HeaderMap, uri: &Uri, hosts: Hosts<'_>) -> Option<String> {
    if headers.get_all(header::HOST).iter().count() > 1 {
        return Some("the request has more than one Host header".to_owned());
    }
    let host = match headers.get(header::HOST) {
        Some(host) => host.to_str().ok().map(str::to_owned),
        None => uri.authority().map(ToString::to_string),
    };
    let is_named = |host: &str| match hosts {
        Hosts::Any => !host.is_empty(),
        Hosts::Named(patterns) => patterns.iter().any(|pattern| pattern.matches(host)),
    };
    match host {
        Some(host) if is_local(&host) || is_named(&host) => {}
        Some(host) => {
            return Some(format!(
                "the Host header names `{host}`, and this gateway only answers to 127.0.0.1, localhost, [::1] and the `allowed_hosts` of its configuration"
            ));
        }
        None => return Some("the request has no Host header".to_owned()),
    }
    foreign_page(headers)
}

/// Why a request is refused as a web page's.
fn foreign_page(headers: &HeaderMap) -> Option<String> {
    let mut origins = headers.get_all(header::ORIGIN).iter().peekable();
    let has_origin = origins.peek().is_some();
    let is_local_page = |origin: &http::HeaderValue| {
        let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        origin.is_some_and(|(_, host)| is_local(host))
    };
    if !origins.all(is_local_page) {
        return Some("requests from web pages of other origins are refused".to_owned());
    }
    // A browser says it of every request, also of one without an origin, as for an image.
    let mut sites = headers.get_all("sec-fetch-site").iter();
    let is_foreign = |site: &http::HeaderValue| !matches!(site.as_bytes(), b"same-origin" | b"none");
    (!has_origin && sites.any(is_foreign)).then(|| "requests from web pages of other sites are refused".to_owned())
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
        let hosts = if any_host { Hosts::Any } else { Hosts::Named(&[]) };
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static(host));
        if let Some(origin) = origin {
            headers.insert("origin", HeaderValue::from_static(origin));
        }
        refusal(&headers, &Uri::from_static("/v1/models"), hosts).is_some()
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
    fn every_origin_and_the_site_of_a_request_without_one_count() {
        let refused = |lines: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            headers.insert("host", HeaderValue::from_static("localhost"));
            for (name, value) in lines {
                headers.append(*name, HeaderValue::from_static(value));
            }
            refusal(&headers, &Uri::from_static("/v1/models"), Hosts::Named(&[])).is_some()
        };
        let (local, foreign) = (("origin", "http://localhost:3000"), ("origin", "https://evil.example"));
        assert!(refused(&[local, foreign]) && refused(&[foreign, local]) && !refused(&[local, local]));
        for site in ["cross-site", "same-site", "Cross-Site", ""] {
            assert!(refused(&[("sec-fetch-site", site)]), "{site}");
            assert!(
                !refused(&[("sec-fetch-site", site), local]),
                "a local page on another port, {site}"
            );
        }
        assert!(refused(&[("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")]));
        for site in ["none", "same-origin"] {
            assert!(!refused(&[("sec-fetch-site", site)]), "{site}");
        }
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
