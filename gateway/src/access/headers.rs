//! Where a request carries its key, and taking it off.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use crate::secrets::PREFIX;

/// The header that is ours alone; a client's credential for a vendor may stand in the others beside it.
const OWN: HeaderName = HeaderName::from_static("x-muninn-key");
const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
/// This many letters and digits after the prefix are no longer a word, but a key or a piece of one.
const TELLING: usize = 16;

/// What the request presents as its key: the first of `x-muninn-key`, a bearer token and `x-api-key`; the latter two only
/// where they begin as our keys do.
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

/// Takes every header away that carries one of our keys, whole or in part, right or wrong, whatever the header's name:
/// no backend has any use for it, and one that is wrong here may be right elsewhere.
pub fn remove_keys(headers: &mut HeaderMap) {
    let carries = |(name, value): (&HeaderName, &HeaderValue)| {
        let credential = [OWN, AUTHORIZATION, X_API_KEY].contains(name);
        let telling = if credential { 1 } else { TELLING };
        let hidden = || *name == AUTHORIZATION && basic(value).is_some_and(|text| has_key(&text, telling));
        (*name == OWN || has_key(value.as_bytes(), telling) || hidden()).then(|| name.clone())
    };
    // Nearly always there is one or none.
    let names: Vec<_> = headers.iter().filter_map(carries).collect();
    for name in names {
        headers.remove(name);
    }
}

/// Whether an address carries one of our keys, as it would be logged on its way.
#[must_use]
pub fn names_key(uri: &http::Uri) -> bool {
    uri.path_and_query()
        .is_some_and(|target| has_key(target.as_str().as_bytes(), TELLING))
}

/// What a `Basic` credential says once decoded.
fn basic(value: &HeaderValue) -> Option<Vec<u8>> {
    let (scheme, encoded) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("basic").then_some(())?;
    BASE64_STANDARD.decode(encoded.trim()).ok()
}

/// Whether our prefix, in any case, stands before this many letters and digits.
fn has_key(value: &[u8], telling: usize) -> bool {
    memchr::memchr2_iter(b'm', b'M', value).any(|at| {
        let Some((start, rest)) = value[at..].split_at_checked(PREFIX.len()) else {
            return false;
        };
        start.eq_ignore_ascii_case(PREFIX.as_bytes())
            && rest.len() >= telling
            && rest[..telling].iter().all(u8::is_ascii_alphanumeric)
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
    fn a_key_is_taken_off_wherever_it_stands() {
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
            "also a second value"
        );
    }

    #[test]
    fn everything_else_stays() {
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
