//! A model that the user names for a task of Muninn, such as exploring or summarizing.

use super::backends::Names;
use super::resolve::invalid;
use super::{BackendConfig, Config, ConfigError};

/// A backend and model for requests that Muninn makes itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenModel {
    /// Index into [`super::Config::backends`].
    pub backend: usize,
    /// The backend's name for the model.
    pub model: String,
}

impl Config {
    /// Returns the name of a chosen model for receipts, records and logs, such as `local/small`.
    pub fn name_of(&self, chosen: &ChosenModel) -> String {
        let backend = self.backends.get(chosen.backend);
        format!("{}/{}", backend.map_or("", |backend| &backend.name), chosen.model)
    }
}

/// Resolves `backend` and `model` of a section. Returns `None` if both are absent. One of them alone is an error.
/// `task` is a verb for the error, such as `explores`.
pub(super) fn chosen(
    origin: &str,
    (section, task): (&str, &str),
    written: (Option<&str>, Option<&str>),
    backends: &[BackendConfig],
) -> Result<Option<ChosenModel>, ConfigError> {
    let invalid = |key: &str, message: String| invalid(origin, format!("{section}.{key}"), message);
    match written {
        (None, None) => Ok(None),
        (Some(name), None) => Err(invalid("model", format!("is missing: name the model of `{name}` that {task}"))),
        (None, Some(model)) => Err(invalid("backend", format!("is missing: name the backend that has `{model}`"))),
        (Some(_), Some("")) => Err(invalid("model", "is empty".to_owned())),
        (Some(name), Some(_)) if backends.is_empty() => {
            Err(invalid("backend", format!("there is no backend `{name}`; add it as a [[backends]] entry")))
        }
        (Some(name), Some(model)) => Ok(Some(ChosenModel {
            backend: Names::of(backends).find(name).map_err(|error| invalid("backend", error.to_string()))?,
            model: model.to_owned(),
        })),
    }
}
