//! Hits: the files that earlier sessions used for a question, from records of the type `context_hit`.

use muninn_base::RelPath;
use serde::{Deserialize, Serialize};

use crate::lexical::{Bm25, Bm25Builder, Tokenizer, counted, idf};

/// The files that were relevant to a question with these words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// The record's id.
    pub id: String,
    /// Words of the question that occur in the repository.
    pub terms: Vec<String>,
    pub files: Vec<RelPath>,
    /// Relevance, from 0 to 1.
    pub relevance: f32,
}

/// Number of virtual hits without words that are added to the statistics (smoothing). Without them, words that all hits
/// of a young memory share would have almost no weight.
const SMOOTHING: usize = 50;

/// Hits with an index over their words.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Hits {
    terms: Bm25,
    hits: Vec<Hit>,
    /// The norm of each hit's term vector, weighted by [`Hits::weight`].
    norms: Vec<f32>,
}

impl Hits {
    /// Indexes hits by their words. Hits without words or files are dropped.
    pub fn new(hits: impl IntoIterator<Item = Hit>) -> Self {
        let mut tokenizer = Tokenizer::new();
        let mut index = Bm25Builder::default();
        let is_usable = |hit: &Hit| !hit.terms.is_empty() && !hit.files.is_empty();
        let hits: Vec<Hit> = hits.into_iter().filter(is_usable).collect();
        let mut terms_of = Vec::with_capacity(hits.len());
        for hit in &hits {
            let terms = counted(&mut tokenizer, &hit.terms.join(" "));
            index.add(terms.iter().map(|(term, _)| (term.as_str(), 1)));
            terms_of.push(terms);
        }
        let terms = index.finish();
        let square = |term: &str| weight(&terms, term).powi(2);
        let norm = |of: &Vec<(String, u32)>| of.iter().map(|(term, _)| square(term)).sum::<f32>().sqrt();
        Self { norms: terms_of.iter().map(norm).collect(), terms, hits }
    }

    /// The weight of a term: its smoothed inverse document frequency.
    pub fn weight(&self, term: &str) -> f32 {
        weight(&self.terms, term)
    }

    /// The norm of a hit's term vector, weighted by [`Self::weight`].
    pub fn norm(&self, number: u32) -> f32 {
        self.norms.get(number as usize).copied().unwrap_or(f32::INFINITY)
    }

    /// The index of their words. A document's number is its hit's number.
    pub fn terms(&self) -> &Bm25 {
        &self.terms
    }

    /// The hit with a number from [`Self::terms`].
    pub fn get(&self, number: u32) -> Option<&Hit> {
        self.hits.get(number as usize)
    }
}

fn weight(terms: &Bm25, term: &str) -> f32 {
    idf(terms.inverted().frequency(term).max(1), terms.len() + SMOOTHING)
}
