//! Finding the access key in a request's headers, and removing it.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use crate::secrets::PREFIX;

/// Muninn's own header. Another header may then hold the client's credential for a vendor.
const OWN: HeaderName = HeaderName::from_static("x-muninn-key");
const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
/// The number of letters and digits after the prefix from which a text counts as a key or a part of one, not a word.
const KEY_LIKE: usize = 16;

/// Returns the access key of a request: the first of `x-muninn-key`, a bearer token and `x-api-key`. The latter two
/// count only with the prefix of an access key.
pub(super) fn presented(headers: &HeaderMap) -> Option<&str> {
    if let Some(own) = headers.get(OWN) {
        return Some(own.to_str().unwrap_or_default().trim());
    }
    let bearer = headers.get(AUTHORIZATION).and_then(bearer);
    let api_key = headers.get(X_API_KEY).and_then(|value| value.to_str().ok());
    let mut candidates = [bearer, api_key].into_iter().flatten().map(str::trim);
    candidates.find(|candidate| candidate.starts_with(PREFIX))
}

fn bearer(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

/// Removes every header that holds an access key or a part of one, whatever the header's name. Invalid keys are removed
/// too: no backend needs one, and a key that is invalid here may be valid for another gateway.
pub fn remove_keys(headers: &mut HeaderMap) {
    let carries = |(name, value): (&HeaderName, &HeaderValue)| {
        let is_credential = [OWN, AUTHORIZATION, X_API_KEY].contains(name);
        let length = if is_credential { 1 } else { KEY_LIKE };
        let in_basic = || *name == AUTHORIZATION && basic(value).is_some_and(|text| has_key(&text, length));
        (*name == OWN || has_key(value.as_bytes(), length) || in_basic()).then(|| name.clone())
    };
    let names: Vec<_> = headers.iter().filter_map(carries).collect();
    for name in names {
        headers.remove(name);
    }
}

/// Whether a request's path or query contains an access key. Proxies log addresses, so such a key would leak.
#[must_use]
pub fn contains_key(uri: &http::Uri) -> bool {
    uri.path_and_query()
        .is_some_and(|target| has_key(target.as_str().as_bytes(), KEY_LIKE))
}

/// Decodes a `Basic` credential.
fn basic(value: &HeaderValue) -> Option<Vec<u8>> {
    let (scheme, encoded) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("basic").then_some(())?;
    BASE64_STANDARD.decode(encoded.trim()).ok()
}

/// Whether a value contains the prefix of access keys, in any case, followed by `length` letters and digits.
fn has_key(value: &[u8], length: usize) -> bool {
    memchr::memchr2_iter(b'm', b'M', value).any(|at| {
        let Some((start, rest)) = value[at..].split_at_checked(PREFIX.len()) else {
            return false;
        };
        start.eq_ignore_ascii_case(PREFIX.as_bytes())
            && rest.len() >= length
            && rest[..length].iter().all(u8::is_ascii_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(pairs: &[(&'static str, &str)]) -> Vec<String> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        remove_keys(&mut headers);
        headers.keys().map(ToString::to_string).collect()
    }

    #[test]
    fn a_key_is_removed_from_every_header() {
        let whole = format!("muninn-{}", "0123456789abcdef".repeat(4));
        for value in [
            whole.clone(),
            format!("Bearer {whole}"),
            format!("Token token=\"{whole}\""),
            format!("a=b; key={whole}; c=d"),
            whole.to_uppercase(),
            whole[..30].to_owned(),
        ] {
            for name in ["authorization", "x-api-key", "api-key", "cookie", "x-anything"] {
                assert!(left(&[(name, &value)]).is_empty(), "{name}: {value}");
            }
        }
        let basic = format!("Basic {}", BASE64_STANDARD.encode(format!("ana:{whole}")));
        assert!(left(&[("authorization", &basic)]).is_empty());
        assert!(left(&[("x-muninn-key", "anything")]).is_empty());
        assert!(left(&[("authorization", "Bearer muninn-x")]).is_empty());
        assert!(
            left(&[("x-other", "a"), ("x-other", &whole)]).is_empty(),
            "a second value counts too"
        );
    }

    #[test]
    fn headers_without_a_key_are_kept() {
        let kept = [
            ("authorization", "Bearer sk-ant-0000"),
            ("authorization", "Basic YTpi"),
            ("x-api-key", "sk-0000"),
            ("user-agent", "muninn-tests/1.0 (muninn-gateway)"),
            ("x-muninn-repo", "/srv/muninn-code"),
        ];
        for pair in kept {
            assert_eq!(left(&[pair]), [pair.0]);
        }
    }
}
