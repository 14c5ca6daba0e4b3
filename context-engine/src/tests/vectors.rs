//! Ranking by vectors: used for short questions only.

use std::sync::Arc;

use muninn_recall::RecallOptions;
use muninn_text::embed::{EmbedError, Embedder};

use super::Repo;
use crate::{Engine, EngineSettings, Lists, Tuning};

/// An embedder with two vectors: one for pomes (apples and pears), one for everything else.
struct PomeEmbedder;

impl Embedder for PomeEmbedder {
    fn id(&self) -> &str {
        "fruit-1"
    }

    fn dimensions(&self) -> usize {
        2
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let is_pome = |text: &&str| ["pome", "apple", "pear"].iter().any(|word| text.contains(word));
        let vector = |text| if is_pome(text) { vec![1.0, 0.0] } else { vec![0.0, 1.0] };
        Ok(texts.iter().map(vector).collect())
    }
}

/// An embedder that always fails.
struct BrokenEmbedder;

impl Embedder for BrokenEmbedder {
    fn id(&self) -> &str {
        "broken-1"
    }

    fn dimensions(&self) -> usize {
        2
    }

    fn embed(&self, _texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Err(EmbedError::Failed { embedder: "broken-1".to_owned(), reason: "no power".to_owned() })
    }
}

fn engine(repo: &Repo, embedder: Option<Arc<dyn Embedder>>) -> Engine {
    let engine = repo.engine_with(EngineSettings { embedder, ..EngineSettings::default() });
    engine.refresh(&()).unwrap();
    engine
}

fn orchard() -> Repo {
    Repo::with(&[
        ("src/apple.rs", "/// Picks what is ripe.\nfn apple() {}\n"),
        ("src/plum.rs", "/// Picks what is blue, where `sorted` is.\nfn plum() {}\n"),
        ("src/cherry.rs", "/// Leaves it to the birds.\nfn cherry() {}\n"),
    ])
}

fn found(engine: &Engine, question: &str, lists: Lists) -> Vec<String> {
    let tuning = Tuning { lists, decide: false };
    let files = engine.rank(question, tuning, 10).files;
    files.iter().map(|file| file.path.to_string()).collect()
}

#[test]
fn a_short_question_finds_a_file_without_its_words() {
    let repo = orchard();
    let engine = engine(&repo, Some(Arc::new(PomeEmbedder)));
    let question = "where are pomes sorted";
    assert_eq!(found(&engine, question, Lists::ALL), ["src/plum.rs"], "lexical, while there are no vectors");
    let filled = engine.embed(&|| true, &|_, _| ());
    assert_eq!((filled.embedded, filled.left), (3, 0));
    assert_eq!(found(&engine, question, Lists::ALL), ["src/plum.rs", "src/apple.rs"]);
    assert_eq!(found(&engine, question, Lists::ALL.without(Lists::VECTORS)), ["src/plum.rs"]);
}

#[test]
fn questions_with_a_path_or_a_headline_are_ranked_by_words() {
    let repo = orchard();
    let engine = engine(&repo, Some(Arc::new(PomeEmbedder)));
    engine.embed(&|| true, &|_, _| ());
    let story: String = (0..20).map(|n| format!(" thing{n}")).collect();
    for question in ["pomes in src/plum.rs", &format!("pomes are sorted\n{story}")] {
        let by_words = found(&engine, question, Lists::ALL.without(Lists::VECTORS));
        assert_eq!(found(&engine, question, Lists::ALL), by_words, "{question}");
    }
}

#[test]
fn edited_files_are_embedded_by_the_next_call() {
    let repo = orchard();
    let engine = engine(&repo, Some(Arc::new(PomeEmbedder)));
    engine.embed(&|| true, &|_, _| ());
    repo.write("src/apple.rs", "/// Picks nothing.\nfn nothing() {}\n");
    repo.write("src/pear.rs", "/// Picks what is soft.\nfn pear() {}\n");
    engine.refresh(&()).unwrap();
    assert!(found(&engine, "some pome", Lists::ALL).is_empty(), "the old text is not found");
    assert_eq!(engine.embed(&|| true, &|_, _| ()).embedded, 2);
    assert_eq!(found(&engine, "some pome", Lists::ALL), ["src/pear.rs"]);
}

#[test]
fn without_vectors_the_ranking_is_lexical() {
    let repo = orchard();
    for embedder in [None, Some(Arc::new(BrokenEmbedder) as Arc<dyn Embedder>)] {
        let broken = embedder.is_some();
        let engine = engine(&repo, embedder);
        let filled = engine.embed(&|| true, &|_, _| ());
        assert_eq!((filled.embedded, !filled.notes.is_empty()), (0, broken));
        assert_eq!(found(&engine, "where are pomes sorted", Lists::ALL), ["src/plum.rs"]);
    }
}

/// Knows that plums are blue. Its vectors have other dimensions than those of [`Fruit`].
struct Colour;

impl Embedder for Colour {
    fn id(&self) -> &str {
        "colour-1"
    }

    fn dimensions(&self) -> usize {
        3
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let vector = |text: &&str| {
            if text.contains("pome") || text.contains("birds") { vec![0.0, 0.0, 1.0] } else { vec![1.0, 0.0, 0.0] }
        };
        Ok(texts.iter().map(vector).collect())
    }
}

#[test]
fn another_embedder_brings_its_own_vectors() {
    let repo = orchard();
    let engine = engine(&repo, Some(Arc::new(PomeEmbedder)));
    engine.embed(&|| true, &|_, _| ());
    let question = "where are pomes sorted";
    assert_eq!(found(&engine, question, Lists::ALL), ["src/plum.rs", "src/apple.rs"]);

    engine.set_embedder(Some(Arc::new(Colour)));
    assert_eq!(engine.embedded_chunks(), 0);
    assert_eq!(found(&engine, question, Lists::ALL), ["src/plum.rs"], "vectors of another embedder take no part");
    assert_eq!(engine.embed(&|| true, &|_, _| ()).embedded, 3);
    assert_eq!(found(&engine, question, Lists::ALL), ["src/plum.rs", "src/cherry.rs"]);

    engine.set_embedder(Some(Arc::new(Colour)));
    assert_eq!(engine.embedded_chunks(), 3, "the same embedder keeps its vectors");
    engine.set_embedder(None);
    assert_eq!(found(&engine, question, Lists::ALL), ["src/plum.rs"]);
}

#[test]
fn memory_follows_a_change_of_the_embedder() {
    let line = r#"{"id":"1","type":"learning","text":"leave cherries to the birds","session":"a"}"#;
    let repo = Repo::with(&[(".muninn/memory/main.jsonl", line)]);
    let engine = engine(&repo, Some(Arc::new(BrokenEmbedder)));
    assert_eq!(engine.current_memories().embedder_id(), None);
    engine.set_embedder(Some(Arc::new(Colour)));
    engine.embed(&|| true, &|_, _| ());
    let memories = engine.current_memories();
    assert_eq!(memories.embedder_id(), Some("colour-1"));
    let found = memories.recall("some pome", &RecallOptions::default());
    assert_eq!(found.len(), 1, "by meaning alone");
}
