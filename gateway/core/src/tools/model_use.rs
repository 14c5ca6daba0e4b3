/// The model of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelUse {
    /// None.
    None,
    /// The explorer, without which the tool is not offered.
    Explorer,
    /// That of the journal, if there is one.
    Journal,
}
