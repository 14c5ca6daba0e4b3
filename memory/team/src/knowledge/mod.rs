//! Curated knowledge: `.muninn/knowledge/**/*.md`, written or approved by people, and Metis documents ([`metis`]).
//!
//! ```text
//! ---
//! type: convention
//! domain: error-handling
//! confidence: high
//! source: team-decision
//! applies_to: [src/http/**, "*.proto"]
//! ---
//! # Error handling convention
//! ```
//!
//! A file is recalled by section. Invalid front matter is noted, and its file is read as plain text; [`check`] reports
//! the line.

mod check;
mod conflict;
mod front;
mod import;
mod limits;
mod list;
mod listing;
mod load;
pub mod metis;
mod new;
mod room;
mod section;
mod write;

pub use check::{Finding, FindingKind, check};
pub use front::{Front, KEYS, Problem, ProblemKind, front};
pub use import::{ImportError, ImportReport, RefusedFile, import};
pub use limits::ROOT;
pub(super) use limits::{MAX_DEPTH, MAX_FILE_BYTES, MAX_FILES, MAX_TOTAL_BYTES};
pub use list::{ListedFile, MetisInfo, list};
pub use listing::{Bounds, Listing, MarkdownFile};
pub use load::{PLACEHOLDER, is_placeholder, load, stamps};
pub use new::{Draft, NewError, create};
pub use room::{Full, Room};
pub use section::items;
pub use write::WriteError;
