use thiserror::Error;

use super::super::ParseError;

/// An error of the conversion of a request.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ConvertError {
    /// The body is not a request of its format.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The request needs state that only a backend of its own format keeps.
    #[error("`{field}` needs state that only a {format} backend keeps; send the whole conversation instead")]
    HeldElsewhere {
        /// The field's path in the body.
        field: &'static str,
        /// The name of the request's format.
        format: &'static str,
    },
}
