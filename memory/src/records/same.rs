//! Records that say the same.

use std::collections::{BTreeSet, HashMap};

use super::lines::{Digest, digest};
use super::{Body, Record};

/// Which record stands for which: of all that say the same, the one of the smallest id. In whatever order it is told.
///
/// Patterns in the same words about the same things are the same without anybody's saying so. Each session that edits two
/// files together writes one: a line for each pair of these would soon be most of main.
#[derive(Debug, Clone, Default)]
pub(crate) struct Same {
    /// By what is folded, what stands for it or for what does.
    kept: HashMap<String, String>,
    /// One of those with the same words and entities.
    patterns: HashMap<Digest, String>,
}

impl Same {
    /// Takes in what a record says of others, or of what is like it; most say nothing.
    pub(crate) fn take(&mut self, record: &Record) {
        match &record.body {
            Body::Same { kept, folded, .. } => self.join(kept, folded),
            Body::Pattern { pattern, entities, .. } if !pattern.is_empty() && !record.id.is_empty() => {
                let entities: BTreeSet<&str> = entities.iter().map(String::as_str).collect();
                let entities: Vec<&str> = entities.into_iter().collect();
                self.like(digest(&format!("{pattern}\0{}", entities.join("\0"))), &record.id);
            }
            _ => {}
        }
    }

    fn like(&mut self, pattern: Digest, id: &str) {
        let known = self.patterns.entry(pattern).or_insert_with(|| id.to_owned()).clone();
        self.join(&known, id);
    }

    /// Two records say the same, and so does all that says the same as either.
    pub(crate) fn join(&mut self, one: &str, other: &str) {
        let (one, other) = (self.kept(one).to_owned(), self.kept(other).to_owned());
        if one != other {
            let (kept, folded) = ordered(&one, &other);
            self.kept.insert(folded, kept);
        }
    }

    /// The record that stands for one, itself where no other does.
    pub(crate) fn kept<'a>(&'a self, id: &'a str) -> &'a str {
        let mut id = id;
        while let Some(next) = self.kept.get(id) {
            id = next;
        }
        id
    }

    /// Takes in what another file says.
    pub(crate) fn extend(&mut self, other: &Self) {
        for (folded, kept) in &other.kept {
            self.join(kept, folded);
        }
        for (pattern, id) in &other.patterns {
            self.like(*pattern, id);
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
    fn patterns_are_the_same_by_their_words_and_the_set_of_their_entities() {
        let pattern = |id: &str, text: &str, entities: &str| {
            let line = format!(r#"{{"id":"{id}","type":"pattern","pattern":"{text}","entities":[{entities}]}}"#);
            Record::parse(&line).unwrap()
        };
        let records = [
            pattern("c", "together", r#""x.rs","y.rs""#),
            pattern("b", "together", r#""y.rs","x.rs","y.rs""#),
            pattern("d", "together", r#""x.rs""#),
            pattern("e", "apart", r#""x.rs","y.rs""#),
        ];
        // In one file, and in two.
        for cut in 0..records.len() {
            let [mut same, mut other] = [Same::default(), Same::default()];
            records[..cut].iter().for_each(|record| same.take(record));
            records[cut..].iter().for_each(|record| other.take(record));
            same.extend(&other);
            let kept = ["b", "c", "d", "e"].map(|id| same.kept(id));
            assert_eq!(kept, ["b", "b", "d", "e"], "{cut}");
        }
    }

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
