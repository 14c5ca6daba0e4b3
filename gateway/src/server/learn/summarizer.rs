//! Summing up, with a model, what conversations came to that are over.
//!
//! On a thread of its own, one after the other: a model may take minutes, and learning without one goes on meanwhile. It
//! is started when a conversation ends that is to be summed up, so that who has no model for it has no thread either.
//! When the gateway stops, whatever is under way is given up; what was learned without a model is written by then.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use http::HeaderMap;
use jiff::civil::Date;
use muninn_memory::learn::Turn;
use muninn_memory::learn::budget::{BudgetError, DailyBudget};
use muninn_memory::learn::summarize::{NoNotes, Notes, Question, Told};
use muninn_memory::model::{Model, ModelError, Reply};
use muninn_memory::records::SpoolError;
use muninn_memory::{redact, tokens};
use muninn_repo_tools::{Abandoned, Until};
use thiserror::Error;

use super::{flush, guarded, place};
use crate::access::Caller;
use crate::backend::RemoteModel;
use crate::config::SummarizerConfig;
use crate::server::{Repository, Settings, Shared};
use crate::store::utc_today;

/// So many conversations wait to be summed up.
const QUEUE: usize = 16;
/// The longest prompt, in tokens: a day's default budget is then worth ten long conversations, or several times as many
/// short ones, and a small model still reads it to the end.
const MOST_PROMPT_TOKENS: u32 = 4_000;
/// How long an answer may take. Nobody waits for it, and a small machine thinks slowly.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// Who sums up a request's conversation once it is over, and what it may cost: as it was configured when the request
/// came.
#[derive(Clone)]
pub(in crate::server) struct Summarizing {
    model: Arc<dyn Model>,
    most_prompt_tokens: u32,
    config: SummarizerConfig,
}

impl Summarizing {
    /// Nobody, where no model is named or the caller's requests may not go to its backend. It has its backend's own key:
    /// nobody's request asks for it.
    pub(in crate::server) fn of(shared: &Shared, settings: &Settings, caller: &Caller) -> Option<Summarizing> {
        let config = settings.config.summarizer.clone()?;
        let candidate = settings.router.chosen(&config.model)?;
        let window = candidate.backend.context_window.unwrap_or(u32::MAX);
        if !caller.may_use_backend(&candidate.backend.name) {
            return None;
        }
        let model = RemoteModel::new(shared.courier()?, candidate, &config.model.model, &HeaderMap::new());
        Some(Summarizing {
            model: Arc::new(model),
            most_prompt_tokens: MOST_PROMPT_TOKENS.min(window.saturating_sub(config.max_answer_tokens)),
            config,
        })
    }
}

/// All of a conversation.
pub(super) struct Whole {
    pub(super) turns: Vec<Turn>,
    /// What the agent said in the end of each.
    pub(super) answers: Vec<String>,
    /// What names each, with all before it.
    pub(super) marks: Vec<String>,
}

/// A conversation that is over.
pub(super) struct Ended {
    /// What its client calls it.
    pub(super) name: String,
    pub(super) whole: Whole,
    pub(super) repository: Arc<Repository>,
    pub(super) summarizing: Summarizing,
}

/// Hands conversations to the thread that sums up. Dropping it ends the thread, which gives up at once where that is
/// said.
pub(super) struct Summarizer {
    budget: DailyBudget,
    stopping: Abandoned,
    thread: Option<(SyncSender<Ended>, JoinHandle<()>)>,
}

impl Summarizer {
    pub(super) fn new(budget: DailyBudget, stopping: Abandoned) -> Summarizer {
        Summarizer {
            budget,
            stopping,
            thread: None,
        }
    }

    /// Has a conversation summed up, sooner or later. Never waits.
    pub(super) fn sum_up(&mut self, ended: Ended) {
        if self.thread.is_none() {
            self.thread = self.start();
        }
        if let Some((sender, _)) = &self.thread
            && sender.try_send(ended).is_err()
        {
            tracing::warn!("a conversation is not summed up: too many wait");
        }
    }

    fn start(&self) -> Option<(SyncSender<Ended>, JoinHandle<()>)> {
        let (sender, conversations) = sync_channel(QUEUE);
        let work = Work {
            budget: self.budget.clone(),
            stopping: self.stopping.clone(),
            told: None,
        };
        let thread = std::thread::Builder::new()
            .name("muninn-sum-up".into())
            .spawn(move || work.all(&conversations));
        let thread = thread.inspect_err(|error| tracing::warn!(%error, "no conversation is summed up"));
        Some((sender, thread.ok()?))
    }
}

impl Drop for Summarizer {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.thread.take() {
            drop(sender);
            if thread.join().is_err() {
                tracing::error!("summing up panicked");
            }
        }
    }
}

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
        reason: NoNotes,
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
struct Work {
    budget: DailyBudget,
    stopping: Abandoned,
    /// The last day of which it was said that it has cost enough.
    told: Option<Date>,
}

impl Work {
    fn all(mut self, conversations: &Receiver<Ended>) {
        for ended in conversations {
            if self.stopping.is_said() {
                return;
            }
            let done = guarded(|| self.sum_up(&ended));
            if let Some(Err(error)) = done
                && !self.stopping.is_said()
            {
                // A backend's own words are among them.
                tracing::warn!(error = %redact(&error.to_string()), "a conversation was not summed up");
            }
        }
    }

    fn sum_up(&mut self, ended: &Ended) -> Result<(), SumUpError> {
        let Ended { name, whole, .. } = ended;
        let Some(store) = &ended.repository.memory else {
            return Ok(());
        };
        let told = whole.since(&store.spool().marks(name)?);
        let (Some(question), Some(mark)) = (
            Question::about(&told, ended.summarizing.most_prompt_tokens),
            whole.marks.last().map(|mark| summed_up(mark)),
        ) else {
            return Ok(());
        };
        let Some(reply) = self.ask(&question, &ended.summarizing)? else {
            return Ok(());
        };
        let model = ended.summarizing.model.id();
        let notes = Notes::read(&reply.text);
        let records = match &notes {
            Ok(notes) => notes.records(&told, &place(&ended.repository, store, name)?, model),
            Err(_) => Vec::new(),
        };
        // What has been paid for is not paid for again, whatever came of it.
        if records.is_empty() {
            store.spool().mark(name, &mark)?;
        } else {
            store.keep(name, Some(&mark), &records)?;
            flush(&ended.repository);
        }
        let (input, output) = used(&question, &reply);
        tracing::info!(
            model,
            input,
            output,
            records = records.len(),
            "a conversation was summed up"
        );
        notes.map(|_| ()).map_err(|reason| SumUpError::Answer {
            model: model.to_owned(),
            reason,
            truncated: reply.truncated,
        })
    }

    /// Asks, unless the day has cost enough.
    fn ask(&mut self, question: &Question, summarizing: &Summarizing) -> Result<Option<Reply>, SumUpError> {
        let SummarizerConfig {
            daily_tokens,
            max_answer_tokens,
            ..
        } = summarizing.config;
        let today = utc_today();
        let most = u64::from(question.tokens()) + u64::from(max_answer_tokens);
        let Some(reserved) = self.budget.reserve(today, most, daily_tokens.into())? else {
            if self.told != Some(today) {
                self.told = Some(today);
                tracing::info!(daily_tokens, "conversations are not summed up: the day has cost enough");
            }
            return Ok(None);
        };
        let until = Until::within(PATIENCE).or(self.stopping.clone());
        let answered = question.ask(&*summarizing.model, max_answer_tokens, &until);
        let cost = match &answered {
            Ok(reply) => {
                let (input, output) = used(question, reply);
                input.saturating_add(output)
            }
            Err(ModelError::Unreachable { .. } | ModelError::Refused { .. }) => 0,
            // It may have thought all the time.
            Err(ModelError::Unusable { .. } | ModelError::Over { .. }) => most,
        };
        self.budget.settle(reserved, cost)?;
        Ok(Some(answered?))
    }
}

impl Whole {
    /// The turns that have not been summed up yet.
    fn since(&self, known: &[String]) -> Vec<Told<'_>> {
        let is_known = |mark: &String| known.contains(&summed_up(mark));
        let first = self.marks.iter().rposition(is_known).map_or(0, |at| at + 1);
        let turns = self.turns.iter().zip(&self.answers).skip(first);
        turns.map(|(turn, answer)| Told { turn, answer }).collect()
    }
}

/// The mark of a conversation that was summed up to here.
fn summed_up(mark: &str) -> String {
    format!("summed up {mark}")
}

/// Tokens of the prompt and of the answer: as the backend counts them, else as we do.
fn used(question: &Question, reply: &Reply) -> (u64, u64) {
    let counted = || u64::from(tokens::count(&reply.text));
    (
        reply.usage.input.unwrap_or_else(|| question.tokens().into()),
        reply.usage.output.unwrap_or_else(counted),
    )
}
