//! What earlier sessions worked on for which questions, from records of the type `context_hit`.

use muninn_repo_tools::RelPath;
use serde::{Deserialize, Serialize};

use crate::index::lexical::{Bm25, Bm25Builder, Tokenizer, counted, idf};

/// For a question with these words, these files mattered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// The record's id.
    pub id: String,
    /// The question's words that the repository contains.
    pub terms: Vec<String>,
    /// Paths.
    pub files: Vec<RelPath>,
    /// How much they did, from 0 to 1.
    pub relevance: f32,
}

/// So many more hits, without any of the words, are imagined beside those there are. Among a few hits nothing is rare and
/// nothing common, and a young memory must not take the words that all its hits share for words that say nothing.
const IMAGINED: usize = 50;

/// Hits, to be found by their words.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Hits {
    terms: Bm25,
    hits: Vec<Hit>,
    /// The length of each hit's vector of terms, which are weighed by [`Hits::weight`].
    norms: Vec<f32>,
}

impl Hits {
    /// Indexes hits by their words; those without words or files lead nowhere and are left out.
    pub fn new(hits: impl IntoIterator<Item = Hit>) -> Self {
        let mut tokenizer = Tokenizer::new();
        let mut index = Bm25Builder::default();
        let leads = |hit: &Hit| !hit.terms.is_empty() && !hit.files.is_empty();
        let hits: Vec<Hit> = hits.into_iter().filter(leads).collect();
        let mut terms_of = Vec::with_capacity(hits.len());
        for hit in &hits {
            let terms = counted(&mut tokenizer, &hit.terms.join(" "));
            index.add(terms.iter().map(|(term, _)| (term.as_str(), 1)));
            terms_of.push(terms);
        }
        let terms = index.finish();
        let square = |term: &str| weight(&terms, term).powi(2);
        let norm = |of: &Vec<(String, u32)>| of.iter().map(|(term, _)| square(term)).sum::<f32>().sqrt();
        Self {
            norms: terms_of.iter().map(norm).collect(),
            terms,
            hits,
        }
    }

    /// What a term counts: its idf among these hits and some imagined ones.
    pub fn weight(&self, term: &str) -> f32 {
        weight(&self.terms, term)
    }

    /// The length of a hit's vector of terms, each weighed by [`Self::weight`].
    pub fn norm(&self, number: u32) -> f32 {
        self.norms.get(number as usize).copied().unwrap_or(f32::INFINITY)
    }

    /// The index of their words; a document's number is its hit's.
    pub fn terms(&self) -> &Bm25 {
        &self.terms
    }

    /// The hit of a number that [`Self::terms`] gave.
    pub fn get(&self, number: u32) -> Option<&Hit> {
        self.hits.get(number as usize)
    }
}

fn weight(terms: &Bm25, term: &str) -> f32 {
    idf(terms.inverted().frequency(term).max(1), terms.len() + IMAGINED)
}
