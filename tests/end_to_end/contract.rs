//! Interfaces of users, clients and scripts, recorded in `tests/contract/`: bytes on the wire, headers, metrics, JSON
//! keys, exit codes, configuration keys and the schema of the ledger.
//!
//! `UPDATE_GOLDEN=1` records anew. Name each difference in CHANGELOG.md: it is a change of behaviour.

mod bytes;
mod old_state;
mod surface;

use std::path::Path;

/// Compares a text with the file of that name in `tests/contract/`.
fn assert_recorded(name: &str, actual: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/contract");
    muninn_tests::assert_golden(&folder.join(format!("{name}.txt")), actual);
}
