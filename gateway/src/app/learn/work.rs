//! Summing up one conversation after the other: what is asked, what it costs, and what is kept.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use jiff::civil::Date;
use muninn_memory::learn::LearnContext;
use muninn_memory::learn::budget::{BudgetError, DailyBudget};
use muninn_memory::learn::summarize::{AnsweredTurn, Notes, NotesError, SummaryPrompt};
use muninn_memory::model::{Model, ModelError, Reply};
use muninn_memory::records::{Record, SpoolError};
use muninn_memory::store::Store as Memory;
use muninn_memory::{redact, tokens};
use muninn_repo_tools::{CancelFlag, Until};
use thiserror::Error;

use super::summarizer::{Ended, Whole};
use super::{flush, guarded, place};
use crate::app::turn::millis;
use crate::config::SummarizerConfig;
use crate::store::{Outcome, Receipt};

/// How long an answer may take. Nobody waits for it, and a small machine thinks slowly.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// Why a conversation was not summed up.
#[derive(Debug, Error)]
enum SumUpError {
    #[error(transparent)]
    Budget(#[from] BudgetError),
    #[error(transparent)]
    Spool(#[from] SpoolError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("{model} gave an answer that is of no use: {reason}{}", cut_short(*.truncated))]
    Answer {
        model: String,
        reason: NotesError,
        truncated: bool,
    },
}

fn cut_short(truncated: bool) -> &'static str {
    match truncated {
        true => "; it was cut short, which more max_answer_tokens would mend",
        false => "",
    }
}

/// What the thread has.
pub(super) struct Work {
    budget: DailyBudget,
    stopping: CancelFlag,
    /// The last day of which it was said that it has cost enough.
    told: Option<Date>,
}

/// What a model said, and what that took.
struct Answered {
    reply: Reply,
    /// Tokens of the prompt and of the answer: as the backend counts them, else as we do.
    used: (u64, u64),
    took: Duration,
}

impl Work {
    pub(super) fn new(budget: DailyBudget, stopping: CancelFlag) -> Work {
        Work {
            budget,
            stopping,
            told: None,
        }
    }

    /// Sums up all that come, until no more can or the gateway stops.
    pub(super) fn all(&mut self, conversations: &Receiver<Ended>) {
        for ended in conversations {
            if self.stopping.is_cancelled() {
                return;
            }
            let done = guarded(|| self.sum_up(&ended));
            if let Some(Err(error)) = done
                && !self.stopping.is_cancelled()
            {
                // A backend's own words are among them.
                tracing::warn!(error = %redact(&error.to_string()), "a conversation was not summed up");
            }
        }
    }

    fn sum_up(&mut self, ended: &Ended) -> Result<(), SumUpError> {
        let (Some(memory), Some(model)) = (&ended.workspace.memory, ended.summarizing.model()) else {
            return Ok(());
        };
        let told = ended.whole.since(&memory.spool().marks(&ended.name)?);
        let Some(question) = SummaryPrompt::about(&told, ended.summarizing.most_prompt_tokens()) else {
            return Ok(());
        };
        let today = ended.workspace.clock().today();
        let Some(answered) = self.ask(&question, &model, &ended.summarizing.config, today)? else {
            return Ok(());
        };
        let notes = Notes::read(&answered.reply.text);
        let records = ended.keep(memory, |place| match &notes {
            Ok(notes) => notes.records(&told, place, model.id()),
            Err(_) => Vec::new(),
        })?;
        ended.account(&answered, model.id(), records);
        notes.map(|_| ()).map_err(|reason| SumUpError::Answer {
            model: model.id().to_owned(),
            reason,
            truncated: answered.reply.truncated,
        })
    }

    /// Asks, unless the day has cost enough.
    fn ask(
        &mut self,
        question: &SummaryPrompt,
        model: &dyn Model,
        config: &SummarizerConfig,
        today: Date,
    ) -> Result<Option<Answered>, SumUpError> {
        let started = Instant::now();
        let most = u64::from(question.tokens()) + u64::from(config.max_answer_tokens);
        let Some(reserved) = self.budget.reserve(today, most, config.daily_tokens.into())? else {
            if self.told != Some(today) {
                self.told = Some(today);
                tracing::info!(
                    daily_tokens = config.daily_tokens,
                    "conversations are not summed up: the day has cost enough"
                );
            }
            return Ok(None);
        };
        let until = Until::within(PATIENCE).or(self.stopping.clone());
        let reply = question.ask(model, config.max_answer_tokens, &until);
        let answered = reply.map(|reply| Answered {
            used: used(question, &reply),
            reply,
            took: started.elapsed(),
        });
        let cost = match &answered {
            Ok(Answered {
                used: (input, output), ..
            }) => input.saturating_add(*output),
            Err(ModelError::Unreachable { .. } | ModelError::Refused { .. }) => 0,
            // It may have thought all the time.
            Err(ModelError::Unusable { .. } | ModelError::Over { .. }) => most,
        };
        self.budget.settle(reserved, cost)?;
        Ok(Some(answered?))
    }
}

fn used(question: &SummaryPrompt, reply: &Reply) -> (u64, u64) {
    let counted = || u64::from(tokens::count(&reply.text));
    (
        reply.usage.input.unwrap_or_else(|| question.tokens().into()),
        reply.usage.output.unwrap_or_else(counted),
    )
}

impl Ended {
    /// Keeps what was learned, and returns how many records that is. What has been paid for is not paid for again,
    /// whatever came of it.
    fn keep(&self, memory: &Memory, learn: impl FnOnce(&LearnContext<'_>) -> Vec<Record>) -> Result<usize, SpoolError> {
        let Some(mark) = self.whole.marks.last().map(|mark| summed_up(mark)) else {
            return Ok(0);
        };
        let mut count = 0;
        let learn = |session: &str| {
            let records = learn(&place(&self.workspace, memory, session));
            count = records.len();
            records
        };
        match memory.keep(&self.name, Some(&mark), learn)? {
            true => {
                flush(&self.workspace, &[&self.name], None);
            }
            false => {
                memory.spool().mark(&self.name, &mark)?;
            }
        }
        Ok(count)
    }

    /// Tells what it took, in the log and by a receipt.
    fn account(&self, answered: &Answered, model: &str, records: usize) {
        let (input, output) = answered.used;
        tracing::info!(model, input, output, records, "a conversation was summed up");
        let app = self.summarizing.app.upgrade();
        if let Some(store) = app.as_ref().and_then(|app| app.store.as_ref()) {
            let question = self.whole.turns.first().map_or("", |turn| &turn.question);
            let ms = millis(answered.took);
            store.note_receipt(Receipt {
                session: Some(redact(&self.name).into_owned()),
                model: model.to_owned(),
                backend: self.summarizing.backend().to_owned(),
                outcome: Outcome::Summed,
                reason: Some(format!("{input} + {output} tokens, {records} records kept")),
                ms,
                ..Receipt::of(ulid::Ulid::generate().to_string(), &self.workspace.root, question)
            });
        }
    }
}

impl Whole {
    /// The turns that a model has not been told of yet, by the marks of its conversation. The one at which it was told
    /// the last time comes again, where others follow: only now is it known how that ended.
    fn since(&self, marks: &[String]) -> Vec<AnsweredTurn<'_>> {
        let is_known = |mark: &String| marks.contains(&summed_up(mark));
        let first = match self.marks.iter().rposition(is_known) {
            Some(at) if at + 1 == self.marks.len() => return Vec::new(),
            known => known.unwrap_or(0),
        };
        let turns = self.turns.iter().zip(&self.answers).skip(first);
        turns.map(|(turn, answer)| AnsweredTurn { turn, answer }).collect()
    }
}

/// The mark of a conversation that was summed up to here.
fn summed_up(mark: &str) -> String {
    format!("summed up {mark}")
}

#[cfg(test)]
mod tests {
    use muninn_memory::learn::Turn;

    use super::*;

    fn whole(marks: &[&str]) -> Whole {
        let turn = |mark: &&str| Turn {
            question: (*mark).to_owned(),
            ..Turn::default()
        };
        Whole {
            turns: marks.iter().map(turn).collect(),
            answers: marks.iter().map(|mark| format!("to {mark}")).collect(),
            marks: marks.iter().map(|mark| (*mark).to_owned()).collect(),
        }
    }

    #[test]
    fn a_model_is_told_what_it_does_not_know_and_where_it_left_off() {
        let whole = whole(&["a", "b", "c"]);
        for (marks, expected) in [
            (&[][..], vec!["a", "b", "c"]),
            (&["a", "summary b", "c"], vec!["a", "b", "c"]),
            (&["summed up a", "summed up b"], vec!["b", "c"]),
            (&["summed up a"], vec!["a", "b", "c"]),
            (&["summed up c"], vec![]),
        ] {
            let marks: Vec<String> = marks.iter().map(|mark| (*mark).to_owned()).collect();
            let told = whole.since(&marks);
            let questions: Vec<&str> = told.iter().map(|told| told.turn.question.as_str()).collect();
            assert_eq!(questions, expected, "{marks:?}");
            assert!(
                told.iter()
                    .all(|told| told.answer == format!("to {}", told.turn.question))
            );
        }
    }
}
