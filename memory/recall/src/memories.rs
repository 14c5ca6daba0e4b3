use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use muninn_base::{RelPath, image};
use muninn_repo_tools::GlobSet;
use muninn_team::knowledge;
use muninn_team::memories::{LoadedMemories, Memory, MemoryKind};
use muninn_team::records::{Home, MAIN, Record, RecordFile, RecordReferences, RecordStatus};
use muninn_text::embed::{Embedder, STATIC_ID};
use muninn_text::hits::Hits;
use muninn_text::lexical::{Bm25, DocId, Tokenizer, question_terms};

use super::embedding::Embedding;
use super::kept::{FORM, Store};
use super::make::RecordSelection;
use super::options::RecallOptions;
use super::rank::{Ranked, Ranker};
use super::rows::Rows;
use super::sources::MemorySources;
use super::types::Types;

/// Factor on the score of a memory with no confidence, or with a changed citation. It orders memories that match equally
/// well and does not hide a single match.
const DOUBTED: f32 = 0.7;

/// Confidence of a memory that has none.
const USUAL_CONFIDENCE: f32 = 0.7;

/// Scores that differ by less than 1/1024 are equal, and then the newer memory comes first.
const STEPS: f32 = 1024.0;

/// Minimum number of memories for a cache file with static vectors. Fewer are rebuilt faster.
const WORTH_KEEPING: usize = 100;

/// Number of newer records whose cosine is computed; see [`Memories::newer_like`].
const NEWER_WIDE: usize = 32;

/// Number of memories that take longer to load than a question should wait.
const LARGE: usize = 2_000;

/// Maximum size in bytes of changed files that are read alone.
const MOST_CHANGED: u64 = 1 << 20;

/// The loaded memories.
#[derive(Clone, Default)]
pub struct Memories {
    store: Arc<Store>,
    hits: Arc<Hits>,
    vectors: Option<Vectors>,
    /// The `applies_to` globs of each file.
    globs: Arc<HashMap<String, GlobSet>>,
    /// Memories in open conflicts, by their source.
    opponents: Arc<HashMap<String, DocId>>,
    /// If this is a part of the loaded memories, the files of records of that part.
    only: Option<Arc<HashSet<String>>>,
    types: Arc<Types>,
}

#[derive(Clone)]
struct Vectors {
    embedder: Arc<dyn Embedder>,
    rows: Arc<Rows>,
}

/// Memories of files that are unchanged since they were read, and of files that have changed.
pub struct KeptAndChanged {
    pub parts: [Memories; 2],
    /// The status of records as the changed files have it.
    pub status: RecordStatus,
}

/// The number of loaded memories by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryCounts {
    /// Records that are not superseded.
    pub records: usize,
    /// Knowledge pages with text.
    pub pages: usize,
    /// Open conflicts between records.
    pub conflicts: usize,
}

/// A memory that matches a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Recalled {
    /// The memory's number.
    pub doc: DocId,
    /// Score from 0 to 1: the share of the question's words that the memory contains, weighted by rarity, times the
    /// factor for doubt. Comparable between questions.
    pub score: f32,
    /// The share of the question's words that the memory contains, weighted by rarity.
    pub coverage: f32,
    /// The score that orders results. Comparable within one question only.
    pub rank_score: f32,
    /// The cosine similarity to the question, from 0 to 1; 0 without vectors.
    pub cosine: f32,
    /// The cosine similarity to the nearest question that it answers, from 0 to 1; 0 without one.
    pub asked: f32,
    /// Whether a cited content has changed.
    pub stale: bool,
}

impl Memories {
    /// Reads knowledge and these sources, for recall by words and, with an embedder, by vectors. Knowledge is
    /// `.muninn/knowledge/**/*.md` and Metis documents, which exist only in a repository. If the embedder fails, recall
    /// uses words alone, and a note reports it. If a cache directory is given, the result is stored there for the next
    /// process. After the files change, texts that existed before are not embedded again.
    pub fn load_from(
        home: &Home,
        sources: &MemorySources,
        embedder: Option<Arc<dyn Embedder>>,
        cache: Option<&Path>,
    ) -> Self {
        Self::load_while(&|_, _| true, home, sources, embedder, cache)
    }

    /// [`Self::load_from`], which makes vectors as long as `go_on` returns `true`. It gets the number of vectors and of texts,
    /// before each batch. [`Self::unembedded`] says what is left; the next call goes on.
    pub fn load_while(
        go_on: &dyn Fn(usize, usize) -> bool,
        home: &Home,
        sources: &MemorySources,
        embedder: Option<Arc<dyn Embedder>>,
        cache: Option<&Path>,
    ) -> Self {
        let id = embedder.as_ref().map_or("", |embedder| embedder.id());
        // A damaged image, or one of another version, counts as absent and is rewritten.
        let kept: Option<Store> = cache.and_then(|dir| image::read(&FORM, dir, home.root()).ok().flatten());
        let store = match kept {
            Some(kept) if kept.serves(sources, id) && kept.is_current(home) && kept.unembedded == 0 => kept,
            older => {
                let embedder = embedder.as_deref().map(|embedder| Embedding::new(embedder, older));
                let mut store = Store::of(home, sources);
                if let Some(embedder) = embedder {
                    store.embed(&embedder, go_on);
                }
                // If the embedder fails, the file keeps the vectors of texts that still exist.
                let is_whole = store.embedder == id;
                let is_worth = store.items.len() >= WORTH_KEEPING || !id.is_empty() && !id.starts_with(STATIC_ID);
                let cache = cache.filter(|_| is_whole && is_worth);
                if let Some(Err(error)) = cache.map(|dir| image::write(&FORM, dir, home.root(), &store)) {
                    store.notes.push(format!("memory is not cached: {error}"));
                }
                store
            }
        };
        Self::from_parts(store, embedder)
    }

    /// The memories as a cache directory has them, current or not; `None` if it has none with this embedder.
    pub fn kept(home: &Home, embedder: Option<Arc<dyn Embedder>>, cache: &Path) -> Option<Self> {
        let kept: Store = image::read(&FORM, cache, home.root()).ok().flatten()?;
        let id = embedder.as_ref().map_or("", |embedder| embedder.id());
        (kept.embedder == id).then(|| Self::from_parts(kept, embedder))
    }

    /// These memories as far as their files are unchanged, and the records that have changed since: enough to find what is similar
    /// to one statement, in a tenth of the time of reading all files. `None` if much has changed.
    pub fn and_changed(&self, home: &Home, sources: &MemorySources) -> Option<KeptAndChanged> {
        let is_same = |file: &RecordFile| self.store.has(file, home);
        let (same, changed): (Vec<_>, Vec<_>) = sources.records.iter().cloned().partition(is_same);
        let bytes: u64 = changed.iter().filter_map(|file| file.stamp(home)).map(|stamp| stamp.size).sum();
        if bytes > MOST_CHANGED {
            return None;
        }
        let loaded: Vec<LoadedMemories> = LoadedMemories::of_files(&changed, home).collect();
        let mut references = RecordReferences::default();
        loaded.iter().for_each(|part| references.extend(part.references.clone()));
        let mut store = Store::from_parts(loaded, RecordSelection::Valid, home.path(MAIN));
        let embedder = self.vectors.as_ref().map(|vectors| vectors.embedder.clone());
        if let Some(embedder) = &embedder {
            store.embed(&Embedding::new(&**embedder, None), &|_, _| true);
        }
        let parts = [self.only(&same), Self::from_parts(store, embedder)];
        Some(KeptAndChanged { parts, status: references.status() })
    }

    /// Counts the records, the knowledge pages and the open conflicts.
    pub fn counts(&self) -> MemoryCounts {
        let items = &self.store.items;
        let conflicts = items.iter().filter_map(|item| item.contested.as_ref());
        let conflicts: HashSet<&str> = conflicts.map(|side| &*side.conflict).collect();
        let wiki = self.store.sources.wiki.as_ref().map(RelPath::as_str);
        let is_page = |path: &&str| {
            [Some(knowledge::ROOT), wiki].iter().flatten().any(|folder| Path::new(path).starts_with(folder))
        };
        let pages: HashSet<&str> = items.iter().map(|item| &*item.path).filter(is_page).collect();
        MemoryCounts {
            records: items.iter().filter(|item| item.kind == MemoryKind::Record).count(),
            pages: pages.len(),
            conflicts: conflicts.len(),
        }
    }

    /// Loads only the superseded records of these files, each with its end of validity.
    pub fn superseded(home: &Home, files: &[RecordFile]) -> Self {
        let records = LoadedMemories::of_files(files, home);
        Self::from_parts(Store::from_parts(records, RecordSelection::Superseded, home.path(MAIN)), None)
    }

    /// Loads records that are in no file. Superseded ones are left out.
    pub fn of_records<'a>(records: impl IntoIterator<Item = &'a Record>, embedder: Option<Arc<dyn Embedder>>) -> Self {
        let mut store = Store::from_parts([LoadedMemories::of(records)], RecordSelection::Valid, MAIN);
        if let Some(embedder) = &embedder {
            store.embed(&Embedding::new(&**embedder, None), &|_, _| true);
        }
        Self::from_parts(store, embedder)
    }

    fn from_parts(mut store: Store, embedder: Option<Arc<dyn Embedder>>) -> Self {
        let bytes: Vec<i8> = std::mem::take(&mut store.vectors).into_iter().map(u8::cast_signed).collect();
        let embedder = embedder.filter(|embedder| store.embedder == embedder.id());
        let vectors = embedder.map(|embedder| {
            let rows = Arc::new(Rows::new(&store.items, &bytes, embedder.dimensions()));
            Vectors { embedder, rows }
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

    /// The vector of a question by the embedder of the memories, if they have one and it does not fail.
    pub fn embed_question(&self, question: &str) -> Option<Vec<f32>> {
        let vectors = self.vectors.as_ref()?;
        let embedded = vectors.embedder.embed_question(question);
        embedded.inspect_err(|error| tracing::debug!(%error, "memory is recalled by words alone")).ok()
    }

    /// The best matches of a question, best first. Calls the embedder once, for the question.
    pub fn recall(&self, question: &str, options: &RecallOptions<'_>) -> Vec<Recalled> {
        self.recall_near(question, self.embed_question(question).as_deref(), options)
    }

    /// [`Self::recall`] with the vector of the question from [`Self::embed_question`]; by words alone without it.
    pub fn recall_near(&self, question: &str, near: Option<&[f32]>, options: &RecallOptions<'_>) -> Vec<Recalled> {
        let terms = question_terms(&mut Tokenizer::new(), question);
        let vectors = self.vectors.as_ref();
        let ranker = Ranker {
            index: &self.store.index,
            runs: &self.store.runs,
            mean_lengths: self.store.mean_lengths,
            vectors: vectors.map(|vectors| &*vectors.rows),
        };
        let has_allowed_type = self.types.allowed_by(options);
        let only_types_matter = self.only.is_none() && options.filters_by_type_only();
        let passes_filters =
            |memory: &Memory| self.has(memory) && options.allow(memory, &|path| self.applies_to(memory, path));
        let allowed =
            |doc: u32| has_allowed_type(doc) && (only_types_matter || self.get(DocId(doc)).is_some_and(passes_filters));
        let mut ranked = ranker.rank(&terms, near, &allowed);
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
                    coverage: ranked.coverage,
                    rank_score: ranked.score * trust,
                    cosine: ranked.cosine,
                    asked: ranked.asked,
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

    /// The newest memories first, without a question; those without a date come last.
    pub fn newest(&self, options: &RecallOptions<'_>) -> Vec<Recalled> {
        let has_allowed_type = self.types.allowed_by(options);
        let numbered = (0u32..).map(DocId).zip(self.items());
        let mut allowed: Vec<(DocId, &Memory)> = numbered
            .filter(|(doc, memory)| has_allowed_type(doc.0) && self.has(memory))
            .filter(|(_, memory)| options.allow(memory, &|path| self.applies_to(memory, path)))
            .collect();
        allowed.sort_by(|(_, a), (_, b)| b.date.cmp(&a.date));
        let recalled = |(doc, memory)| Recalled {
            doc,
            score: 0.0,
            coverage: 0.0,
            rank_score: 0.0,
            cosine: 0.0,
            asked: 0.0,
            stale: options.stale(memory),
        };
        allowed.into_iter().take(options.keep).map(recalled).collect()
    }

    /// Returns whether these sources were loaded and are unchanged, judged by their metadata.
    pub fn is_current(&self, home: &Home, sources: &MemorySources) -> bool {
        self.store.sources == *sources && self.store.is_current(home)
    }

    /// The part of the memories that is in these files, without reading others.
    pub fn only(&self, files: &[RecordFile]) -> Self {
        Self {
            only: Some(Arc::new(files.iter().map(ToString::to_string).collect())),
            hits: Arc::default(),
            ..self.clone()
        }
    }

    /// Returns whether a reload takes longer than a question should wait.
    pub fn is_large(&self) -> bool {
        self.store.items.len() >= LARGE
    }

    /// Number of texts of memories that have no vector yet, though the memories have an embedder.
    pub fn unembedded(&self) -> usize {
        self.store.unembedded
    }

    /// The id of the embedder whose vectors take part in recall; `None` for recall by words alone.
    pub fn embedder_id(&self) -> Option<&str> {
        self.vectors.as_ref().map(|vectors| vectors.embedder.id())
    }

    /// Returns whether a section's `applies_to` matches a file.
    pub fn applies_to(&self, memory: &Memory, path: &RelPath) -> bool {
        let globs = self.globs.get(&memory.path);
        globs.is_some_and(|globs| globs.matches(path))
    }

    /// The other side of a memory's open conflict.
    pub fn opponent(&self, memory: &Memory) -> Option<DocId> {
        let contested = memory.contested.as_ref()?;
        self.opponents.get(&contested.other).copied()
    }

    /// The newer record of the same type whose vector is most similar to this one's, with the cosine.
    pub fn newer_like(&self, doc: DocId) -> Option<(DocId, f32)> {
        let rows = &self.vectors.as_ref()?.rows;
        let memory = self.get(doc).filter(|memory| memory.kind == MemoryKind::Record)?;
        let date = memory.date.as_ref()?;
        let is_newer = |other: &Memory| {
            other.record_type == memory.record_type && other.date.as_ref().is_some_and(|other| other > date)
        };
        let wanted = |other: u32| self.get(DocId(other)).is_some_and(|other| self.has(other) && is_newer(other));
        let best = rows.most_like(doc.0, NEWER_WIDE, wanted);
        best.map(|(other, cosine)| (DocId(other), cosine))
    }

    /// The memory with a number from [`Self::index`] or [`Self::recall`].
    pub fn get(&self, doc: DocId) -> Option<&Memory> {
        self.store.items.get(doc.0 as usize)
    }

    fn has(&self, memory: &Memory) -> bool {
        let only = self.only.as_ref().filter(|_| memory.kind == MemoryKind::Record);
        only.is_none_or(|only| only.contains(&memory.path))
    }

    /// All memories: sections in file order, then records by session and time.
    pub fn items(&self) -> &[Memory] {
        &self.store.items
    }

    /// Messages about skipped files and lines.
    pub fn notes(&self) -> &[String] {
        &self.store.notes
    }

    /// The files that earlier sessions used for similar questions; empty for a part of the memories.
    pub fn hits(&self) -> &Hits {
        &self.hits
    }

    /// The index over titles and texts, without stop words.
    pub fn index(&self) -> &Bm25 {
        &self.store.index
    }
}

/// The globs of each file that has any. All sections of a file share them.
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
    numbered.map(|(number, item)| (item.source.clone(), DocId(number))).collect()
}

/// Removes candidates that cannot be among the best `keep`, even if the other candidates get the lowest factor for
/// doubt.
fn cut(ranked: &mut Vec<Ranked>, keep: usize) {
    if ranked.len() > keep {
        let (_, next, _) = ranked.select_nth_unstable_by(keep, |a, b| b.score.total_cmp(&a.score));
        let least = next.score * DOUBTED * DOUBTED - 1.0 / STEPS;
        ranked.retain(|ranked| ranked.score >= least);
    }
}

/// The factor of confidence and staleness on a memory's score.
fn trust(memory: &Memory, stale: bool) -> f32 {
    let confidence = memory.confidence.unwrap_or(USUAL_CONFIDENCE);
    let for_confidence = DOUBTED + (1.0 - DOUBTED) * confidence;
    if stale { for_confidence * DOUBTED } else { for_confidence }
}

#[cfg(test)]
mod search_tests;

#[cfg(test)]
mod source_tests;

#[cfg(test)]
mod tests;
