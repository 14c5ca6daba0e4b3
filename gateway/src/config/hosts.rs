//! Host names of the gateway besides the machine's own, for instance behind a proxy.

use super::ConfigError;
use super::resolve::invalid;

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
                    && label
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
            };
            name.split('.').all(is_label)
        };
        let (name, any_subdomain) = match name.strip_prefix('*') {
            Some(rest) => (rest, true),
            None => (name, false),
        };
        let labels = if any_subdomain { name.strip_prefix('.')? } else { name };
        is_name(labels).then(|| HostPattern {
            name: name.to_ascii_lowercase(),
            any_subdomain,
            port,
        })
    }

    /// Whether the value of a `Host` header matches: a name, with a port unless it is the default one.
    #[must_use]
    pub fn matches(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, None),
        };
        let name = name.to_ascii_lowercase();
        let is_same = match self.any_subdomain {
            true => name.len() > self.name.len() && name.ends_with(&self.name),
            false => name == self.name,
        };
        is_same
            && self
                .port
                .is_none_or(|wanted| port.and_then(|port| port.parse().ok()) == Some(wanted))
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
        let matches = |pattern: &str, host: &str| HostPattern::parse(pattern).unwrap().matches(host);
        for host in ["muninn.example", "MUNINN.example:8443", "muninn.example:80"] {
            assert!(matches("Muninn.Example", host), "{host}");
        }
        for host in [
            "",
            "example",
            "evil-muninn.example",
            "muninn.example.evil",
            "a.muninn.example",
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
    fn other_texts_than_host_names_are_refused() {
        for written in [
            "",
            "*",
            "*.",
            "*internal",
            "a.*.b",
            "http://a",
            "a:b",
            "a/b",
            "a b",
            "a..b",
            "é.example",
        ] {
            assert_eq!(HostPattern::parse(written), None, "{written:?}");
            let error = hosts("muninn.toml", &[written.to_owned()]).unwrap_err().to_string();
            assert!(error.contains("allowed_hosts"), "{error}");
        }
    }
}
