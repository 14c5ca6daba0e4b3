//! The baseline: decisions by similarity alone.

use std::collections::BTreeSet;

use muninn_text::embed::StaticVectors;
use muninn_text::lexical::{Tokenizer, counted};

use super::report::{Baselines, Scores, Threshold};
use super::{Label, Labelled};

/// The cosine at which a negation on one side alone is called a contradiction.
const ALIKE: f32 = 0.6;
const NEGATIONS: [&str; 9] = ["no", "not", "never", "nobody", "none", "nothing", "without", "cannot", "neither"];

pub(super) fn of(pairs: &[Labelled], embedder: &StaticVectors) -> Baselines {
    let mut tokenizer = Tokenizer::new();
    let cosines: Vec<(f32, Label)> = pairs.iter().map(|pair| (cosine(pair, embedder), pair.label)).collect();
    let jaccards: Vec<(f32, Label)> = pairs.iter().map(|pair| (jaccard(pair, &mut tokenizer), pair.label)).collect();
    let negated = pairs.iter().zip(&cosines).map(|(pair, (cosine, label))| {
        let decides = *cosine >= ALIKE && negates(&pair.a) != negates(&pair.b);
        (decides, *label == Label::Contradiction)
    });
    Baselines {
        duplicate_by_cosine: Threshold::best(&cosines),
        duplicate_by_jaccard: Threshold::best(&jaccards),
        contradiction_by_negation: Scores::of(negated),
    }
}

fn cosine(pair: &Labelled, embedder: &StaticVectors) -> f32 {
    let (a, b) = (embedder.embed_one(&pair.a), embedder.embed_one(&pair.b));
    a.iter().zip(&b).map(|(a, b)| a * b).sum()
}

fn jaccard(pair: &Labelled, tokenizer: &mut Tokenizer) -> f32 {
    let mut terms = |text: &str| counted(tokenizer, text).into_iter().map(|(term, _)| term).collect::<BTreeSet<_>>();
    let (a, b) = (terms(&pair.a), terms(&pair.b));
    let common = a.intersection(&b).count();
    common as f32 / a.union(&b).count().max(1) as f32
}

fn negates(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric() && c != '\'');
    words.any(|word| NEGATIONS.contains(&word) || word.ends_with("n't"))
}
