use thiserror::Error;

use super::{BackendConfig, UNCONFIGURED};

/// The backends' names, in the order of the file.
pub(super) struct Names<'a>(pub(super) Vec<&'a str>);

impl<'a> Names<'a> {
    pub(super) fn of(backends: &'a [BackendConfig]) -> Names<'a> {
        Names(backends.iter().map(|backend| backend.name.as_str()).collect())
    }
}

impl Names<'_> {
    /// The valid names if no backend is configured.
    pub(super) fn unconfigured() -> Names<'static> {
        Names(UNCONFIGURED.to_vec())
    }

    /// Returns the index of a backend.
    pub(super) fn find(&self, name: &str) -> Result<usize, UnknownBackend> {
        let index = self.0.iter().position(|known| *known == name);
        index.ok_or_else(|| UnknownBackend { name: name.to_owned(), known: self.0.join(", ") })
    }
}

/// A name that no backend has.
#[derive(Debug, Error)]
#[error("there is no backend `{name}`; known backends: {known}")]
pub(super) struct UnknownBackend {
    pub(crate) name: String,
    /// The known names, as a list for the error.
    pub(crate) known: String,
}
