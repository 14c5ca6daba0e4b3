//! Full-text search over pages, ranked by BM25, with the line of each page that matches best.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use muninn_base::image::{DerivedImage, ImageFormat};
use muninn_text::lexical::{
    Bm25, Bm25Builder, Tokenizer, content_terms, has_terms_of, idf, question_terms, saturation,
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::folder::WikiFolder;
use super::pages::{Page, Pages};
use super::path::PagePath;

/// The weight of words in the title, aliases and path: they count as if written so often.
const TITLE_WEIGHT: usize = 3;
/// The most characters of a snippet.
const SNIPPET: usize = 200;

/// The image of the index.
const IMAGE: ImageFormat = ImageFormat { prefix: "search-", magic: b"muninn page search 4\n" };
const _: () = assert!(has_terms_of(3), "raise the version of the image, too");
/// The pages after whose reading the image is written. Fewer are read in a few milliseconds.
const READ_FOR_IMAGE: usize = 100;

/// Searches the pages of a wiki. The index is kept in memory for the next call and in an image for the next process.
pub struct PageSearch {
    root: PathBuf,
    kept: Mutex<Kept>,
}

struct Kept {
    /// `None` before the first search.
    index: Option<SearchIndex>,
    image: DerivedImage,
    /// It remembers the stems of words.
    tokenizer: Tokenizer,
}

impl PageSearch {
    /// The search over the pages of a folder.
    pub fn new(folder: &WikiFolder) -> PageSearch {
        let image = DerivedImage::new(&IMAGE, folder.state(), folder.root());
        let kept = Kept { index: None, image, tokenizer: Tokenizer::default() };
        PageSearch { root: folder.root().to_owned(), kept: Mutex::new(kept) }
    }

    /// The pages that match a query best, the best first; equal ones in the order of their paths.
    pub fn find(&self, query: &str, pages: &Pages, limit: usize) -> Vec<FoundPage> {
        let mut kept = self.kept.lock();
        let Kept { index, image, tokenizer } = &mut *kept;
        let index = index.get_or_insert_with(|| image.read());
        image.unsaved += index.refresh(tokenizer, pages, &self.root);
        if image.unsaved >= READ_FOR_IMAGE {
            image.write(index);
        }
        index.find(tokenizer, query, limit, pages, &self.root)
    }
}

/// An index over the texts of pages.
#[derive(Default, Serialize, Deserialize)]
struct SearchIndex {
    /// The page of each document, with the version that was read.
    documents: Vec<(PagePath, String)>,
    terms: Bm25,
    /// The version of all pages.
    of: String,
}

/// A found page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundPage {
    pub path: PagePath,
    pub title: String,
    /// The line that matches best.
    pub snippet: String,
}

impl SearchIndex {
    /// Follows the pages, and returns the number of pages that were read. Texts of unchanged pages are not read again.
    fn refresh(&mut self, tokenizer: &mut Tokenizer, pages: &Pages, root: &Path) -> usize {
        if self.of == pages.version() {
            return 0;
        }
        let is_current = |(path, etag): &(PagePath, String)| {
            let page = pages.get(path);
            page.is_some_and(|page| page.path == *path && page.etag == *etag)
        };
        let keep: Vec<bool> = self.documents.iter().map(is_current).collect();
        let kept = self.documents.iter().zip(&keep).filter(|(_, keep)| **keep);
        let mut documents: Vec<_> = kept.map(|(document, _)| document.clone()).collect();
        let known: HashSet<&PagePath> = documents.iter().map(|(path, _)| path).collect();
        let mut builder = Bm25Builder::default();
        let mut added = Vec::new();
        for page in pages.iter().filter(|page| !known.contains(&page.path)) {
            let Ok(body) = page.body(root) else { continue };
            let terms = content_terms(tokenizer, &weighted(page, &body));
            builder.add(terms.iter().map(|(term, count)| (term.as_str(), *count)));
            added.push((page.path.clone(), page.etag.clone()));
        }
        let count = added.len();
        if count > 0 || documents.len() < self.documents.len() {
            documents.extend(added);
            self.documents = documents;
            self.terms = Bm25::merged(&[(&self.terms, Some(&keep)), (&builder.finish(), None)]);
        }
        pages.version().clone_into(&mut self.of);
        count
    }

    fn find(&self, tokenizer: &mut Tokenizer, query: &str, limit: usize, pages: &Pages, root: &Path) -> Vec<FoundPage> {
        let weight = |term: &str| idf(self.terms.inverted().frequency(term), self.terms.len());
        let terms = question_terms(tokenizer, query).into_iter();
        let terms: Vec<(String, f32)> = terms
            .map(|term| {
                let weight = weight(&term);
                (term, weight)
            })
            .collect();
        let found = self.ranked(&terms, limit);
        let shown = found.into_iter().filter_map(|path| {
            let page = pages.get(path)?;
            let snippet = snippet(tokenizer, &terms, &page.body(root).ok()?);
            Some(FoundPage { path: path.clone(), title: page.title.clone(), snippet })
        });
        shown.collect()
    }

    fn ranked(&self, terms: &[(String, f32)], limit: usize) -> Vec<&PagePath> {
        let lengths = self.terms.lengths();
        let sum: u64 = lengths.iter().map(|length| u64::from(*length)).sum();
        #[expect(clippy::cast_precision_loss, reason = "a mean needs no last digit")]
        let mean = sum as f32 / lengths.len().max(1) as f32;
        let mut scores = vec![0.0; lengths.len()];
        for (term, weight) in terms {
            for (document, count) in self.terms.inverted().postings(term) {
                let document = document.0 as usize;
                let (Some(score), Some(length)) = (scores.get_mut(document), lengths.get(document)) else {
                    continue;
                };
                #[expect(clippy::cast_precision_loss, reason = "counts of words are far below 2^24")]
                let part = weight * saturation(count as f32, *length as f32, mean);
                *score += part;
            }
        }
        let paths = self.documents.iter().map(|(path, _)| path);
        let mut ranked: Vec<(f32, &PagePath)> =
            scores.into_iter().zip(paths).filter(|(score, _)| *score > 0.0).collect();
        ranked.sort_by(|(a, first), (b, second)| b.total_cmp(a).then_with(|| first.cmp(second)));
        ranked.into_iter().take(limit).map(|(_, path)| path).collect()
    }
}

/// The line whose words weigh most, each once, shortened; of equal ones the first.
fn snippet(tokenizer: &mut Tokenizer, terms: &[(String, f32)], body: &str) -> String {
    let (mut best, mut most) = ("", 0.0);
    for line in body.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut found = vec![false; terms.len()];
        tokenizer.each_term(line, |word| {
            let is_word = |(term, _): &(String, f32)| term == word;
            if let Some(found) = terms.iter().position(is_word).and_then(|at| found.get_mut(at)) {
                *found = true;
            }
        });
        let weights = terms.iter().zip(found).filter(|(_, found)| *found);
        let weight: f32 = weights.map(|((_, weight), _)| weight).sum();
        if weight > most || best.is_empty() {
            (best, most) = (line, weight);
        }
    }
    let mut snippet: String = best.chars().take(SNIPPET).collect();
    if snippet.len() < best.len() {
        snippet.push('…');
    }
    snippet
}

/// The text of a page with its names repeated.
fn weighted(page: &Page, body: &str) -> String {
    let names = format!("{}\n{}\n{}\n", page.title, page.aliases.join("\n"), page.path);
    format!("{}{body}", names.repeat(TITLE_WEIGHT))
}
