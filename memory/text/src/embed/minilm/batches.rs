use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use candle_core::{D, Device, Tensor};
use muninn_base::Supervisor;
use parking_lot::Mutex;
use serde::Deserialize;

use super::super::pieces::{UNKNOWN, Vocabulary};
use super::super::{EmbedError, Embedder, LoadError, MINILM_FILES, MINILM_ID, normalise};
use super::bert::{Bert, Config};
use super::weights::Weights;

/// Maximum number of tokens of a text, including the two special tokens. The model was trained with this limit.
const MOST_TOKENS: usize = 256;

/// Maximum number of tokens of a question. A question that is longer says what it is about before.
const MOST_QUESTION_TOKENS: usize = 128;

/// Maximum number of tokens in one batch, including padding. The limit bounds memory and keeps a batch in the
/// processor's caches.
const BATCH_TOKENS: usize = 1024;

/// The time without use after which the model leaves the memory.
const IDLE: Duration = Duration::from_secs(600);

/// MiniLM in a directory. It is in memory while it is used, and [`IDLE`] longer.
pub(crate) struct MiniLm {
    directory: PathBuf,
    id: String,
    dimensions: usize,
    loaded: Arc<Mutex<Option<Used>>>,
    supervisor: Supervisor,
    /// Dropped with the embedder, which ends the thread that releases the model.
    owner: Mutex<Option<Sender<()>>>,
}

/// A loaded model and the time of its last use.
struct Used {
    model: Arc<Loaded>,
    at: Instant,
}

/// The transformer and its vocabulary.
struct Loaded {
    /// The hash of the weights.
    id: String,
    vocabulary: Vocabulary,
    /// The tokens before and after each text.
    ends: [u16; 2],
    bert: Bert,
    dimensions: usize,
    most_tokens: usize,
}

impl MiniLm {
    /// See [`super::minilm`].
    pub(crate) fn open(directory: &Path, supervisor: Supervisor) -> Result<MiniLm, LoadError> {
        let model = Loaded::read(directory)?;
        let embedder = MiniLm {
            directory: directory.to_owned(),
            id: model.id.clone(),
            dimensions: model.dimensions,
            loaded: Arc::default(),
            supervisor,
            owner: Mutex::default(),
        };
        embedder.keep(&mut embedder.loaded.lock(), Arc::new(model));
        Ok(embedder)
    }

    /// The model, read again if it is not in memory.
    fn model(&self) -> Result<Arc<Loaded>, EmbedError> {
        let mut loaded = self.loaded.lock();
        if let Some(used) = &mut *loaded {
            used.at = Instant::now();
            return Ok(Arc::clone(&used.model));
        }
        let model = Arc::new(Loaded::read(&self.directory).map_err(|error| self.failed(error))?);
        if model.id != self.id {
            return Err(self.failed(format!("the weights are now those of {}", model.id)));
        }
        self.keep(&mut loaded, Arc::clone(&model));
        Ok(model)
    }

    /// Keeps the model in memory until it is idle.
    fn keep(&self, loaded: &mut Option<Used>, model: Arc<Loaded>) {
        *loaded = Some(Used { model, at: Instant::now() });
        let (owner, ended) = channel();
        let kept = Arc::clone(&self.loaded);
        let release = move || {
            while let Some(left) = release(&kept, IDLE) {
                if ended.recv_timeout(left) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        match self.supervisor.keep_owned("embedder", release) {
            Ok(_) => *self.owner.lock() = Some(owner),
            Err(error) => tracing::warn!(%error, "MiniLM stays in memory: no thread can release it"),
        }
    }

    fn embed_within(&self, texts: &[&str], most: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
        let model = self.model()?;
        model.embed(texts, most).map_err(|error| self.failed(error))
    }

    fn failed(&self, reason: impl ToString) -> EmbedError {
        EmbedError::Failed { embedder: self.id.clone(), reason: reason.to_string() }
    }
}

impl Embedder for MiniLm {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.embed_within(texts, MOST_TOKENS)
    }

    fn embed_question(&self, question: &str) -> Result<Vec<f32>, EmbedError> {
        Ok(self.embed_within(&[question], MOST_QUESTION_TOKENS)?.pop().unwrap_or_default())
    }
}

/// Drops a model that was not used for `idle`. Otherwise, returns the time until then.
fn release(loaded: &Mutex<Option<Used>>, idle: Duration) -> Option<Duration> {
    let mut loaded = loaded.lock();
    let left = idle.saturating_sub(loaded.as_ref()?.at.elapsed());
    if left.is_zero() {
        *loaded = None;
    }
    (!left.is_zero()).then_some(left)
}

impl Loaded {
    fn read(directory: &Path) -> Result<Loaded, LoadError> {
        let [config_path, weights_path, tokenizer_path] = MINILM_FILES.map(|name| directory.join(name));
        let config: Config =
            serde_json::from_slice(&read(&config_path)?).map_err(|error| unusable(&config_path, error))?;
        let vocabulary = vocabulary(&read(&tokenizer_path)?).map_err(|error| unusable(&tokenizer_path, error))?;
        let end = |name: &str| {
            vocabulary.special(name).ok_or_else(|| unusable(&tokenizer_path, format!("{name} is missing")))
        };
        let ends = [end("[CLS]")?, end("[SEP]")?];
        if vocabulary.special(UNKNOWN).is_none() || vocabulary.len() > config.vocab_size {
            return Err(unusable(&tokenizer_path, "its pieces are not those of the weights"));
        }
        let unreadable = |source| LoadError::Read { path: weights_path.clone(), source };
        let id = Weights::hash(&weights_path).map_err(unreadable)?;
        let mut weights = Weights::open(&weights_path).map_err(unreadable)?;
        Ok(Loaded {
            id: format!("{MINILM_ID}l6-{}", &id[..8]),
            vocabulary,
            ends,
            bert: Bert::load(&config, &mut weights).map_err(|error| unusable(&weights_path, error))?,
            dimensions: config.hidden_size,
            most_tokens: config.max_position_embeddings,
        })
    }

    /// Texts of similar length share a batch, because padding costs as much as text.
    fn embed(&self, texts: &[&str], most: usize) -> candle_core::Result<Vec<Vec<f32>>> {
        let tokens: Vec<Vec<u32>> = texts.iter().map(|text| self.tokens(text, most)).collect();
        let mut order: Vec<usize> = (0..tokens.len()).collect();
        order.sort_by_key(|at| tokens[*at].len());
        let mut vectors = vec![Vec::new(); texts.len()];
        let mut rest = order.as_slice();
        while !rest.is_empty() {
            let (batch, later) = rest.split_at(batch_size(rest, &tokens));
            rest = later;
            let given: Vec<&[u32]> = batch.iter().map(|at| tokens[*at].as_slice()).collect();
            for (at, mut row) in batch.iter().zip(self.forward(&given)?) {
                normalise(&mut row);
                vectors[*at] = row;
            }
        }
        Ok(vectors)
    }

    /// The numbers of a text's pieces between the two special ones, `most` at most.
    fn tokens(&self, text: &str, most: usize) -> Vec<u32> {
        let mut pieces = vec![self.ends[0]];
        self.vocabulary.pieces(text, most.min(self.most_tokens).saturating_sub(1), &mut pieces);
        pieces.push(self.ends[1]);
        pieces.into_iter().map(u32::from).collect()
    }

    /// Returns one row for each list of tokens, computed in one batch.
    fn forward(&self, batch: &[&[u32]]) -> candle_core::Result<Vec<Vec<f32>>> {
        let longest = batch.iter().map(|tokens| tokens.len()).max().unwrap_or(0);
        let mut ids = Vec::with_capacity(batch.len() * longest);
        let mut mask = Vec::with_capacity(batch.len() * longest);
        for tokens in batch {
            let padding = longest - tokens.len();
            ids.extend(tokens.iter().copied().chain(std::iter::repeat_n(0, padding)));
            mask.extend(tokens.iter().map(|_| 1f32).chain(std::iter::repeat_n(0.0, padding)));
        }
        let shape = (batch.len(), longest);
        let ids = Tensor::from_vec(ids, shape, &Device::Cpu)?;
        let mask = Tensor::from_vec(mask, shape, &Device::Cpu)?;
        let hidden = self.bert.forward(&ids, &mask)?;
        let sums = hidden.broadcast_mul(&mask.unsqueeze(D::Minus1)?)?.sum(1)?;
        sums.broadcast_div(&mask.sum_keepdim(1)?)?.to_vec2()
    }
}

/// Returns the number of the next texts, shortest first, that form a batch: as many as stay below the limit if all are
/// padded to the longest of them.
fn batch_size(order: &[usize], tokens: &[Vec<u32>]) -> usize {
    let fitting = order.iter().zip(1..).take_while(|(at, count)| tokens[**at].len() * count <= BATCH_TOKENS);
    fitting.count().max(1)
}

/// The pieces of a `tokenizer.json`, by their numbers.
fn vocabulary(json: &[u8]) -> Result<Vocabulary, LoadError> {
    let unusable = |reason: &str| LoadError::Unusable { what: "the vocabulary".to_owned(), reason: reason.to_owned() };
    let described: Described = serde_json::from_slice(json).map_err(|error| unusable(&error.to_string()))?;
    let mut pieces = vec![&[][..]; described.model.vocab.len()];
    for (piece, number) in &described.model.vocab {
        *pieces.get_mut(*number).ok_or_else(|| unusable("a number is missing"))? = piece.as_bytes();
    }
    Vocabulary::new(pieces.into_iter())
}

/// The parts of a `tokenizer.json` that are read.
#[derive(Deserialize)]
struct Described {
    model: WordPiece,
}

#[derive(Deserialize)]
struct WordPiece {
    vocab: HashMap<String, usize>,
}

fn read(path: &Path) -> Result<Vec<u8>, LoadError> {
    std::fs::read(path).map_err(|source| LoadError::Read { path: path.to_owned(), source })
}

fn unusable(path: &Path, reason: impl ToString) -> LoadError {
    LoadError::Unusable { what: path.display().to_string(), reason: reason.to_string() }
}

#[cfg(test)]
mod tests;
