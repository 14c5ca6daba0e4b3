//! `muninn scan`: searches stored memory for secrets.
//!
//! Redaction runs before every write, but people also edit and merge files by hand, and older files were written with
//! fewer rules. The scan prints the place and kind of a secret, and never the secret.

mod command;
mod files;

pub(crate) use command::Scan;
