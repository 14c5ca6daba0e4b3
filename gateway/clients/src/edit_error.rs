/// Why a text cannot be edited; [`FileError`] adds the path.
#[derive(Debug, PartialEq)]
pub(crate) enum EditError {
    Invalid(String),
    Shape { key: String, expected: &'static str },
    Foreign,
}
