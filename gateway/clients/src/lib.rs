//! Changes to the configuration files of other programs: coding agents and editors.
//!
//! An `Edit` sets one key or appends to one list. Everything else in the file keeps its bytes: comments, order and
//! white space. `apply` returns what it did as `Applied`, and `undo` takes exactly that back, also from a file that
//! its owner or its program has changed since. Only `file` and `journal` touch the disk.

mod applied;
mod diff;
mod edit;
mod edit_error;
mod error;
mod file;
mod journal;
mod json;
mod place;
mod toml;

pub(crate) use applied::contains;
pub use applied::{Applied, Edit};
pub use diff::unified;
pub use edit::set_key;
pub(crate) use edit::{Format, Undone, apply, undo};
pub(crate) use edit_error::EditError;
pub use error::FileError;
pub use file::{Change, ClientFile};
pub use journal::{Install, Journal, Plan, apply_rest};
pub use place::{Client, ClientCommand, Directories, Part, PlaceError, Scope, Setup};
