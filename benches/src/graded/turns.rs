//! Turns of a client that speaks chat completions to a gateway over a tree, and their receipts.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use muninn_tests::{TestEnv, Upstream};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::place::Place;
use crate::gateway::{GatewayProcess, wait_until_settled};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    /// It can read files, and gets a map.
    WithTools,
    /// It gets code.
    WithoutTools,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Message {
    pub(crate) role: Role,
    pub(crate) content: String,
}

impl Message {
    pub(crate) fn user(content: &str) -> Self {
        Self { role: Role::User, content: content.to_owned() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    User,
    Assistant,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Receipt {
    pub(crate) items: Vec<ReceiptItem>,
    pub(crate) tokens: u32,
    /// Why nothing, or only a part, was added.
    #[serde(default)]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ReceiptItem {
    /// `code`, `place`, `memory` or `knowledge`.
    pub(crate) kind: String,
    /// A place, or the id of a memory.
    pub(crate) source: String,
    pub(crate) tokens: u32,
}

impl ReceiptItem {
    /// The place of the repository that it names; `None` for memory and knowledge.
    pub(crate) fn place(&self) -> Option<Place> {
        ["code", "place"].contains(&&*self.kind).then(|| Place::parse(&self.source))
    }
}

pub(crate) struct Stage {
    gateway: GatewayProcess,
    pub(crate) backend: Upstream,
}

impl Stage {
    /// Starts a gateway and waits until its index is settled. `more` continues the table `[context]`.
    pub(crate) fn start(home: TestEnv, root: &Path, more: &str) -> Self {
        let backend = Upstream::start();
        home.connect_with(&backend, more);
        let gateway = GatewayProcess::start(home, root);
        wait_until_settled(&gateway);
        Self { gateway, backend }
    }

    /// Sends a conversation as one turn of a session, and returns the receipt.
    pub(crate) fn send(&self, client: Client, session: &str, messages: &[Message]) -> Result<Receipt> {
        let tools = match client {
            Client::WithTools => {
                json!([{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}])
            }
            Client::WithoutTools => json!([]),
        };
        let body = json!({"model": "mock", "messages": messages, "tools": tools});
        let headers = [("x-session-id", session)];
        let response = self.gateway.post("/v1/chat/completions", &headers, body.to_string().as_bytes());
        ensure!(response.status == 200, "the gateway answered {}", response.status);
        serde_json::from_value(self.gateway.why(response.request_id())).context("the receipt")
    }
}
