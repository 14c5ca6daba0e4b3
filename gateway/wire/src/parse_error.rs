use thiserror::Error;

/// Why a body is not a request.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ParseError {
    /// Not JSON, or not UTF-8.
    #[error("the body is not valid JSON: {0}")]
    Json(String),
    /// JSON, but not an object.
    #[error("the body must be a JSON object")]
    NotAnObject,
    /// A required member is missing.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A member has the wrong type.
    #[error("`{0}` must be {1}")]
    WrongType(&'static str, &'static str),
    /// A message has no content, or content that is neither a string nor an array.
    #[error("`{list}[{index}].content` must be a string or an array of parts")]
    Content {
        /// The member that holds the conversation.
        list: &'static str,
        /// The index of the message.
        index: usize,
    },
}
