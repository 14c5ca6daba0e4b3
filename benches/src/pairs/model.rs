//! A model's decisions about pairs that rules leave open: a scripted model at a socket, or a real one.
//!
//! The scripts show what the way to a model carries at best, and that no model, however bad, has contradictions made one:
//! they know the labels, and which pairs of a question are there to try them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use muninn_reconcile::judge::{Claim, FittedJudge, Relation};
use muninn_reconcile::{JudgeSetup, ModelReport, Reconciler, ReconcilerLimits, control_pairs, relations};
use serde_json::{Value, json};

use super::labelled::{Label, Labelled};
use super::{Options, claim, hash};
use crate::scripted::heard::Heard;
use crate::scripted::remote;
use crate::scripted::said::{Policy, Said};
use crate::scripted::server::ModelServer;

/// How long a real model may take for an answer; a script that is silent is waited for as short as this allows.
const PATIENCE: Duration = Duration::from_secs(600);
const SILENCE: Duration = Duration::from_millis(500);

/// Models that are scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Script {
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

/// The pairs with what rules and a model hold them for.
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
    let blocking_client = remote::blocking_client()?;
    let model = remote::model(&blocking_client, url, name);
    let is_silent = options.backend.is_none() && options.script == Script::Silent;
    let limits = ReconcilerLimits {
        tokens: u64::MAX,
        max_answer_tokens: options.answer_tokens,
        patience: if is_silent { SILENCE } else { PATIENCE },
    };
    let reconciler = Reconciler::new(&model, limits, &());
    let judging = JudgeSetup { judge: tools, embedder: None, progress: &(), reconciler: Some(&reconciler) };
    let claims: Vec<(Claim<'_>, Claim<'_>)> = pairs.iter().map(|pair| (claim(&pair.a), claim(&pair.b))).collect();
    let (relations, asked) = relations(&claims, &judging);
    let judged = pairs.iter().map(|pair| pair.label).zip(relations);
    Ok((judged.collect(), asked.unwrap_or_default()))
}

fn policy(script: Script, pairs: &[Labelled]) -> Arc<dyn Policy> {
    let known = control_pairs().map(|(older, newer, contrary)| {
        let word = if contrary { "contradicts" } else { "same" };
        ((older.to_owned(), newer.to_owned()), word)
    });
    let known: HashMap<(String, String), &str> = known.collect();
    let labels = pairs.iter().map(|pair| ((pair.a.clone(), pair.b.clone()), pair.label));
    let labels: HashMap<(String, String), Label> = labels.collect();
    let word = move |pair: &(String, String)| match (script, known.get(pair)) {
        (Script::Everything, _) => "same",
        (Script::Unsure, _) => "unsure",
        (_, Some(word)) => *word,
        (Script::Sly, None) => "same",
        (Script::Labels | Script::Wrong | Script::Silent, None) => {
            let is_wrong = script == Script::Wrong && hash(&pair.0).is_multiple_of(10);
            said(labels.get(pair).copied(), is_wrong)
        }
    };
    Arc::new(move |heard: &Heard| match script {
        Script::Silent => Said::Silence,
        _ => Said::words(answer(&heard.opening, &word)),
    })
}

/// The word for a label in an answer.
fn said(label: Option<Label>, is_wrong: bool) -> &'static str {
    match (label, is_wrong) {
        (Some(Label::Duplicate), false) | (Some(Label::Contradiction | Label::Neutral) | None, true) => "same",
        (Some(Label::Entailment), false) => "refines",
        (Some(Label::Contradiction), false) | (Some(Label::Duplicate | Label::Entailment), true) => "contradicts",
        (Some(Label::Neutral) | None, false) => "unrelated",
    }
}

/// The answer to a question, by what is to be said of each of its pairs.
fn answer(question: &str, word: &dyn Fn(&(String, String)) -> &'static str) -> String {
    let lines = question.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let text = |side: &Value| side["text"].as_str().unwrap_or_default().to_owned();
    let decision = |line: Value| {
        let pair = (text(&line["older"]), text(&line["newer"]));
        json!({"pair": line["pair"], "relation": word(&pair), "reason": "as the script says"})
    };
    json!({"decisions": lines.map(decision).collect::<Vec<_>>()}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: Script) -> (Vec<(Label, Relation)>, ModelReport) {
        let pair = |id: &str, a: &str, b: &str, label| Labelled {
            id: id.to_owned(),
            a: a.to_owned(),
            b: b.to_owned(),
            label,
            held: None,
        };
        let pairs = [
            pair(
                "1",
                "The parser does not cache tokens but it caches trees.",
                "The parser caches tokens but it does not cache trees.",
                Label::Contradiction,
            ),
            pair(
                "2",
                "Migrations run before the deploy.",
                "The deploy job applies all migrations first.",
                Label::Duplicate,
            ),
            pair("3", "The index is kept in memory.", "Docker is needed.", Label::Neutral),
        ];
        let options = Options {
            pairs: Default::default(),
            features: None,
            no_llm: false,
            script,
            backend: None,
            backend_model: String::new(),
            answer_tokens: 1_000,
        };
        asked(&options, &pairs, &FittedJudge::shipped().unwrap()).unwrap()
    }

    #[test]
    fn scripted_decisions_arrive_over_the_socket() {
        let relations = |script| run(script).0.into_iter().map(|(_, relation)| relation).collect::<Vec<_>>();
        assert_eq!(relations(Script::Labels), [Relation::Contradicts, Relation::Same, Relation::Unrelated]);
        let rules = [Relation::Contradicts, Relation::Unrelated, Relation::Unrelated];
        for script in [Script::Everything, Script::Unsure, Script::Silent] {
            assert_eq!(relations(script), rules, "{script:?}");
        }
        let asked = run(Script::Silent).1;
        assert_eq!((asked.open, asked.answered), (1, 0));
        assert!(asked.problem.unwrap().contains("in time"));
    }
}
