//! The search over journal entries and entities, by words and by likeness.
//!
//! A look at the files finds the changed ones: entries that were appended are read, other changed files are read anew. New texts
//! go into a small part of the index, which joins the large one when it has grown; texts of replaced files are passed over until
//! then. Files that are always loaded are not searched.

mod index;
mod kind;
mod searching;
mod state;

pub use kind::ItemType;
pub use searching::{FoundItem, SearchOptions};
pub(super) use state::Search;
