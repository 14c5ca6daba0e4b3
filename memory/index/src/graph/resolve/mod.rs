//! Resolves import statements to files, by the rules of each language, as far as paths allow.

mod imports;
mod include;
mod package;
mod python;
mod rust;
mod script;
mod wanted;

pub(super) use imports::{Imported, imports};
pub(super) use wanted::{MAX_TARGETS, Wanted};
