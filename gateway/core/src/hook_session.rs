use std::path::PathBuf;

use muninn_session::transcript::Client;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ToolCall;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct HookSession {
    pub client: Client,
    /// The client's session id, as the client writes it; one that holds a secret is replaced where the call is answered.
    #[serde(default)]
    pub session: Option<String>,
    /// The directory that the agent works in.
    pub directory: PathBuf,
    /// The file of the conversation.
    #[serde(default)]
    pub transcript: Option<PathBuf>,
    /// The conversation, from a client without such a file.
    #[serde(default)]
    pub messages: Vec<Value>,
    /// The model, if the client names it.
    #[serde(default)]
    pub model: Option<String>,
    /// The addresses that the client may send its requests to.
    #[serde(default)]
    pub addresses: Vec<String>,
}

/// A prompt that a hook sees before the model does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HookTurn {
    pub session: HookSession,
    /// The user's words.
    pub prompt: String,
}

/// A call of a tool that a hook sees.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HookTool {
    pub session: HookSession,
    /// The call's id.
    #[serde(default)]
    pub id: Option<String>,
    pub call: ToolCall,
}
