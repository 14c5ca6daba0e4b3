//! The balance of a worktree's maps: what the last ones gained, and what they cost.
//!
//! Maps that lose shrink by themselves. If the last [`WINDOW`] maps with a known effect gained only a share of their
//! price, the expected gain of every place is multiplied by that share: an entry must promise as much more as the last
//! ones fell short. The factor has no state of its own, so a restart computes the same one from the receipts. It is
//! continuous where maps break even, and rises as soon as the shorter maps earn their price. It is at least [`FLOOR`],
//! with which the best files are still named: the worktree can recover. Memory and knowledge are neither counted nor
//! shrunk.

use parking_lot::MutexGuard;

use muninn_ledger::{Receipt, Store, StoreError};
use muninn_text::model::block_on;

use super::Workspace;
use super::map_gains::{Balance, WINDOW};

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
        self.balance.lock()
    }
}

#[cfg(test)]
mod tests;
