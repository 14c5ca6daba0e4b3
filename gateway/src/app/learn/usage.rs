//! Marking the items of a receipt that the agent then used.

use muninn_memory::learn::Turn;
use muninn_memory::model::block_on;
use muninn_memory::redact;
use muninn_repo_tools::RelPath;

use crate::store::{Outcome, Receipt, ReceiptItem, Store, StoreError};

/// The number of newest receipts that are searched for the one of a turn.
const RECENT: usize = 400;

/// Marks the used items on the receipt of a turn that got a block. The answer to the last turn is unknown and may still
/// cite a file, so items that are unused so far stay unmarked there.
///
/// # Errors
/// [`StoreError`] where receipts cannot be read.
pub(super) fn note(receipts: &dyn Store, name: &str, turn: &Turn, is_last: bool) -> Result<(), StoreError> {
    let (name, words) = (redact(name), Receipt::first_words_of(&turn.question));
    let of_turn = |receipt: &Receipt| {
        let conversation = receipt.session.as_deref().or(receipt.derived.as_deref());
        matches!(receipt.outcome, Outcome::Injected | Outcome::Partial)
            && conversation == Some(&*name)
            && receipt.first_words == words
    };
    let Some(mut receipt) = block_on(receipts.receipts(RECENT))?.into_iter().find(of_turn) else {
        return Ok(());
    };
    let was_used = |path: &RelPath| {
        let mut worked_with = turn.edited.iter().chain(&turn.cited).chain(&turn.read);
        worked_with.any(|other| other == path)
    };
    for item in &mut receipt.items {
        let used = file(item).map(|path| was_used(&path));
        item.used = used.filter(|used| *used || !is_last).or(item.used);
    }
    if receipt.items.iter().any(|item| item.used.is_some()) {
        receipts.note_receipt(receipt);
    }
    Ok(())
}

/// The file of an item; `None` for a record, whose use cannot be observed.
fn file(item: &ReceiptItem) -> Option<RelPath> {
    let path = match item.source.rsplit_once(':') {
        Some((path, _lines)) => path,
        None => Some(&*item.source).filter(|_| item.kind == "place")?,
    };
    RelPath::new(path).ok()
}
