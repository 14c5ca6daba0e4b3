//! Finding the access key in a request's headers, and removing it.

use std::borrow::Cow;

use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::Engine as _;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use muninn_config::secrets::PREFIX;

use crate::percent;

/// Muninn's own header. Another header may then hold the client's credential for a vendor.
const OWN: HeaderName = HeaderName::from_static("x-muninn-key");
const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
/// The number of letters and digits after the prefix from which a text counts as a key or a part of one, not a word.
const KEY_LIKE: usize = 16;
/// The number of hexadecimal digits from which a text that is split by white space or invisible characters counts.
const SPLIT_KEY_LIKE: usize = 32;
/// The least characters of base64 that hold the prefix and [`KEY_LIKE`] letters.
const BASE64_KEY_LIKE: usize = (PREFIX.len() + KEY_LIKE) * 4 / 3;
/// Base64 as lenient servers read it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

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
        let is_carrier = *name == OWN
            || has_key(name.as_str().as_bytes(), KEY_LIKE)
            || has_key(value.as_bytes(), length)
            || basic(value).is_some_and(|text| has_key(&text, length));
        is_carrier.then(|| name.clone())
    };
    let names: Vec<_> = headers.iter().filter_map(carries).collect();
    for name in names {
        headers.remove(name);
    }
}

/// Whether a request's address contains an access key: in the user information, the path or the query, escaped at any
/// level. Proxies log addresses, and backends get the path and the query, so such a key would leak.
pub fn contains_key(uri: &http::Uri) -> bool {
    let target = uri.path_and_query().map(|target| target.as_str());
    let authority = uri.authority().map(|authority| authority.as_str());
    let mut parts = target.into_iter().chain(authority);
    parts.any(|part| has_key(part.as_bytes(), KEY_LIKE))
}

/// Decodes a `Basic` credential.
fn basic(value: &HeaderValue) -> Option<Vec<u8>> {
    let (scheme, encoded) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("basic").then_some(())?;
    BASE64.decode(encoded.trim()).ok()
}

/// Whether a value, decoded to the end, contains the prefix of access keys, in any case, followed by `length` letters and
/// digits, or does so after the decoding of base64. Characters that readers skip may split a key.
fn has_key(value: &[u8], length: usize) -> bool {
    // Escapes only make a key longer.
    if value.len() < PREFIX.len() + length {
        return false;
    }
    let value = percent::unescape(value);
    has_plain_key(&value, length) || base64_texts(&value).any(|text| has_plain_key(&percent::unescape(&text), KEY_LIKE))
}

/// The texts that runs of base64 in a value may hold. A run may begin with other text in the same characters, such as a path.
fn base64_texts(value: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    let runs = value.split(move |byte| !is_base64(byte)).filter(|run| run.len() >= BASE64_KEY_LIKE);
    runs.flat_map(|run| {
        let standard: Vec<u8> = run
            .iter()
            .map(|byte| match byte {
                b'-' => b'+',
                b'_' => b'/',
                byte => *byte,
            })
            .collect();
        (0..4).filter_map(move |start| {
            let text = &standard[start..];
            // One character alone holds no byte.
            let text = &text[..text.len() - usize::from(text.len() % 4 == 1)];
            BASE64.decode(text).ok()
        })
    })
}

fn has_plain_key(value: &[u8], length: usize) -> bool {
    let is_key = |rest: &[u8]| rest.len() >= length && rest[..length].iter().all(u8::is_ascii_alphanumeric);
    let is_split_key =
        |rest: &[u8]| rest.len() >= SPLIT_KEY_LIKE && rest[..SPLIT_KEY_LIKE].iter().all(u8::is_ascii_hexdigit);
    has_after_prefix(value, is_key) || has_after_prefix(&without_skipped(value), is_split_key)
}

/// A value without white space, control characters, `+` as a space, and characters beyond ASCII, which may be invisible.
fn without_skipped(value: &[u8]) -> Cow<'_, [u8]> {
    let is_kept = |byte: &u8| byte.is_ascii_graphic() && *byte != b'+';
    if value.iter().all(is_kept) {
        return Cow::Borrowed(value);
    }
    Cow::Owned(value.iter().copied().filter(is_kept).collect())
}

fn has_after_prefix(value: &[u8], passes: impl Fn(&[u8]) -> bool) -> bool {
    memchr::memchr2_iter(b'm', b'M', value).any(|at| {
        value[at..]
            .split_at_checked(PREFIX.len())
            .is_some_and(|(start, rest)| start.eq_ignore_ascii_case(PREFIX.as_bytes()) && passes(rest))
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
        let basic = format!("Basic {}", BASE64.encode(format!("ana:{whole}")));
        for name in ["authorization", "x-anything"] {
            assert!(left(&[(name, &basic)]).is_empty(), "{name}");
            assert!(left(&[(name, basic.trim_end_matches('='))]).is_empty(), "{name} without padding");
        }
        assert!(left(&[("x-muninn-key", "anything")]).is_empty());
        assert!(left(&[("authorization", "Bearer muninn-x")]).is_empty());
        assert!(left(&[("x-other", "a"), ("x-other", &whole)]).is_empty(), "a second value counts too");
    }

    /// Every character of a text as an escape, with `digits` in this case, escaped `levels` times.
    fn escaped(text: &str, levels: usize, upper: bool) -> String {
        let escape = |byte: u8| {
            if upper { format!("%{byte:02X}") } else { format!("%{byte:02x}") }
        };
        let once: String = text.bytes().map(escape).collect();
        (1..levels).fold(once, |text, _| text.replace('%', "%25"))
    }

    /// Spellings of a key that a server behind this one may read.
    fn spellings() -> Vec<String> {
        let digits = "0123456789abcdef".repeat(4);
        let whole = format!("muninn-{digits}");
        vec![
            whole.clone(),
            whole.to_uppercase(),
            whole.replacen('m', "%6d", 1),
            whole.replacen('m', "%6D", 1),
            whole.replacen('m', "%4d", 1),
            whole.replacen('-', "%2D", 1),
            whole.replacen('-', "%252d", 1),
            whole.replacen("nn", "n%6e", 1),
            escaped(&whole, 1, false),
            escaped(&whole, 1, true),
            escaped(&whole, 2, false),
            escaped(&whole, 3, true),
            escaped(&whole, 12, true),
            format!("muninn-{}%61{}", &digits[..10], &digits[11..]),
            format!("muninn-%30{}", &digits[1..]),
            format!("%{}6duninn-{digits}", "25".repeat(5_000)),
            format!("muninn-{}%00{}", &digits[..12], &digits[12..]),
            format!("muninn-{}%0A{}", &digits[..12], &digits[12..]),
            format!("muninn-%09{digits}"),
            format!("mun%20inn-{digits}"),
            format!("muninn-{}+{}", &digits[..12], &digits[12..]),
            format!("muninn-{}%E2%80%8B{}", &digits[..12], &digits[12..]),
            format!("muninn-{}%C2%AD{}", &digits[..8], &digits[8..]),
            whole[..7 + KEY_LIKE].to_owned(),
            whole.replacen('m', "%u006d", 1),
            whole.replacen('m', "%25u006D", 1),
            whole.replacen('m', "%5Cu006d", 1),
            whole.replacen('m', "%5Cx6d", 1),
            whole.replacen('m', "%26%23109;", 1),
            whole.replacen('m', "%26%23x6D;", 1),
            whole.replacen('-', "%u002d", 1),
            BASE64.encode(&whole).replace('=', ""),
            BASE64.encode(format!("u:{whole}")),
            BASE64.encode(format!("ana:{whole}:x")).replace('=', ""),
            BASE64.encode(whole.to_uppercase()),
            BASE64.encode(format!("\u{ff}\u{ff}?>{whole}")).replace('+', "-").replace('/', "_"),
            format!("path/{}", BASE64.encode(format!("u:{whole}"))),
            escaped(&BASE64.encode(format!("u:{whole}")), 2, true),
            BASE64.encode(escaped(&whole, 1, true)),
        ]
    }

    #[test]
    fn key_is_found_in_an_address_and_in_headers_in_every_spelling() {
        for key in spellings() {
            for address in [
                format!("/v1/embeddings?key={key}"),
                format!("/v1/files?a=b&{key}=c"),
                format!("/v1/{key}/files"),
                format!("/{key}"),
                format!("/v1/models?redirect=http%3A%2F%2Fu:{key}@h"),
                format!("http://localhost:4747/v1/models?x={key}"),
            ] {
                let uri: http::Uri = address.parse().unwrap();
                assert!(contains_key(&uri), "{address}");
            }
            for (name, value) in [
                ("referer", format!("http://localhost:4747/?key={key}")),
                ("cookie", format!("a=b; session={key}; c=d")),
                ("x-anything", key.clone()),
                ("authorization", format!("Bearer {key}")),
                ("x-anything", key.replace("%5C", "\\").replace("%26%23", "&#")),
                ("forwarded", format!("for=\"{key}\"")),
                ("x-anything", format!("Basic {}", BASE64.encode(format!("ana:{key}")))),
            ] {
                assert!(left(&[(name, &value)]).is_empty(), "{name}: {value}");
            }
        }
        let whole = format!("muninn-{}", "0123456789abcdef".repeat(4));
        let with_user: http::Uri = format!("http://ana:{whole}@localhost/v1/models").parse().unwrap();
        assert!(contains_key(&with_user), "in the user information");
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::try_from(format!("x-{whole}")).unwrap(), "1".parse().unwrap());
        remove_keys(&mut headers);
        assert!(headers.is_empty(), "in a header's name");
    }

    #[test]
    fn addresses_without_a_key_pass() {
        for address in [
            "/v1/models/muninn-7b",
            "/v1/files?q=muninn-gateway+is+a+gateway+for+agents",
            "/v1/files?q=muninn%20is%20%2Dwhat%3F",
            "/api/wiki/pages/muninn-%C3%BCbersicht-der-schnittstellen",
            "/v1/files/100%",
            "/v1/files/%zz%2?muninn-",
            "/v1/files/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            "/v1/files?q=bXVuaW5uLWdhdGV3YXk&r=c2stYW50LWFwaTAzLTAwMDBkdW1teTAwMDBkdW1teTAwMDA",
        ] {
            assert!(!contains_key(&address.parse().unwrap()), "{address}");
        }
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
