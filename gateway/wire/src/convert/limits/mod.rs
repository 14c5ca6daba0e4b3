//! Limits of the vendors' request formats: lengths, patterns, counts and sets. A vendor refuses a whole request that breaks one.
//! Therefore [`fit`] changes the request before it is written, and counts each change like a field that is left out.
//!
//! Replacements depend on the conversation up to them alone, so an appended conversation keeps its beginning.

mod call_ids;
mod fit;
mod media;
mod schema;
mod stops;

pub(super) use fit::fit;

#[cfg(test)]
mod tests;
