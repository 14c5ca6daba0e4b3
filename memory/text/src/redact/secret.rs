use std::ops::Range;

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// The kind: a vendor's token, a private key, a password.
    pub kind: &'static str,
    /// The range in bytes.
    pub range: Range<usize>,
}
