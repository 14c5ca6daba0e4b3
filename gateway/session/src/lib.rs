//! What a request says before anything is done with it: session, directories, human turns, side requests, tool calls.

mod answer;
mod calls;
mod claimed_directories;
mod derived;
mod human;
mod identity;
pub mod inject;
mod mode;
mod reads;
mod side_request;
mod tool_effects;
pub mod transcript;

pub use answer::answer;
pub use calls::{has_file_tools, has_shell};
pub use claimed_directories::{ClaimedDirectories, claimed_directories};
pub use derived::DerivedId;
pub use human::{HumanTurn, human_text, human_turn, last_human_turn, newest_human_turn, without_packs};
pub use identity::{Identity, identify, kept_session};
pub use mode::{CONTEXT, Mode};
pub use reads::reads;
pub use side_request::{SideRequest, side_request};
pub use tool_effects::{AnsweredCall, ReachedFile, ToolEffects, answered_calls, named_file, named_files, tool_effects};
