//! One turn's decision: what is found for it and recorded, in time or not at all.

use std::sync::Arc;
use std::time::{Duration, Instant};

use muninn_context_engine::explore::{ExploreOutcome, Trace};
use muninn_context_engine::{Engine, Exploration, Item, ItemKind, Limits, PriorContext, block_tokens, render};
use muninn_repo_tools::CancelFlag;

use super::Workspace;
use super::deep::{Explorer, Late, Progress, Taken, drive};
use super::turn::{millis, now_ms};
use crate::store::{Entry, EntryId, NewEntry, Store, TurnKey, Use};

/// How long after the deadline an exploration may still be on its way back.
const GRACE: Duration = Duration::from_millis(20);

/// What packing what a model found may take.
const PACKING: Duration = Duration::from_millis(250);

/// Where in the ledger a turn's row goes.
pub(super) struct Slot {
    pub(super) key: TurnKey,
    pub(super) session: Option<String>,
    pub(super) before: Vec<Use>,
    pub(super) absent: Vec<(TurnKey, Vec<EntryId>)>,
}

impl Slot {
    fn entry(&self, block: Option<String>, tokens: u32) -> NewEntry {
        NewEntry {
            session: self.session.clone(),
            block,
            tokens,
            before: self.before.clone(),
            absent: self.absent.clone(),
            now_ms: now_ms(),
        }
    }

    /// The row of a turn that goes without.
    pub(super) fn without(&self) -> NewEntry {
        self.entry(None, 0)
    }
}

/// A question, and what it may be answered with.
pub(super) struct Asking {
    pub(super) question: String,
    /// What the conversation holds already.
    pub(super) already: PriorContext,
    /// The tokens of what is found by words; 0 where nothing new is looked for.
    pub(super) budget: u32,
    /// The tokens of all that is added, with what a model found.
    pub(super) whole: u32,
    /// What was explored for earlier turns.
    pub(super) late: Vec<Late>,
    /// Who explores for this one, and where it says what it does.
    pub(super) deep: Option<(Explorer, Progress)>,
}

impl Asking {
    /// How long it may take.
    fn patience(&self, of_words: Duration) -> Duration {
        let deep = self.deep.as_ref().map(|(explorer, _)| explorer.patience() + PACKING);
        of_words + deep.unwrap_or_default()
    }
}

/// What exploring came to.
pub(super) enum Decision {
    /// The ledger holds a row for the turn; what it says is injected.
    Recorded {
        entry: Entry,
        exploration: Box<Exploration>,
        explore_ms: f64,
        ledger_ms: f64,
        /// What a model did for it.
        trace: Option<Box<Trace>>,
        /// The receipts of the explorations whose results came in.
        entered: Vec<String>,
    },
    /// Nothing can be injected.
    Faulty { reason: String },
    /// The deadline passed.
    Late,
}

impl Decision {
    fn faulty(reason: impl ToString) -> Decision {
        Decision::Faulty {
            reason: reason.to_string(),
        }
    }

    /// Whether a model may find more: it is a question about this repository, and, where it matters, words leave it in
    /// doubt, having found nothing, or a best file that is hardly better than the next.
    pub(super) fn is_worth_exploring(&self, only_in_doubt: bool) -> bool {
        // Of a turn that was late it is not even known whether it is a question.
        let Decision::Recorded { exploration, .. } = self else {
            return false;
        };
        let file = |item: &Item| item.source.rsplit_once(':').map(|(file, _)| file.to_owned());
        let code = || exploration.items.iter().filter(|item| item.kind == ItemKind::Code);
        let is_in_doubt = || {
            let Some(best) = code().next() else { return true };
            let next = code().find(|item| file(item) != file(best));
            next.is_some_and(|next| next.score >= CLOSE * best.score)
        };
        !exploration.question_terms.is_empty() && (!only_in_doubt || is_in_doubt())
    }

    /// Lets go of what was found for earlier turns, where the ledger has this turn.
    pub(super) fn settle(&self, taken: Taken) {
        if matches!(self, Decision::Recorded { .. }) {
            taken.settle();
        }
    }
}

/// A file whose score is this part of the best one's is as likely to be meant.
const CLOSE: f32 = 0.8;

/// Says that nobody waits any more once this is dropped.
struct Waiting(CancelFlag);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Explores, off the worker's thread and on none while a model is waited for, and records what was found. Either the row
/// is written before the request goes on, or there will be none: a row that appears after the request went without it
/// would change the conversation.
pub(super) async fn decide(workspace: &Arc<Workspace>, store: &dyn Store, asking: Asking, slot: Slot) -> Decision {
    let started = Instant::now();
    let words_until = started + workspace.settings().context.deadline;
    let until = started + asking.patience(workspace.settings().context.deadline) + GRACE;
    let waiting = Waiting(CancelFlag::default());
    let work = drive({
        let (workspace, abandoned) = (Arc::clone(workspace), waiting.0.clone());
        async move {
            let engine = workspace.engine.as_ref()?;
            let (exploration, trace, entered) = explore(engine, &asking, words_until, &abandoned).await;
            let block = (!exploration.items.is_empty()).then(|| render::block(&exploration.items));
            let cost = block_tokens(&exploration.items);
            Some((Box::new(exploration), block, cost, trace, entered))
        }
    });
    let explored = tokio::time::timeout_at(tokio::time::Instant::from_std(until), work).await;
    let decision = match explored {
        Err(_) => Decision::Late,
        Ok(Err(error)) if error.is_panic() => Decision::faulty("exploring panicked"),
        Ok(Err(error)) => Decision::faulty(error),
        Ok(Ok(None)) => Decision::faulty("there is no repository"),
        Ok(Ok(Some((exploration, block, cost, trace, entered)))) => {
            let explore_ms = millis(started.elapsed());
            let recording = Instant::now();
            match store.record(slot.key, slot.entry(block, cost)).await {
                Ok(entry) => Decision::Recorded {
                    entry,
                    exploration,
                    explore_ms,
                    ledger_ms: millis(recording.elapsed()),
                    trace,
                    entered,
                },
                Err(error) => Decision::faulty(error),
            }
        }
    };
    if matches!(decision, Decision::Faulty { .. } | Decision::Late) {
        store.went_without(slot.key, slot.without()).await;
    }
    decision
}

/// What words find, what a model finds where one is asked, and what was found for earlier turns.
async fn explore(
    engine: &Engine,
    asking: &Asking,
    words_until: Instant,
    abandoned: &CancelFlag,
) -> (Exploration, Option<Box<Trace>>, Vec<String>) {
    let limits = Limits {
        tokens: asking.budget,
        deadline: words_until,
    };
    let mut exploration = match asking.budget {
        0 => Exploration::nothing(),
        _ => engine.explore_after(&asking.already, &asking.question, &limits),
    };
    let by_words = exploration.items.len();
    // What words leave of it; they rarely use up theirs.
    let mut extra = asking.whole.saturating_sub(exploration.tokens);
    let mut pack = |exploration: &Exploration, question: &str, found: &ExploreOutcome, tokens: u32| {
        let limits = Limits {
            tokens: tokens.min(extra),
            deadline: Instant::now() + PACKING,
        };
        let items = engine.pack_cited(question, &found.citations, &asking.already, &exploration.items, &limits);
        extra = extra.saturating_sub(items.iter().map(|item| item.tokens).sum());
        items
    };
    let mut trace = None;
    if let Some((explorer, progress)) = &asking.deep {
        progress.begins();
        let waiting = abandoned.clone();
        let found = explorer.explore(engine, &asking.question, waiting, progress).await;
        let mut items = pack(&exploration, &asking.question, &found, explorer.pack_tokens());
        items.append(&mut exploration.items);
        exploration.items = items;
        trace = Some(Box::new(found.trace));
    }
    let mut entered = Vec::new();
    for late in &asking.late {
        let items = pack(&exploration, &late.question, &late.found, late.tokens);
        if !items.is_empty() {
            exploration.items.extend(items);
            entered.push(late.receipt.clone());
        }
    }
    if exploration.items.len() > by_words {
        exploration.reason = None;
    }
    (exploration, trace, entered)
}
