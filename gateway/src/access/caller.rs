//! Who asks, and what they may use.

use std::path::{Component, Path};
use std::sync::Arc;

use http::Extensions;
use thiserror::Error;

use crate::config::KeyConfig;
use crate::pattern::captures;
use crate::wire::Members;

/// Fields in which some servers take models besides the one that is asked for.
const FURTHER_MODELS: [&str; 3] = ["models", "fallbacks", "context_window_fallbacks"];

#[derive(Debug, Clone)]
enum CallerKind {
    /// No keys are configured.
    Anonymous,
    /// The holder of a key.
    Holder(Arc<KeyConfig>),
    /// Somebody who was not let in.
    Nobody,
}
const LONGEST_SHOWN: usize = 100;

/// What a key does not open. The client is told: what it holds is its own business to know.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Forbidden {
    /// The model is not among the key's.
    #[error("the access key `{key}` may not use the model {model:?}")]
    Model {
        /// The key's name.
        key: String,
        /// The model, as the client names it.
        model: String,
    },
    /// A field of the request could name another model than the one that was checked.
    #[error(
        "the access key `{key}` is held to some models, so a request must name one in `model` alone; it also has {field:?}"
    )]
    OtherModels {
        /// The key's name.
        key: String,
        /// The field.
        field: String,
    },
    /// The path is forwarded unseen, and the key is restricted.
    #[error("the access key `{key}` is restricted, and {path} is forwarded without being looked at")]
    Unseen {
        /// The key's name.
        key: String,
        /// The path.
        path: String,
    },
}

/// Who asks. Cheap to clone; every request that was let in has one among its extensions.
#[derive(Debug, Clone)]
pub struct Caller(CallerKind);

impl Caller {
    /// Anybody, where no keys are configured: may use everything.
    #[must_use]
    pub fn anonymous() -> Caller {
        Caller(CallerKind::Anonymous)
    }

    pub(super) fn holding(key: Arc<KeyConfig>) -> Caller {
        Caller(CallerKind::Holder(key))
    }

    /// The caller of a request. One that did not come through the door may use nothing.
    #[must_use]
    pub fn of(extensions: &Extensions) -> Caller {
        extensions.get().cloned().unwrap_or(Caller(CallerKind::Nobody))
    }

    /// The key's name, empty where there is no key.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.0 {
            CallerKind::Holder(key) => &key.name,
            CallerKind::Anonymous | CallerKind::Nobody => "",
        }
    }

    /// Whether it may ask for a model under this name, before any alias is resolved. The empty name stands for a request
    /// that names none and gets whatever its backend chooses.
    #[must_use]
    pub fn may_use_model(&self, model: &str) -> bool {
        self.allows(
            |config| config.models.as_deref(),
            |patterns| patterns.iter().any(|pattern| captures(pattern, model).is_some()),
        )
    }

    /// Whether its requests may go to the backend of this name.
    #[must_use]
    pub fn may_use_backend(&self, backend: &str) -> bool {
        self.allows(
            |config| config.backends.as_deref(),
            |names| names.iter().any(|name| name == backend),
        )
    }

    /// Whether it may see what is in this directory. The path must be canonical: a link in it is not followed here, and
    /// one with `..` in it is refused.
    #[must_use]
    pub fn may_use_root(&self, root: &Path) -> bool {
        let plain = root.is_absolute() && !root.components().any(|part| part == Component::ParentDir);
        self.allows(
            |config| config.roots.as_deref(),
            |roots| plain && roots.iter().any(|allowed| root.starts_with(allowed)),
        )
    }

    /// Whether anything is kept from it: models, backends or directories. Such a caller gets no path that is forwarded
    /// unseen.
    #[must_use]
    pub fn is_restricted(&self) -> bool {
        match &self.0 {
            CallerKind::Anonymous => false,
            CallerKind::Holder(key) => key.models.is_some() || key.backends.is_some() || key.roots.is_some(),
            CallerKind::Nobody => true,
        }
    }

    /// Checks what a request's body asks for. `model` is the name that was read from `members`.
    ///
    /// # Errors
    /// [`Forbidden::Model`]; [`Forbidden::OtherModels`] where a server could read another model out of the body than we
    /// do: some match names of fields whatever their case, and some take a list of models to fall back on.
    pub fn check_model(&self, model: &str, members: &Members<'_>) -> Result<(), Forbidden> {
        if !self.may_use_model(model) {
            return Err(Forbidden::Model {
                key: self.name().to_owned(),
                model: shown(model),
            });
        }
        if !self.is_restricted_in_models() {
            return Ok(());
        }
        let mut named = false;
        let ambiguous = members.iter().map(|(name, _)| name).find(|name| {
            let is_model = name.eq_ignore_ascii_case("model");
            let again = is_model && std::mem::replace(&mut named, true);
            again
                || (is_model && *name != "model")
                || FURTHER_MODELS.iter().any(|field| name.eq_ignore_ascii_case(field))
        });
        ambiguous.map_or(Ok(()), |field| {
            Err(Forbidden::OtherModels {
                key: self.name().to_owned(),
                field: shown(field),
            })
        })
    }

    /// Whether it is held to some models, so that what a request names has to be looked at closely.
    #[must_use]
    pub fn is_restricted_in_models(&self) -> bool {
        match &self.0 {
            CallerKind::Anonymous => false,
            CallerKind::Holder(key) => key.models.is_some(),
            CallerKind::Nobody => true,
        }
    }

    /// The key's name and how often it may ask in a minute, where that is limited.
    pub(super) fn limit(&self) -> Option<(&str, u32)> {
        match &self.0 {
            CallerKind::Holder(key) => key.requests_per_minute.map(|limit| (key.name.as_str(), limit)),
            CallerKind::Anonymous | CallerKind::Nobody => None,
        }
    }

    /// What is not restricted is allowed.
    fn allows<'a, T: ?Sized + 'a>(
        &'a self,
        restriction: impl FnOnce(&'a KeyConfig) -> Option<&'a T>,
        includes: impl FnOnce(&'a T) -> bool,
    ) -> bool {
        match &self.0 {
            CallerKind::Anonymous => true,
            CallerKind::Holder(key) => restriction(key).is_none_or(includes),
            CallerKind::Nobody => false,
        }
    }
}

/// As much of a client's own words as an error and a log need.
fn shown(text: &str) -> String {
    text.chars().take(LONGEST_SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::KeyHash;

    fn holder(models: Option<&[&str]>, backends: Option<&[&str]>, roots: Option<&[&str]>) -> Caller {
        let owned = |names: Option<&[&str]>| names.map(|names| names.iter().map(ToString::to_string).collect());
        Caller::holding(Arc::new(KeyConfig {
            name: "ana".to_owned(),
            hash: KeyHash::parse(&format!("blake3:{}", "0".repeat(64))).unwrap(),
            models: owned(models),
            backends: owned(backends),
            roots: roots.map(|roots| roots.iter().map(Into::into).collect()),
            requests_per_minute: None,
        }))
    }

    #[test]
    fn a_restriction_allows_what_it_names_and_nothing_else() {
        let caller = holder(Some(&["qwen*", "exact"]), Some(&["local"]), Some(&["/srv/code"]));
        assert!(caller.is_restricted());
        for (model, allowed) in [
            ("qwen3", true),
            ("exact", true),
            ("exactly", false),
            ("gpt", false),
            ("", false),
        ] {
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
    fn a_body_must_name_its_model_once_and_plainly() {
        let caller = holder(Some(&["qwen*"]), None, None);
        let check = |caller: &Caller, body: &str| {
            let members = Members::of(body).unwrap();
            let model = members
                .text("model")
                .map(|text| text.decode().into_owned())
                .unwrap_or_default();
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
    fn no_restriction_allows_everything_and_nobody_may_do_nothing() {
        let caller = holder(None, None, None);
        assert!(!caller.is_restricted());
        assert!(caller.may_use_model("") && caller.may_use_backend("x") && caller.may_use_root(Path::new("/")));
        assert!(holder(None, None, Some(&["/srv"])).is_restricted());
        let nobody = Caller::of(&Extensions::new());
        assert!(nobody.is_restricted() && nobody.is_restricted_in_models());
        assert!(!nobody.may_use_model("m") && !nobody.may_use_backend("b") && !nobody.may_use_root(Path::new("/")));
    }
}
