//! The work that remains once a request's answer is on its way.

use std::sync::Arc;

use muninn_core::App;
use muninn_ledger::Receipt;

use super::refusal_log::Client;

/// Logs a request, writes its receipt, and refreshes the index if it is due.
pub(super) fn keep(app: &Arc<App>, receipt: Receipt, status: u16, client: &Client) {
    log(&receipt, status, client);
    app.keep_index_fresh(&receipt.worktree);
    if let Some(store) = &app.store {
        store.note_receipt(receipt);
    }
}

/// Logs one line per request, with the caller, the outcome and the id for `muninn why`; no text of the prompt and no code.
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
        model = %receipt.model,
        key = client.key,
        repository = %receipt.worktree,
        client = client.shown(),
        "{}", receipt.format
    );
}
