//! BERT's encoder (Devlin et al., 2019), forward only, in the names of its published weights.
//!
//! `candle-transformers` contains BERT too, but also about a hundred other models that would all be compiled.

use candle_core::{D, Result, Tensor};
use candle_nn::{Embedding, LayerNorm, Linear, Module, VarBuilder, embedding, layer_norm, linear, ops};
use serde::Deserialize;

/// The score of a padding position before the softmax, which makes its weight zero.
const MASKED: f64 = f32::MIN as f64;

/// The fields of `config.json` that are used here.
#[derive(Debug, Deserialize)]
pub(super) struct Config {
    pub(super) vocab_size: usize,
    pub(super) hidden_size: usize,
    pub(super) num_hidden_layers: usize,
    pub(super) num_attention_heads: usize,
    pub(super) intermediate_size: usize,
    pub(super) max_position_embeddings: usize,
    pub(super) type_vocab_size: usize,
    pub(super) layer_norm_eps: f64,
}

/// Embeddings and layers.
pub(super) struct Bert {
    words: Embedding,
    positions: Tensor,
    /// The embedding of the first of BERT's two segments; all texts belong to this segment.
    segment: Tensor,
    norm: LayerNorm,
    layers: Vec<Layer>,
}

struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    mixed: Linear,
    mixed_norm: LayerNorm,
    wide: Linear,
    narrow: Linear,
    norm: LayerNorm,
    heads: usize,
}

impl Bert {
    pub(super) fn load(config: &Config, weights: &VarBuilder) -> Result<Bert> {
        let size = config.hidden_size;
        if !size.is_multiple_of(config.num_attention_heads) {
            candle_core::bail!("{size} numbers do not divide into {} heads", config.num_attention_heads);
        }
        let own = weights.pp("embeddings");
        let positions = own.pp("position_embeddings").get((config.max_position_embeddings, size), "weight")?;
        let segments = own.pp("token_type_embeddings").get((config.type_vocab_size, size), "weight")?;
        let layers = weights.pp("encoder.layer");
        Ok(Bert {
            words: embedding(config.vocab_size, size, own.pp("word_embeddings"))?,
            positions,
            segment: segments.narrow(0, 0, 1)?,
            norm: layer_norm(size, config.layer_norm_eps, own.pp("LayerNorm"))?,
            layers: (0..config.num_hidden_layers)
                .map(|number| Layer::load(config, &layers.pp(number)))
                .collect::<Result<_>>()?,
        })
    }

    /// Computes a row for each token. `ids` and `mask` (1 for a token, 0 for padding) have the shape texts x tokens.
    /// The result has the shape texts x tokens x hidden.
    pub(super) fn forward(&self, ids: &Tensor, mask: &Tensor) -> Result<Tensor> {
        let (_, length) = ids.dims2()?;
        let rows = self
            .words
            .forward(ids)?
            .broadcast_add(&self.positions.narrow(0, 0, length)?)?
            .broadcast_add(&self.segment)?;
        // texts x 1 x 1 x tokens: added to every head's and every token's scores.
        let bias = mask.affine(-MASKED, MASKED)?.unsqueeze(1)?.unsqueeze(1)?;
        let rows = self.norm.forward(&rows)?;
        self.layers.iter().try_fold(rows, |rows, layer| layer.forward(&rows, &bias))
    }
}

impl Layer {
    fn load(config: &Config, weights: &VarBuilder) -> Result<Layer> {
        let (size, wide) = (config.hidden_size, config.intermediate_size);
        let norm = |place: &str| layer_norm(size, config.layer_norm_eps, weights.pp(place));
        Ok(Layer {
            query: linear(size, size, weights.pp("attention.self.query"))?,
            key: linear(size, size, weights.pp("attention.self.key"))?,
            value: linear(size, size, weights.pp("attention.self.value"))?,
            mixed: linear(size, size, weights.pp("attention.output.dense"))?,
            mixed_norm: norm("attention.output.LayerNorm")?,
            wide: linear(size, wide, weights.pp("intermediate.dense"))?,
            narrow: linear(wide, size, weights.pp("output.dense"))?,
            norm: norm("output.LayerNorm")?,
            heads: config.num_attention_heads,
        })
    }

    fn forward(&self, rows: &Tensor, bias: &Tensor) -> Result<Tensor> {
        let mixed = self.mixed.forward(&self.attend(rows, bias)?)?;
        let rows = self.mixed_norm.forward(&(mixed + rows)?)?;
        let thought = self.narrow.forward(&self.wide.forward(&rows)?.gelu_erf()?)?;
        self.norm.forward(&(thought + rows)?)
    }

    fn attend(&self, rows: &Tensor, bias: &Tensor) -> Result<Tensor> {
        let (texts, length, size) = rows.dims3()?;
        let head = size / self.heads;
        let split = |rows: Tensor| -> Result<Tensor> {
            rows.reshape((texts, length, self.heads, head))?.transpose(1, 2)?.contiguous()
        };
        let query = split((self.query.forward(rows)? * (head as f64).sqrt().recip())?)?;
        let key = split(self.key.forward(rows)?)?;
        let value = split(self.value.forward(rows)?)?;
        let scores = query.matmul(&key.transpose(D::Minus1, D::Minus2)?)?.broadcast_add(bias)?;
        let mixed = ops::softmax_last_dim(&scores)?.matmul(&value)?;
        mixed.transpose(1, 2)?.reshape((texts, length, size))
    }
}
