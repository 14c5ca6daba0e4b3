//! Protection against web pages: only programs may use the gateway.
//!
//! A page can make a browser send requests to 127.0.0.1. It does so from its own origin, which `Origin` shows, or
//! `Sec-Fetch-Site` if the browser omits that; or it lets its host name resolve to loopback, which `Host` shows. Both are
//! refused.

use http::{HeaderMap, Uri, header};

use crate::config::HostPattern;

/// The `Host` headers that are allowed besides those of this machine.
#[derive(Clone, Copy)]
pub(super) enum AllowedHosts<'a> {
    /// All: other machines use names of their own for the address, and a page does not know the access key.
    Any,
    /// Those of the user's configuration.
    Named(&'a [HostPattern]),
}

/// The reason for refusing a request; `None` if it may pass.
#[must_use]
pub(super) fn refusal(headers: &HeaderMap, uri: &Uri, hosts: AllowedHosts<'_>) -> Option<String> {
    if headers.get_all(header::HOST).iter().count() > 1 {
        return Some("the request has more than one Host header".to_owned());
    }
    let host = match headers.get(header::HOST) {
        Some(host) => host.to_str().ok().map(str::to_owned),
        None => uri.authority().map(ToString::to_string),
    };
    let is_named = |host: &str| match hosts {
        AllowedHosts::Any => !host.is_empty(),
        AllowedHosts::Named(patterns) => patterns.iter().any(|pattern| pattern.matches(host)),
    };
    match host {
        Some(host) if is_local(&host) || is_named(&host) => {}
        Some(host) => {
            return Some(format!(
                "the Host header `{host}` is not allowed: only 127.0.0.1, localhost, [::1] and the configuration's `allowed_hosts` are"
            ));
        }
        None => return Some("the request has no Host header".to_owned()),
    }
    foreign_page(headers)
}

/// The reason for refusing a request of a web page from another origin.
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
    // A browser sends `Sec-Fetch-Site` with every request, also with those that have no `Origin`, such as for an image.
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
        let hosts = if any_host {
            AllowedHosts::Any
        } else {
            AllowedHosts::Named(&[])
        };
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static(host));
        if let Some(origin) = origin {
            headers.insert("origin", HeaderValue::from_static(origin));
        }
        refusal(&headers, &Uri::from_static("/v1/models"), hosts).is_some()
    }

    #[test]
    fn any_host_passes_if_allowed_and_web_pages_never_pass() {
        assert!(!refused_by(true, "muninn.internal:4747", None));
        assert!(!refused_by(true, "10.0.0.1:4747", None));
        assert!(refused_by(true, "", None));
        assert!(refused_by(true, "muninn.internal", Some("https://evil.example")));
        assert!(refused_by(true, "muninn.internal", Some("http://muninn.internal")));
    }

    #[test]
    fn each_origin_is_checked_and_the_site_if_there_is_none() {
        let refused = |lines: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            headers.insert("host", HeaderValue::from_static("localhost"));
            for (name, value) in lines {
                headers.append(*name, HeaderValue::from_static(value));
            }
            refusal(&headers, &Uri::from_static("/v1/models"), AllowedHosts::Named(&[])).is_some()
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
