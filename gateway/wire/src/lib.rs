//! The three wire formats as bytes: pure functions without I/O.
//!
//! A request is not parsed into a tree and serialized again: that reorders keys, rounds numbers and invalidates what
//! clients sign. [`Prompt`] is a view over the raw body. It knows the offset of each text block, so a block can be
//! spliced in and all other bytes stay. `answer` and `error` write Muninn's own bodies. Only [`convert`] parses a body
//! completely, for a backend that speaks another format than the client.
//!
//! A block is inserted into a body without changing any other byte:
//!
//! ```
//! use muninn_wire::{ParseError, Prompt, Site, WireFormat, splice};
//!
//! let body = r#"{"messages": [{"role": "user", "content": "hi"}], "seed": 1.0}"#;
//! let prompt = Prompt::parse(WireFormat::Chat, body.as_bytes())?;
//! let insertions = prompt.insert(Site { message: 0, block: 0 }, "a block");
//! assert_eq!(
//!     splice(body.as_bytes(), insertions),
//!     r#"{"messages": [{"role": "user", "content": "hi\n\na block"}], "seed": 1.0}"#
//! );
//! # Ok::<(), ParseError>(())
//! ```

mod align;
pub mod answer;
mod cache_life;
mod chat;
pub mod convert;
mod end_watch;
pub mod error;
pub mod failure;
mod format;
pub mod frames;
mod insertion;
mod json;
mod lenient;
mod message;
mod messages;
pub mod overflow;
mod parse_error;
mod prompt;
mod responses;
mod scan;
mod splice;
mod surrogates;
mod tools;
mod usage;

pub use align::Aligner;
pub use cache_life::CacheLife;
pub use end_watch::EndWatch;
pub use format::{ANTHROPIC_VERSION, Dialect, WireFormat};
pub use insertion::Insertion;
pub use lenient::{NotJson, lenient};
pub use message::{Block, BlockKind, Content, Message, Passage, Role};
pub use parse_error::ParseError;
pub use prompt::{Prompt, Site};
#[cfg(debug_assertions)]
pub use scan::decoded_texts;
pub use scan::{Element, Members, Text};
pub use splice::splice;
pub use surrogates::{Joiner, Piece};
pub use tools::{DeclaredTool, ToolPart, decoded_arguments, result_text};
pub use usage::UsageWatch;
