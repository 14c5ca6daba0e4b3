//! The files that are part of every conversation. They are small: each has a size that it should keep to.

use super::directory::Personal;
use super::error::PersonalError;
use super::identity::{STATE_FILES, StateText};

impl Personal {
    /// The files that exist and have a text, in their order.
    pub fn state(&self) -> Result<Vec<StateText>, PersonalError> {
        let texts = STATE_FILES.iter().map(|file| file.text(self.root()));
        texts.filter_map(Result::transpose).collect()
    }
}
