//! Turns of a client that speaks chat completions, and their receipts.

use anyhow::{Context, Result, ensure};
use muninn_tests::{Gateway, TestEnv};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::format::Format;
use crate::gateway_process::why;
use crate::place::Place;

/// The kinds of clients, which get different packs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client {
    /// A client that can read files. It gets a map.
    WithTools,
    /// A client without tools. It gets code.
    WithoutTools,
}

impl Client {
    /// The definitions of its tools.
    fn tools(self) -> Value {
        match self {
            Self::WithTools => {
                json!([{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}])
            }
            Self::WithoutTools => json!([]),
        }
    }
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Its author.
    pub role: Role,
    /// Its text.
    pub content: String,
}

impl Message {
    /// A message of the user.
    pub fn user(content: &str) -> Self {
        Self { role: Role::User, content: content.to_owned() }
    }
}

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The developer.
    User,
    /// The model.
    Assistant,
}

/// The parts of a receipt that benchmarks read.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Receipt {
    /// The packed items, in order.
    pub items: Vec<ReceiptItem>,
    /// The tokens of the added block.
    pub tokens: u32,
    /// Why nothing, or only a part, was added.
    #[serde(default)]
    pub reason: Option<String>,
}

/// One packed item.
#[derive(Debug, Clone, Deserialize)]
pub struct ReceiptItem {
    /// `code`, `place`, `memory` or `knowledge`.
    pub kind: String,
    /// A place, or the id of a memory.
    pub source: String,
    /// Its tokens.
    pub tokens: u32,
}

impl ReceiptItem {
    /// The place of the repository that it names; `None` for memory and knowledge.
    pub fn place(&self) -> Option<Place> {
        ["code", "place"].contains(&&*self.kind).then(|| Place::parse(&self.source))
    }
}

/// Sends a conversation through the gateway as one turn of a session, and returns the receipt.
///
/// # Errors
/// When the gateway refuses the request.
pub fn send(
    (home, gateway): (&TestEnv, &Gateway),
    client: Client,
    session: &str,
    messages: &[Message],
) -> Result<Receipt> {
    let body = json!({"model": "mock", "messages": messages, "tools": client.tools()});
    let headers = [("content-type", "application/json"), ("x-session-id", session)];
    let response = gateway.post(Format::Chat.path(), &headers, body.to_string().as_bytes());
    ensure!(response.status == 200, "the gateway answered {}", response.status);
    serde_json::from_value(why(home, response.request_id())).context("the receipt")
}
