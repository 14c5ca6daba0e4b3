use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a text is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", from = "String")]
#[schemars(with = "String")]
pub enum ItemType {
    /// A journal entry.
    Journal,
    /// A person.
    Person,
    /// A project.
    Project,
    /// Another entity: the name of its folder.
    Other(String),
}

impl ItemType {
    /// The type of the entities in a folder.
    pub(crate) fn of_folder(folder: &str) -> ItemType {
        match folder {
            "people" => ItemType::Person,
            "projects" => ItemType::Project,
            other => ItemType::Other(other.to_owned()),
        }
    }
}
