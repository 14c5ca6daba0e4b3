use std::collections::BTreeMap;

use muninn_ledger::Receipt;

/// The number of maps that are compared. With fewer, nothing shrinks.
pub(crate) const WINDOW: usize = 200;

/// The least factor on expected gains.
pub(crate) const FLOOR: f64 = 0.125;

/// The last maps of a worktree with a known effect: gain and price by the receipt's id, which begins with its time.
#[derive(Debug, Default)]
pub(super) struct Balance {
    pub(crate) maps: BTreeMap<String, (f64, f64)>,
}

impl Balance {
    /// Adds a map, or replaces it if its effect was known before.
    pub(crate) fn note(&mut self, receipt: &Receipt) {
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
    pub(crate) fn loss(&self) -> Option<(f64, f64)> {
        let gains: f64 = self.maps.values().map(|(gain, _)| gain).sum();
        let prices: f64 = self.maps.values().map(|(_, price)| price).sum();
        (self.maps.len() == WINDOW && gains < prices).then_some((gains, prices))
    }

    /// The factor on expected gains.
    #[expect(clippy::cast_possible_truncation, reason = "a factor from 1/8 to 1")]
    pub(crate) fn factor(&self) -> f32 {
        self.loss().map_or(1.0, |(gains, prices)| (gains / prices).max(FLOOR) as f32)
    }
}
