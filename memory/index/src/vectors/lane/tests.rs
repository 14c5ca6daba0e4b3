//! Filling and searching with real files.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use muninn_repo_tools::fixture::Fixture;

use super::*;
use crate::vectors::{ByBlob, Filled};
use crate::{Indexer, Snapshot};

/// A fake embedder. Its vectors have three numbers, one per known word. It counts the texts.
#[derive(Default)]
struct Words {
    asked: AtomicUsize,
}

impl Embedder for Words {
    fn id(&self) -> &str {
        "words-1"
    }

    fn dimensions(&self) -> usize {
        3
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.asked.fetch_add(texts.len(), Ordering::Relaxed);
        let vector = |text: &&str| {
            let mut vector: Vec<f32> =
                ["apple", "pear", "plum"].map(|word| if text.contains(word) { 1.0 } else { 0.0 }).to_vec();
            muninn_text::embed::normalise(&mut vector);
            vector
        };
        Ok(texts.iter().map(vector).collect())
    }
}

struct Stage {
    repo: Fixture,
    cache: tempfile::TempDir,
    snapshot: Snapshot,
    indexer: Indexer,
}

impl Stage {
    fn new(files: &[(&str, &str)]) -> Self {
        let mut stage = Self {
            repo: Fixture::with(files),
            cache: tempfile::tempdir().unwrap(),
            snapshot: Snapshot::default(),
            indexer: Indexer::new(None, 1 << 20, Clock::system()),
        };
        stage.refresh();
        stage
    }

    fn refresh(&mut self) {
        let refreshed = self.indexer.refresh(&self.repo.worktree(), Some(&self.snapshot), &());
        self.snapshot = refreshed.snapshot.unwrap_or_else(|| std::mem::take(&mut self.snapshot));
    }

    fn vectors(&self) -> (Arc<Words>, Vectors) {
        let words = Arc::new(Words::default());
        let vectors =
            Vectors::new(Arc::clone(&words) as Arc<dyn Embedder>, Some(self.dir().to_owned()), Clock::system());
        (words, vectors)
    }

    fn dir(&self) -> &Path {
        self.cache.path()
    }

    fn fill(&self, vectors: &Vectors) -> Filled {
        vectors.fill(&self.repo.worktree(), &self.snapshot, 1 << 20, &|| true)
    }

    /// Returns the path and the first line of the chunks most similar to a question.
    fn found(&self, vectors: &Vectors, question: &str) -> Vec<String> {
        let by_blob = ByBlob::new(&self.snapshot);
        let near = vectors.search(question, 10).unwrap();
        let docs = near.iter().filter(|near| near.score > 0.9).flat_map(|near| {
            let docs = by_blob.docs(&self.snapshot, &near.blob, near.form, near.chunk);
            docs.collect::<Vec<_>>()
        });
        let mut found: Vec<String> = docs
            .map(|doc| {
                let file = self.snapshot.file(self.snapshot.file_of(doc));
                format!("{}:{}", file.facts.path, self.snapshot.span(doc).first)
            })
            .collect();
        found.sort();
        found
    }
}

const FRUIT: [(&str, &str); 3] =
    [("a.md", "# One\napple\n\n## Two\npear\n"), ("b.rs", "fn plum() {}\n"), ("copy/b.rs", "fn plum() {}\n")];

#[test]
fn finds_chunks_by_what_they_are_like() {
    let stage = Stage::new(&FRUIT);
    let (words, vectors) = stage.vectors();
    assert!(stage.found(&vectors, "a pear").is_empty(), "before there are vectors");
    let filled = stage.fill(&vectors);
    assert_eq!((filled.embedded, filled.loaded, filled.left), (3, 0, 0));
    assert!(filled.notes.is_empty(), "{:?}", filled.notes);
    assert_eq!(stage.found(&vectors, "a pear"), ["a.md:4"]);
    assert_eq!(stage.found(&vectors, "plum"), ["b.rs:1", "copy/b.rs:1"], "one blob, two files");
    assert!(stage.found(&vectors, "nothing of it").is_empty());
    assert_eq!(words.asked.load(Ordering::Relaxed), 3 + 3);
}

#[test]
fn nothing_is_embedded_twice() {
    let mut stage = Stage::new(&FRUIT);
    stage.fill(&stage.vectors().1);
    let (words, again) = stage.vectors();
    let filled = stage.fill(&again);
    assert_eq!((filled.embedded, filled.loaded), (0, 3));
    assert_eq!(words.asked.load(Ordering::Relaxed), 0);
    assert_eq!(stage.found(&again, "pear"), ["a.md:4"]);

    stage.repo.write("b.rs", b"fn apple() {}\n");
    stage.refresh();
    assert_eq!(stage.fill(&again).embedded, 1);
    assert_eq!(stage.found(&again, "plum"), ["copy/b.rs:1"]);
    assert_eq!(stage.found(&again, "apple"), ["a.md:1", "b.rs:1"]);
    let unchanged = stage.fill(&again);
    assert_eq!((unchanged.embedded, unchanged.loaded), (0, 0));
}

#[test]
fn an_interrupted_filling_goes_on_later() {
    let files: Vec<(String, String)> = (0..40).map(|n| (format!("{n}.rs"), format!("fn apple_{n}() {{}}\n"))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let stage = Stage::new(&files);
    let (_, vectors) = stage.vectors();
    let asked = AtomicUsize::new(0);
    let cut =
        vectors.fill(&stage.repo.worktree(), &stage.snapshot, 1 << 20, &|| asked.fetch_add(1, Ordering::Relaxed) < 25);
    assert_eq!((cut.embedded, cut.left, vectors.len()), (25, 15, 25));
    let rest = stage.fill(&vectors);
    assert_eq!((rest.embedded, rest.left, vectors.len()), (15, 0, 40));
    let (_, other) = stage.vectors();
    assert_eq!(stage.fill(&other).loaded, 40, "vectors of the interrupted filling must be kept");
}

#[test]
fn a_file_that_changed_meanwhile_waits_for_the_next_snapshot() {
    let stage = Stage::new(&FRUIT);
    stage.repo.write("a.md", b"plum\n");
    let (_, vectors) = stage.vectors();
    let filled = stage.fill(&vectors);
    assert_eq!((filled.embedded, filled.left), (1, 1));
    assert_eq!(stage.found(&vectors, "plum"), ["b.rs:1", "copy/b.rs:1"]);
}

#[test]
fn without_a_directory_that_can_be_written_vectors_are_in_memory() {
    let mut stage = Stage::new(&FRUIT);
    let file = stage.dir().join("file");
    std::fs::write(&file, "").unwrap();
    let vectors = Vectors::new(Arc::new(Words::default()), Some(file), Clock::system());
    let filled = stage.fill(&vectors);
    assert_eq!(filled.notes.len(), 1, "{:?}", filled.notes);
    assert_eq!(stage.found(&vectors, "pear"), ["a.md:4"]);

    stage.repo.write("c.md", b"# Plums\nplum\n");
    stage.refresh();
    let filled = stage.fill(&vectors);
    assert_eq!((filled.embedded, filled.notes.len()), (1, 0), "a failed write must not be repeated");
}

#[test]
fn damage_found_while_filling_is_mended_then() {
    let stage = Stage::new(&FRUIT);
    let path = stage.dir().join("vectors.db");
    let many: Vec<_> =
        (0..400).map(|n: i32| ((BlobId::of(&n.to_le_bytes()).unwrap(), "form".to_owned()), vec![1; 300])).collect();
    let mut store = VectorStore::open(stage.dir(), "words-1", 3, &Clock::system()).unwrap();
    store.put(&many).unwrap();
    drop(store);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.iter_mut().skip(3 * 4096).for_each(|byte| *byte = 0x5a);
    std::fs::write(&path, bytes).unwrap();

    let filled = stage.fill(&stage.vectors().1);
    assert_eq!(filled.notes.len(), 1, "{:?}", filled.notes);
    let filled = stage.fill(&stage.vectors().1);
    assert_eq!((filled.embedded, filled.loaded), (0, 3), "{:?}", filled.notes);
}
