//! HEAD and the other references of a repository, whatever format they are stored in.
//!
//! gix reads and writes references that are files. It cannot read other formats, of which git has one, the reftable.
//! Those go through the user's `git` ([`tables`]). A reference that cannot be read is an error: a HEAD that is taken for
//! detached would put what is learned now on no branch, where nobody finds it again.

mod head;
mod positions;
mod stored;
mod tables;

pub use head::ReferenceError;
pub(crate) use head::{Expected, Head, ReferenceChange};
pub(crate) use positions::Positions;
pub(crate) use stored::References;
