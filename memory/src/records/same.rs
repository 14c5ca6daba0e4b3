//! Records that say the same.

use std::collections::{BTreeSet, HashMap, HashSet};

/// What records say of which others say the same, and which do not.
#[derive(Debug, Clone, Default)]
pub(crate) struct Same {
    joined: BTreeSet<(String, String)>,
    apart: BTreeSet<(String, String)>,
}

/// Which record stands for which: of all that say the same, the one of the smallest id.
#[derive(Debug, Clone, Default)]
pub(crate) struct Alike(HashMap<String, String>);

impl Same {
    /// Two records say the same, and so does all that says the same as either.
    pub(crate) fn join(&mut self, one: &str, other: &str) {
        self.joined.insert(ordered(one, other));
    }

    /// Two records do not say the same, though there may be one that says the same as each of them.
    pub(crate) fn part(&mut self, one: &str, other: &str) {
        self.apart.insert(ordered(one, other));
    }

    /// Takes in what another file says.
    pub(crate) fn extend(&mut self, other: Self) {
        self.joined.extend(other.joined);
        self.apart.extend(other.apart);
    }

    /// What comes of it, in whatever order it was told: pairs are joined one after the other, and passed over where that
    /// would join what is apart.
    pub(crate) fn settled(&self) -> Alike {
        self.settled_without(&HashSet::new())
    }

    /// The same among those that are left without some: what only these joined is not.
    pub(crate) fn settled_without(&self, gone: &HashSet<String>) -> Alike {
        let joined = self
            .joined
            .iter()
            .filter(|(one, other)| !gone.contains(one) && !gone.contains(other));
        let mut chains = Alike::default();
        joined.clone().for_each(|(one, other)| chains.join(one, other));
        let mut apart: HashMap<&str, Vec<&(String, String)>> = HashMap::new();
        for pair in &self.apart {
            let (one, other) = (chains.kept(&pair.0), chains.kept(&pair.1));
            if one == other {
                apart.entry(one).or_default().push(pair);
            }
        }
        if apart.is_empty() {
            return chains;
        }
        let mut alike = Alike::default();
        for (one, other) in joined {
            let ends = ordered(alike.kept(one), alike.kept(other));
            let mut pairs = apart.get(chains.kept(one)).into_iter().flatten();
            if !pairs.any(|(one, other)| ordered(alike.kept(one), alike.kept(other)) == ends) {
                alike.join(one, other);
            }
        }
        alike
    }
}

impl Alike {
    fn join(&mut self, one: &str, other: &str) {
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
            let same = same.settled();
            assert_eq!(
                (same.kept("a"), same.kept("b"), same.kept("d")),
                ("a", "a", "d"),
                "{pairs:?}"
            );
        }
    }

    #[test]
    fn what_is_apart_is_not_joined_through_a_third() {
        let mut same = Same::default();
        for (one, other) in [("a", "b"), ("b", "c"), ("c", "d"), ("e", "f")] {
            same.join(one, other);
        }
        same.part("c", "a");
        let alike = same.settled();
        assert_eq!(
            ["a", "b", "c", "d", "e", "f"].map(|id| alike.kept(id)),
            ["a", "a", "c", "c", "e", "e"]
        );
        let without = same.settled_without(&HashSet::from(["b".to_owned()]));
        assert_eq!(["a", "b", "c", "d"].map(|id| without.kept(id)), ["a", "b", "c", "c"]);
    }
}
