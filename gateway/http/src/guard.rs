//! Protection against web pages: only programs may use the gateway.
//!
//! A page can make a browser send requests to 127.0.0.1. It does so from its own origin, which `Origin` shows, or
//! `Sec-Fetch-Site` if the browser omits that; or it lets its host name resolve to loopback, which `Host` shows. Both are
//! refused.

use http::{HeaderMap, HeaderValue, Uri, header};
use muninn_config::{Authority, HostPattern};

/// The most characters of a refused host in an error.
const LONGEST_SHOWN: usize = 100;

/// The `Host` headers that are allowed besides those of this machine.
#[derive(Clone, Copy)]
pub(super) enum AllowedHosts<'a> {
    /// All: other machines use names of their own for the address, and a page does not know the access key.
    Any,
    /// Those of the user's configuration.
    Named(&'a [HostPattern]),
}

/// The reason for refusing a request; `None` if it may pass.
pub(super) fn refusal(headers: &HeaderMap, uri: &Uri, hosts: AllowedHosts<'_>) -> Option<String> {
    if headers.get_all(header::HOST).iter().count() > 1 {
        return Some("the request has more than one Host header".to_owned());
    }
    let named = headers.get(header::HOST).map(|host| host.to_str().unwrap_or_default());
    let Some(host) = named.or(uri.authority().map(|authority| authority.as_str())) else {
        return Some("the request has no Host header".to_owned());
    };
    let is_named = |host: &Authority<'_>| match hosts {
        AllowedHosts::Any => true,
        AllowedHosts::Named(patterns) => patterns.iter().any(|pattern| pattern.matches(host)),
    };
    let parsed = Authority::parse(host);
    let Some(parsed) = parsed.filter(|host| host.is_loopback() || is_named(host)) else {
        let shown: String = host.chars().take(LONGEST_SHOWN).collect();
        return Some(format!(
            "the Host header `{shown}` is not allowed: only 127.0.0.1, localhost, [::1] and the configuration's `allowed_hosts` are"
        ));
    };
    // A request line with a whole address names the host, too. A proxy before this server goes by that.
    let is_other = |address: &http::uri::Authority| {
        Authority::parse(address.as_str()).is_none_or(|address| !address.is_same(&parsed))
    };
    if uri.authority().is_some_and(is_other) {
        return Some("the request line names another host than the Host header".to_owned());
    }
    foreign_page(headers)
}

/// The reason for refusing a request of a web page from another origin.
fn foreign_page(headers: &HeaderMap) -> Option<String> {
    let mut origins = headers.get_all(header::ORIGIN).iter().peekable();
    let has_origin = origins.peek().is_some();
    let is_local_page = |origin: &HeaderValue| {
        let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        let host = origin.and_then(|(_, host)| Authority::parse(host));
        host.is_some_and(|host| host.is_loopback())
    };
    if !origins.all(is_local_page) {
        return Some("requests from web pages of other origins are refused".to_owned());
    }
    // A browser sends `Sec-Fetch-Site` with every request, also with those that have no `Origin`, such as for an image.
    let mut sites = headers.get_all("sec-fetch-site").iter();
    let is_foreign = |site: &HeaderValue| !matches!(site.as_bytes(), b"same-origin" | b"none");
    (!has_origin && sites.any(is_foreign)).then(|| "requests from web pages of other sites are refused".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(host: &'static str, origin: Option<&'static str>) -> bool {
        refused_by(false, host, origin)
    }

    fn refused_by(any_host: bool, host: &'static str, origin: Option<&'static str>) -> bool {
        let hosts = if any_host { AllowedHosts::Any } else { AllowedHosts::Named(&[]) };
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
    fn whole_address_of_a_request_line_names_the_same_host() {
        let refused = |address: &str, host: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.extend(host.map(|host| (header::HOST, HeaderValue::from_static(host))));
            refusal(&headers, &address.parse().unwrap(), AllowedHosts::Named(&[])).is_some()
        };
        for (address, host) in [
            ("http://localhost:4747/v1/models", Some("localhost:4747")),
            ("http://LOCALHOST:4747/v1/models", Some("localhost:4747")),
            ("http://localhost/v1/models", Some("localhost:80")),
            ("http://localhost:4747/v1/models", None),
        ] {
            assert!(!refused(address, host), "{address} {host:?}");
        }
        for (address, host) in [
            ("http://evil.example/v1/models", Some("localhost:4747")),
            ("http://localhost:4747/v1/models", Some("evil.example")),
            ("http://localhost:4748/v1/models", Some("localhost:4747")),
            ("http://127.0.0.1:4747/v1/models", Some("localhost:4747")),
            ("http://evil@localhost:4747/v1/models", Some("localhost:4747")),
            ("http://user:pass@localhost/v1/models", Some("localhost")),
            ("http://evil.example/v1/models", None),
            ("http://evil@localhost/v1/models", None),
            ("evil.example:443", Some("localhost")),
        ] {
            assert!(refused(address, host), "{address} {host:?}");
        }
        let mut twice = HeaderMap::new();
        twice.append(header::HOST, HeaderValue::from_static("localhost"));
        twice.append(header::HOST, HeaderValue::from_static("localhost"));
        assert!(refusal(&twice, &Uri::from_static("/"), AllowedHosts::Named(&[])).is_some());
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
            assert!(!refused(&[("sec-fetch-site", site), local]), "a local page on another port, {site}");
        }
        assert!(refused(&[("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")]));
        for site in ["none", "same-origin"] {
            assert!(!refused(&[("sec-fetch-site", site)]), "{site}");
        }
    }

    #[test]
    fn rebinding_and_foreign_pages_are_refused() {
        for host in [
            "127.0.0.1:4747", "localhost:4747", "LOCALHOST", "[::1]:4747", "127.0.0.1", "127.8.9.10:80",
            "[0:0:0:0:0:0:0:1]",
        ] {
            assert!(!refused(host, None), "{host}");
        }
        for host in [
            "evil.example:4747",
            "localhost.evil.example",
            "127.0.0.1.evil.example:80",
            "10.0.0.1:4747",
            "",
            "localhost:@evil",
            "localhost:80@evil",
            "127.0.0.1:@evil.example",
            "[::1]:@evil",
            "[::1]@evil",
            "user:pass@localhost",
            "evil@localhost:80",
            "localhost:abc",
            "localhost:",
            "localhost:+80",
            "localhost:99999",
            "localhost:80:80",
            "localhost.evil",
            "localhost.",
            "LOCALHOST.",
            "127.0.0.1.evil",
            "127.0.0.1.",
            "127.0.0.1/evil",
            "localhost,evil",
            "localhost evil",
            "localhost%00",
            "%6cocalhost",
            "[::1",
            "::1",
            "[::1]evil",
            "[::1%25lo]",
            "[127.0.0.1]",
            "[localhost]",
            "[::ffff:10.0.0.1]",
            "[::]",
            "0.0.0.0",
            "0",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "127.1",
            "127.0.1",
            "017700000001",
            "127.0.0.01",
        ] {
            assert!(refused(host, None), "{host}");
            let origin: &'static str = format!("http://{host}").leak();
            assert!(refused("localhost", Some(origin)), "{origin}");
        }
        assert!(refused_by(true, "muninn.internal:@evil", None) && refused_by(true, "a/b", None));
        assert!(!refused("localhost", Some("http://localhost:3000")));
        for origin in ["https://evil.example", "null", "http://127.0.0.1.evil.example"] {
            assert!(refused("localhost", Some(origin)), "{origin}");
        }
    }
}
