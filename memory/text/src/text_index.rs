//! An index that follows changes of its texts.
//!
//! It has two parts. New texts join the newest part, which is made anew with each change and therefore stays small. When it
//! has grown, it joins the old part. Until then, removed texts of the old part stay in its statistics: searches pass them
//! over.

use std::mem;

use serde::{Deserialize, Serialize};

use super::lexical::{Bm25, Keep};

/// The most texts of the newest part.
const MOST_NEWEST: usize = 500;

/// An index over texts that are numbered in the order in which they were added.
pub trait MergeTexts: Default {
    /// The texts of several indexes, as far as they are kept, in their order.
    fn merged(parts: &[(&Self, Keep<'_>)]) -> Self;
}

/// An index over texts, and what each of them is.
#[derive(Serialize, Deserialize)]
pub struct KeyedTexts<K, T> {
    /// The key of each text.
    pub keys: Vec<K>,
    pub texts: T,
}

/// The index in its two parts.
#[derive(Serialize, Deserialize)]
pub struct TextIndex<K, T> {
    old: KeyedTexts<K, T>,
    newest: KeyedTexts<K, T>,
}

impl<K, T: MergeTexts> KeyedTexts<K, T> {
    /// The texts of both parts whose keys are kept, in their order.
    pub fn merged(parts: [Self; 2], is_kept: impl Fn(&K) -> bool) -> Self {
        let flags = parts.each_ref().map(|part| part.keys.iter().map(&is_kept).collect::<Vec<bool>>());
        let mut texts = Vec::new();
        for (part, flags) in parts.iter().zip(&flags) {
            // Merging a whole part is cheaper.
            let keep = if flags.contains(&false) { Some(flags.as_slice()) } else { None };
            texts.push((&part.texts, keep));
        }
        let texts = T::merged(&texts);
        let mut keys = Vec::new();
        for (part, flags) in parts.into_iter().zip(&flags) {
            keys.extend(part.keys.into_iter().zip(flags).filter(|(_, is_kept)| **is_kept).map(|(key, _)| key));
        }
        KeyedTexts { keys, texts }
    }
}

impl<K, T: MergeTexts> TextIndex<K, T> {
    /// The old and the newest part.
    pub fn parts(&self) -> [&KeyedTexts<K, T>; 2] {
        [&self.old, &self.newest]
    }

    /// The keys of all texts, in the order of the parts.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.old.keys.iter().chain(&self.newest.keys)
    }

    /// Adds texts. Of the others, the parts that are made anew lose those that are not kept.
    pub fn add(&mut self, new: KeyedTexts<K, T>, is_kept: impl Fn(&K) -> bool) {
        self.newest = KeyedTexts::merged([mem::take(&mut self.newest), new], &is_kept);
        if self.newest.keys.len() > MOST_NEWEST {
            self.old = KeyedTexts::merged([mem::take(&mut self.old), mem::take(&mut self.newest)], &is_kept);
        }
    }

    /// Replaces the newest part.
    pub fn replace_newest(&mut self, newest: KeyedTexts<K, T>) {
        self.newest = KeyedTexts::default();
        self.add(newest, |_| true);
    }
}

impl MergeTexts for Bm25 {
    fn merged(parts: &[(&Self, Keep<'_>)]) -> Self {
        Bm25::merged(parts)
    }
}

// A key need not have a default.
impl<K, T: Default> Default for KeyedTexts<K, T> {
    fn default() -> Self {
        KeyedTexts { keys: Vec::new(), texts: T::default() }
    }
}

impl<K, T: Default> Default for TextIndex<K, T> {
    fn default() -> Self {
        TextIndex { old: KeyedTexts::default(), newest: KeyedTexts::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexical::Bm25Builder;

    /// Texts whose only word is their key.
    fn texts(keys: impl IntoIterator<Item = usize>) -> KeyedTexts<usize, Bm25> {
        let (mut index, mut all) = (Bm25Builder::default(), Vec::new());
        for key in keys {
            index.add([(key.to_string().as_str(), 1)].into_iter());
            all.push(key);
        }
        KeyedTexts { keys: all, texts: index.finish() }
    }

    fn is_of(part: &KeyedTexts<usize, Bm25>, keys: impl IntoIterator<Item = usize>) -> bool {
        let expected = texts(keys);
        part.keys == expected.keys && part.texts == expected.texts
    }

    #[test]
    fn removed_texts_leave_a_part_when_it_is_made_anew() {
        let mut index = TextIndex::default();
        index.add(texts(0..MOST_NEWEST + 1), |_| true);
        assert!(is_of(index.parts()[0], 0..MOST_NEWEST + 1) && is_of(index.parts()[1], []));
        index.add(texts(600..603), |key| *key != 7);
        index.add(texts(700..702), |key| ![7, 601].contains(key));
        assert!(is_of(index.parts()[0], 0..MOST_NEWEST + 1), "the old part is as it was");
        assert!(is_of(index.parts()[1], [600, 602, 700, 701]));
        assert_eq!(index.keys().count(), MOST_NEWEST + 5);
        index.add(texts(1000..1000 + MOST_NEWEST), |key| ![7, 601, 701].contains(key));
        let kept = (0..MOST_NEWEST + 1).filter(|key| *key != 7);
        assert!(is_of(index.parts()[0], kept.chain([600, 602, 700]).chain(1000..1000 + MOST_NEWEST)));
        assert!(is_of(index.parts()[1], []));
    }

    #[test]
    fn replaced_newest_part_stays_apart_until_it_has_grown() {
        let mut index = TextIndex::default();
        index.replace_newest(texts(0..3));
        index.replace_newest(texts(1..MOST_NEWEST + 1));
        assert!(is_of(index.parts()[0], []) && is_of(index.parts()[1], 1..MOST_NEWEST + 1));
        index.replace_newest(texts(0..MOST_NEWEST + 1));
        assert!(is_of(index.parts()[0], 0..MOST_NEWEST + 1) && is_of(index.parts()[1], []));
    }
}
