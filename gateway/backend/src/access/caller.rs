//! The caller of a request and its permissions.

use std::path::{Component, Path};
use std::sync::Arc;

use http::Extensions;
use muninn_config::KeyConfig;
use muninn_wire::Members;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::doors::{CallerKind, ClosedDoor, Door, Rule};
use super::{ActiveKey, Denied, Peer};
use crate::pattern::captures;
use crate::socket_owner::SocketOwner;

/// Fields in which some servers accept further models.
const FURTHER_MODELS: [&str; 3] = ["models", "fallbacks", "context_window_fallbacks"];

#[derive(Debug, Clone)]
enum Identity {
    /// A program of the user on this machine, which did not come through the network, and the root of the worktree that it
    /// works in, if it works in one.
    Local(Option<Arc<Path>>),
    /// A program on this machine while no keys are configured.
    Peer {
        /// Its process; absent for a web page, which no user started for this.
        peer: Option<Arc<Peer>>,
        /// The end of that state.
        closed: CancellationToken,
    },
    Holder(Arc<ActiveKey>),
    /// A request without a valid key.
    NoKey(Denied),
}

/// The most characters of a client's text in an error.
const LONGEST_SHOWN: usize = 100;

/// A request that the caller's key does not permit. The client gets the text: a key's restrictions are no secret to its
/// holder.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Forbidden {
    /// The key does not permit the model.
    #[error("the access key `{key}` may not use the model {model:?}")]
    Model {
        /// The key's name.
        key: String,
        /// The model, as the client names it.
        model: String,
    },
    /// A field of the request could name a model that was not checked.
    #[error(
        "the access key `{key}` is restricted to some models, so a request must name its model only in `model`; it also has {field:?}"
    )]
    OtherModels {
        /// The key's name.
        key: String,
        field: String,
    },
}

/// The caller of a request. Cheap to clone. Every request behind admission has one in its extensions.
#[derive(Debug, Clone)]
pub struct Caller(Identity);

impl Caller {
    /// A program of the user on this machine, which did not come through the network. It may use everything, and the
    /// worktree that it works in need not be inside the configuration's `roots`.
    pub fn local(root: Option<&Path>) -> Caller {
        Caller(Identity::Local(root.map(Into::into)))
    }

    /// A program on this machine, or without a peer a web page of this machine, while no keys are configured. `closed` is
    /// cancelled when there are keys.
    pub(super) fn peer(peer: Option<Arc<Peer>>, closed: CancellationToken) -> Caller {
        Caller(Identity::Peer { peer, closed })
    }

    pub(super) fn holding(key: Arc<ActiveKey>) -> Caller {
        Caller(Identity::Holder(key))
    }

    /// A request without a valid key. It may use nothing but [`Door::Liveness`].
    pub fn without_key(denied: Denied) -> Caller {
        Caller(Identity::NoKey(denied))
    }

    /// Returns the caller of a request. A request that was not admitted has no key.
    pub fn of(extensions: &Extensions) -> Caller {
        let admitted = extensions.get().cloned();
        admitted.unwrap_or(Caller::without_key(Denied::Missing))
    }

    /// The root of the worktree that a program of the user works in.
    pub fn own_root(&self) -> Option<&Path> {
        match &self.0 {
            Identity::Local(root) => root.as_deref(),
            _ => None,
        }
    }

    /// The column of the table that counts for a door.
    pub(super) fn kind_for(&self, door: Door) -> CallerKind {
        match &self.0 {
            Identity::Local(_) => CallerKind::Local,
            Identity::Peer { peer: Some(peer), .. } if !door.depends_on_owner() || peer.is_own() => {
                CallerKind::OwnProcess
            }
            // A system that tells no owners would learn nothing at all.
            Identity::Peer { peer: Some(_), .. } if door == Door::Learn && !SocketOwner::IS_TOLD => {
                CallerKind::OwnProcess
            }
            Identity::Peer { .. } => CallerKind::OtherProcess,
            Identity::Holder(key) if key.owns_personal && (door.is_personal() || !self.is_restricted()) => {
                CallerKind::PersonalKey
            }
            Identity::Holder(_) if self.is_restricted() => CallerKind::RestrictedKey,
            Identity::Holder(_) => CallerKind::Key,
            Identity::NoKey(_) => CallerKind::NoKey,
        }
    }

    /// Why the request has no valid key.
    pub(super) fn denied(&self) -> Option<&Denied> {
        match &self.0 {
            Identity::NoKey(denied) => Some(denied),
            _ => None,
        }
    }

    /// Cancelled when a reload takes the caller's permission away: it removes, replaces or narrows the key, or it adds the
    /// first key of a gateway that served everybody on this machine.
    pub fn revocation(&self) -> Option<&CancellationToken> {
        match &self.0 {
            Identity::Peer { closed, .. } => Some(closed),
            Identity::Holder(key) => Some(&key.revoked),
            Identity::Local(_) | Identity::NoKey(_) => None,
        }
    }

    /// The key's name, or an empty text without a key.
    pub fn name(&self) -> &str {
        match &self.0 {
            Identity::Holder(key) => &key.config.name,
            Identity::Peer { .. } | Identity::Local(_) | Identity::NoKey(_) => "",
        }
    }

    /// Whether it may use a model by this name, before aliases are resolved. The empty name stands for a request
    /// without a model, whose backend chooses one.
    pub fn may_use_model(&self, model: &str) -> bool {
        self.allows(
            |config| config.models.as_deref(),
            |patterns| patterns.iter().any(|pattern| captures(pattern, model).is_some()),
        )
    }

    /// Whether it may use the backend of this name.
    pub fn may_use_backend(&self, backend: &str) -> bool {
        self.allows(|config| config.backends.as_deref(), |names| names.iter().any(|name| name == backend))
    }

    /// Whether it may see this directory. The path must be canonical: symbolic links are not resolved here, and a path
    /// with `..` is refused.
    pub fn may_use_root(&self, root: &Path) -> bool {
        let plain = root.is_absolute() && !root.components().any(|part| part == Component::ParentDir);
        self.allows(
            |config| config.roots.as_deref(),
            |roots| plain && roots.iter().any(|allowed| root.starts_with(allowed)),
        )
    }

    /// Whether its key allows writing, or it has none.
    fn may_write(&self) -> bool {
        match &self.0 {
            Identity::Holder(key) => key.config.write,
            Identity::Peer { .. } | Identity::Local(_) | Identity::NoKey(_) => true,
        }
    }

    /// Whether its models, backends or directories are restricted.
    fn is_restricted(&self) -> bool {
        match &self.0 {
            Identity::Peer { .. } | Identity::Local(_) => false,
            Identity::Holder(key) => {
                let key = &key.config;
                key.models.is_some() || key.backends.is_some() || key.roots.is_some()
            }
            Identity::NoKey(_) => true,
        }
    }

    /// Checks the model of a request's body. `model` is the name that was read from `members`.
    ///
    /// # Errors
    /// [`Forbidden::Model`] if the caller may not use the model. [`Forbidden::OtherModels`] if a server could read
    /// another model from the body: some servers ignore the case of field names, and some accept a list of fallback
    /// models.
    pub fn check_model(&self, model: &str, members: &Members<'_>) -> Result<(), Forbidden> {
        if !self.may_use_model(model) {
            return Err(Forbidden::Model { key: self.name().to_owned(), model: shown(model) });
        }
        if !self.is_restricted_in_models() {
            return Ok(());
        }
        let mut has_model = false;
        let ambiguous = members.iter().map(|(name, _)| name).find(|name| {
            let is_model = name.eq_ignore_ascii_case("model");
            let is_duplicate = is_model && std::mem::replace(&mut has_model, true);
            is_duplicate
                || (is_model && *name != "model")
                || FURTHER_MODELS.iter().any(|field| name.eq_ignore_ascii_case(field))
        });
        ambiguous
            .map_or(Ok(()), |field| Err(Forbidden::OtherModels { key: self.name().to_owned(), field: shown(field) }))
    }

    /// Whether its models are restricted, so that the model of each request must be checked.
    pub fn is_restricted_in_models(&self) -> bool {
        match &self.0 {
            Identity::Peer { .. } | Identity::Local(_) => false,
            Identity::Holder(key) => key.config.models.is_some(),
            Identity::NoKey(_) => true,
        }
    }

    /// The key's name and its limit of requests per minute, if it has one.
    pub(super) fn limit(&self) -> Option<(&str, u32)> {
        match &self.0 {
            Identity::Holder(key) => {
                let limit = key.config.requests_per_minute?;
                Some((key.config.name.as_str(), limit))
            }
            Identity::Peer { .. } | Identity::Local(_) | Identity::NoKey(_) => None,
        }
    }

    /// Whether a restriction includes a value. An absent restriction allows everything.
    fn allows<'a, T: ?Sized + 'a>(
        &'a self,
        restriction: impl FnOnce(&'a KeyConfig) -> Option<&'a T>,
        includes: impl FnOnce(&'a T) -> bool,
    ) -> bool {
        match &self.0 {
            Identity::Peer { .. } | Identity::Local(_) => true,
            Identity::Holder(key) => restriction(&key.config).is_none_or(includes),
            Identity::NoKey(_) => false,
        }
    }
}

/// Truncates a client's text for an error or a log.
fn shown(text: &str) -> String {
    text.chars().take(LONGEST_SHOWN).collect()
}

impl Caller {
    /// Checks whether the caller may use a door at all. If that depends on the owner of the peer's process, the first check of
    /// a connection reads the system's table of sockets: 0.1 ms with a hundred sockets, 10 ms with ten thousand.
    ///
    /// # Errors
    /// [`ClosedDoor`] if the table closes it.
    pub fn may(&self, door: Door) -> Result<(), ClosedDoor> {
        let kind = self.kind_for(door);
        if door.writes() && !self.may_write() {
            return Err(ClosedDoor::Restricted { key: self.name().to_owned(), door });
        }
        if door.rule(kind) != Rule::Closed {
            return Ok(());
        }
        Err(match (kind, self.denied()) {
            (_, Some(denied)) => ClosedDoor::Denied(denied.clone()),
            _ if door.is_personal() => ClosedDoor::Personal(door),
            (CallerKind::RestrictedKey, _) => ClosedDoor::Restricted { key: self.name().to_owned(), door },
            _ => ClosedDoor::OtherUser(door),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muninn_config::secrets::KeyHash;

    fn holder(models: Option<&[&str]>, backends: Option<&[&str]>, roots: Option<&[&str]>) -> Caller {
        let owned = |names: Option<&[&str]>| names.map(|names| names.iter().map(ToString::to_string).collect());
        let config = KeyConfig {
            name: "ana".to_owned(),
            hash: KeyHash::parse(&format!("blake3:{}", "0".repeat(64))).unwrap(),
            models: owned(models),
            backends: owned(backends),
            roots: roots.map(|roots| roots.iter().map(Into::into).collect()),
            requests_per_minute: None,
            write: true,
        };
        Caller::holding(Arc::new(ActiveKey { config, owns_personal: false, revoked: CancellationToken::new() }))
    }

    #[test]
    fn a_restriction_allows_only_listed_values() {
        let caller = holder(Some(&["qwen*", "exact"]), Some(&["local"]), Some(&["/srv/code"]));
        assert!(caller.is_restricted());
        for (model, allowed) in [("qwen3", true), ("exact", true), ("exactly", false), ("gpt", false), ("", false)] {
            assert_eq!(caller.may_use_model(model), allowed, "{model}");
        }
        assert!(caller.may_use_backend("local") && !caller.may_use_backend("cloud"));
        for (root, allowed) in [
            ("/srv/code", true),
            ("/srv/code/app", true),
            ("/srv/codex", false),
            ("/srv", false),
            ("/srv/code/../secret", false),
            ("srv/code", false),
        ] {
            assert_eq!(caller.may_use_root(Path::new(root)), allowed, "{root}");
        }
    }

    #[test]
    fn a_restricted_callers_body_must_name_one_model_unambiguously() {
        let caller = holder(Some(&["qwen*"]), None, None);
        let check = |caller: &Caller, body: &str| {
            let members = Members::of(body).unwrap();
            let model = members.text("model").map(|text| text.decode().into_owned()).unwrap_or_default();
            caller.check_model(&model, &members)
        };
        assert_eq!(check(&caller, r#"{"model":"qwen3","x":1}"#), Ok(()));
        for body in [
            r#"{"model":"gpt"}"#,
            r#"{}"#,
            r#"{"model":5}"#,
            r#"{"model":"qwen3","model":"qwen3"}"#,
            r#"{"model":"gpt","model":"qwen3"}"#,
            r#"{"model":"qwen3","Model":"gpt"}"#,
            r#"{"mod\u0065l":"gpt"}"#,
            r#"{"model":"qwen3","models":["gpt"]}"#,
            r#"{"model":"qwen3","fallbacks":["gpt"]}"#,
        ] {
            assert!(check(&caller, body).is_err(), "{body}");
        }
        let free = holder(None, Some(&["local"]), None);
        assert_eq!(check(&free, r#"{"model":"gpt","models":["x"],"Model":"y"}"#), Ok(()));
    }

    #[test]
    fn an_unrestricted_key_allows_everything_and_no_authentication_nothing() {
        let caller = holder(None, None, None);
        assert!(!caller.is_restricted());
        assert!(caller.may_use_model("") && caller.may_use_backend("x") && caller.may_use_root(Path::new("/")));
        assert!(holder(None, None, Some(&["/srv"])).is_restricted());
        let caller = Caller::of(&Extensions::new());
        assert!(caller.is_restricted() && caller.is_restricted_in_models());
        assert!(!caller.may_use_model("m") && !caller.may_use_backend("b") && !caller.may_use_root(Path::new("/")));
    }
}
