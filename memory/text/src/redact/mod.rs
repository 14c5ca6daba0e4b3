//! Redacts secrets in a text before it goes into a prompt, a record, a receipt or a log.
//!
//! Two kinds of secrets are redacted: unmistakable shapes, and random values under a secret's name. Redaction by
//! entropy alone would remove git hashes, UUIDs and test vectors, and users who need these would turn redaction off.
//! Source code and records are treated alike. The number of lines is kept, so that line numbers are the same before and
//! after redaction.

mod assignment;
mod joined;
mod joint;
mod name;
mod prose;
mod scanner;
mod secret;
mod secrets;
mod shapes;
mod text;
mod value;

pub(super) use scanner::Scanner;
pub use secret::Secret;
pub use secrets::{redact, redact_file, secrets, without_secrets};
pub(crate) use value::is_wordy;
