//! What the vendors of each format accept: lengths, patterns, counts and sets. A request that breaks a limit is refused as a
//! whole, so [`fit`] changes it, as the last step before a request is written. Each change is counted like a field that is
//! left out.
//!
//! Replacements depend on the conversation up to them alone, so an appended conversation keeps its beginning.

mod call_ids;
mod fit;
mod media;
mod schema;

pub(super) use fit::fit;

#[cfg(test)]
mod tests;
