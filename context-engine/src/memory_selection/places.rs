//! Places as evidence: whether a memory and a question lead to the same files.
//!
//! A question in other words shares few words with the memory that answers it. But the code that both are about often
//! has words of both, so the ranking of the code is a bridge between them.

use muninn_text::lexical::Tokenizer;

use crate::question;
use crate::rank::{Candidate, Index, MAX_FILES, Query, rank};
use crate::tuning::Lists;

/// Number of files in a repository from which places count in full. In a smaller one, unrelated texts lead to the same
/// files by chance.
const MANY_FILES: f32 = 100.0;

/// The files that a text leads to, with their weights, by file number. The vector has unit length.
pub(super) struct Places(Vec<(usize, f32)>);

impl Places {
    /// Takes the ranked files. The weight of a file is the square of its score relative to the best one.
    pub(super) fn of(candidates: &[Candidate]) -> Self {
        Self::of_scores(candidates.iter().map(|one| (one.file, one.score)))
    }

    fn of_scores(scores: impl Iterator<Item = (usize, f32)>) -> Self {
        let mut weighted: Vec<(usize, f32)> = scores.collect();
        let best = weighted.first().map_or(0.0, |(_, score)| *score).max(f32::MIN_POSITIVE);
        weighted.iter_mut().for_each(|(_, score)| *score = (*score / best).powi(2));
        let length = weighted.iter().map(|(_, weight)| weight * weight).sum::<f32>().sqrt();
        weighted.iter_mut().for_each(|(_, weight)| *weight /= length.max(f32::MIN_POSITIVE));
        Self(weighted)
    }

    /// Ranks the files for a text by its words.
    pub(super) fn of_text(index: Index<'_>, text: &str, lists: Lists) -> Self {
        let question = question::analyse(&mut Tokenizer::new(), text);
        let query = Query::new(&question, index.snapshot);
        Self::of(&rank(index, &question, &query, lists, MAX_FILES))
    }

    /// Returns the similarity of two vectors, from 0 to 1, in a repository with this number of files.
    #[expect(clippy::cast_precision_loss, reason = "counts of files are far below 2^24")]
    pub(super) fn similarity(&self, other: &Self, files: usize) -> f32 {
        let weight_in_other = |file: usize| {
            let found = other.0.iter().find(|(number, _)| *number == file);
            found.map_or(0.0, |(_, weight)| *weight)
        };
        let cosine: f32 = self.0.iter().map(|(file, weight)| weight * weight_in_other(*file)).sum();
        cosine * ((files.max(1) as f32).ln() / MANY_FILES.ln()).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_similar_if_they_share_the_best_files() {
        let places = |files: &[(usize, f32)]| Places::of_scores(files.iter().copied());
        let question = places(&[(1, 4.0), (2, 2.0)]);
        let alike = question.similarity(&question, 100);
        assert!((alike - 1.0).abs() < 1e-6, "{alike}");
        assert!(question.similarity(&places(&[(1, 1.0)]), 100) > question.similarity(&places(&[(2, 1.0)]), 100));
        assert_eq!(question.similarity(&places(&[(3, 1.0)]), 100), 0.0);
        assert_eq!(question.similarity(&places(&[]), 100), 0.0);
        assert!(question.similarity(&question, 8) < 0.5, "a small repository");
    }
}
