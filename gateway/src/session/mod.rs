//! Who asks, from where, and whether a person did: what can be told from a request before anything is done with it.

mod answer;
mod calls;
mod derived;
mod human;
mod identity;
mod mode;
mod reads;
mod side_request;
mod tool_effects;
mod workplace;

pub use answer::answer;
pub use derived::DerivedId;
pub use human::{HumanTurn, human_text, human_turn, newest_human_turn};
pub use identity::{Identity, identify, session_id};
pub use mode::{CONTEXT, Mode};
pub use reads::reads;
pub use side_request::{SideRequest, side_request};
pub use tool_effects::{ToolEffects, tool_effects};
pub use workplace::{Workplace, workplace};
