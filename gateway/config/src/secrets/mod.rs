//! Secrets: access keys, credentials that are never displayed, and the secret of this machine.

mod key;
mod machine;
mod secret;

pub use key::{KeyHash, PREFIX, generate};
pub use machine::machine_secret;
pub use secret::Secret;
