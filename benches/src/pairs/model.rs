//! A real model's decisions about pairs that rules leave open.

use std::time::Duration;

use anyhow::Result;
use muninn_reconcile::judge::{Claim, FittedJudge, Relation};
use muninn_reconcile::{JudgeSetup, ModelReport, Reconciler, ReconcilerLimits, relations};

use super::{Label, Labelled, Options};
use crate::model::{blocking_client, remote};

/// The time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(600);

pub(super) fn asked(
    url: &str,
    options: &Options,
    pairs: &[Labelled],
    tools: &FittedJudge,
) -> Result<(Vec<(Label, Relation)>, ModelReport)> {
    let blocking_client = blocking_client()?;
    let model = remote(&blocking_client, url.to_owned(), &options.backend_model);
    let limits = ReconcilerLimits { tokens: u64::MAX, max_answer_tokens: options.answer_tokens, patience: PATIENCE };
    let reconciler = Reconciler::new(&model, limits, &());
    let judging = JudgeSetup { judge: tools, embedder: None, progress: &(), reconciler: Some(&reconciler) };
    let claims: Vec<_> = pairs.iter().map(|pair| (Claim::of(&pair.a), Claim::of(&pair.b))).collect();
    let (relations, asked) = relations(&claims, &judging);
    let judged = pairs.iter().map(|pair| pair.label).zip(relations);
    Ok((judged.collect(), asked.unwrap_or_default()))
}
