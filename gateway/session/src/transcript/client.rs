use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// A client whose hooks are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Client {
    #[default]
    ClaudeCode,
    Codex,
    Opencode,
}

impl Client {
    /// The name on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Client::ClaudeCode => "claude-code",
            Client::Codex => "codex",
            Client::Opencode => "opencode",
        }
    }
}

/// The messages of a conversation, oldest first, each as JSON in the client's wire format.
#[derive(Debug, Default)]
pub struct Transcript {
    pub(crate) client: Client,
    pub(crate) messages: VecDeque<String>,
    pub(crate) bytes: usize,
}
