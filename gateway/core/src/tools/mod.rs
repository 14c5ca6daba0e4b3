//! The tools of clients: those of the engine, and those that need use cases of the application.
//!
//! [`client_tools`] lists all, in a fixed order, with what a door needs to offer them. A tool is a row: its name, set and
//! effect, what clients are told of it, and the function that answers. A door makes a call with [`App::answer_tools`], in its
//! process or in another one.

mod call;
mod client_tool;
mod context;
mod explore;
mod journal;
mod limits;
mod list;
mod memory;
mod model_use;
mod personal;
mod reminders;
mod reply;
mod resources;
mod result;
mod session;
mod tool;
mod wiki;
mod worklog;

pub use call::{ToolRequest, ToolRequestKind};
pub use client_tool::{ClientTool, ToolSet};
pub use list::client_tools;
pub use model_use::ModelUse;
pub use reply::ToolReply;
pub use resources::{ResourceKind, ResourceText};
pub use result::ToolResult;
pub use session::ToolSession;
