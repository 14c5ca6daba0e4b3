//! The calls that clients make on tools and resources.

use std::sync::Arc;
use std::time::Duration;

use muninn_backend::access::{Caller, Door};
use muninn_base::{CancelFlag, Until};
use muninn_context_engine::render::heading;
use muninn_context_engine::tools::{Effect, Output};
use muninn_ledger::Receipt;
use muninn_text::redact;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::reply::ToolReply;
use super::resources;
use super::result::ToolResult;
use super::session::ToolSession;
use super::{ClientTool, ModelUse, client_tools};
use crate::App;
use crate::journal::SYNTHESIS_TIME;

/// The format in receipts, beside those of requests.
const FORMAT: &str = "mcp";
/// Maximum duration of a call that asks no model.
const MAX_CALL_TIME: Duration = Duration::from_secs(30);
/// The time of a call beside the model's.
const BESIDE_MODEL: Duration = Duration::from_secs(5);

/// A call of a client.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ToolRequest {
    /// A directory in the worktree that is asked about; `None` for the served one.
    pub root: Option<String>,
    /// The client's name, for receipts.
    pub client: String,
    /// The client's session. Memories belong to it, as those of its traffic do.
    pub session: Option<String>,
    /// The operation.
    pub kind: ToolRequestKind,
}

impl ToolRequest {
    /// Whether the call changes no memory, so that it can be made twice.
    pub fn only_reads(&self) -> bool {
        match self.kind {
            ToolRequestKind::Run { .. } => {
                self.kind.tool().is_some_and(|tool| tool.description.effect == Effect::Reads)
            }
            ToolRequestKind::ListResources | ToolRequestKind::ReadResource { .. } => true,
        }
    }

    /// Whether the call is answered outside of all repositories, too.
    pub(crate) fn works_anywhere(&self) -> bool {
        self.kind.tool().is_some_and(ClientTool::is_anywhere)
    }

    /// Whether the call can ask a model.
    pub fn calls_model(&self) -> bool {
        self.kind.tool().is_some_and(|tool| tool.model != ModelUse::None)
    }
}

fn tool(name: &str) -> Option<&'static ClientTool> {
    client_tools().iter().find(|tool| tool.name() == name)
}

/// The operation of a call.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolRequestKind {
    /// The result of a tool.
    Run { name: String, arguments: Map<String, Value> },
    /// The knowledge pages.
    ListResources,
    /// A resource's text.
    ReadResource { address: String },
}

impl ToolRequestKind {
    /// The row of the operation in the table of doors. No caller gets more from an unknown tool than an error.
    fn door(&self) -> Door {
        match self {
            Self::Run { .. } => self.tool().map_or(Door::Mcp, ClientTool::door),
            Self::ReadResource { address } if resources::is_receipt(address) => Door::Receipts,
            Self::ListResources | Self::ReadResource { .. } => Door::ReadTools,
        }
    }

    /// The called tool, if there is one.
    fn tool(&self) -> Option<&'static ClientTool> {
        match self {
            Self::Run { name, .. } => tool(name),
            Self::ListResources | Self::ReadResource { .. } => None,
        }
    }
}

impl App {
    /// Answers a call of a client. Dropping the future cancels the work.
    pub async fn answer_tools(self: &Arc<Self>, caller: Caller, request: ToolRequest) -> ToolReply {
        let anywhere = request.works_anywhere();
        if let Err(closed) = caller.may(request.kind.door()) {
            self.metrics.refused(caller.name(), closed.kind());
            return ToolReply::Refused(closed.to_string());
        }
        let time = self.time_of(request.kind.tool());
        let workspace = match self.workspace_at(&caller, request.root, time).await {
            Ok(workspace) => workspace,
            Err(_) if anywhere => Arc::clone(&self.workspace),
            Err(error) => return ToolReply::Refused(heading(&self.enter_error_for(&caller, &error))),
        };
        self.keep_index_fresh(&workspace.root.display().to_string());
        let cancelled = CancelFlag::default();
        let _guard = CancelOnDrop(cancelled.clone());
        let session = ToolSession {
            app: Arc::clone(self),
            workspace,
            caller,
            client: request.client,
            session: request.session,
            until: Until::within(time).or(cancelled),
        };
        let answered = tokio::task::spawn_blocking(move || session.answer(request.kind)).await;
        answered.unwrap_or_else(|_| ToolReply::Refused("the call failed inside Muninn".to_owned()))
    }

    /// The longest time of a call.
    fn time_of(&self, tool: Option<&ClientTool>) -> Duration {
        match tool.map_or(ModelUse::None, |tool| tool.model) {
            ModelUse::None => MAX_CALL_TIME,
            ModelUse::Explorer => self.settings().config.explore.deadline + BESIDE_MODEL,
            ModelUse::Journal => SYNTHESIS_TIME + BESIDE_MODEL,
        }
    }
}

impl ToolSession {
    fn answer(&self, kind: ToolRequestKind) -> ToolReply {
        match kind {
            ToolRequestKind::Run { name, arguments } => ToolReply::Result(self.run(&name, &arguments)),
            ToolRequestKind::ListResources => ToolReply::Resources(resources::list(self)),
            ToolRequestKind::ReadResource { address } => ToolReply::Resource(resources::read(self, &address)),
        }
    }

    /// The receipt of a call for a question, with the caller and the session. Its id is new.
    pub(super) fn receipt(&self, question: &str) -> Receipt {
        Receipt {
            format: FORMAT.to_owned(),
            key: Some(self.caller.name().to_owned()).filter(|name| !name.is_empty()),
            session: self.session.clone(),
            model: redact(&self.client).into_owned(),
            ..Receipt::of(ulid::Ulid::generate().to_string(), &self.workspace.root, question)
        }
    }

    fn run(&self, name: &str, arguments: &Map<String, Value>) -> ToolResult {
        let Some(tool) = tool(name) else {
            return ToolResult::Failed(format!("there is no tool `{name}`"));
        };
        if let Err(error) = tool.description.check(arguments) {
            return ToolResult::Failed(error.to_string());
        }
        let output = self.output(tool, arguments);
        if let Some(signals) = self.app.signals_of(&self.caller) {
            signals.log_call(name, arguments, output.structured.as_ref().map(|found| found.get()));
        }
        let mut result = ToolResult::of(tool, &output, arguments);
        if let ToolResult::Failed(reason) = &mut result {
            self.app.hide_directories(&self.caller, reason);
        }
        result
    }

    fn output(&self, tool: &ClientTool, arguments: &Map<String, Value>) -> Output {
        // It need not wait for the index.
        if tool.is_anywhere() {
            return tool.run(self, None, arguments);
        }
        let Some(engine) = &self.workspace.engine else {
            return Output::failed(self.workspace.problem.clone().unwrap_or_default());
        };
        engine.with_tool_context(self.until.clone(), |context| tool.run(self, Some(context), arguments))
    }
}

/// Cancels the work when the call's future is dropped.
struct CancelOnDrop(CancelFlag);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
