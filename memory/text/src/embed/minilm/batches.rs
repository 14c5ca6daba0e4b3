use std::path::Path;

use candle_core::{D, DType, Device, Tensor};
use candle_nn::VarBuilder;
use tokenizers::{Tokenizer, TruncationParams};

use super::super::{EmbedError, Embedder, LoadError, MINILM_FILES, MINILM_ID, normalise};
use super::bert::{Bert, Config};

/// Maximum number of tokens of a text, including the two special tokens. The model was trained with this limit.
const MOST_TOKENS: usize = 256;

/// Maximum number of tokens in one batch, including padding. The limit bounds memory and keeps a batch in the
/// processor's caches.
const BATCH_TOKENS: usize = 2048;

/// The transformer and its tokenizer. They take about 100 MB of memory.
pub(crate) struct MiniLm {
    id: String,
    tokenizer: Tokenizer,
    bert: Bert,
    dimensions: usize,
}

impl MiniLm {
    /// See [`super::minilm`].
    pub(crate) fn open(directory: &Path) -> Result<MiniLm, LoadError> {
        let [config_path, weights_path, tokenizer_path] = MINILM_FILES.map(|name| directory.join(name));
        let config: Config =
            serde_json::from_slice(&read(&config_path)?).map_err(|error| unusable(&config_path, error))?;
        let dimensions = config.hidden_size;
        let mut tokenizer =
            Tokenizer::from_bytes(read(&tokenizer_path)?).map_err(|error| unusable(&tokenizer_path, error))?;
        tokenizer
            .with_padding(None)
            .with_truncation(Some(TruncationParams {
                max_length: MOST_TOKENS.min(config.max_position_embeddings),
                ..TruncationParams::default()
            }))
            .map_err(|error| unusable(&tokenizer_path, error))?;
        let weights = read(&weights_path)?;
        let id = format!("{MINILM_ID}l6-{}", &blake3::hash(&weights).to_hex()[..8]);
        let bert = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu)
            .and_then(|weights| Bert::load(&config, &weights))
            .map_err(|error| unusable(&weights_path, error))?;
        Ok(MiniLm { id, tokenizer, bert, dimensions })
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

    /// Texts of similar length share a batch, because padding costs as much as text.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut tokens = Vec::with_capacity(texts.len());
        for text in texts {
            let encoding = self.tokenizer.encode_fast(*text, true);
            tokens.push(encoding.map_err(|error| self.failed(error))?.get_ids().to_vec());
        }
        let mut order: Vec<usize> = (0..tokens.len()).collect();
        order.sort_by_key(|at| tokens[*at].len());
        let mut vectors = vec![Vec::new(); texts.len()];
        let mut rest = order.as_slice();
        while !rest.is_empty() {
            let (batch, later) = rest.split_at(batch_size(rest, &tokens));
            rest = later;
            let given: Vec<&[u32]> = batch.iter().map(|at| tokens[*at].as_slice()).collect();
            let rows = self.forward(&given).map_err(|error| self.failed(error))?;
            for (at, mut row) in batch.iter().zip(rows) {
                normalise(&mut row);
                vectors[*at] = row;
            }
        }
        Ok(vectors)
    }
}

/// Returns the number of the next texts, shortest first, that form a batch: as many as stay below the limit if all are
/// padded to the longest of them.
fn batch_size(order: &[usize], tokens: &[Vec<u32>]) -> usize {
    let fitting = order.iter().zip(1..).take_while(|(at, count)| tokens[**at].len() * count <= BATCH_TOKENS);
    fitting.count().max(1)
}

fn read(path: &Path) -> Result<Vec<u8>, LoadError> {
    std::fs::read(path).map_err(|source| LoadError::Read { path: path.to_owned(), source })
}

fn unusable(path: &Path, reason: impl ToString) -> LoadError {
    LoadError::Unusable { what: path.display().to_string(), reason: reason.to_string() }
}

#[cfg(test)]
mod tests;
