//! Questions with known answers: trees at a commit, engines and gateways over them, and what these pack.

pub(crate) mod embedder;
pub(crate) mod instances;
pub(crate) mod place;
pub(crate) mod record_store;
pub(crate) mod remembered;
pub(crate) mod split;
pub(crate) mod subject;
pub(crate) mod trees;
pub(crate) mod turns;
