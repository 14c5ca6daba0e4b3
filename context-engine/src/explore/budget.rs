//! What an exploration may spend, from the root down.
//!
//! A child takes a share out of its parent's budget when it begins and gives back what it did not use when it ends, so
//! that all of a tree together never spends more than its root was given.

use std::sync::{Mutex, MutexGuard, PoisonError};

use muninn_repo_tools::Until;

/// What is left of a budget. May be spent from several threads.
#[derive(Debug)]
pub(crate) struct Budget {
    left: Mutex<Left>,
    /// Levels of children that may still open.
    depth: u32,
    until: Until,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Left {
    tokens: u64,
    calls: u32,
}

/// A child's budget; what is left of it goes back to the parent when this is dropped.
pub(crate) struct Share<'a> {
    parent: &'a Budget,
    own: Budget,
}

impl Budget {
    /// `tokens` of all model calls together, `calls` of tools, `depth` levels of children.
    pub(crate) fn new(tokens: u64, calls: u32, depth: u32, until: Until) -> Self {
        let left = Mutex::new(Left { tokens, calls });
        Self { left, depth, until }
    }

    pub(crate) fn until(&self) -> &Until {
        &self.until
    }

    pub(crate) fn tokens(&self) -> u64 {
        self.left().tokens
    }

    pub(crate) fn calls(&self) -> u32 {
        self.left().calls
    }

    pub(crate) fn spend_tokens(&self, tokens: u64) {
        let mut left = self.left();
        left.tokens = left.tokens.saturating_sub(tokens);
    }

    /// Pays for one call, unless none is left.
    pub(crate) fn take_call(&self) -> bool {
        let mut left = self.left();
        let paid = left.calls > 0;
        left.calls = left.calls.saturating_sub(1);
        paid
    }

    /// The budget of one of `siblings` children that begin now: half of what is left is divided among them, the other
    /// half stays for making something of what they find. `None` where no child may open.
    pub(crate) fn share(&self, siblings: u32) -> Option<Share<'_>> {
        let depth = self.depth.checked_sub(1)?;
        let parts = siblings.max(1).saturating_mul(2);
        let mut left = self.left();
        let tokens = left.tokens / u64::from(parts);
        let calls = left.calls / parts;
        if calls == 0 {
            return None;
        }
        left.tokens -= tokens;
        left.calls -= calls;
        let time = self.until.left().mul_f32(CHILD_TIME);
        let until = self.until.no_later_than(std::time::Instant::now() + time);
        Some(Share {
            parent: self,
            own: Budget::new(tokens, calls, depth, until),
        })
    }

    fn left(&self) -> MutexGuard<'_, Left> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Children run beside each other, so that each may have most of the time; the rest is for their parent's own end.
const CHILD_TIME: f32 = 0.6;

impl std::ops::Deref for Share<'_> {
    type Target = Budget;

    fn deref(&self) -> &Budget {
        &self.own
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let unspent = *self.own.left();
        let mut left = self.parent.left();
        left.tokens += unspent.tokens;
        left.calls += unspent.calls;
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
    fn a_share_is_taken_and_what_is_left_of_it_given_back() {
        let root = budget(1_000, 16, 2);
        {
            let (one, two) = (root.share(2).unwrap(), root.share(2).unwrap());
            assert_eq!((one.tokens(), one.calls()), (250, 4));
            assert_eq!((two.tokens(), two.calls()), (187, 3), "of what was left then");
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
