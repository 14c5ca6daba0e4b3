//! The syntax of code, and code questions by name: the outline of a file, the definitions of a name, its uses and its callers.
//!
//! The functions read the files on disk and need no index: a text search for the name selects the files, and only these
//! files are parsed. A caller with an index passes the paths as [`Candidates`] instead. Names are resolved without
//! types, so each answer contains a confidence and its [`Basis`].

mod answer;
mod confidence;
mod definition;
mod outline;
mod query;
mod references;
mod scan;
mod symbols;
pub mod syntax;

pub use answer::{Basis, Caller, Callers, Definitions, References, ScoredDefinition, Symbol, Usage, UsageKind};
pub use definition::definition;
pub use outline::{Outline, OutlineEntry, OutlineError, outline};
pub use query::{Candidates, CodeError, CodeLimits, NameQuery};
pub use references::{callers, references};
pub use symbols::{NameMatch, SymbolQuery, Symbols, symbols};
