use std::time::Duration;

use muninn_base::{Progress, Until};
use muninn_text::model::{Message, Model, ModelError, ModelRequest, Reply, ToolMode};
use muninn_text::redact::redact;
use muninn_text::tokens;
use serde::Serialize;

use super::super::judge::Relation;
use super::answer::Refusal;
use super::controls::Control;
use super::pair::{ModelVerdict, OpenPair};
use super::prompt::{self, Batch};

/// Number of consecutive failed batches after which a run stops asking.
const MOST_FAILURES: usize = 2;

/// Limits of a run's model calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReconcilerLimits {
    /// Maximum tokens of prompts and answers.
    pub tokens: u64,
    /// Maximum tokens of an answer.
    pub max_answer_tokens: u32,
    /// Timeout of one answer.
    pub patience: Duration,
}

/// A model that decides the pairs which rules leave open.
pub struct Reconciler<'a> {
    model: &'a dyn Model,
    limits: ReconcilerLimits,
    progress: &'a dyn Progress,
}

/// A report of the model's part in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ModelReport {
    /// Backend and model.
    pub model: String,
    /// Pairs that rules left open.
    pub open: usize,
    /// Pairs with a usable answer.
    pub answered: usize,
    /// Tokens of the prompts.
    pub input: u64,
    /// Tokens of the answers.
    pub output: u64,
    /// Why the other pairs have no answer.
    pub problem: Option<String>,
}

/// `5 of 7 open pairs answered, 3200 + 400 tokens`.
impl std::fmt::Display for ModelReport {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pairs = if self.open == 1 { "pair" } else { "pairs" };
        write!(
            formatter,
            "{} of {} open {pairs} answered, {} + {} tokens",
            self.answered, self.open, self.input, self.output
        )
    }
}

/// Why a batch failed.
enum BatchError {
    /// Further batches would fail too.
    ForGood(String),
    /// The answer was refused twice.
    Refused(String),
}

/// The control pairs, for fake models: older text, newer text, and whether they contradict each other or are
/// duplicates.
pub fn control_pairs() -> impl Iterator<Item = (&'static str, &'static str, bool)> {
    Control::all().map(|control| (control.older, control.newer, control.is_contradiction()))
}

impl<'a> Reconciler<'a> {
    /// Creates a reconciler; no call is made. `progress` counts the pairs that the model has seen.
    pub fn new(model: &'a dyn Model, limits: ReconcilerLimits, progress: &'a dyn Progress) -> Self {
        Self { model, limits, progress }
    }

    /// The author of its decisions.
    pub(crate) fn by(&self) -> String {
        format!("model:{}", self.model.id())
    }

    /// Asks about these pairs in order, and returns the usable decisions.
    pub(crate) fn settle(&self, open: &[OpenPair<'_>]) -> (Vec<Option<ModelVerdict>>, ModelReport) {
        let mut settled: Vec<Option<ModelVerdict>> = (0..open.len()).map(|_| None).collect();
        let mut report = ModelReport { model: self.model.id().to_owned(), open: open.len(), ..ModelReport::default() };
        let (mut at, mut failures) = (0, 0);
        while at < open.len() {
            self.progress.advance(at, open.len());
            let batch = Batch::of(open, at);
            at = batch.end();
            match self.ask(&batch, &mut report) {
                Ok(verdicts) => {
                    failures = 0;
                    report.answered += verdicts.len();
                    for (pair, verdict) in verdicts {
                        settled[pair] = Some(with_veto(verdict, open[pair].opposes));
                    }
                }
                Err(BatchError::Refused(problem)) => {
                    failures += 1;
                    report.problem = Some(problem);
                    if failures == MOST_FAILURES {
                        break;
                    }
                }
                Err(BatchError::ForGood(problem)) => {
                    report.problem = Some(problem);
                    break;
                }
            }
        }
        (settled, report)
    }

    /// The decisions on a batch. After an unusable answer the model is asked once more.
    fn ask(&self, batch: &Batch, report: &mut ModelReport) -> Result<Vec<(usize, ModelVerdict)>, BatchError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let refusal = match self.ask_once(batch, None, report)? {
            Ok(verdicts) => return Ok(verdicts),
            Err(refusal) => refusal,
        };
        self.ask_once(batch, Some(&refusal), report)?
            .map_err(|refusal| BatchError::Refused(refusal.message(self.model.id())))
    }

    fn ask_once(
        &self,
        batch: &Batch,
        refused: Option<&Refusal>,
        report: &mut ModelReport,
    ) -> Result<Result<Vec<(usize, ModelVerdict)>, Refusal>, BatchError> {
        let question = batch.question(refused);
        let prompt = u64::from(prompt::overhead() + tokens::count(&question));
        let most = prompt + u64::from(self.limits.max_answer_tokens);
        if report.input + report.output + most > self.limits.tokens {
            let spent = format!(
                "the limit of {} tokens for a run is reached; the other pairs were not sent",
                self.limits.tokens
            );
            return Err(BatchError::ForGood(spent));
        }
        let shape = prompt::shape();
        let ask = ModelRequest {
            system: prompt::INSTRUCTIONS,
            messages: &[Message::User(question)],
            tools: &[],
            choice: ToolMode::Auto,
            // A server without structured output refuses the request; the prompt describes the format as well.
            shape: (!matches!(refused, Some(Refusal::Request(_)))).then_some(&shape),
            max_tokens: self.limits.max_answer_tokens,
        };
        match self.model.ask(&ask, &Until::within(self.limits.patience)) {
            Ok(reply) => {
                report.input += reply.usage.input.unwrap_or(prompt);
                report.output += reply.usage.output.unwrap_or_else(|| tokens::count(&reply.text).into());
                Ok(read(batch, &reply))
            }
            Err(ModelError::Refused { status: 400 | 422, message, .. }) if refused.is_none() => {
                Ok(Err(Refusal::Request(redact(&message).into_owned())))
            }
            Err(error @ ModelError::Unusable { .. }) => {
                report.input += prompt;
                report.output += u64::from(self.limits.max_answer_tokens);
                Ok(Err(Refusal::Unusable(redact(&error.to_string()).into_owned())))
            }
            Err(error) => Err(BatchError::ForGood(redact(&error.to_string()).into_owned())),
        }
    }
}

fn read(batch: &Batch, reply: &Reply) -> Result<Vec<(usize, ModelVerdict)>, Refusal> {
    if reply.truncated {
        return Err(Refusal::CutShort);
    }
    batch.answered(&reply.text)
}

/// Refuses to merge claims whose words oppose each other.
pub(crate) fn with_veto(verdict: ModelVerdict, opposes: bool) -> ModelVerdict {
    match verdict.relation {
        Relation::Same if opposes => ModelVerdict {
            relation: Relation::Undecided,
            is_vetoed: true,
            newer_holds: false,
            reason: format!("{}. But one negates or opposes words of the other.", verdict.reason.trim_end_matches('.')),
        },
        _ => verdict,
    }
}

#[cfg(test)]
mod tests;
