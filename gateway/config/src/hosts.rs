//! Host names of the gateway besides the machine's own, for instance behind a proxy.

use std::net::{IpAddr, Ipv6Addr};

use super::ConfigError;
use super::invalid::invalid;

/// The value of a `Host` header: exactly a name or an address, and a port unless it is the default one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Authority<'a> {
    /// A name, an IPv4 address, or an IPv6 address in brackets.
    pub name: &'a str,
    /// The port, if it is written.
    pub port: Option<u16>,
}

impl<'a> Authority<'a> {
    /// Parses a value. User information, escapes, an empty port and everything else around it make it `None`: servers
    /// disagree about the host that such a value names.
    pub fn parse(text: &'a str) -> Option<Authority<'a>> {
        let end = match text.strip_prefix('[') {
            Some(rest) => rest.find(']')? + 2,
            None => text.find(':').unwrap_or(text.len()),
        };
        let (name, port) = text.split_at(end);
        let port = match port.strip_prefix(':') {
            // `parse` would accept a sign.
            Some(digits) if digits.bytes().all(|digit| digit.is_ascii_digit()) => Some(digits.parse().ok()?),
            Some(_) => return None,
            None if port.is_empty() => None,
            None => return None,
        };
        let is_valid = match name.strip_prefix('[') {
            Some(address) => address.strip_suffix(']')?.parse::<Ipv6Addr>().is_ok(),
            None => !name.is_empty() && name.bytes().all(is_name_byte),
        };
        is_valid.then_some(Authority { name, port })
    }

    /// Whether it names this machine by name or loopback address. Short, decimal and hexadecimal forms of addresses do not
    /// count, because not every program reads them.
    pub fn is_loopback(&self) -> bool {
        let address = self.name.trim_start_matches('[').trim_end_matches(']');
        self.name.eq_ignore_ascii_case("localhost")
            || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// Whether both name the same host and port of an HTTP server.
    pub fn is_same(&self, other: &Authority<'_>) -> bool {
        let port = |authority: &Authority<'_>| authority.port.unwrap_or(80);
        self.name.eq_ignore_ascii_case(other.name) && port(self) == port(other)
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

/// A name of [`allowed_hosts`](super::Config::allowed_hosts): `muninn.example`, `*.internal`, or either with a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    /// In lower case. With `any_subdomain`, the text after the `*`, including its dot.
    name: String,
    any_subdomain: bool,
    /// If absent, any port matches.
    port: Option<u16>,
}

impl HostPattern {
    fn parse(written: &str) -> Option<HostPattern> {
        let (name, port) = match written.rsplit_once(':') {
            Some((name, port)) => (name, Some(port.parse().ok()?)),
            None => (written, None),
        };
        let is_name = |name: &str| {
            let is_label = |label: &str| {
                !label.is_empty()
                    && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
            };
            name.split('.').all(is_label)
        };
        let (name, any_subdomain) = match name.strip_prefix('*') {
            Some(rest) => (rest, true),
            None => (name, false),
        };
        let labels = if any_subdomain { name.strip_prefix('.')? } else { name };
        is_name(labels).then(|| HostPattern { name: name.to_ascii_lowercase(), any_subdomain, port })
    }

    /// Whether a host matches.
    pub fn matches(&self, host: &Authority<'_>) -> bool {
        let name = host.name.to_ascii_lowercase();
        let is_same = if self.any_subdomain {
            name.len() > self.name.len() && name.ends_with(&self.name)
        } else {
            name == self.name
        };
        is_same && self.port.is_none_or(|wanted| host.port == Some(wanted))
    }
}

pub(super) fn hosts(origin: &str, written: &[String]) -> Result<Vec<HostPattern>, ConfigError> {
    let parse = |written: &String| {
        HostPattern::parse(written).ok_or_else(|| {
            let message = format!(
                "`{written}` is not a host name; write for instance `muninn.example`, `muninn.example:8443` or `*.internal`"
            );
            invalid(origin, "allowed_hosts", message)
        })
    };
    written.iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_whole_labels_and_its_port() {
        let matches = |pattern: &str, host: &str| {
            let host = Authority::parse(host);
            host.is_some_and(|host| HostPattern::parse(pattern).unwrap().matches(&host))
        };
        for host in ["muninn.example", "MUNINN.example:8443", "muninn.example:80"] {
            assert!(matches("Muninn.Example", host), "{host}");
        }
        for host in [
            "", "example", "evil-muninn.example", "muninn.example.evil", "a.muninn.example", "muninn.example:@evil",
            "muninn.example:80@evil", "muninn.example:", "muninn.example:x", "evil@muninn.example", "muninn.example/",
        ] {
            assert!(!matches("muninn.example", host), "{host}");
        }
        assert!(matches("muninn.example:8443", "muninn.example:8443"));
        assert!(!matches("muninn.example:8443", "muninn.example"));
        assert!(matches("*.internal", "a.b.internal:1"));
        for host in ["internal", ".internal", "a.internal.evil", "ainternal"] {
            assert!(!matches("*.internal", host), "{host}");
        }
    }

    #[test]
    fn authority_is_exactly_a_host_and_a_port() {
        for (text, name, port) in [
            ("localhost", "localhost", None),
            ("a_b-c.example:0", "a_b-c.example", Some(0)),
            ("127.0.0.1:65535", "127.0.0.1", Some(65_535)),
            ("[::1]", "[::1]", None),
            ("[::1]:80", "[::1]", Some(80)),
        ] {
            assert_eq!(Authority::parse(text), Some(Authority { name, port }), "{text}");
        }
        for text in [
            "", ":", ":80", "a:", "a:+80", "a:80:80", "a:65536", "a:8o", "a:٣", "a:80 ", " a", "a b", "a,b", "a;b",
            "a/b", "a?b", "a#b", "a\\b", "a@b", "a:@b", "a:80@b", "@a", "user:x@a:80", "a%00", "%6c", "a\u{0}", "é",
            "[::1", "::1", "[::1]a", "[::1]:", "[::1]80", "[[::1]]", "[::1%25lo]", "[::1%lo]", "[127.0.0.1]",
            "[localhost]", "[]", "]", "a]",
        ] {
            assert_eq!(Authority::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn other_texts_than_host_names_are_refused() {
        for written in ["", "*", "*.", "*internal", "a.*.b", "http://a", "a:b", "a/b", "a b", "a..b", "é.example"] {
            assert_eq!(HostPattern::parse(written), None, "{written:?}");
            let error = hosts("muninn.toml", &[written.to_owned()]).unwrap_err().to_string();
            assert!(error.contains("allowed_hosts"), "{error}");
        }
    }
}
