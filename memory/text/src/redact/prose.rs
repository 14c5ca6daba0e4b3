//! Finds passwords in prose: "the deploy password is ...", "wifi password: ...".
//!
//! Passwords chosen by people are shorter than the random values that [`assignment`](super::assignment) finds.
//! Therefore the context must be stricter, and only names whose every value is a secret are considered. A value counts
//! if it is quoted, or if it mixes letters with digits or symbols. Plain words, types, algorithms and code do not
//! count: "the token is valid".

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::Secret;
use super::text::line_before;
use super::value::is_reference;

/// Minimum length of a value; shorter ones are words or numbers.
const LEAST: usize = 5;

/// The text between a name and its value. A token with `:` or `=` is code, and not read here.
static SEPARATOR: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r#"(?x) \A (?:
        (?P<is>
            (?: \ (?:of|for|to|in|on|at|from) (?:\ [A-Za-z0-9_.'/@-]+){1,6}? )?
            \ (?:is|was|will\ be) (?:\ (?:now|still|again|currently|set\ to))? :? \ )
      | (?P<sign> (?: \ ?:\ {1,2} | \ {0,2}=\ {0,2} ) )
    )
    (?: "(?P<double>[^"\s]+)" | '(?P<single>[^'\s]+)' | `(?P<code>[^`\s]+)` | (?P<bare>[^\s"'`<>()\[\]{}|,;]+) (?P<after>.?) )"#;
    Regex::new(pattern).ok()
});

/// Values that mix letters and digits and are not secrets: types, encodings, algorithms, versions, numbers with a unit.
static TECHNICAL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r"(?xi) \A (?:
        [uif]\d{1,3} | u?int\d+(?:_t)? | float\d+ | utf-?\d+\w* | ucs-?\d | base-?\d+\w* | ascii\d* | latin-?\d | iso-?\d+.*
      | (?:sha|md|ripemd|blake|aes|des|rc|rsa|ecdsa|ed|x|p|secp|ec|hs|rs|es|ps|curve|chacha|argon|scrypt|bcrypt|pbkdf|hmac|
           crc|xxh|siphash|murmur|poly|salsa|gcm|cbc|ctr|hkdf|pkcs|oauth|oidc|saml|jwt|tls|ssl|ssh|http|https|h|ip|ipv|
           ws|v|r|py|python|web|win|mp|amd|arm|ntlm|kdf|utf|rfc|id|num|step|test|part|level|type|case|version)[-_.]?v?\d[\w.+/-]*
      | \d[\d.,_]*[\ -]?[a-z]{1,12} | 0x[0-9a-f_]+ | \d+(?:st|nd|rd|th) | [a-z]\d{1,2}
    ) \z";
    Regex::new(pattern).ok()
});

/// Words before a name that mark it as code.
const KEYWORDS: &[&str] = &[
    "let", "mut", "pub", "const", "static", "var", "val", "final", "def", "fn", "new", "self", "this", "return",
    "string", "str", "char", "private", "public", "protected", "readonly", "if", "and", "or", "not", "in", "ref",
    "auto", "set", "export",
];

/// The secret that follows the name at `name` in a sentence.
pub(super) fn secret_after(text: &str, name: &Range<usize>) -> Option<Secret> {
    let kind = kind(&text[name.clone()])?;
    let rest = &text[name.end..];
    let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
    let captures = SEPARATOR.as_ref()?.captures(line)?;
    let is_password = kind == "password";
    let in_sentence = captures.name("is").is_some();
    let is_assigned = in_sentence || (is_password && is_noun(line_before(text, name.start)));
    if !is_assigned {
        return None;
    }
    let quoted = captures.name("double").or(captures.name("single"));
    let value = quoted.or(captures.name("code")).or(captures.name("bare"))?;
    let is_bare = captures.name("bare").is_some();
    let secret = if is_bare { value.as_str().trim_end_matches(['.', ':']) } else { value.as_str() };
    // A call, an index or a generic type.
    if is_bare && matches!(captures.name("after").map(|after| after.as_str()), Some("(" | "[" | "{" | "<")) {
        return None;
    }
    let is_word =
        in_sentence && quoted.is_some() && is_password && secret.bytes().any(|byte| byte.is_ascii_alphabetic());
    let is_secret = secret.len() >= LEAST && (is_word || is_mixed(secret)) && !is_reference(secret) && !is_code(secret);
    let start = name.end + value.start();
    is_secret.then(|| Secret { kind, range: start..start + secret.len() })
}

/// The kind of secret of a name; `None` if its value may not be one.
fn kind(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    match name.rsplit(['_', '-', '.']).next()? {
        "password" | "passwd" | "passphrase" | "passcode" | "pwd" => Some("password"),
        "secret" | "token" => Some("secret"),
        _ => None,
    }
}

/// Returns whether the text before a name makes it a noun of a sentence or a note, not a field or a variable.
fn is_noun(before: &str) -> bool {
    let before = before.trim_start_matches(['#', '-', '*', '/', '>', ' ', '\t']);
    let Some(words) = before.strip_suffix(' ') else {
        return before.is_empty();
    };
    let word = words.rsplit(' ').next().unwrap_or_default();
    let is_plain = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_plain && word.bytes().skip(1).all(|byte| byte.is_ascii_lowercase()) && !KEYWORDS.contains(&&*word.to_lowercase())
}

/// Returns whether letters are mixed with digits, or with symbols that no name has.
fn is_mixed(value: &str) -> bool {
    // Trailing marks can belong to the sentence.
    let value = value.trim_end_matches(['!', '?']);
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    has(u8::is_ascii_alphabetic) && (has(u8::is_ascii_digit) || has(|byte| b"!@#$%^&*+=?~".contains(byte)))
}

/// Returns whether a value is a type, an algorithm, a name in code or an address.
fn is_code(value: &str) -> bool {
    let is_technical = TECHNICAL.as_ref().is_some_and(|technical| technical.is_match(value));
    let lower = value.to_ascii_lowercase();
    let names = ["pass", "pwd", "secret", "token", "key", "user", "string", "bytes", "none", "null", "base64", "hash"];
    let is_named = names.iter().any(|name| lower.contains(name));
    let is_path = value.contains("&quot")
        || value.contains(['/', '\\', '(', '<'])
        || value.starts_with(['.', '-', '@', '$', '%', '&', '*', '=', '+', '#']);
    // Joined words: `PBKDF2HmacSha256`, `user_1`, `a.b2`.
    let capitals = value.bytes().filter(u8::is_ascii_uppercase).count();
    let is_identifier = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
    let is_joined = is_identifier
        && (value.contains(['_', '.']) || (value.starts_with(|c: char| c.is_ascii_uppercase()) && capitals > 2));
    is_technical || is_named || is_path || is_joined
}
