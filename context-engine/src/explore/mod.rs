//! The deep lane: a model explores the repository with tools, under a budget.

#[cfg_attr(not(test), expect(dead_code, reason = "nothing asks a model yet"))]
pub(crate) mod dialect;
