//! A model that the user names for a chore of ours.

use super::backends::Names;
use super::resolve::wrong;
use super::{BackendConfig, Config, ConfigError};

/// A model that is asked on our own account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenModel {
    /// Index into [`super::Config::backends`].
    pub backend: usize,
    /// The model's name there.
    pub model: String,
}

impl Config {
    /// A chosen model by backend and name, `local/small`, as it is called in receipts, records and logs.
    #[must_use]
    pub fn name_of(&self, chosen: &ChosenModel) -> String {
        let backend = self.backends.get(chosen.backend);
        format!("{}/{}", backend.map_or("", |backend| &backend.name), chosen.model)
    }
}

/// Settles `backend` and `model` of a section. They belong together: one of them alone would leave the other to chance.
/// `chore` is what the model does, `explores`.
pub(super) fn chosen(
    origin: &str,
    (section, chore): (&str, &str),
    written: (Option<&str>, Option<&str>),
    backends: &[BackendConfig],
) -> Result<Option<ChosenModel>, ConfigError> {
    let wrong = |key: &str, message: String| wrong(origin, format!("{section}.{key}"), message);
    match written {
        (None, None) => Ok(None),
        (Some(name), None) => Err(wrong(
            "model",
            format!("is missing: name the model of `{name}` that {chore}"),
        )),
        (None, Some(model)) => Err(wrong(
            "backend",
            format!("is missing: name the backend that has `{model}`"),
        )),
        (Some(_), Some("")) => Err(wrong("model", "is empty".to_owned())),
        (Some(name), Some(_)) if backends.is_empty() => Err(wrong(
            "backend",
            format!("there is no backend `{name}`; add it as a [[backends]] entry"),
        )),
        (Some(name), Some(model)) => Ok(Some(ChosenModel {
            backend: Names::of_settled(backends)
                .find(name)
                .map_err(|error| wrong("backend", error.to_string()))?,
            model: model.to_owned(),
        })),
    }
}
