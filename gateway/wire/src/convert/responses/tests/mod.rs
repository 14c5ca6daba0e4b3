//! Tests of the readers and writers: what the golden files do not show.

mod answers;
mod requests;
mod settings;
