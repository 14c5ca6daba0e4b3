//! Is this prompt about this repository?
//!
//! BM25 always finds candidates, and its scores are not comparable between questions. So a logistic model decides, over
//! features of the question in this repository: [`words`] that are more common here than elsewhere, the best of the
//! [`places`], the [`texts`] of the best places, exact names, and the form of the question alone. `bench relevance`
//! measures the features, and `benches/relevance/fit.py` fits the weights.

mod decide;
mod model;
mod places;
mod texts;
mod words;

pub use decide::DEFAULT;
pub(crate) use decide::{Evidence, Rejection};
