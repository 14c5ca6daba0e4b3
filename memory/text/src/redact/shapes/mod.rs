//! The shapes of secrets, as data.
//!
//! A shape starts with a literal. All literals are found in one scan, and a pattern is tried once, at its literal: a
//! text without secrets costs one scan, however many shapes there are. No pattern reaches further than a few hundred
//! bytes, or beyond a character that ends its secret, so a hostile text costs little more.

mod clouds;
mod forges;
mod formats;
mod models;
mod rules;
mod services;
mod shape;

pub(super) use super::text::distinct;
pub(super) use rules::Rule;
pub(super) use shape::{Shape, inner, is_uniform, mixed, shape};
