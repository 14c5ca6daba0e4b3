//! BERT's encoder (Devlin et al., 2019), forward only, in the names of its published weights.
//!
//! `candle-transformers` contains BERT too, but also about a hundred other models that would all be compiled.

use candle_core::{D, DType, Result, Tensor};
use serde::Deserialize;

use super::weights::Weights;

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
    /// One row for each piece, of 16 bits: half of the memory of the model is here, and only some rows take part.
    words: Tensor,
    positions: Tensor,
    /// The embedding of the first of BERT's two segments; all texts belong to this segment.
    segment: Tensor,
    norm: Norm,
    layers: Vec<Layer>,
}

struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    mixed: Linear,
    mixed_norm: Norm,
    wide: Linear,
    narrow: Linear,
    norm: Norm,
    heads: usize,
}

impl Bert {
    pub(super) fn load(config: &Config, weights: &mut Weights) -> Result<Bert> {
        let size = config.hidden_size;
        if !size.is_multiple_of(config.num_attention_heads) {
            candle_core::bail!("{size} numbers do not divide into {} heads", config.num_attention_heads);
        }
        let mut own = |name: &str, rows: usize| weights.take(&format!("embeddings.{name}.weight"), &[rows, size]);
        let words = own("word_embeddings", config.vocab_size)?.to_dtype(DType::F16)?;
        let positions = own("position_embeddings", config.max_position_embeddings)?;
        let segment = own("token_type_embeddings", config.type_vocab_size)?.narrow(0, 0, 1)?;
        let layers =
            (0..config.num_hidden_layers).map(|number| Layer::load(config, weights, number)).collect::<Result<_>>()?;
        Ok(Bert { words, positions, segment, norm: Norm::load(config, weights, "embeddings.LayerNorm")?, layers })
    }

    /// Computes a row for each token. `ids` and `mask` (1 for a token, 0 for padding) have the shape texts x tokens.
    /// The result has the shape texts x tokens x hidden.
    pub(super) fn forward(&self, ids: &Tensor, mask: &Tensor) -> Result<Tensor> {
        let (texts, length) = ids.dims2()?;
        let words = self.words.index_select(&ids.flatten_all()?, 0)?.to_dtype(DType::F32)?;
        let rows = words
            .reshape((texts, length, ()))?
            .broadcast_add(&self.positions.narrow(0, 0, length)?)?
            .broadcast_add(&self.segment)?;
        // texts x 1 x 1 x tokens: added to every head's and every token's scores.
        let bias = mask.affine(-MASKED, MASKED)?.unsqueeze(1)?.unsqueeze(1)?;
        let rows = self.norm.forward(&rows)?;
        self.layers.iter().try_fold(rows, |rows, layer| layer.forward(&rows, &bias))
    }
}

impl Layer {
    fn load(config: &Config, weights: &mut Weights, number: usize) -> Result<Layer> {
        let (size, wide) = (config.hidden_size, config.intermediate_size);
        let name = |place: &str| format!("encoder.layer.{number}.{place}");
        let mut linear = |place: &str, from: usize, to: usize| Linear::load(weights, &name(place), (from, to));
        Ok(Layer {
            query: linear("attention.self.query", size, size)?,
            key: linear("attention.self.key", size, size)?,
            value: linear("attention.self.value", size, size)?,
            mixed: linear("attention.output.dense", size, size)?,
            wide: linear("intermediate.dense", size, wide)?,
            narrow: linear("output.dense", wide, size)?,
            mixed_norm: Norm::load(config, weights, &name("attention.output.LayerNorm"))?,
            norm: Norm::load(config, weights, &name("output.LayerNorm"))?,
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
        let mixed = softmax(&scores)?.matmul(&value)?;
        mixed.transpose(1, 2)?.reshape((texts, length, size))
    }
}

struct Linear {
    weight: Tensor,
    bias: Tensor,
}

impl Linear {
    fn load(weights: &mut Weights, place: &str, (from, to): (usize, usize)) -> Result<Linear> {
        Ok(Linear {
            weight: weights.take(&format!("{place}.weight"), &[to, from])?.t()?,
            bias: weights.take(&format!("{place}.bias"), &[to])?,
        })
    }

    fn forward(&self, rows: &Tensor) -> Result<Tensor> {
        let (texts, length, _) = rows.dims3()?;
        let flat = rows.flatten_to(1)?.matmul(&self.weight)?.broadcast_add(&self.bias)?;
        flat.reshape((texts, length, ()))
    }
}

struct Norm {
    weight: Tensor,
    bias: Tensor,
    epsilon: f64,
}

impl Norm {
    fn load(config: &Config, weights: &mut Weights, place: &str) -> Result<Norm> {
        let mut one = |part: &str| weights.take(&format!("{place}.{part}"), &[config.hidden_size]);
        Ok(Norm { weight: one("weight")?, bias: one("bias")?, epsilon: config.layer_norm_eps })
    }

    fn forward(&self, rows: &Tensor) -> Result<Tensor> {
        let centred = rows.broadcast_sub(&rows.mean_keepdim(D::Minus1)?)?;
        let spread = (centred.sqr()?.mean_keepdim(D::Minus1)? + self.epsilon)?.sqrt()?;
        centred.broadcast_div(&spread)?.broadcast_mul(&self.weight)?.broadcast_add(&self.bias)
    }
}

/// Softmax over the last dimension.
fn softmax(scores: &Tensor) -> Result<Tensor> {
    let raised = scores.broadcast_sub(&scores.max_keepdim(D::Minus1)?)?.exp()?;
    raised.broadcast_div(&raised.sum_keepdim(D::Minus1)?)
}
