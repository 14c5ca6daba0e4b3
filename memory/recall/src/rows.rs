//! The vectors of memories, and of the questions that they answer.

use muninn_team::memories::Memory;
use muninn_text::embed::normalise;
use muninn_text::vectors::VectorIndex;

/// One row for each memory, in order, and behind them one for each question. A memory is as similar as its nearest row.
pub(super) struct Rows {
    index: VectorIndex,
    memories: u32,
    /// The memory of each question, ascending.
    owners: Vec<u32>,
}

impl Rows {
    /// Takes the vectors of `embedding::texts`.
    pub(super) fn new(items: &[Memory], vectors: &[i8], dimensions: usize) -> Self {
        let mut index = VectorIndex::new(dimensions, usize::MAX);
        index.push(vectors);
        let owners = (0u32..).zip(items).flat_map(|(doc, item)| item.answers.iter().map(move |_| doc)).collect();
        Self { index, memories: u32::try_from(items.len()).unwrap_or(u32::MAX), owners }
    }

    fn owner(&self, row: u32) -> Option<u32> {
        match row.checked_sub(self.memories) {
            None => Some(row),
            Some(question) => self.owners.get(question as usize).copied(),
        }
    }

    /// The memories of the `keep` nearest rows of allowed memories, some of them repeatedly.
    pub(super) fn nearest(&self, query: &[f32], keep: usize, allowed: &dyn Fn(u32) -> bool) -> Vec<u32> {
        let rows = self.index.nearest_of(query, keep, |row| self.owner(row).is_some_and(allowed));
        rows.into_iter().filter_map(|row| self.owner(row)).collect()
    }

    /// The cosine of each memory, and that of the nearest question that it answers, from 0 to 1; 0 without one.
    pub(super) fn cosines(&self, query: &[f32], docs: impl Iterator<Item = u32> + Clone) -> Vec<[f32; 2]> {
        let own = self.index.cosines(query, docs.clone());
        // A negative cosine is as unrelated as zero.
        let mut cosines: Vec<[f32; 2]> = own.into_iter().map(|cosine| [cosine.max(0.0), 0.0]).collect();
        for (doc, [_, cosine]) in docs.zip(&mut cosines).filter(|_| !self.owners.is_empty()) {
            let first = self.owners.partition_point(|owner| *owner < doc);
            let questions = self.owners[first..].iter().take_while(|owner| **owner == doc).zip(first..);
            let rows = questions.filter_map(|(_, question)| Some(self.memories + u32::try_from(question).ok()?));
            *cosine = self.index.cosines(query, rows).into_iter().fold(*cosine, f32::max);
        }
        cosines
    }

    #[cfg(test)]
    pub(super) fn bytes(&self, row: u32) -> Option<&[i8]> {
        self.index.bytes(row)
    }

    /// The memory among those wanted whose own vector is most similar to that of `doc`, and the cosine. `wide` rows are
    /// compared exactly.
    pub(super) fn most_like(&self, doc: u32, wide: usize, wanted: impl Fn(u32) -> bool) -> Option<(u32, f32)> {
        let mut vector: Vec<f32> = self.index.bytes(doc)?.iter().map(|value| f32::from(*value)).collect();
        normalise(&mut vector);
        let near = self.index.nearest_of(&vector, wide, |row| row < self.memories && wanted(row));
        let cosines = self.index.cosines(&vector, near.iter().copied());
        near.into_iter().zip(cosines).max_by(|(_, a), (_, b)| a.total_cmp(b))
    }
}
