//! The application: the use cases of Muninn, the same for every door.
//!
//! [`App`] is the state of one process. A [`Workspace`] is one opened repository with its engine, memory and settings;
//! [`Workspaces`] holds the open ones. `turn` plans what goes into a prompt: `decide` explores within a deadline, `deep`
//! with a model. `learn` extracts records from finished turns. `memory` has the commands that write and recall memory.
//! Nothing here knows a door: HTTP and the command line translate requests and call this module.

mod action_notes;
mod balance;
mod comparison;
mod context_model;
mod decide;
mod decision;
mod deep;
mod embedder;
mod enter;
mod explore;
mod hook_call;
mod hook_session;
mod hook_turn;
mod journal;
mod knowledge;
mod learn;
mod local;
mod map_gains;
mod memory;
pub mod model;
mod notice;
mod one_call;
mod personal;
mod personal_use;
mod preamble;
mod receipts;
mod settings;
mod signal_log;
mod signals;
mod state;
mod stats;
mod tools;
mod turn;
mod wiki;
mod worklog;
mod workspace;
mod workspaces;

pub use comparison::{Comparison, Holdout};
pub use context_model::answer as answer_with_context;
pub use deep::{ProgressReceiver, ProgressSender, choose_deep_lane, rename_candidates, strip_deep_suffix};
pub use embedder::{ConfiguredEmbedder, EmbedderError};
pub use explore::{ExplorerError, explorer};
pub use hook_session::{HookSession, HookTool, HookTurn};
pub use journal::{
    JournalText, JournalUseError, SYNTHESIS_TIME, SessionJournal, Synced, SynthesisRequest, Synthesized, TransferError,
};
pub use knowledge::{
    Draft, Finding, ImportError, ListedFile, NewError, WriteError, check_knowledge, import_knowledge, list_knowledge,
    new_knowledge,
};
pub use learn::{
    AnswerRecorder, ObservedAnswer, ObservedConversation, ObservedRequest, Observing, SummarizerChoice, SummarizerHost,
};
pub use local::{LocalReply, LocalRequest};
pub use memory::{
    ChoreError, ConflictView, DecisionView, Fact, FactKind, Kept, Link, MemoryError, RecallQuery, RecalledMemory,
    ReconcileRequest, RelatedMemory, SideView, WritableMemory, conflicts,
};
pub use receipts::{ReceiptError, find_receipt, latest_receipts};
pub use settings::Settings;
pub use state::App;
pub use stats::{Counts, RepositoryStats, Stats, stats};
pub use tools::{
    ClientTool, ModelUse, ResourceKind, ResourceText, ToolReply, ToolRequest, ToolRequestKind, ToolResult, ToolSet,
    client_tools,
};
pub use turn::{Plan, PlanRequest, millis, new_receipt, plan, replay_only};
pub use wiki::{ListedPage, PageView, Wiki, WikiContext, wiki_folder, wiki_inside};
pub use worklog::{SessionWorklog, ToolCall, ToolOutcome, WorklogStatus, WorklogUseError};
pub use workspace::{RefreshError, Workspace, WorkspaceSettings};
pub use workspaces::{Location, MOST_OPEN, OpenError, Workspaces};
