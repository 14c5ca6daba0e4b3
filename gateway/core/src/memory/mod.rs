//! Writing, recalling and maintaining the memory of a workspace.

mod chores;
mod conflict_view;
mod link;
mod recall;
mod remember;
mod writable;

pub use chores::{ChoreError, ReconcileRequest, conflicts};
pub use conflict_view::{ConflictView, DecisionView, SideView};
pub use link::{Link, RelatedMemory};
pub use recall::{RecallQuery, RecalledMemory};
pub use remember::{Fact, FactKind, Kept};
pub use writable::{MemoryError, WritableMemory};
