//! The mode of a request.

use http::{HeaderMap, HeaderName};

/// The request header that sets the mode; in responses it holds the outcome.
pub const CONTEXT: HeaderName = HeaderName::from_static("x-muninn-context");

/// What to do with a request's prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Replay earlier blocks and add a new one.
    Normal,
    /// The same, with an inline exploration by a model.
    Deep,
    /// Replay only.
    Off,
    /// Forward the prompt unchanged.
    Bypass,
}

impl Mode {
    /// Reads the `x-muninn-context` header; an unknown value means [`Mode::Normal`].
    pub fn of(headers: &HeaderMap) -> Mode {
        match headers.get(CONTEXT).and_then(|value| value.to_str().ok()) {
            Some("off") => Mode::Off,
            Some("bypass") => Mode::Bypass,
            Some("deep") => Mode::Deep,
            _ => Mode::Normal,
        }
    }
}
