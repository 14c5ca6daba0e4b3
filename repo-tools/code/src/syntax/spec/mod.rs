//! The meaning of each grammar's node kinds, as plain tables.
//!
//! A test checks every name in the tables against the grammar, so that a renamed node in a grammar update is detected.

mod c;
mod csharp;
mod definition;
mod go;
mod java;
mod languages;
mod php;
mod python;
mod ruby;
mod rust;
mod script;
mod shell;

pub(super) use super::imports::ImportForm;
pub(super) use definition::{Def, Spec, When, def};
pub(super) use languages::of;
