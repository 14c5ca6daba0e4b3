//! Front matter: the YAML mapping between two `---` lines at the head of a Markdown file.
//!
//! A YAML parser rejects common input: in `applies_to: [*.rs]` it reads an alias, and `title: Auth: tokens` is an error.
//! One such line would lose all other keys. Therefore each key at the start of a line is parsed separately; what YAML
//! rejects is read as a scalar with or without quotes, or a list on one line or with one item per line. Lines that belong
//! to no key are reported by number. A changed key replaces its own lines, so all others stay as they are.

mod edit;
mod entries;
mod scalar;
mod yaml;

pub use edit::{EditError, with_values};
pub(super) use entries::is_key;
pub use entries::{Entry, FrontMatter, UnclosedFrontMatter, quoted};
