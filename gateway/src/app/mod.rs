//! The application: what Muninn does, whichever door a request comes through.
//!
//! [`App`] is one process's state. A [`Workspace`] is one opened repository with its engine, its memory and its settings;
//! [`Workspaces`] are all that are open. `turn` plans what goes into a prompt, by `decide` within a deadline and by `deep`
//! with a model; `learn` learns from what came of it; `memory` is what people tell it and ask of it. Nothing here knows a door: HTTP, the command line, and whatever
//! comes beside them translate, and call this.

mod context_model;
mod decide;
mod deep;
mod embedder;
mod explore;
mod knowledge;
mod learn;
mod memory;
mod notice;
mod place;
mod receipts;
mod settings;
mod state;
mod turn;
mod workspace;
mod workspaces;

pub(crate) use context_model::answer as answer_with_context;
pub(crate) use deep::{Progress, Watching, choose, meant, rename};
pub use embedder::{ConfiguredEmbedder, EmbedderError};
pub use explore::{ExplorerError, explorer};
pub use knowledge::{
    Draft, Finding, ImportError, ListedFile, NewError, WriteError, check_knowledge, import_knowledge, list_knowledge,
    new_knowledge,
};
pub(crate) use learn::{Observed, Summarizing};
pub use memory::{
    ChoreError, Fact, FactKind, Kept, MemoryError, RecallQuery, RecalledMemory, ReconcileRequest, WritableMemory,
    conflicts,
};
pub use receipts::{ReceiptError, find_receipt, latest_receipts};
pub use settings::Settings;
pub use state::App;
pub(crate) use turn::{Asked, Plan, millis, new_receipt, plan, put_back_only};
pub use workspace::{RefreshError, Workspace, WorkspaceSettings};
pub use workspaces::{MOST_OPEN, OpenError, Place, Workspaces};
