//! Receipts: the one that a part of an id names, and the latest.

use std::time::{Duration, Instant};

use muninn_memory::ids::{self, IdError};
use muninn_memory::model::block_on;
use thiserror::Error;

use crate::store::{Receipt, Store, StoreError};

/// A receipt is written a moment after its request was answered.
const PATIENCE: Duration = Duration::from_secs(1);
/// Receipts that are looked at for one that is meant.
const CANDIDATES: usize = 1_000;

/// Why no receipt can be told.
#[derive(Debug, Error)]
pub enum ReceiptError {
    /// Several ids have this part.
    #[error(transparent)]
    Ambiguous(IdError),
    /// Receipts cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Looks a receipt up by any part of its id, for a moment again and again.
///
/// # Errors
/// [`ReceiptError`].
pub fn find_receipt(store: &dyn Store, part: &str) -> Result<Option<Receipt>, ReceiptError> {
    let until = Instant::now() + PATIENCE;
    loop {
        let ids = block_on(store.receipt_ids(part, CANDIDATES))?;
        match ids::find(part, ids.iter().map(String::as_str)) {
            Ok(id) => return Ok(block_on(store.receipt(id))?),
            Err(error @ IdError::Ambiguous { .. }) => return Err(ReceiptError::Ambiguous(error)),
            Err(IdError::Unknown(_)) if Instant::now() >= until => return Ok(None),
            Err(IdError::Unknown(_)) => {}
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The latest receipts, newest first.
///
/// # Errors
/// [`ReceiptError::Store`].
pub fn latest_receipts(store: &dyn Store, count: usize) -> Result<Vec<Receipt>, ReceiptError> {
    Ok(block_on(store.receipts(count))?)
}
