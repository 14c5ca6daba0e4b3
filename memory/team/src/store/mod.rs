//! One memory: where records are written, and which files are read.
//!
//! Records learned on a branch reach git on that branch, so they disappear if the branch is deleted unmerged. Until
//! they reach git, and permanently if nothing may reach git, they are kept in the user's state directory.

mod branches;
mod combine;
mod scope;
mod selection;
mod settings;

pub use branches::{DefaultBranchSegments, segments_in};
pub use selection::{Destination, NamedMemories, RecordIdError};
pub use settings::{Store, StoreSettings};
