//! Noting on a receipt what the agent then did: which items it used, and what the map spared.

use muninn_memory::model::block_on;
use muninn_memory::redact;
use muninn_repo_tools::RelPath;

use crate::session::ToolEffects;
use crate::store::{Effect, Outcome, Receipt, ReceiptItem, Store, StoreError};

/// The number of newest receipts that are searched for the one of a turn.
const RECENT: usize = 400;

/// Notes the effects of a turn on the receipt of its block, and returns the receipt. The answer to the last turn is
/// unknown and may still cite a file, so items that are unused so far stay unmarked there.
///
/// # Errors
/// [`StoreError`] where receipts cannot be read.
pub(super) fn note(
    receipts: &dyn Store,
    (name, question): (&str, &str),
    effects: &ToolEffects,
    is_last: bool,
) -> Result<Option<Receipt>, StoreError> {
    let (name, words) = (redact(name), Receipt::first_words_of(question));
    let of_turn = |receipt: &Receipt| {
        let conversation = receipt.session.as_deref().or(receipt.derived.as_deref());
        matches!(receipt.outcome, Outcome::Injected | Outcome::Partial)
            && conversation == Some(&*name)
            && receipt.first_words == words
    };
    let Some(mut receipt) = block_on(receipts.receipts(RECENT))?.into_iter().find(of_turn) else {
        return Ok(None);
    };
    mark(&mut receipt, effects, is_last);
    if receipt.effect.is_none() && receipt.items.iter().all(|item| item.used.is_none()) {
        return Ok(None);
    }
    receipts.note_receipt(receipt.clone());
    Ok(Some(receipt))
}

fn mark(receipt: &mut Receipt, effects: &ToolEffects, is_last: bool) {
    let was_used = |path: &RelPath| {
        let mut worked_with = effects.edited.iter().chain(&effects.cited).chain(&effects.read);
        worked_with.any(|other| other == path)
    };
    for item in &mut receipt.items {
        let Some(path) = file(item) else { continue };
        let used = was_used(&path);
        if used || !is_last {
            item.used = Some(used);
            item.edited = Some(effects.edited.contains(&path));
        }
    }
    // Without a call, the last answer is unknown.
    if !is_last || effects.exploring_calls > 0 || !effects.reached.is_empty() {
        receipt.effect = effect(receipt, effects).or(receipt.effect);
    }
}

/// The effect of a map; `None` for a pack without places.
fn effect(receipt: &Receipt, effects: &ToolEffects) -> Option<Effect> {
    let items = receipt.items.iter();
    let places: Vec<RelPath> = items.filter(|item| item.kind == "place").filter_map(file).collect();
    if places.is_empty() {
        return None;
    }
    let packed: Vec<RelPath> = receipt.items.iter().filter_map(file).collect();
    let is_reached = |path: &&RelPath| effects.reached.iter().any(|reached| reached.path == **path);
    let mut reached = effects.reached.iter();
    let first_use = reached.clone().find(|reached| places.contains(&reached.path));
    let first_edit = reached.find(|reached| reached.edited);
    let before = [first_use, first_edit].into_iter().flatten();
    let before = before.map(|reached| reached.exploring_calls).min();
    let effect = Effect {
        exploring_calls: before.unwrap_or(effects.exploring_calls),
        places_used: count(places.iter().filter(is_reached)),
        files_missed: count(effects.edited.iter().filter(|path| !packed.contains(path))),
        spared_calls: 0.0,
        gain: None,
    };
    let first_use = first_use.map(|reached| reached.exploring_calls);
    Some(effect.with_gain(first_use, receipt.estimate.as_ref()))
}

fn count<T>(items: impl Iterator<Item = T>) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}

/// The file of an item; `None` for a record, whose use cannot be observed.
fn file(item: &ReceiptItem) -> Option<RelPath> {
    let path = match item.source.rsplit_once(':') {
        Some((path, _lines)) => path,
        None => Some(&*item.source).filter(|_| item.kind == "place")?,
    };
    RelPath::new(path).ok()
}
