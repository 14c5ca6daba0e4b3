use serde::{Deserialize, Serialize};

use super::resources::ResourceText;
use super::result::ToolResult;

/// The answer to a `ToolRequest`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolReply {
    Result(ToolResult),
    /// The address and the path of each page.
    Resources(Vec<(String, String)>),
    /// The resource; `None` if there is none with this address.
    Resource(Option<ResourceText>),
    /// The worktree cannot be used.
    Refused(String),
}
