//! Credentials and keys: what is never shown, and what only this machine knows.

mod key;
mod machine;
mod secret;

pub(crate) use key::PREFIX;
pub use key::{KeyHash, generate};
pub use machine::machine_secret;
pub use secret::Secret;
