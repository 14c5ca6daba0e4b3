use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The ids of the records that the checkout withdraws.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WithdrawnRecords(pub(crate) BTreeSet<String>);
