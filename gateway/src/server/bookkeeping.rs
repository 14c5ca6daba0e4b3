//! What is left to do for a request once its answer is on its way.

use std::sync::Arc;

use super::Shared;
use crate::store::Receipt;

/// Logs a request, keeps its receipt, and sees to the index for the next one.
pub(super) fn keep(shared: &Arc<Shared>, receipt: Receipt, status: u16) {
    log(&receipt, status);
    shared.keep_index_fresh(&receipt.worktree);
    if let Some(store) = &shared.store {
        store.note_receipt(receipt);
    }
}

/// One line per request: what came of it and the id to ask `why` about. No word of the prompt, and no code.
fn log(receipt: &Receipt, status: u16) {
    tracing::info!(
        id = %receipt.id,
        outcome = receipt.outcome.name(),
        items = receipt.items.len(),
        tokens = receipt.tokens,
        replayed = receipt.replayed.blocks,
        ms = receipt.ms,
        status,
        backend = %receipt.backend,
        "{}", receipt.format
    );
}
