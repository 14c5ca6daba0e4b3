//! Records that say the same.

use std::collections::HashMap;

/// Which record stands for which: of all that say the same, the one of the smallest id. In whatever order it is told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Same(HashMap<String, String>);

impl Same {
    /// Two records say the same, and so does all that says the same as either.
    pub(crate) fn join(&mut self, one: &str, other: &str) {
        let (one, other) = (self.kept(one).to_owned(), self.kept(other).to_owned());
        if one != other {
            let (kept, folded) = ordered(&one, &other);
            self.0.insert(folded, kept);
        }
    }

    /// The record that stands for one, itself where no other does.
    pub(crate) fn kept<'a>(&'a self, id: &'a str) -> &'a str {
        let mut id = id;
        while let Some(next) = self.0.get(id) {
            id = next;
        }
        id
    }

    /// Takes in what another file says.
    pub(crate) fn extend(&mut self, other: &Self) {
        for (folded, kept) in &other.0 {
            self.join(kept, folded);
        }
    }
}

/// Two ids, the smaller first.
pub(crate) fn ordered(one: &str, other: &str) -> (String, String) {
    let (first, second) = if one <= other { (one, other) } else { (other, one) };
    (first.to_owned(), second.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_stands_for_all_in_whatever_order_they_are_joined() {
        for pairs in [
            [("a", "c"), ("b", "c")],
            [("c", "b"), ("a", "c")],
            [("b", "a"), ("c", "c")],
        ] {
            let mut same = Same::default();
            pairs.iter().for_each(|(one, other)| same.join(one, other));
            assert_eq!(
                (same.kept("a"), same.kept("b"), same.kept("d")),
                ("a", "a", "d"),
                "{pairs:?}"
            );
        }
    }
}
