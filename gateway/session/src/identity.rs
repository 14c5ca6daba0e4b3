//! The identity of a request: session, agent, turn and claimed directories, as the client names them.
//!
//! A session id always comes from the client. A conversation without one has a [`DerivedId`], which labels receipts but
//! is not used by the ledger: two conversations may share it, and the ledger has a time limit for unnamed sessions instead.
//! `prompt_cache_key` is no session id either: vendors advise sharing one key across conversations with the same prefix.

use std::borrow::Cow;
use std::sync::OnceLock;

use http::{HeaderMap, HeaderName};
use muninn_text::redact;
use muninn_wire::{Members, Prompt, Role};

use super::claimed_directories::{ClaimedDirectories, claimed_directories};
use super::derived::DerivedId;
use super::human::human_turn;

/// Headers with a session id, most specific first.
const SESSION_HEADERS: [HeaderName; 5] = [
    HeaderName::from_static("x-muninn-session"),
    HeaderName::from_static("x-claude-code-session-id"),
    HeaderName::from_static("session-id"),
    HeaderName::from_static("session_id"),
    HeaderName::from_static("x-session-id"),
];
/// Headers with a subagent's id.
const AGENT_HEADER: HeaderName = HeaderName::from_static("x-claude-code-agent-id");
const THREAD_HEADER: HeaderName = HeaderName::from_static("thread-id");
/// Headers that name a parent conversation: of Codex's threads, of opencode's child sessions. The subagent's id is then
/// the session's.
const PARENT_HEADERS: [HeaderName; 2] =
    [HeaderName::from_static("x-codex-parent-thread-id"), HeaderName::from_static("x-parent-session-id")];
/// The header in which Codex names the kind of a subagent.
const KIND_HEADER: HeaderName = HeaderName::from_static("x-openai-subagent");

/// The longest id in characters; longer ids are truncated.
const MAX_LENGTH: usize = 128;

/// The identity of a request.
#[derive(Debug)]
pub struct Identity<'a> {
    /// The session id, if the client sends one.
    pub session: Option<String>,
    /// The subagent's id, or its kind if it has no id; `None` for the main agent.
    pub agent: Option<String>,
    /// The directories that the request claims to work in.
    pub claimed_directories: ClaimedDirectories,
    prompt: &'a Prompt<'a>,
    derived: OnceLock<Option<DerivedId>>,
}

impl Identity<'_> {
    /// The number of human turns in the request's messages; 0 without any. After a compaction, or if the backend keeps the
    /// history, the count starts again. Computed on demand, because it reads all user messages.
    pub fn turn(&self) -> u32 {
        turn(self.prompt)
    }

    /// The conversation's derived id, `None` without a human turn. Computed on demand, because it hashes the system text.
    pub fn derived(&self) -> Option<DerivedId> {
        *self.derived.get_or_init(|| DerivedId::of(self.prompt))
    }

    /// The name of the conversation: the client's session, or the derived id; `None` without a human turn.
    pub fn conversation(&self) -> Option<String> {
        self.session.clone().or_else(|| Some(self.derived()?.to_string()))
    }
}

/// Reads a request's identity from its headers and body. The identity is not trusted to grant access.
pub fn identify<'a>(headers: &HeaderMap, prompt: &'a Prompt<'a>) -> Identity<'a> {
    let session = session_id(headers, prompt);
    Identity {
        agent: agent(headers, session.as_deref()),
        session,
        claimed_directories: claimed_directories(headers, prompt),
        prompt,
        derived: OnceLock::new(),
    }
}

/// The client's session id, `None` if it sends none.
fn session_id(headers: &HeaderMap, prompt: &Prompt<'_>) -> Option<String> {
    SESSION_HEADERS
        .iter()
        .find_map(|name| named(headers, name))
        .or_else(|| from_metadata(prompt).and_then(kept_session))
}

/// Whether the headers say that the request comes from a subagent.
pub(super) fn is_subagent(headers: &HeaderMap) -> bool {
    headers.contains_key(AGENT_HEADER) || has_parent(headers) || headers.contains_key(KIND_HEADER)
}

fn agent(headers: &HeaderMap, session: Option<&str>) -> Option<String> {
    let child =
        || has_parent(headers).then(|| named(headers, &THREAD_HEADER).or_else(|| session.map(str::to_owned)))?;
    named(headers, &AGENT_HEADER).or_else(child).or_else(|| named(headers, &KIND_HEADER))
}

fn has_parent(headers: &HeaderMap) -> bool {
    PARENT_HEADERS.iter().any(|name| headers.contains_key(name))
}

/// The id in a header.
fn named(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    kept_session(headers.get(name)?.to_str().ok()?.to_owned())
}

/// A truncated id; `None` if it is blank.
pub fn kept_session(id: String) -> Option<String> {
    if id.trim().is_empty() {
        return None;
    }
    // The id is stored. One with a secret in it is only told apart from others.
    if let Cow::Owned(_) = redact(&id) {
        return Some(format!("redacted-{}", &blake3::hash(id.as_bytes()).to_hex()[..16]));
    }
    Some(id.chars().take(MAX_LENGTH).collect())
}

/// The session id in `metadata`: in `user_id`, which is a JSON string with a `session_id`, in older clients
/// `user_..._session_ID`; or in a plain `session_id`, as SDK users write.
fn from_metadata(prompt: &Prompt<'_>) -> Option<String> {
    let metadata = Members::of(prompt.members.get("metadata")?)?;
    let from_user_id = || {
        let user_id = metadata.text("user_id")?.decode();
        if let Some(fields) = Members::of(&user_id) {
            return fields.text("session_id").map(|id| id.decode().into_owned());
        }
        user_id.rsplit_once("_session_").map(|(_, id)| id.to_owned())
    };
    from_user_id().or_else(|| Some(metadata.text("session_id")?.decode().into_owned()))
}

/// Counts human turns; human messages without an assistant message between them are one turn.
fn turn(prompt: &Prompt<'_>) -> u32 {
    let mut turns = 0;
    let mut counted = false;
    for (index, message) in prompt.messages.iter().enumerate() {
        match message.role {
            Role::Assistant => counted = false,
            Role::User if !counted && human_turn(prompt, index).is_some() => {
                turns += 1;
                counted = true;
            }
            _ => {}
        }
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;
    use muninn_wire::WireFormat;

    fn headers(headers: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, http::HeaderValue::from_static(value));
        }
        map
    }

    fn id(named: &[(&'static str, &'static str)], body: &str) -> Option<String> {
        session_id(&headers(named), &Prompt::parse(WireFormat::Messages, body.as_bytes()).unwrap())
    }

    fn agent_of(named: &[(&'static str, &'static str)]) -> (Option<String>, Option<String>) {
        let prompt = Prompt::parse(WireFormat::Messages, br#"{"messages":[]}"#).unwrap();
        let identity = identify(&headers(named), &prompt);
        (identity.session, identity.agent)
    }

    #[test]
    fn session_id_is_read_from_all_known_fields() {
        let plain = r#"{"messages":[]}"#;
        assert_eq!(id(&[("x-claude-code-session-id", "a")], plain).as_deref(), Some("a"));
        assert_eq!(id(&[("session-id", "b")], plain).as_deref(), Some("b"));
        assert_eq!(id(&[("x-session-id", "c")], plain).as_deref(), Some("c"));
        let json = r#"{"messages":[],"metadata":{"user_id":"{\"device_id\":\"d\",\"session_id\":\"e\"}"}}"#;
        assert_eq!(id(&[], json).as_deref(), Some("e"));
        let legacy = r#"{"messages":[],"metadata":{"user_id":"user_1_account_2_session_f"}}"#;
        assert_eq!(id(&[], legacy).as_deref(), Some("f"));
        let written = r#"{"messages":[],"metadata":{"user_id":"u-1","session_id":"h"}}"#;
        assert_eq!(id(&[], written).as_deref(), Some("h"));
        assert_eq!(id(&[], plain), None);
    }

    #[test]
    fn blank_session_id_is_ignored() {
        let body = r#"{"messages":[],"metadata":{"session_id":"g"}}"#;
        assert_eq!(id(&[("x-session-id", " ")], body).as_deref(), Some("g"));
    }

    #[test]
    fn cache_key_is_no_session_id() {
        let keyed = r#"{"messages":[],"prompt_cache_key":"g"}"#;
        assert_eq!(id(&[], keyed), None);
        assert_eq!(id(&[("session-id", "codex")], keyed).as_deref(), Some("codex"));
    }

    #[test]
    fn subagents_are_detected_by_client_headers() {
        let some = |id: &str| Some(id.to_owned());
        let claude = [("x-claude-code-session-id", "s"), ("x-claude-code-agent-id", "a1")];
        assert_eq!(agent_of(&claude), (some("s"), some("a1")));
        let codex = [
            ("session-id", "s"),
            ("thread-id", "t2"),
            ("x-codex-parent-thread-id", "t1"),
            ("x-openai-subagent", "collab_spawn"),
        ];
        assert_eq!(agent_of(&codex), (some("s"), some("t2")));
        assert_eq!(agent_of(&[("x-openai-subagent", "review")]), (None, some("review")));
        let opencode = [("x-session-id", "child"), ("x-parent-session-id", "s")];
        assert_eq!(agent_of(&opencode), (some("child"), some("child")));
        assert_eq!(agent_of(&[("session-id", "s"), ("thread-id", "s")]), (some("s"), None));
    }

    #[test]
    fn turns_are_counted_by_human_text() {
        let turn = |messages: &str| {
            let body = format!(r#"{{"messages":[{messages}]}}"#);
            turn(&Prompt::parse(WireFormat::Messages, body.as_bytes()).unwrap())
        };
        let human = r#"{"role":"user","content":"fix it"}"#;
        let model = r#"{"role":"assistant","content":"done"}"#;
        let machine = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"},{"type":"text","text":"<system-reminder>r</system-reminder>"}]}"#;
        assert_eq!(turn(""), 0);
        assert_eq!(turn(human), 1);
        assert_eq!(turn(&[human, human].join(",")), 1, "nothing was answered between them");
        assert_eq!(turn(&[human, model, machine, model, human].join(",")), 2);
    }
}
