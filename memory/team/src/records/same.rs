//! Groups of duplicate records.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::decisions::Decisions;
use super::kinds::{self, Body};
use super::lines::{Digest, digest};
use super::record::Record;

/// Relations between pairs of records: duplicates, and pairs that must not be merged.
///
/// Similarity is determined pair by pair and is not transitive: a can be similar to b, and b similar to c, while a
/// contradicts c. Therefore links are followed in the order of their ids, and a link that would join two separated
/// records is skipped. The result depends only on the set of links, not on the order in which they were found.
///
/// Patterns with the same words and entities are duplicates without a link. Each session that edits two files together
/// writes one such pattern, and links for all pairs of them would soon be most of main.
#[derive(Debug, Clone, Default)]
pub struct Links {
    same: BTreeSet<(String, String)>,
    /// Ids of patterns by a digest of words and entities.
    patterns: HashMap<Digest, BTreeSet<String>>,
    /// Pairs that were found to be both true.
    distinct: HashSet<(String, String)>,
    /// Pairs with a conflict, open or not.
    disputed: HashSet<(String, String)>,
    /// Pairs in which the newer record superseded the older one.
    replaced: HashSet<(String, String)>,
}

/// The representative of each record: the smallest id of its group.
#[derive(Debug, Clone, Default)]
pub struct Representatives(HashMap<String, String>);

impl Links {
    /// Adds a record. Only records about pairs, and patterns, have an effect.
    pub fn take(&mut self, record: &Record) {
        match &record.body {
            Body::Same(kinds::Same { kept, folded, .. }) => _ = self.same.insert(ordered(kept, folded)),
            Body::Distinct(kinds::Distinct { left, right, .. }) => _ = self.distinct.insert(ordered(left, right)),
            Body::Conflict(kinds::Conflict { left, right, .. }) => _ = self.disputed.insert(ordered(left, right)),
            Body::Supersedes(kinds::Supersedes { older, newer: Some(newer), .. }) => {
                _ = self.replaced.insert(ordered(older, newer));
            }
            Body::Pattern(kinds::Pattern { pattern, entities, .. }) if !pattern.is_empty() && !record.id.is_empty() => {
                let entities: BTreeSet<&str> = entities.iter().map(String::as_str).collect();
                let entities: Vec<&str> = entities.into_iter().collect();
                let pattern = digest(&format!("{pattern}\0{}", entities.join("\0")));
                self.patterns.entry(pattern).or_default().insert(record.id.clone());
            }
            _ => {}
        }
    }

    /// Adds the links of another file.
    pub(crate) fn extend(&mut self, other: Self) {
        self.same.extend(other.same);
        self.distinct.extend(other.distinct);
        self.disputed.extend(other.disputed);
        self.replaced.extend(other.replaced);
        for (pattern, ids) in other.patterns {
            self.patterns.entry(pattern).or_default().extend(ids);
        }
    }

    /// Returns whether exactly these two records were found to be both true.
    pub(crate) fn are_distinct(&self, one: &str, other: &str) -> bool {
        self.distinct.contains(&ordered(one, other))
    }

    /// Groups by all links, ignoring separated pairs.
    pub fn chains(&self) -> Representatives {
        self.joined(&SeparatePairs::new())
    }

    /// Groups by the links that join no separated pair. A decision separates its records, whatever was found before. A
    /// pair that was found to be duplicates is no longer in conflict.
    pub(crate) fn followed(&self, decisions: &Decisions) -> Representatives {
        self.joined(&self.apart(decisions))
    }

    fn joined(&self, apart: &SeparatePairs) -> Representatives {
        let mut apart = SeparationIndex::of(apart);
        let mut same = Representatives::default();
        let found = self.same.iter().map(|(one, other)| (one.as_str(), other.as_str()));
        let links: BTreeSet<(&str, &str)> = found.chain(self.alike()).collect();
        for (one, other) in links {
            let (one, other) = (same.shortened(one), same.shortened(other));
            if one != other && !apart.holds(&one, &other) {
                let (kept, folded) = ordered(&one, &other);
                apart.join(&kept, &folded);
                same.0.insert(folded, kept);
            }
        }
        let ids: Vec<String> = same.0.keys().cloned().collect();
        ids.iter().for_each(|id| drop(same.shortened(id)));
        same
    }

    /// Pairs of patterns with the same words and entities: the first, and each other one.
    fn alike(&self) -> impl Iterator<Item = (&str, &str)> {
        self.patterns.values().flat_map(|ids| {
            let first = ids.first().map_or("", String::as_str);
            ids.iter().skip(1).map(move |other| (first, other.as_str()))
        })
    }

    fn apart(&self, decisions: &Decisions) -> SeparatePairs {
        let disputed = self.disputed.iter().filter(|pair| !self.same.contains(*pair));
        let mut apart: SeparatePairs = disputed.chain(&self.distinct).chain(&self.replaced).cloned().collect();
        for decision in decisions.holding() {
            for (at, one) in decision.keep.iter().enumerate() {
                let others = decision.keep.iter().skip(at + 1).chain(&decision.drop);
                apart.extend(others.map(|other| ordered(one, other)));
            }
        }
        apart
    }
}

type SeparatePairs = HashSet<(String, String)>;

/// The separated neighbours of each group.
///
/// A group is named by one of its ids. When two groups join, the one with fewer neighbours is renamed, so each
/// neighbour moves at most O(log n) times.
struct SeparationIndex {
    /// Neighbours by group name.
    apart: HashMap<String, HashSet<String>>,
    /// Group names that differ from the group's representative.
    names: HashMap<String, String>,
}

impl SeparationIndex {
    fn of(pairs: &SeparatePairs) -> Self {
        let mut apart: HashMap<String, HashSet<String>> = HashMap::new();
        for (one, other) in pairs {
            apart.entry(one.clone()).or_default().insert(other.clone());
            apart.entry(other.clone()).or_default().insert(one.clone());
        }
        let names = HashMap::new();
        Self { apart, names }
    }

    fn name<'a>(&'a self, kept: &'a str) -> &'a str {
        self.names.get(kept).map_or(kept, String::as_str)
    }

    fn holds(&self, one: &str, other: &str) -> bool {
        let apart = self.apart.get(self.name(one));
        apart.is_some_and(|apart| apart.contains(self.name(other)))
    }

    /// Joins the group of `folded` into that of `kept`.
    fn join(&mut self, kept: &str, folded: &str) {
        let count = |name: &str| self.apart.get(name).map_or(0, HashSet::len);
        let (mut most, mut fewest) = (self.name(kept).to_owned(), self.name(folded).to_owned());
        if count(&most) < count(&fewest) {
            std::mem::swap(&mut most, &mut fewest);
        }
        let moved = self.apart.remove(&fewest).unwrap_or_default();
        for other in &moved {
            if let Some(of_other) = self.apart.get_mut(other) {
                of_other.remove(&fewest);
                of_other.insert(most.clone());
            }
        }
        if !moved.is_empty() {
            self.apart.entry(most.clone()).or_default().extend(moved);
        }
        self.names.remove(folded);
        self.names.insert(kept.to_owned(), most);
    }
}

impl Representatives {
    /// The representative of a record: itself if it has no other.
    pub fn kept<'a>(&'a self, id: &'a str) -> &'a str {
        let mut id = id;
        while let Some(next) = self.0.get(id) {
            id = next;
        }
        id
    }

    /// Like [`Self::kept`], with path compression, because links in an unfavourable order form long chains.
    fn shortened(&mut self, id: &str) -> String {
        let kept = self.kept(id).to_owned();
        let mut at = id.to_owned();
        while at != kept {
            at = self.0.insert(at, kept.clone()).unwrap_or_else(|| kept.clone());
        }
        kept
    }
}

/// Two ids, the smaller first.
pub fn ordered(one: &str, other: &str) -> (String, String) {
    let (first, second) = if one <= other { (one, other) } else { (other, one) };
    (first.to_owned(), second.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(records: &[(&str, &str, &str)]) -> Links {
        let mut links = Links::default();
        for (kind, one, other) in records {
            let (first, second) = if *kind == "same" { ("kept", "folded") } else { ("left", "right") };
            let line = format!(r#"{{"type":"{kind}","{first}":"{one}","{second}":"{other}"}}"#);
            links.take(&Record::parse(&line).unwrap());
        }
        links
    }

    fn kept(links: &Links, decisions: &[&str]) -> String {
        let mut decided = Decisions::default();
        decisions.iter().for_each(|line| decided.take(&Record::parse(line).unwrap()));
        let same = links.followed(&decided);
        ["a", "b", "c", "d"].iter().map(|id| same.kept(id)).collect()
    }

    #[test]
    fn smallest_id_represents_its_group_in_any_order() {
        for pairs in [
            [("same", "a", "c"), ("same", "b", "c")],
            [("same", "c", "b"), ("same", "a", "c")],
            [("same", "b", "a"), ("same", "b", "c")],
        ] {
            assert_eq!(kept(&links(&pairs), &[]), "aaad", "{pairs:?}");
        }
    }

    #[test]
    fn chains_are_compressed_to_one_step() {
        let same = links(&[("same", "a", "x"), ("same", "b", "d"), ("same", "d", "x")]).chains();
        assert_eq!(same.0.len(), 3);
        assert!(same.0.values().all(|kept| kept == "a"), "{same:?}");
    }

    #[test]
    fn separated_records_are_not_joined_through_a_third() {
        let chain = [("same", "a", "b"), ("same", "b", "c")];
        for kind in ["conflict", "distinct"] {
            let apart = links(&[&chain[..], &[(kind, "c", "a")]].concat());
            assert_eq!(kept(&apart, &[]), "aacd", "{kind}");
        }
        let decision = r#"{"type":"decision","conflict":"X","keep":["a"],"drop":["c"]}"#;
        assert_eq!(kept(&links(&chain), &[decision]), "aacd");
        // The same through a fourth record.
        let square = [("same", "a", "b"), ("same", "c", "d"), ("same", "b", "d"), ("conflict", "a", "c")];
        assert_eq!(kept(&links(&square), &[]), "aaca");
    }

    /// A record that is separated from many others remains separated, whichever of the two groups is renamed.
    #[test]
    fn separation_survives_joins_in_any_order() {
        let joined = [("same", "a", "b"), ("same", "c", "d"), ("same", "a", "d"), ("same", "a", "e")];
        for apart in [["b", "x", "y"], ["x", "b", "y"], ["c", "d", "x"]] {
            let held = apart.map(|other| ("conflict", other, "e"));
            assert_eq!(kept(&links(&[&joined[..], &held].concat()), &[]), "aaaa", "{apart:?}");
            let same = links(&[&joined[..], &held].concat()).followed(&Decisions::default());
            assert_eq!(same.kept("e"), "e", "{apart:?}");
        }
    }

    #[test]
    fn duplicates_end_a_conflict_unless_a_person_decided() {
        let found = links(&[("conflict", "a", "b"), ("same", "a", "b")]);
        assert_eq!(kept(&found, &[]), "aacd");
        let decision = r#"{"type":"decision","conflict":"X","keep":["a","b"]}"#;
        assert_eq!(kept(&found, &[decision]), "abcd");
    }

    #[test]
    fn patterns_with_equal_words_and_entities_are_duplicates() {
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
            let [mut links, mut other] = [Links::default(), Links::default()];
            records[..cut].iter().for_each(|record| links.take(record));
            records[cut..].iter().for_each(|record| other.take(record));
            links.extend(other);
            let same = links.followed(&Decisions::default());
            let kept = ["b", "c", "d", "e"].map(|id| same.kept(id));
            assert_eq!(kept, ["b", "b", "d", "e"], "{cut}");
        }
    }
}
