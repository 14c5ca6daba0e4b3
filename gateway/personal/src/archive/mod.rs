//! An archive of the personal memory, for a move to another machine.

mod error;
mod export;
mod import;
mod unpack;

pub use error::ArchiveError;
pub(super) use error::io_error;
pub use export::{Exported, export};
pub use import::{Imported, import};
