//! The wiki: Markdown pages that link to each other, and its digest.
//!
//! The team's wiki is the folder of knowledge; any other folder can be opened too, such as a mind-map or an Obsidian vault.
//! The files are the truth: every reading begins with a look at them.

mod cloud;
mod current;
mod digest;
mod error;
mod folder;
mod links;
mod moving;
mod pages;
mod path;
mod recents;
mod search;
mod words;

pub use cloud::{Term, cloud};
pub use digest::{Area, Digest, MOST_BYTES};
pub use error::WikiError;
pub use folder::{Deleted, Moved, PageChange, PageText, WikiFolder};
pub use links::{Link, LinkStyle};
pub use pages::{BrokenLink, Page, Pages};
pub use path::{PagePath, PagePathError};
pub use recents::Recents;
pub use search::{FoundPage, PageSearch};

#[cfg(test)]
mod edit_tests;
#[cfg(test)]
mod tests;
