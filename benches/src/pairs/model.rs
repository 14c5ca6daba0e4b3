//! A model's decisions about pairs that rules leave open: a scripted model at a socket, or a real one.
//!
//! The scripts show what the way to a model carries at best, and that no model, however bad, has contradictions made one:
//! they know the labels, and the control pairs.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use muninn_reconcile::judge::{Claim, FittedJudge, Relation};
use muninn_reconcile::{JudgeSetup, ModelReport, Reconciler, ReconcilerLimits, control_pairs, relations};
use serde_json::{Value, json};

use super::{Label, Labelled, Options, hash};
use crate::model::answer::Answer;
use crate::model::server::ModelServer;
use crate::model::{Policy, blocking_client, remote};

/// The time limit for an answer of a real model, and of a silent script.
const PATIENCE: Duration = Duration::from_secs(600);
const SILENCE: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Script {
    /// Says what the labels say.
    Labels,
    /// Says something else of a pair in ten, and never of those that are there to try it.
    Wrong,
    /// Calls all pairs the same, but for those that are there to try it.
    Sly,
    /// Calls all pairs the same.
    Everything,
    /// Says that nothing can be told.
    Unsure,
    /// Says nothing.
    Silent,
}

pub(super) fn asked(
    options: &Options,
    pairs: &[Labelled],
    tools: &FittedJudge,
) -> Result<(Vec<(Label, Relation)>, ModelReport)> {
    let server = ModelServer::start(Vec::new(), false);
    server.play(policy(options.script, pairs));
    let (url, name) = match &options.backend {
        Some(url) => (url.clone(), options.backend_model.as_str()),
        None => (server.url(), "scripted"),
    };
    let blocking_client = blocking_client()?;
    let model = remote(&blocking_client, url, name);
    let is_silent = options.backend.is_none() && options.script == Script::Silent;
    let limits = ReconcilerLimits {
        tokens: u64::MAX,
        max_answer_tokens: options.answer_tokens,
        patience: if is_silent { SILENCE } else { PATIENCE },
    };
    let reconciler = Reconciler::new(&model, limits, &());
    let judging = JudgeSetup { judge: tools, embedder: None, progress: &(), reconciler: Some(&reconciler) };
    let claims: Vec<_> = pairs.iter().map(|pair| (Claim::of(&pair.a), Claim::of(&pair.b))).collect();
    let (relations, asked) = relations(&claims, &judging);
    let judged = pairs.iter().map(|pair| pair.label).zip(relations);
    Ok((judged.collect(), asked.unwrap_or_default()))
}

fn policy(script: Script, pairs: &[Labelled]) -> Policy {
    let controls: HashMap<(String, String), &str> = control_pairs()
        .map(|(older, newer, contrary)| {
            ((older.to_owned(), newer.to_owned()), if contrary { "contradicts" } else { "same" })
        })
        .collect();
    let labels: HashMap<(String, String), Label> =
        pairs.iter().map(|pair| ((pair.a.clone(), pair.b.clone()), pair.label)).collect();
    let word = move |pair: &(String, String)| match (script, controls.get(pair)) {
        (Script::Everything, _) | (Script::Sly, None) => "same",
        (Script::Unsure, _) => "unsure",
        (_, Some(word)) => word,
        (Script::Labels | Script::Wrong | Script::Silent, None) => {
            word_for(labels.get(pair).copied(), script == Script::Wrong && hash(&pair.0).is_multiple_of(10))
        }
    };
    Arc::new(move |conversation| match script {
        Script::Silent => Answer::Silence,
        _ => Answer::text(decisions(&conversation.opening, &word)),
    })
}

fn word_for(label: Option<Label>, is_wrong: bool) -> &'static str {
    match (label, is_wrong) {
        (Some(Label::Duplicate), false) | (Some(Label::Contradiction | Label::Neutral) | None, true) => "same",
        (Some(Label::Entailment), false) => "refines",
        (Some(Label::Contradiction), false) | (Some(Label::Duplicate | Label::Entailment), true) => "contradicts",
        (Some(Label::Neutral) | None, false) => "unrelated",
    }
}

/// The answer to a question, by the word for each of its pairs.
fn decisions(question: &str, word: &dyn Fn(&(String, String)) -> &'static str) -> String {
    let text = |side: &Value| side["text"].as_str().unwrap_or_default().to_owned();
    let mut decisions = Vec::new();
    for line in question.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let pair = (text(&line["older"]), text(&line["newer"]));
        decisions.push(json!({"pair": line["pair"], "relation": word(&pair), "reason": "as the script says"}));
    }
    json!({"decisions": decisions}).to_string()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn scripted_decisions_arrive_over_the_socket() {
        let pair = |a: &str, b: &str, label| Labelled {
            id: String::new(),
            a: a.into(),
            b: b.into(),
            label,
            kind: String::new(),
            held: None,
        };
        let pairs = [
            pair(
                "The parser does not cache tokens but it caches trees.",
                "The parser caches tokens but it does not cache trees.",
                Label::Contradiction,
            ),
            pair("Migrations run before the deploy.", "The deploy job applies all migrations first.", Label::Duplicate),
            pair("The index is kept in memory.", "Docker is needed.", Label::Neutral),
        ];
        let run = |script: &str| {
            let options = Options::try_parse_from(["pairs", "--pairs", "p", "--script", script]).unwrap();
            let (judged, asked) = asked(&options, &pairs, &FittedJudge::shipped().unwrap()).unwrap();
            (judged.into_iter().map(|(_, relation)| relation).collect::<Vec<_>>(), asked)
        };
        assert_eq!(run("labels").0, [Relation::Contradicts, Relation::Same, Relation::Unrelated]);
        for script in ["everything", "unsure", "silent"] {
            assert_eq!(run(script).0, [Relation::Contradicts, Relation::Unrelated, Relation::Unrelated], "{script}");
        }
        let asked = run("silent").1;
        assert_eq!((asked.open, asked.answered), (1, 0));
        assert!(asked.problem.unwrap().contains("in time"));
    }
}
