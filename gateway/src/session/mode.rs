//! What a request asks us to do with its prompt.

use http::{HeaderMap, HeaderName};

/// The header that asks for a mode, and in responses tells the outcome.
pub const CONTEXT: HeaderName = HeaderName::from_static("x-muninn-context");

/// What the client asked us to do with its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Put back and add.
    Normal,
    /// The same, and have a model explore before the request goes on.
    Deep,
    /// Put back only.
    Off,
    /// Leave it alone.
    Bypass,
}

impl Mode {
    /// Reads the `x-muninn-context` header; an unknown word is no reason to refuse a request.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Mode {
        match headers.get(CONTEXT).and_then(|value| value.to_str().ok()) {
            Some("off") => Mode::Off,
            Some("bypass") => Mode::Bypass,
            Some("deep") => Mode::Deep,
            _ => Mode::Normal,
        }
    }
}
