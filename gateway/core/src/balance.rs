//! The balance of a worktree's maps: what the last ones gained, and what they cost.
//!
//! Maps that lose shrink by themselves. If the last [`WINDOW`] maps with a known effect gained only a share of their
//! price, the expected gain of every place is multiplied by that share: an entry must promise as much more as the last
//! ones fell short. The factor has no state of its own, so a restart computes the same one from the receipts. It is
//! continuous where maps break even, and rises as soon as the shorter maps earn their price. It is at least [`FLOOR`],
//! with which the best files are still named: the worktree can recover. Memory and knowledge are neither counted nor
//! shrunk.

use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};

use muninn_ledger::{Receipt, Store, StoreError};
use muninn_text::model::block_on;

use super::Workspace;

/// The number of maps that are compared. With fewer, nothing shrinks.
const WINDOW: usize = 200;
/// The least factor on expected gains.
const FLOOR: f64 = 0.125;

/// The last maps of a worktree with a known effect: gain and price by the receipt's id, which begins with its time.
#[derive(Debug, Default)]
pub(super) struct Balance {
    maps: BTreeMap<String, (f64, f64)>,
}

impl Balance {
    /// Adds a map, or replaces it if its effect was known before.
    fn note(&mut self, receipt: &Receipt) {
        let Some((gain, price)) = receipt.measured() else {
            return;
        };
        // The price of the places: memory and knowledge have theirs.
        let others = receipt.items.iter().filter(|item| item.kind != "place");
        let others = others.fold(0, |sum: u32, item| sum.saturating_add(item.tokens));
        let share = f64::from(receipt.tokens.saturating_sub(others)) / f64::from(receipt.tokens.max(1));
        self.maps.insert(receipt.id.clone(), (gain, price * share));
        if self.maps.len() > WINDOW {
            self.maps.pop_first();
        }
    }

    /// The gains and the prices of the last [`WINDOW`] maps if they lost; `None` otherwise, and with fewer maps.
    fn loss(&self) -> Option<(f64, f64)> {
        let gains: f64 = self.maps.values().map(|(gain, _)| gain).sum();
        let prices: f64 = self.maps.values().map(|(_, price)| price).sum();
        (self.maps.len() == WINDOW && gains < prices).then_some((gains, prices))
    }

    /// The factor on expected gains.
    #[expect(clippy::cast_possible_truncation, reason = "a factor from 1/8 to 1")]
    fn factor(&self) -> f32 {
        self.loss().map_or(1.0, |(gains, prices)| (gains / prices).max(FLOOR) as f32)
    }
}

impl Workspace {
    /// Reads the balance from the receipts, unless it is known. Blocks; never called by a request.
    ///
    /// # Errors
    /// [`StoreError`] where receipts cannot be read.
    pub(super) fn load_balance(&self, receipts: &dyn Store) -> Result<(), StoreError> {
        if self.balance().is_some() {
            return Ok(());
        }
        let worktree = self.root.display().to_string();
        let measured = block_on(receipts.measured(&worktree, WINDOW))?;
        let mut balance = Balance::default();
        measured.iter().for_each(|receipt| balance.note(receipt));
        self.apply(&balance);
        *self.balance() = Some(balance);
        Ok(())
    }

    /// Adds the map of a receipt whose effect is known now.
    pub(super) fn note_effect(&self, receipt: &Receipt) {
        if let Some(balance) = self.balance().as_mut() {
            balance.note(receipt);
            self.apply(balance);
        }
    }

    /// Why maps are shorter now; `None` if they are not.
    pub(super) fn reduction(&self) -> Option<String> {
        let (gains, prices) = self.balance().as_ref()?.loss()?;
        Some(format!("packs were reduced: the last {WINDOW} lost {:.0} tokens", prices - gains))
    }

    fn apply(&self, balance: &Balance) {
        if let Some(engine) = &self.engine {
            engine.set_gain_factor(balance.factor());
        }
    }

    fn balance(&self) -> MutexGuard<'_, Option<Balance>> {
        self.balance.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
