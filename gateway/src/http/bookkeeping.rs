//! What is left to do for a request once its answer is on its way.

use std::sync::Arc;

use muninn_memory::redact;

use super::refusal::Client;
use crate::app::App;
use crate::store::Receipt;

/// Logs a request, keeps its receipt, and sees to the index for the next one.
pub(super) fn keep(app: &Arc<App>, receipt: Receipt, status: u16, client: &Client) {
    log(&receipt, status, client);
    app.keep_index_fresh(&receipt.worktree);
    if let Some(store) = &app.store {
        store.note_receipt(receipt);
    }
}

/// One line per request: who asked, what came of it, and the id to ask `why` about. No word of the prompt, and no code.
fn log(receipt: &Receipt, status: u16, client: &Client) {
    tracing::info!(
        id = %receipt.id,
        outcome = receipt.outcome.name(),
        items = receipt.items.len(),
        tokens = receipt.tokens,
        replayed = receipt.replayed.blocks,
        ms = receipt.ms,
        status,
        backend = %receipt.backend,
        model = %redact(&receipt.model),
        key = client.key,
        repository = %receipt.worktree,
        client = client.shown(),
        "{}", receipt.format
    );
}
