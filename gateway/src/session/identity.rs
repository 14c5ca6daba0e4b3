//! Which session a request belongs to, from what clients say of themselves.

use http::HeaderMap;

use crate::wire::{Members, Prompt};

/// Headers that carry a session's id, most telling first.
const SESSION_HEADERS: [&str; 5] = [
    "x-muninn-session",
    "x-claude-code-session-id",
    "session-id",
    "session_id",
    "x-session-id",
];

/// The longest id that is kept whole; a longer one is cut, since it is only ever compared.
const MAX_LENGTH: usize = 128;

/// The client's own id of the session, `None` where it names none.
#[must_use]
pub fn session_id(headers: &HeaderMap, prompt: &Prompt<'_>) -> Option<String> {
    let from_headers = SESSION_HEADERS
        .iter()
        .find_map(|name| headers.get(*name)?.to_str().ok().map(str::to_owned));
    from_headers
        .or_else(|| from_metadata(prompt))
        .or_else(|| {
            prompt
                .members
                .text("prompt_cache_key")
                .map(|key| key.decode().into_owned())
        })
        .map(|id| id.chars().take(MAX_LENGTH).collect::<String>())
        .filter(|id| !id.trim().is_empty())
}

/// `metadata.user_id`: a JSON string with a `session_id` today, `user_..._session_ID` before.
fn from_metadata(prompt: &Prompt<'_>) -> Option<String> {
    let metadata = Members::of(prompt.members.get("metadata")?)?;
    let user_id = metadata.text("user_id")?.decode();
    if let Some(fields) = Members::of(&user_id) {
        return fields.text("session_id").map(|id| id.decode().into_owned());
    }
    user_id.rsplit_once("_session_").map(|(_, id)| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::WireFormat;

    fn id(headers: &[(&'static str, &'static str)], body: &str) -> Option<String> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, http::HeaderValue::from_static(value));
        }
        session_id(&map, &Prompt::parse(WireFormat::Messages, body.as_bytes()).unwrap())
    }

    #[test]
    fn every_known_place_is_read() {
        let plain = r#"{"messages":[]}"#;
        assert_eq!(id(&[("x-claude-code-session-id", "a")], plain).as_deref(), Some("a"));
        assert_eq!(id(&[("session-id", "b")], plain).as_deref(), Some("b"));
        assert_eq!(id(&[("x-session-id", "c")], plain).as_deref(), Some("c"));
        let json = r#"{"messages":[],"metadata":{"user_id":"{\"device_id\":\"d\",\"session_id\":\"e\"}"}}"#;
        assert_eq!(id(&[], json).as_deref(), Some("e"));
        let legacy = r#"{"messages":[],"metadata":{"user_id":"user_1_account_2_session_f"}}"#;
        assert_eq!(id(&[], legacy).as_deref(), Some("f"));
        assert_eq!(
            id(&[], r#"{"messages":[],"prompt_cache_key":"g"}"#).as_deref(),
            Some("g")
        );
        assert_eq!(id(&[], plain), None);
    }
}
