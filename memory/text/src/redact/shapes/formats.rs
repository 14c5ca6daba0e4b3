//! Secrets recognised by a format and not by a vendor's prefix: key blocks, headers, URLs, password files.

use super::{Shape, mixed, shape};
use crate::redact::text::holds;
use crate::redact::value::{is_random, is_reference};

pub(super) const SHAPES: &[Shape] = &[
    shape(
        "private-key",
        &["-----BEGIN "],
        r"(?s)[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\s\\:,.()>|]|-[A-Za-z0-9]){40,}(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?",
    )
    .anywhere()
    .refusing(is_torn_prose),
    shape(
        "private-key",
        &["Private-Lines:"],
        r" ?\d{1,4}(?:\r?\n|\\r|\\n)+(?P<secret>[A-Za-z0-9+/=]{16,80}(?:\r?\n[A-Za-z0-9+/]{1,80}={0,2}(?m:$))*)",
    ),
    mixed(
        "jwt",
        &["eyJ"],
        r"[\w-]{10,1024}\.eyJ[\w-]{10,8192}\.(?:[\w-]{10,2048}(?:\.[\w-]{10,512})?)?",
    )
    // A run of such characters is examined once, not at each position.
    .after(|line| !line.ends_with('-')),
    mixed("bearer-token", &["bearer "], r" {0,3}(?P<secret>[\w.~+/-]{20,4096}=*)")
        .in_any_case()
        .refusing(is_no_bearer),
    mixed(
        "bearer-token",
        &["authorization: token ", "authorization: apikey ", "authorization: api-key "],
        r" {0,3}(?P<secret>[\w.~+/-]{20,4096}=*)",
    )
    .in_any_case(),
    shape("basic-auth", &["basic "], r" {0,3}(?P<secret>[A-Za-z0-9+/]{8,1024}={0,2})")
        .in_any_case()
        .refusing(is_no_pair),
    shape(
        "basic-auth",
        &["\"auth\"", "_auth=", "_auth ="],
        r#"(?:\s{0,4}:\s{0,4}")? {0,2}(?P<secret>[A-Za-z0-9+/]{8,1024}={0,2})(?:[\s"\\]|\z)"#,
    )
    .anywhere()
    .refusing(is_no_pair),
    shape(
        "basic-auth",
        &[" -u ", " --user ", " --user=", " -u="],
        r#"["']?(?-u:[\w.@+-]){1,64}:(?P<secret>[!-!#-&(-~]{4,256})"#,
    )
    .anywhere()
    .after(|line| holds(line, "curl") || holds(line, "wget") || holds(line, "http"))
    .refusing(is_reference),
    shape(
        "url-password",
        &["://"],
        r#"(?u:[^\s:/@"'`<>{}$\\]{0,128}:(?P<secret>[^\s:/@"'`<>{}$\[\]\\]{1,256}))@"#,
    )
    .anywhere()
    .refusing(is_masked),
    shape(
        "netrc",
        &["machine "],
        r"[\w.:-]{1,128}\s{1,8}login\s{1,8}[!-~]{1,128}\s{1,8}password\s{1,8}(?P<secret>[!-~]{1,256})",
    )
    .refusing(is_reference),
    shape(
        "pgpass",
        &[":5432:", ":5433:", ":6432:", ":*:"],
        r"[\w.*-]{1,64}:[\w.*@-]{1,64}:(?P<secret>[!-~]{3,256})(?:\s|\z)",
    )
    .anywhere()
    .refusing(is_reference),
];

/// Returns whether a block has fewer than forty key characters; the rest is blanks and dots.
fn is_torn_prose(block: &str) -> bool {
    let body = block.split_once("KEY").map_or(block, |(_, body)| body);
    body.split("-----END").next().unwrap_or(body).bytes().filter(u8::is_ascii_alphanumeric).count() < 40
}

fn is_no_bearer(token: &str) -> bool {
    super::is_uniform(token) || is_reference(token) || !is_random(token)
}

fn is_masked(password: &str) -> bool {
    password.bytes().all(|byte| matches!(byte, b'*' | b'x' | b'X' | b'.'))
}

/// Returns whether this is not the base64 of `user:password`.
fn is_no_pair(encoded: &str) -> bool {
    let decoded = base64(encoded);
    let pair = decoded.iter().position(|byte| *byte == b':');
    !(pair.is_some_and(|colon| colon + 1 < decoded.len()) && decoded.iter().all(|byte| matches!(byte, b' '..=b'~')))
}

/// Decodes the complete groups of a base64 text.
pub(super) fn base64(encoded: &str) -> Vec<u8> {
    let mut bits = 0_u32;
    let mut held = 0;
    let mut decoded = Vec::with_capacity(encoded.len());
    for byte in encoded.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break,
        };
        bits = (bits << 6) | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            decoded.push(u8::try_from((bits >> held) & 0xff).unwrap_or(0));
        }
    }
    decoded
}
