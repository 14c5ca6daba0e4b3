//! Summarising one conversation after the other: the prompt, its cost, and the records.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use jiff::civil::Date;
use muninn_base::{CancelFlag, Until};
use muninn_config::SummarizerConfig;
use muninn_ledger::{Outcome, Receipt};
use muninn_team::learn::LearnContext;
use muninn_team::learn::budget::{BudgetError, DailyBudget};
use muninn_team::learn::summarize::{AnsweredTurn, Notes, NotesError, SummaryPrompt};
use muninn_team::records::{Record, SpoolError};
use muninn_team::store::Store as Memory;
use muninn_text::model::{Model, ModelError, Reply};
use muninn_text::{redact, tokens};
use thiserror::Error;

use super::conversation::{ConversationTurns, EndedConversation};
use super::{flush, guarded, place};
use crate::turn::millis;

/// The longest time for an answer. No request waits for it, and a small machine is slow.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// Why a conversation was not summarised.
#[derive(Debug, Error)]
enum SummarizeError {
    #[error(transparent)]
    Budget(#[from] BudgetError),
    #[error(transparent)]
    Spool(#[from] SpoolError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("the answer of {model} is unusable: {reason}{}", truncation_hint(*.truncated))]
    Answer { model: String, reason: NotesError, truncated: bool },
}

fn truncation_hint(truncated: bool) -> &'static str {
    if truncated { "; it was truncated (raise max_answer_tokens)" } else { "" }
}

/// The state of the summarizer thread.
pub(super) struct SummarizerWorker {
    budget: DailyBudget,
    stopping: CancelFlag,
    /// The last day for which the log says that its budget is used up.
    reported: Option<Date>,
}

/// A model's answer and its cost.
struct Answered {
    reply: Reply,
    /// Tokens of the prompt and of the answer, as the backend counts them, else as Muninn does.
    used: (u64, u64),
    took: Duration,
}

impl SummarizerWorker {
    pub(super) fn new(budget: DailyBudget, stopping: CancelFlag) -> SummarizerWorker {
        SummarizerWorker { budget, stopping, reported: None }
    }

    /// Summarises conversations until the sender is dropped or the gateway stops.
    pub(super) fn all(&mut self, conversations: &Receiver<EndedConversation>) {
        for ended in conversations {
            if self.stopping.is_cancelled() {
                return;
            }
            let done = guarded(|| self.summarize(&ended));
            if let Some(Err(error)) = done
                && !self.stopping.is_cancelled()
            {
                // The error may quote the backend.
                tracing::warn!(error = %redact(&error.to_string()), "a conversation was not summarised");
            }
        }
    }

    fn summarize(&mut self, ended: &EndedConversation) -> Result<(), SummarizeError> {
        let (Some(memory), Some(model)) = (&ended.workspace.memory, ended.summarizer.model()) else {
            return Ok(());
        };
        let told = ended.whole.since(&memory.spool().marks(&ended.name)?);
        let Some(question) = SummaryPrompt::about(&told, ended.summarizer.most_prompt_tokens()) else {
            return Ok(());
        };
        let today = ended.workspace.clock().today();
        let Some(answered) = self.ask(&question, &model, &ended.summarizer.config, today)? else {
            return Ok(());
        };
        let notes = Notes::read(&answered.reply.text);
        let records = ended.keep(memory, |place| match &notes {
            Ok(notes) => notes.records(&told, place, model.id()),
            Err(_) => Vec::new(),
        })?;
        ended.account(&answered, model.id(), records);
        notes.map(|_| ()).map_err(|reason| SummarizeError::Answer {
            model: model.id().to_owned(),
            reason,
            truncated: answered.reply.truncated,
        })
    }

    /// Asks the model; `None` if the day's budget is used up.
    fn ask(
        &mut self,
        question: &SummaryPrompt,
        model: &dyn Model,
        config: &SummarizerConfig,
        today: Date,
    ) -> Result<Option<Answered>, SummarizeError> {
        let started = Instant::now();
        let most = u64::from(question.tokens()) + u64::from(config.max_answer_tokens);
        let Some(reserved) = self.budget.reserve(today, most, config.daily_tokens.into())? else {
            if self.reported != Some(today) {
                self.reported = Some(today);
                tracing::info!(
                    daily_tokens = config.daily_tokens,
                    "conversations are not summarised: the day's token budget is used up"
                );
            }
            return Ok(None);
        };
        let until = Until::within(ANSWER_TIMEOUT).or(self.stopping.clone());
        let reply = question.ask(model, config.max_answer_tokens, &until);
        let answered = reply.map(|reply| Answered { used: used(question, &reply), reply, took: started.elapsed() });
        let cost = match &answered {
            Ok(Answered { used: (input, output), .. }) => input.saturating_add(*output),
            Err(ModelError::Unreachable { .. } | ModelError::Refused { .. }) => 0,
            // The model may have used all its tokens.
            Err(ModelError::Unusable { .. } | ModelError::Over { .. }) => most,
        };
        self.budget.settle(reserved, cost)?;
        Ok(Some(answered?))
    }
}

fn used(question: &SummaryPrompt, reply: &Reply) -> (u64, u64) {
    let counted = || u64::from(tokens::count(&reply.text));
    (reply.usage.input.unwrap_or_else(|| question.tokens().into()), reply.usage.output.unwrap_or_else(counted))
}

impl EndedConversation {
    /// Keeps the records and returns their number. The mark is kept in any case, so that no turn is summarised twice.
    fn keep(&self, memory: &Memory, learn: impl FnOnce(&LearnContext<'_>) -> Vec<Record>) -> Result<usize, SpoolError> {
        let Some(mark) = self.whole.marks.last().map(|mark| summed_up(mark)) else {
            return Ok(0);
        };
        let mut count = 0;
        let learn = |origin| {
            let records = learn(&place(&self.workspace, memory, origin));
            count = records.len();
            records
        };
        if memory.keep(&self.name, Some(&mark), learn)? {
            flush(&self.workspace, &[&self.name], None);
        } else {
            memory.spool().mark(&self.name, &mark)?;
        }
        Ok(count)
    }

    /// Writes the cost to the log and to a receipt.
    fn account(&self, answered: &Answered, model: &str, records: usize) {
        let (input, output) = answered.used;
        tracing::info!(model, input, output, records, "a conversation was summarised");
        let app = self.summarizer.app.upgrade();
        if let Some(store) = app.as_ref().and_then(|app| app.store()) {
            let question = self.whole.turns.first().map_or("", |turn| &turn.question);
            let ms = millis(answered.took);
            store.note_receipt(Receipt {
                session: Some(redact(&self.name).into_owned()),
                model: model.to_owned(),
                backend: self.summarizer.backend().to_owned(),
                outcome: Outcome::Summed,
                reason: Some(format!("{input} + {output} tokens, {records} records kept")),
                ms,
                ..Receipt::of(ulid::Ulid::generate().to_string(), &self.workspace.root, question)
            });
        }
    }
}

impl ConversationTurns {
    /// The turns after the last summary, by the conversation's marks. The last summarised turn is included if others
    /// follow, because only now its outcome is known.
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

/// The mark of a conversation that was summarised up to a turn.
fn summed_up(mark: &str) -> String {
    format!("summed up {mark}")
}

#[cfg(test)]
mod tests {
    use muninn_team::learn::Turn;

    use super::*;

    fn whole(marks: &[&str]) -> ConversationTurns {
        let turn = |mark: &&str| Turn { question: (*mark).to_owned(), ..Turn::default() };
        ConversationTurns {
            turns: marks.iter().map(turn).collect(),
            answers: marks.iter().map(|mark| format!("to {mark}")).collect(),
            marks: marks.iter().map(|mark| (*mark).to_owned()).collect(),
        }
    }

    #[test]
    fn summary_starts_at_the_last_summarised_turn() {
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
            assert!(told.iter().all(|told| told.answer == format!("to {}", told.turn.question)));
        }
    }
}
