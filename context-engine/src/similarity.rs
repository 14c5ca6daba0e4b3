//! The similarity of a question to its lexical candidates.
//!
//! The static vector of the question is compared with the vectors of titles and of the first lines of chunks. The
//! comparison takes a few dozen embeddings of microseconds each. It reads a few files, which packing reads anyway.

use muninn_index::Snapshot;
use muninn_repo_tools::{Worktree, read_text};
use muninn_text::embed::StaticVectors;
use muninn_text::lexical::DocId;

use crate::rank::Candidate;

/// Number of compared files, and of compared chunks of each.
const FILES: usize = 4;
const CHUNKS: usize = 2;
/// Number of characters at the start of a chunk that are compared. A chunk usually begins with its description.
const HEAD_CHARS: usize = 400;
/// Maximum size of a file whose text is compared, in bytes. For a larger file, only the titles are compared.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The highest cosines with the question, from 0 to 1.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Similarity {
    /// The highest cosine among titles: paths with the names that chunks define.
    pub(crate) titles: f32,
    /// The highest cosine among the starts of chunks.
    pub(crate) texts: f32,
}

/// Compares a question with its candidates. `trust` is the weight of a chunk, from 0 to 1.
pub(crate) fn similarity(
    (worktree, snapshot): (&Worktree, &Snapshot),
    question: &str,
    candidates: &[Candidate],
    trust: impl Fn(DocId) -> f32,
) -> Similarity {
    let mut best = Similarity::default();
    let Some(vectors) = StaticVectors::shared() else {
        return best;
    };
    let asked = vectors.embed_one(question);
    let cosine = |text: &str| -> f32 { vectors.embed_one(text).iter().zip(&asked).map(|(a, b)| a * b).sum() };
    for candidate in candidates.iter().take(FILES) {
        let path = &snapshot.file(candidate.file).facts.path;
        let text = read_text(worktree, path, MAX_FILE_BYTES).map_or_else(|_| String::new(), |file| file.text);
        for chunk in candidate.chunks.iter().take(CHUNKS) {
            let (span, trust) = (snapshot.span(chunk.doc), trust(chunk.doc));
            let names: Vec<&str> = snapshot.symbols_of(chunk.doc).map(|symbol| symbol.name).collect();
            let title = format!("{} {}", path.as_str().replace(['/', '.', '_', '-'], " "), names.join(" "));
            best.titles = best.titles.max(trust * cosine(&title));
            best.texts = best.texts.max(trust * cosine(&head(&text, span.first, span.last)));
        }
    }
    best
}

/// Returns the first characters of a range of lines, counted from 1.
fn head(text: &str, first: u32, last: u32) -> String {
    let (skipped, kept) = (first.saturating_sub(1) as usize, last.saturating_sub(first) as usize + 1);
    let lines = text.lines().skip(skipped).take(kept);
    lines.flat_map(|line| line.chars().chain(['\n'])).take(HEAD_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_cut_from_the_lines_of_its_chunk() {
        assert_eq!(head("a\nb\nc\nd\n", 2, 3), "b\nc\n");
        assert_eq!(head("a\n", 5, 9), "");
        assert_eq!(head(&"x".repeat(1_000), 1, 1).len(), HEAD_CHARS);
    }
}
