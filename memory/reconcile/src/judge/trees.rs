//! Boosted decision trees: the fitted part of the judge, as numbers in `trees.json`.
//!
//! The score of a class is the sum of one leaf per tree, and the probabilities are the softmax of the scores (Friedman,
//! "Greedy Function Approximation: A Gradient Boosting Machine", 2001). `memory/training/judge/fit.py` writes the file.

use muninn_text::embed::LoadError;
use serde::Deserialize;

static SHIPPED: &str = include_str!("trees.json");

/// A node of a tree.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Node {
    /// A feature, a threshold, and the nodes for values up to it and above it.
    Inner(u16, f32, u16, u16),
    /// A score.
    Leaf(f32),
}

/// The trees of one class.
#[derive(Debug, Clone, Deserialize)]
struct Class {
    /// The score before the first tree.
    start: f32,
    trees: Vec<Vec<Node>>,
}

/// The trees of all classes: contradiction, duplicate, neither.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Forest {
    /// Names of the features, in their order.
    #[cfg(test)]
    pub(super) features: Vec<String>,
    classes: [Class; 3],
}

impl Forest {
    /// Loads the trees that are compiled in.
    pub(super) fn shipped() -> Result<Self, LoadError> {
        serde_json::from_str(SHIPPED)
            .map_err(|error| LoadError::Unusable { what: "the file of trees".to_owned(), reason: error.to_string() })
    }

    /// The probability of each class.
    pub(super) fn probabilities(&self, values: &[f32]) -> [f32; 3] {
        let score = |class: &Class| {
            let leaves = class.trees.iter().map(|tree| leaf(tree, values));
            (class.start + leaves.sum::<f32>()).exp()
        };
        let scores = self.classes.each_ref().map(score);
        let sum: f32 = scores.iter().sum();
        scores.map(|score| score / sum)
    }
}

/// The leaf of a tree. Children follow their parents, so that the walk ends.
fn leaf(tree: &[Node], values: &[f32]) -> f32 {
    let mut at = 0;
    loop {
        match tree.get(at) {
            Some(Node::Inner(feature, threshold, low, high)) => {
                let value = values.get(usize::from(*feature)).copied().unwrap_or_default();
                at = usize::from(if value <= *threshold { *low } else { *high });
            }
            Some(Node::Leaf(score)) => return *score,
            None => return 0.0,
        }
    }
}
