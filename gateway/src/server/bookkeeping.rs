//! What is left to do for a request once its answer is on its way.

use std::sync::Arc;

use super::Shared;
use crate::store::Receipt;

/// Logs a request, keeps its receipt, and sees to the index for the next one.
pub(super) fn keep(shared: &Arc<Shared>, receipt: Receipt, status: u16) {
    log(&receipt, status);
    if let Some(store) = &shared.store {
        store.note_receipt(receipt);
    }
    keep_index_fresh(shared);
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

/// Looks at the worktree again once the request is on its way, for the next one.
fn keep_index_fresh(shared: &Arc<Shared>) {
    if shared.repository.is_due() {
        let shared = Arc::clone(shared);
        tokio::task::spawn_blocking(move || {
            if let Err(error) = shared.repository.refresh(&()) {
                tracing::warn!(%error, "the index could not be brought up to date");
            }
        });
    }
}
