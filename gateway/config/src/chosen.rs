//! A model that the user names for a task of Muninn, such as exploring or summarizing.

use super::backend_names::Names;
use super::chosen_model::ChosenModel;
use super::invalid::invalid;
use super::{BackendConfig, ConfigError};

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
