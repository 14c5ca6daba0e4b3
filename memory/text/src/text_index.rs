//! An index that follows changes of its texts.
//!
//! It has two parts. New texts join the newest part, which is made anew with each change and therefore stays small. When it
//! has grown, it joins the old part. Until then, removed texts of the old part stay in its statistics, and searches pass
//! them over.

use std::mem;

use serde::{Deserialize, Serialize};

use super::embed::StaticVectors;
use super::texts::{TextQuery, TextScore, Texts};

/// The most texts of the newest part.
const MOST_NEWEST: usize = 500;

/// An index over texts, each with a key.
#[derive(Serialize, Deserialize)]
pub struct TextIndex<K> {
    /// The keys of the old part, then those of the newest.
    keys: Vec<K>,
    old: Texts,
    newest: Texts,
}

impl<K> TextIndex<K> {
    /// The keys of all texts.
    pub fn keys(&self) -> &[K] {
        &self.keys
    }

    /// The keys of the old part.
    pub fn old_keys(&self) -> &[K] {
        &self.keys[..self.old.len()]
    }

    /// Adds texts. A part that is made anew loses its texts whose keys are not kept.
    pub fn add(&mut self, keys: Vec<K>, texts: &Texts, is_kept: impl Fn(&K) -> bool) {
        let mut newest = self.keys.split_off(self.old.len());
        newest.extend(keys);
        let keep: Vec<bool> = newest.iter().map(&is_kept).collect();
        let (keep_newest, keep_new) = keep.split_at(self.newest.len());
        let texts = Texts::merged(&[(&self.newest, Some(keep_newest)), (texts, Some(keep_new))]);
        newest.retain(&is_kept);
        self.set_newest(newest, texts, is_kept);
    }

    /// Replaces the newest part. No text of the old part is gone.
    pub fn replace_newest(&mut self, keys: Vec<K>, texts: Texts) {
        self.keys.truncate(self.old.len());
        self.set_newest(keys, texts, |_| true);
    }

    fn set_newest(&mut self, keys: Vec<K>, texts: Texts, is_kept: impl Fn(&K) -> bool) {
        self.newest = texts;
        if keys.len() > MOST_NEWEST {
            let keep: Vec<bool> = self.keys.iter().map(&is_kept).collect();
            // Merging a whole part is cheaper.
            let keep = if keep.contains(&false) { Some(keep.as_slice()) } else { None };
            self.old = Texts::merged(&[(&self.old, keep), (&mem::take(&mut self.newest), None)]);
            self.keys.retain(is_kept);
        }
        self.keys.extend(keys);
    }

    /// A query whose words are counted in both parts.
    pub fn query(&self, text: &str, vectors: &StaticVectors) -> TextQuery {
        TextQuery::of(text, vectors, &[&self.old, &self.newest])
    }

    /// The score of each text, in the order of the keys.
    pub fn scores(&self, query: &TextQuery) -> impl Iterator<Item = TextScore> {
        query.scores(&self.old).into_iter().chain(query.scores(&self.newest))
    }
}

// A key need not have a default.
impl<K> Default for TextIndex<K> {
    fn default() -> Self {
        TextIndex { keys: Vec::new(), old: Texts::default(), newest: Texts::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexical::Tokenizer;
    use crate::texts::TextsBuilder;

    /// A word of its own for each key. The vectors know no Cyrillic words, so that only the same word is alike.
    fn word(key: usize) -> String {
        key.to_string().bytes().map(|digit| char::from_u32(u32::from(digit - b'0') + 0x430).unwrap()).collect()
    }

    fn texts(keys: impl IntoIterator<Item = usize>) -> (Vec<usize>, Texts) {
        let vectors = StaticVectors::shared().unwrap();
        let (mut tokenizer, mut index, mut all) = (Tokenizer::new(), TextsBuilder::default(), Vec::new());
        for key in keys {
            index.add(&mut tokenizer, vectors, &word(key));
            all.push(key);
        }
        (all, index.finish())
    }

    fn add(index: &mut TextIndex<usize>, keys: impl IntoIterator<Item = usize>, removed: &[usize]) {
        let (keys, texts) = texts(keys);
        index.add(keys, &texts, |key| !removed.contains(key));
    }

    /// Checks that an index has these texts, as if it had been built from them.
    fn check(index: &TextIndex<usize>, old: impl IntoIterator<Item = usize>, newest: impl IntoIterator<Item = usize>) {
        let ((keys, old), (newest_keys, newest)) = (texts(old), texts(newest));
        let expected = TextIndex { keys: [keys, newest_keys].concat(), old, newest };
        assert_eq!(index.keys(), expected.keys());
        assert_eq!(index.old_keys(), expected.old_keys());
        assert!(index.old == expected.old && index.newest == expected.newest);
    }

    #[test]
    fn removed_texts_leave_a_part_when_it_is_made_anew() {
        let mut index = TextIndex::default();
        add(&mut index, 0..MOST_NEWEST + 1, &[]);
        check(&index, 0..MOST_NEWEST + 1, []);
        add(&mut index, 600..603, &[7]);
        add(&mut index, 700..702, &[7, 601]);
        check(&index, 0..MOST_NEWEST + 1, [600, 602, 700, 701]);
        add(&mut index, 1000..1000 + MOST_NEWEST, &[7, 601, 701]);
        let kept = (0..MOST_NEWEST + 1).filter(|key| *key != 7);
        check(&index, kept.chain([600, 602, 700]).chain(1000..1000 + MOST_NEWEST), []);
        add(&mut index, 1..2, &[0]);
        let query = index.query(&word(602), StaticVectors::shared().unwrap());
        let scores: Vec<f32> = index.scores(&query).map(|score| score.value).collect();
        let best = scores.iter().position(|score| *score > 0.99);
        assert_eq!((best.map(|at| index.keys()[at]), scores.len()), (Some(602), index.keys().len()));
    }

    #[test]
    fn replaced_newest_part_stays_apart_until_it_has_grown() {
        let mut index = TextIndex::default();
        for (keys, old, newest) in
            [(0..3, 0..0, 0..3), (1..501, 0..0, 1..501), (0..501, 0..501, 0..0), (7..9, 0..501, 7..9)]
        {
            let (keys, texts) = texts(keys);
            index.replace_newest(keys, texts);
            check(&index, old, newest);
        }
    }
}
