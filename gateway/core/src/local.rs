//! Calls of the user's own programs on this machine: hooks, and tools of the MCP server.
//!
//! The types are plain data, so that a call is answered in the same way in the caller's process and in another one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use muninn_backend::access::Caller;
use muninn_session::kept_session;
use serde::{Deserialize, Serialize};

use super::hook_session::{HookSession, HookTool, HookTurn};
use super::{App, ToolOutcome, ToolReply, ToolRequest};

/// A call.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LocalRequest {
    /// A session starts, or continues after a compaction: answered with the preamble.
    HookSessionStart(HookSession),
    /// The user submits a prompt: answered with the context for it.
    HookTurn(HookTurn),
    /// A session ends, or is compacted: its last turn is learned from.
    HookEnd(HookSession),
    /// A tool is about to be called: answered with a reason to hold the call, with notes about what it touches, or with nothing.
    HookBeforeTool(HookTool),
    /// A tool was called: answered with what the agent is to be told.
    HookAfterTool(HookTool, ToolOutcome),
    /// A client of the MCP server makes a call.
    Tools {
        /// The directory that the client was started in.
        directory: PathBuf,
        /// The call.
        request: ToolRequest,
    },
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LocalReply {
    /// Text for the agent's context.
    Context(String),
    /// The reason for which a call of a tool is held.
    Hold(String),
    /// There is nothing to add.
    Nothing,
    /// The answer to the call of an MCP client.
    Tools(ToolReply),
}

impl From<Option<String>> for LocalReply {
    fn from(text: Option<String>) -> LocalReply {
        text.map_or(LocalReply::Nothing, LocalReply::Context)
    }
}

impl LocalRequest {
    fn hook_session_mut(&mut self) -> Option<&mut HookSession> {
        match self {
            LocalRequest::HookTurn(HookTurn { session, .. })
            | LocalRequest::HookBeforeTool(HookTool { session, .. })
            | LocalRequest::HookAfterTool(HookTool { session, .. }, _)
            | LocalRequest::HookSessionStart(session)
            | LocalRequest::HookEnd(session) => Some(session),
            LocalRequest::Tools { .. } => None,
        }
    }

    /// The directory that the caller works in.
    pub fn directory(&self) -> &PathBuf {
        match self {
            LocalRequest::HookTurn(HookTurn { session, .. })
            | LocalRequest::HookBeforeTool(HookTool { session, .. })
            | LocalRequest::HookAfterTool(HookTool { session, .. }, _)
            | LocalRequest::HookSessionStart(session)
            | LocalRequest::HookEnd(session) => &session.directory,
            LocalRequest::Tools { directory, .. } => directory,
        }
    }
}

impl App {
    /// Answers a call. A fault is logged, and answered with nothing.
    pub async fn answer_local(self: &Arc<Self>, mut request: LocalRequest) -> LocalReply {
        if let Some(session) = request.hook_session_mut() {
            session.session = session.session.take().and_then(kept_session);
        }
        match request {
            LocalRequest::HookSessionStart(session) => self.start_session(&session).await.into(),
            LocalRequest::HookTurn(turn) => self.hook_turn(&turn).await.into(),
            LocalRequest::HookEnd(session) => {
                self.end_session(&session).await;
                LocalReply::Nothing
            }
            LocalRequest::HookBeforeTool(tool) => self.before_tool(tool).await,
            LocalRequest::HookAfterTool(tool, outcome) => self.after_tool(tool, outcome).await.into(),
            LocalRequest::Tools { directory, request } => LocalReply::Tools(self.call_tools(&directory, request).await),
        }
    }

    async fn call_tools(self: &Arc<Self>, directory: &Path, mut request: ToolRequest) -> ToolReply {
        let caller = self.caller_at(directory);
        if caller.own_root().is_none() && request.root.is_none() && !request.works_anywhere() {
            return ToolReply::Refused(format!("{} is in no git repository", directory.display()));
        }
        request.root.get_or_insert_with(|| directory.display().to_string());
        self.answer_tools(caller, request).await
    }

    /// The caller of a program that runs in a directory. The directory is the user's choice, unlike one that a request
    /// claims.
    pub(super) fn caller_at(&self, directory: &Path) -> Caller {
        let root = self.workspaces.root_at(directory);
        Caller::local(root.as_deref())
    }
}
