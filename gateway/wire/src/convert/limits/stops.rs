//! Stop sequences that a backend does not take. The converter of the answer cuts at those.

use super::super::request::{Dropped, Sampling};

/// The most stop sequences to cut at, and the longest one in bytes. Each text of an answer is compared with all of them.
const MOST: usize = 64;
const LONGEST: usize = 1024;

/// The rule of a backend for stop sequences.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    /// The largest number of them.
    pub most: usize,
    /// Whether one may consist of white space.
    pub blank: bool,
}

/// Moves the stop sequences that break the rule to those to cut at.
pub(super) fn fit(sampling: &mut Sampling<'_>, rule: Rule, dropped: &mut Dropped) {
    for stop in std::mem::take(&mut sampling.stop) {
        let is_taken = sampling.stop.len() < rule.most && (rule.blank || !stop.trim().is_empty());
        if stop.is_empty() {
            dropped.add("stop");
        } else if is_taken {
            sampling.stop.push(stop);
        } else if sampling.cut.len() < MOST && stop.len() <= LONGEST {
            sampling.cut.push(stop);
        } else {
            dropped.add("stop");
        }
    }
}
