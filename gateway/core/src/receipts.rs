//! Receipts: one by a part of its id, and the latest.

use std::time::{Duration, Instant};

use muninn_base::ids::{self, IdError};
use muninn_ledger::{Receipt, ReceiptsOf, Store, StoreError};
use muninn_text::model::block_on;
use muninn_text::redact;
use thiserror::Error;

/// A receipt is written after its request was answered, so an unknown id is looked up again for this long.
const PATIENCE: Duration = Duration::from_secs(1);
/// The most receipts whose ids are compared with a part.
const CANDIDATES: usize = 1_000;

/// The number of a session's newest receipts that are looked at.
const OF_SESSION: usize = 400;

/// Why no receipt was found.
#[derive(Debug, Error)]
pub enum ReceiptError {
    /// No receipt, or several, have this in their id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// Receipts cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Looks a receipt up by any unambiguous part of its id, and waits a moment for one that is not there yet.
pub fn find_receipt(store: &dyn Store, part: &str) -> Result<Receipt, ReceiptError> {
    let until = Instant::now() + PATIENCE;
    loop {
        let ids = block_on(store.receipt_ids(part, CANDIDATES))?;
        match ids::find("receipt", part, ids.iter().map(|id| (id.as_str(), id))) {
            Ok(id) => {
                if let Some(receipt) = block_on(store.receipt(id))? {
                    return Ok(receipt);
                }
            }
            Err(IdError::Unknown { .. }) if Instant::now() < until => {}
            Err(error) => return Err(error.into()),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The latest receipts of a session, or of a conversation without one, newest first: all, or those about a question with these
/// first words. What other processes have written since `as_of` may be missing.
pub(super) async fn receipts_of(
    store: &dyn Store,
    name: &str,
    (about, as_of): (Option<&str>, Instant),
) -> Result<Vec<Receipt>, StoreError> {
    store.receipts_of(ReceiptsOf { conversation: &redact(name), among: OF_SESSION, about, as_of }).await
}

/// The latest receipts, newest first.
pub fn latest_receipts(store: &dyn Store, count: usize) -> Result<Vec<Receipt>, ReceiptError> {
    Ok(block_on(store.receipts(count))?)
}
