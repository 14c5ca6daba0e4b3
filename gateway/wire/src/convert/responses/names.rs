use std::borrow::Cow;

/// The default namespace. Clients of the format treat a name without a namespace as a name in this one.
pub(crate) const DEFAULT_NAMESPACE: &str = "functions";

/// The prefix of call ids that this format's clients expect.
pub(crate) const CALL: &str = "call_";

/// The tag of a responses backend's seal (`encrypted_content`). It distinguishes the seal from those of other vendors
/// when a client sends it back, so that no backend gets a seal that it cannot read.
pub(crate) const SEAL: &str = "responses:";

/// Returns one name for a tool in a namespace. It depends only on the two names, so earlier calls of a conversation
/// keep their names when tools are added.
pub(crate) fn flat_name<'n>(namespace: Option<&str>, name: Cow<'n, str>) -> Cow<'n, str> {
    match namespace {
        None | Some("" | DEFAULT_NAMESPACE) => name,
        Some(namespace) if namespace.ends_with("__") || name.starts_with("__") => format!("{namespace}{name}").into(),
        Some(namespace) => format!("{namespace}__{name}").into(),
    }
}
