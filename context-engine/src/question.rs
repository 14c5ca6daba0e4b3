//! Analysing a question: its searchable words and the files that it names.

mod analyse;
mod frames;
mod template;

pub(crate) use analyse::{Concept, Question, analyse, shortened};
pub(crate) use frames::NamedPath;
