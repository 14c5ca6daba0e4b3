//! Classifies names of values.

/// The class of a secret's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NameClass {
    pub(super) kind: &'static str,
    /// Minimum length of a secret.
    pub(super) least: usize,
    /// Whether a UUID with this name is a credential, not an identifier.
    pub(super) takes_uuid: bool,
    pub(super) is_password: bool,
}

/// Trailing words without a meaning of their own: `API_KEY_PROD`, `secret_key_base`.
const NEUTRAL: &[&str] = &[
    "value", "val", "prod", "production", "dev", "development", "staging", "live", "test", "default", "old", "new",
    "current", "primary", "secondary", "main", "base", "b64", "base64", "plain", "raw", "str", "string", "text", "v",
];

/// Words of public or derived values.
const PUBLIC: &[&str] = &[
    "sha", "md", "hash", "hashed", "checksum", "digest", "etag", "fingerprint", "integrity", "public", "pub",
    "publishable", "crc", "prefix", "csrf", "xsrf", "id", "csrfmiddlewaretoken",
];

/// Words before `token` that make it a token of a text, a page or a request.
const NO_TOKENS: &[&str] = &[
    "next", "page", "continuation", "sync", "cancellation", "cursor", "pagination", "lexer", "eos", "bos", "pad",
    "mask", "unk", "sep", "cls", "stop", "word", "js", "design", "color", "start", "end",
];

/// Words before `key` that make it a secret.
const SECRET_KEYS: &[&str] = &[
    "api", "secret", "access", "private", "priv", "auth", "authentication", "encryption", "encrypt", "signing", "sign",
    "signature", "master", "account", "storage", "license", "muninn", "app", "application", "deploy", "session",
    "shared", "preshared", "psk", "webhook", "admin", "root", "hmac", "jwt", "aes", "ssh", "tls", "ssl", "wireguard",
    "subscription", "integration", "security", "vault", "ingest", "write", "user",
];

/// Words that exclude a secret in `NAMES_LIKE_THIS_KEY`.
const NO_KEYS: &[&str] = &[
    "primary", "foreign", "cache", "sort", "partition", "range", "map", "idempotency", "index", "row", "column",
    "translation", "lookup", "group", "unique", "routing", "object", "socket", "websocket", "registry", "hot", "dict",
    "i18n", "locale", "state", "query",
];

/// Classifies a name; `None` if it is not a secret's.
///
/// The last word decides: `token_type`, `password_file` and `secretName` are names of something else.
pub(super) fn class(name: &str) -> Option<NameClass> {
    let words = words(name);
    let mut counted: &[String] = &words;
    while let [rest @ .., last] = counted
        && (NEUTRAL.contains(&last.as_str()) || last.is_empty())
        && !rest.is_empty()
    {
        counted = rest;
    }
    let (last, before) = counted.split_last()?;
    if before.iter().any(|word| PUBLIC.contains(&word.as_str())) {
        return None;
    }
    let previous = before.last().map_or("", String::as_str);
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    let class = |kind, least, is_password| NameClass {
        kind,
        least,
        takes_uuid: is_password || ["api", "auth", "secret", "access", "apikey"].iter().any(|word| has(word)),
        is_password,
    };
    let ends = |endings: &[&str]| endings.iter().any(|ending| last.ends_with(ending));
    if ends(&["password", "passwd", "passphrase", "passcode"]) || matches!(last.as_str(), "pass" | "pwd" | "psw") {
        return Some(class("password", 8, true));
    }
    if ends(&["token"]) {
        let kind = if has("aws") && has("session") { "aws-session-token" } else { "secret" };
        return (!NO_TOKENS.contains(&previous) && !PUBLIC.contains(&last.as_str())).then(|| class(kind, 16, false));
    }
    if last == "secrets" || ends(&["secret"]) {
        return Some(class("secret", 12, false));
    }
    let is_compound = ends(&["apikey", "secretkey", "accesskey", "privatekey", "authkey", "licensekey", "accountkey"]);
    if !(is_compound || last == "key") {
        return None;
    }
    let kind = match () {
        () if has("heroku") => "heroku-key",
        () if has("secret") && (has("aws") || has("access")) => "aws-secret-key",
        () => "secret",
    };
    if is_compound || SECRET_KEYS.contains(&previous) {
        return Some(class(kind, 16, false));
    }
    let is_loud = !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let may_be = is_loud && !before.is_empty() && !before.iter().any(|word| NO_KEYS.contains(&word.as_str()));
    may_be.then(|| class(kind, 24, false))
}

/// The words of a name in lower case, without digits: `dbAPIKey2`, `DB_API_KEY` and `db-api-key` are `db`, `api`,
/// `key`.
fn words(name: &str) -> Vec<String> {
    let bytes = name.as_bytes();
    let mut words = vec![String::new()];
    for (at, byte) in bytes.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| bytes[before]);
        let starts = byte.is_ascii_uppercase()
            && (before.is_some_and(|before| before.is_ascii_lowercase())
                || (before.is_some_and(|before| before.is_ascii_uppercase())
                    && bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase)));
        let parts = !byte.is_ascii_alphabetic();
        if (starts || parts) && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut()
            && byte.is_ascii_alphabetic()
        {
            word.push(char::from(byte.to_ascii_lowercase()));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_word_of_a_name_decides() {
        for name in ["apiKey", "API_KEY", "x-api-key", "DB_PASSWORD_2", "secret_key_base", "authToken", "clientsecret"]
        {
            assert!(class(name).is_some(), "{name}");
        }
        for name in
            ["token_type", "key", "secretName", "cache_key", "public_key", "tokenHash", "api_key_id", "CACHE_KEY"]
        {
            assert_eq!(class(name), None, "{name}");
        }
    }
}
