//! What users, clients and scripts rely on, recorded in `tests/contract/`: bytes on the wire, headers, metrics, JSON
//! keys, exit codes, configuration keys and the schema of the ledger. A change of structure changes none of it.
//!
//! `UPDATE_GOLDEN=1` records anew. A difference in those files is a change of behaviour, to be named in CHANGELOG.md.

mod bytes;
mod old_state;
mod surface;

use std::path::Path;

/// Compares a text with the file of that name in `tests/contract/`.
fn assert_recorded(name: &str, actual: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/contract");
    muninn_tests::assert_golden(&folder.join(format!("{name}.txt")), actual);
}
