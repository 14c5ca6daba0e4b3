/// Bytes to insert into a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Insertion {
    /// Byte offset into the original body.
    pub at: usize,
    /// The bytes to insert.
    pub bytes: String,
    /// How many original bytes they replace: 0, unless a route of the user renames the model.
    pub replaces: usize,
}

impl Insertion {
    /// An insertion that replaces nothing.
    pub fn new(at: usize, bytes: String) -> Insertion {
        Insertion { at, bytes, replaces: 0 }
    }
}
