//! Rendering items as a fenced block for a prompt, or as Markdown for a person.
//!
//! Items are untrusted text inside a prompt. So the fence states what it contains, no item can close the fence or
//! imitate a client's reminder, and no text can end its code block. The same items are always rendered to the same
//! bytes, because a block is replayed on every later turn. One changed byte would invalidate the backend's prefix
//! cache.

mod block;
mod fence;
mod neutral;
mod sources;

pub use block::{CLOSE, OPEN, block, block_after, markdown, note_block};
pub(crate) use block::{entry, is_in_note_block, is_listed, lists, opening, short_id};
pub(crate) use fence::fence;
pub(super) use fence::fenced;
pub use muninn_text::neutral::{Ground, neutralize};
pub use neutral::{heading, quoted};
pub(crate) use sources::{SourceSpan, sources};
