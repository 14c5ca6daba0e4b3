//! The budget of an exploration and its children.
//!
//! A child takes a share of its parent's budget when it starts, and returns the unused part when it ends. So a tree of
//! explorations never spends more than the budget of its root.

use parking_lot::{Mutex, MutexGuard};

use muninn_base::Until;

/// The remaining budget of an exploration. Several threads can spend from it.
#[derive(Debug)]
pub(crate) struct Budget {
    remaining: Mutex<Remaining>,
    /// The number of levels of child explorations that can still be opened.
    depth: u32,
    until: Until,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Remaining {
    tokens: u64,
    calls: u32,
}

/// A child's budget. On drop, the unused part is returned to the parent.
pub(crate) struct ChildBudget<'a> {
    parent: &'a Budget,
    own: Budget,
}

impl Budget {
    /// Creates a budget of `tokens` for all model calls together, `calls` of tools and `depth` levels of children.
    pub(crate) fn new(tokens: u64, calls: u32, depth: u32, until: Until) -> Self {
        let remaining = Mutex::new(Remaining { tokens, calls });
        Self { remaining, depth, until }
    }

    pub(crate) fn until(&self) -> &Until {
        &self.until
    }

    pub(crate) fn tokens(&self) -> u64 {
        self.remaining().tokens
    }

    pub(crate) fn calls(&self) -> u32 {
        self.remaining().calls
    }

    pub(crate) fn spend_tokens(&self, tokens: u64) {
        let mut remaining = self.remaining();
        remaining.tokens = remaining.tokens.saturating_sub(tokens);
    }

    /// Spends one call. Returns `false` if none remains.
    pub(crate) fn take_call(&self) -> bool {
        let mut remaining = self.remaining();
        let paid = remaining.calls > 0;
        remaining.calls = remaining.calls.saturating_sub(1);
        paid
    }

    /// Takes the budget for one of `siblings` children that start now. Half of the remaining budget is divided among
    /// these children. The parent keeps the other half for work with their results. Returns `None` if no child can be
    /// opened.
    pub(crate) fn share(&self, siblings: u32) -> Option<ChildBudget<'_>> {
        let depth = self.depth.checked_sub(1)?;
        let parts = siblings.max(1).saturating_mul(2);
        let mut remaining = self.remaining();
        let tokens = remaining.tokens / u64::from(parts);
        let calls = remaining.calls / parts;
        if calls == 0 {
            return None;
        }
        remaining.tokens -= tokens;
        remaining.calls -= calls;
        let time = self.until.left().mul_f32(CHILD_TIME);
        let until = self.until.no_later_than(std::time::Instant::now() + time);
        Some(ChildBudget { parent: self, own: Budget::new(tokens, calls, depth, until) })
    }

    fn remaining(&self) -> MutexGuard<'_, Remaining> {
        self.remaining.lock()
    }
}

/// Share of the remaining time for each child. Children run concurrently, so each child can use most of the time. The
/// rest is for the last turns of the parent.
const CHILD_TIME: f32 = 0.6;

impl std::ops::Deref for ChildBudget<'_> {
    type Target = Budget;

    fn deref(&self) -> &Budget {
        &self.own
    }
}

impl Drop for ChildBudget<'_> {
    fn drop(&mut self) {
        let unspent = *self.own.remaining();
        let mut remaining = self.parent.remaining();
        remaining.tokens += unspent.tokens;
        remaining.calls += unspent.calls;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn budget(tokens: u64, calls: u32, depth: u32) -> Budget {
        Budget::new(tokens, calls, depth, Until::within(Duration::from_secs(60)))
    }

    #[test]
    fn the_unused_part_of_a_share_is_returned() {
        let root = budget(1_000, 16, 2);
        {
            let (one, two) = (root.share(2).unwrap(), root.share(2).unwrap());
            assert_eq!((one.tokens(), one.calls()), (250, 4));
            assert_eq!((two.tokens(), two.calls()), (187, 3), "of the remaining budget");
            assert_eq!((root.tokens(), root.calls()), (563, 9));
            one.spend_tokens(100);
            assert!(one.take_call() && one.until().left() < root.until().left());
        }
        assert_eq!((root.tokens(), root.calls()), (900, 15));
    }

    #[test]
    fn nothing_opens_below_the_last_level_or_without_calls() {
        let root = budget(1_000, 16, 1);
        let child = root.share(1).unwrap();
        assert!(child.share(1).is_none());
        assert!(budget(1_000, 1, 9).share(1).is_none());
        let empty = budget(0, 0, 1);
        assert!(!empty.take_call());
        empty.spend_tokens(5);
        assert_eq!(empty.tokens(), 0);
    }

    #[test]
    fn fifty_levels_spend_no_more_than_the_root_had() {
        fn descend(budget: &Budget, spent: &mut (u64, u32)) {
            budget.spend_tokens(10);
            spent.0 += 10;
            spent.1 += u32::from(budget.take_call());
            if let Some(child) = budget.share(1) {
                descend(&child, spent);
            }
        }
        let (root, mut spent) = (budget(100_000, 64, 50), (0, 0));
        descend(&root, &mut spent);
        assert_eq!(root.tokens() + spent.0, 100_000);
        assert_eq!(root.calls() + spent.1, 64);
    }
}
