//! All that a memory holds, loaded and searchable.
//!
//! Recall is hybrid: the words of a memory, the words of it and its neighbours together, and what is like it in meaning
//! (`rank.rs`). What cannot be read is left out and reported, never fatal, for these files arrive by `git pull` from
//! anyone.

pub(crate) mod confidence;
mod embedding;
mod kept;
mod make;
mod options;
mod order;
mod rank;
mod summaries;
mod types;
mod words;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use muninn_repo_tools::{GlobSet, RelPath};

use self::embedding::Embedding;
use self::kept::Store;
use self::make::Which;
pub use self::options::{BlobOf, RecallOptions};
use self::rank::{Ranked, Ranker};
use self::types::Types;
use crate::embed::Embedder;
use crate::hits::Hits;
use crate::index::lexical::{Bm25, DocId, Tokenizer};
use crate::index::vectors::VectorIndex;
use crate::memories::{Loaded, Memory, MemoryKind};
use crate::records::{Home, MAIN, Record, RecordFile};

/// What a memory keeps of its score when nothing speaks for it: it says that it is a guess, or its files have changed.
/// So doubt decides between memories that fit alike, and does not hide one that alone fits.
const DOUBTED: f32 = 0.7;
/// How sure a memory is that does not say.
const USUAL_CONFIDENCE: f32 = 0.7;
/// Scores that differ by less than one part in so many are alike, and then the newer memory comes first.
const STEPS: f32 = 1024.0;

/// So many memories are kept between processes; fewer are made again in no time, though a transformer embeds them.
const WORTH_KEEPING: usize = 100;

/// So many memories take longer to read than a question should wait.
const LARGE: usize = 2_000;

/// What a memory holds.
#[derive(Clone, Default)]
pub struct Memories {
    store: Arc<Store>,
    hits: Arc<Hits>,
    vectors: Option<Vectors>,
    /// What the sections of a file are about.
    globs: Arc<HashMap<String, GlobSet>>,
    /// Memories that are contested, by their source.
    opponents: Arc<HashMap<String, DocId>>,
    /// Where this is one part of what was loaded, the files of records in it.
    only: Option<Arc<HashSet<String>>>,
    types: Arc<Types>,
}

#[derive(Clone)]
struct Vectors {
    embedder: Arc<dyn Embedder>,
    index: Arc<VectorIndex>,
}

/// A memory that fits a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Recalled {
    /// Which.
    pub doc: DocId,
    /// How much speaks for it, from 0 to 1: the share of what the question says that the memory says too, its rarer
    /// words counting for more, times what it lost for doubt. Comparable between questions.
    pub score: f32,
    /// What the order rests on. Comparable within one question only.
    pub rank_score: f32,
    /// A file that it rests on is another by now.
    pub stale: bool,
}

impl Memories {
    /// Reads knowledge (`.muninn/knowledge/**/*.md` and Metis documents, which only a repository has) and main, for recall
    /// by words alone.
    pub fn load(home: &Home) -> Self {
        Self::load_from(home, &RecordFile::of_team(home), None, None)
    }

    /// Reads knowledge and these files of records, for recall by words and, with an embedder, by
    /// meaning. Where it fails recall is by words alone, and a note says so. With a directory, that of the derived cache,
    /// what was made of the files is kept there for the next time; once they have changed, no text is embedded anew that
    /// was there before.
    pub fn load_from(
        home: &Home,
        files: &[RecordFile],
        embedder: Option<Arc<dyn Embedder>>,
        cache: Option<&Path>,
    ) -> Self {
        let id = embedder.as_ref().map_or("", |embedder| embedder.id());
        let kept = cache.and_then(|dir| kept::read(dir, home));
        let store = match kept {
            Some(kept) if kept.serves(files, id) && kept.is_current(home) => kept,
            older => {
                let embedder = embedder.as_deref().map(|embedder| Embedding::new(embedder, older));
                let mut store = Store::of(home, files);
                if let Some(embedder) = embedder {
                    store.embed(&embedder);
                }
                // After a failure the file keeps the vectors of texts that are still there.
                let is_whole = store.embedder == id;
                let cache = cache.filter(|_| is_whole && store.items.len() >= WORTH_KEEPING);
                if let Some(Err(error)) = cache.map(|dir| kept::write(dir, home, &store)) {
                    store.notes.push(format!("memory is not kept in the cache: {error}"));
                }
                store
            }
        };
        Self::made_of(store, embedder)
    }

    /// What these files hold of records that others have taken the place of, and of nothing else: each says since when.
    pub fn superseded(home: &Home, files: &[RecordFile]) -> Self {
        let records = files.iter().map(|file| Loaded::of_file(file, home));
        Self::made_of(Store::made_of(records, Which::Superseded, home.path(MAIN)), None)
    }

    /// Records that are in no file, for recall among them alone; those that others have taken the place of are left out.
    pub(crate) fn of_records<'a>(
        records: impl IntoIterator<Item = &'a Record>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        let mut store = Store::made_of([Loaded::of(records)], Which::Holding, MAIN);
        if let Some(embedder) = &embedder {
            store.embed(&Embedding::new(&**embedder, None));
        }
        Self::made_of(store, embedder)
    }

    fn made_of(mut store: Store, embedder: Option<Arc<dyn Embedder>>) -> Self {
        let bytes: Vec<i8> = std::mem::take(&mut store.vectors)
            .into_iter()
            .map(u8::cast_signed)
            .collect();
        let embedder = embedder.filter(|embedder| store.embedder == embedder.id());
        let vectors = embedder.map(|embedder| {
            let mut index = VectorIndex::new(embedder.dimensions(), usize::MAX);
            index.push(&bytes);
            let index = Arc::new(index);
            Vectors { embedder, index }
        });
        Self {
            globs: Arc::new(globs(&store.items)),
            hits: Arc::new(std::mem::take(&mut store.hits)),
            opponents: Arc::new(opponents(&store.items)),
            types: Arc::new(Types::new(&store.items)),
            store: Arc::new(store),
            vectors,
            only: None,
        }
    }

    /// The memories that fit a question best, best first. It calls the embedder once, for the question.
    pub fn recall(&self, question: &str, options: &RecallOptions<'_>) -> Vec<Recalled> {
        let terms = words::terms(&mut Tokenizer::new(), question);
        let terms: Vec<String> = terms.into_iter().map(|(term, _)| term).collect();
        let vectors = self.vectors.as_ref();
        let near = vectors.and_then(|vectors| vectors.embedder.embed_question(question).ok());
        let ranker = Ranker {
            index: &self.store.index,
            runs: &self.store.runs,
            mean_lengths: self.store.mean_lengths,
            vectors: vectors.map(|vectors| &*vectors.index),
        };
        let of_types = self.types.allowed_by(options);
        let of_types_alone = self.only.is_none() && options.is_of_types_alone();
        let otherwise =
            |memory: &Memory| self.has(memory) && options.allow(memory, &|path| self.applies_to(memory, path));
        let allowed = |doc: u32| of_types(doc) && (of_types_alone || self.get(DocId(doc)).is_some_and(otherwise));
        let mut ranked = ranker.rank(&terms, near.as_deref(), &allowed);
        cut(&mut ranked, options.keep);
        let mut recalled: Vec<(Recalled, &Memory)> = ranked
            .into_iter()
            .filter_map(|ranked| Some((ranked, self.get(ranked.doc)?)))
            .map(|(ranked, memory)| {
                let stale = options.stale(memory);
                let trust = trust(memory, stale);
                let recalled = Recalled {
                    doc: ranked.doc,
                    score: ranked.coverage * trust,
                    rank_score: ranked.score * trust,
                    stale,
                };
                (recalled, memory)
            })
            .collect();
        let step = |recalled: &Recalled| (recalled.rank_score * STEPS).round();
        let order = |(a, of_a): &(Recalled, &Memory), (b, of_b): &(Recalled, &Memory)| {
            let by_score = step(b).total_cmp(&step(a));
            by_score.then_with(|| of_b.date.cmp(&of_a.date)).then(a.doc.cmp(&b.doc))
        };
        if recalled.len() > options.keep {
            recalled.select_nth_unstable_by(options.keep, order);
            recalled.truncate(options.keep);
        }
        recalled.sort_unstable_by(order);
        recalled.into_iter().map(|(recalled, _)| recalled).collect()
    }

    /// The newest memories first, whatever they say; those without a date come last.
    pub fn newest(&self, options: &RecallOptions<'_>) -> Vec<Recalled> {
        let of_types = self.types.allowed_by(options);
        let numbered = (0u32..).map(DocId).zip(self.items());
        let mut allowed: Vec<(DocId, &Memory)> = numbered
            .filter(|(doc, memory)| of_types(doc.0) && self.has(memory))
            .filter(|(_, memory)| options.allow(memory, &|path| self.applies_to(memory, path)))
            .collect();
        allowed.sort_by(|(_, a), (_, b)| b.date.cmp(&a.date));
        let recalled = |(doc, memory)| Recalled {
            doc,
            score: 0.0,
            rank_score: 0.0,
            stale: options.stale(memory),
        };
        allowed.into_iter().take(options.keep).map(recalled).collect()
    }

    /// Whether these are the files that were loaded, and still as they were, judged by their metadata.
    pub fn is_current(&self, home: &Home, files: &[RecordFile]) -> bool {
        self.store.files == files && self.store.is_current(home)
    }

    /// That part of it which is in these files, for as long as the others are not read.
    #[must_use]
    pub fn only(&self, files: &[RecordFile]) -> Self {
        Self {
            only: Some(Arc::new(files.iter().map(ToString::to_string).collect())),
            hits: Arc::default(),
            ..self.clone()
        }
    }

    /// Whether to read it again takes longer than a question should wait.
    pub fn is_large(&self) -> bool {
        self.store.items.len() >= LARGE
    }

    /// The id of the embedder whose vectors take part in recall; `None` for recall by words alone.
    pub fn embedder_id(&self) -> Option<&str> {
        self.vectors.as_ref().map(|vectors| vectors.embedder.id())
    }

    /// Whether a section is about a file, as its `applies_to` says.
    pub fn applies_to(&self, memory: &Memory, path: &RelPath) -> bool {
        let globs = self.globs.get(&memory.path);
        globs.is_some_and(|globs| globs.matches(path))
    }

    /// The memory that contradicts one, as long as nobody has settled which holds.
    pub fn opponent(&self, memory: &Memory) -> Option<DocId> {
        let contested = memory.contested.as_ref()?;
        self.opponents.get(&contested.other).copied()
    }

    /// The memory of a number that [`Self::index`] or [`Self::recall`] gave.
    pub fn get(&self, doc: DocId) -> Option<&Memory> {
        self.store.items.get(doc.0 as usize)
    }

    fn has(&self, memory: &Memory) -> bool {
        let only = self.only.as_ref().filter(|_| memory.kind == MemoryKind::Record);
        only.is_none_or(|only| only.contains(&memory.path))
    }

    /// All of them: sections in the order of their files, then records by session and time.
    pub fn items(&self) -> &[Memory] {
        &self.store.items
    }

    /// What was left out, in words for a person.
    pub fn notes(&self) -> &[String] {
        &self.store.notes
    }

    /// What earlier sessions worked on for which questions; nothing while not all of it may be used.
    pub fn hits(&self) -> &Hits {
        &self.hits
    }

    /// The index over titles and texts, without the words that say nothing.
    pub fn index(&self) -> &Bm25 {
        &self.store.index
    }
}

/// The globs of each file that has any. All sections of a file have the same.
fn globs(items: &[Memory]) -> HashMap<String, GlobSet> {
    let mut globs = HashMap::new();
    for item in items.iter().filter(|item| !item.applies_to.is_empty()) {
        if !globs.contains_key(&item.path)
            && let Ok(compiled) = GlobSet::new(item.applies_to.iter().map(String::as_str))
        {
            globs.insert(item.path.clone(), compiled);
        }
    }
    globs
}

fn opponents(items: &[Memory]) -> HashMap<String, DocId> {
    let numbered = (0u32..).zip(items).filter(|(_, item)| item.contested.is_some());
    numbered
        .map(|(number, item)| (item.source.clone(), DocId(number)))
        .collect()
}

/// Leaves out what is not among the best `keep` even if these lose all that doubt can cost, and it loses nothing.
fn cut(ranked: &mut Vec<Ranked>, keep: usize) {
    if ranked.len() > keep {
        let (_, next, _) = ranked.select_nth_unstable_by(keep, |a, b| b.score.total_cmp(&a.score));
        let least = next.score * DOUBTED * DOUBTED - 1.0 / STEPS;
        ranked.retain(|ranked| ranked.score >= least);
    }
}

/// What a memory keeps of its score.
fn trust(memory: &Memory, stale: bool) -> f32 {
    let confidence = memory.confidence.unwrap_or(USUAL_CONFIDENCE);
    let for_confidence = DOUBTED + (1.0 - DOUBTED) * confidence;
    if stale {
        for_confidence * DOUBTED
    } else {
        for_confidence
    }
}

#[cfg(test)]
mod tests;
