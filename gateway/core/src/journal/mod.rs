//! The git journal of a worktree, and what each session has read of it.

mod error;
mod git_dir;
mod reads;
mod search;
mod session;
mod synthesis;
mod synthesis_time;
mod transfer;
mod transfer_error;

pub use error::JournalUseError;
pub(crate) use git_dir::git_dir;
pub use reads::JournalText;
pub use session::SessionJournal;
pub use synthesis::{SynthesisRequest, Synthesized};
pub use synthesis_time::SYNTHESIS_TIME;
pub use transfer::Synced;
pub use transfer_error::TransferError;
