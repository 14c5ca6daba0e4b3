//! Packing the best chunks into the token budget.
//!
//! A chunk is packed if it is probably useful, best file first, as long as the budget allows. So a clear question gets
//! several chunks of one or two files, and a vague one gets little. A further file is shown by a signature. Packing reads
//! the disk. A file that changed since it was indexed is parsed again, and a missing file is skipped. Chunks are skipped
//! if the conversation already contains them in their current form.

mod cited;
mod fill;
mod map;
mod memories;
mod packer;

pub(crate) use memories::{MAX_MEMORIES, MemoryCandidate, memory_item};
pub(crate) use packer::{DeadlineExceeded, Packed, Packer};
pub(super) use packer::{FileContent, PackFile, Pick};
