//! The decision for one turn: explore, and record the result before the deadline.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use muninn_backend::access::Caller;
use muninn_base::CancelFlag;
use muninn_config::paths;
use muninn_context_engine::explore::{ExploreOutcome, Trace};
use muninn_context_engine::value::{Prices, news};
use muninn_context_engine::{Engine, Exploration, Item, ItemKind, Limits, PriorContext, block_tokens, render, tokens};
use muninn_ledger::{Estimate, PreamblePart, Store};
use muninn_notebooks::personal::Personal;
use muninn_session::AnsweredCall;

use super::decision::{Decision, Explored, LedgerSlot};
use super::deep::{BackgroundResult, Explorer, PendingResults, ProgressSender, drive};
use super::preamble::{Awaited, Preamble};
use super::turn::millis;
use super::worklog::{handover_text, logged};
use super::{Workspace, personal};

/// The time after the deadline in which an exploration's result is still accepted.
const GRACE: Duration = Duration::from_millis(20);

/// The time for packing the files that a model cited.
const PACKING: Duration = Duration::from_millis(250);

/// A question to explore, with its budgets.
pub(super) struct ExplorationRequest {
    pub(super) caller: Caller,
    pub(super) question: String,
    /// The files and blocks that the conversation holds already.
    pub(super) already: PriorContext,
    /// The prices of the backend's tokens.
    pub(super) prices: Prices,
    /// Whether the client gets a map of places instead of code.
    pub(super) wants_map: bool,
    /// The parts of the preamble that the conversation waits for; `None` for one that gets none.
    pub(super) awaits_preamble: Option<Awaited>,
    /// The session and the calls of its last turn, for the worklog; `None` for a turn that is not the user's.
    pub(super) session: Option<(String, Vec<AnsweredCall>)>,
    /// The tokens for lexical results; 0 where only pending results are added.
    pub(super) lexical_budget: u32,
    /// The tokens for the whole block, with the files that models cited.
    pub(super) total_budget: u32,
    /// The results of background explorations for earlier turns.
    pub(super) pending: Vec<BackgroundResult>,
    /// The personal memory of the caller, and the tokens that the question may get of it.
    pub(super) personal: Option<(Arc<Personal>, u32)>,
    /// The explorer of an inline exploration, and the receiver of its progress.
    pub(super) deep: Option<(Explorer, ProgressSender)>,
}

impl ExplorationRequest {
    /// The longest time that exploring may take.
    fn timeout(&self, lexical: Duration) -> Duration {
        let deep = self.deep.as_ref().map(|(explorer, _)| explorer.deadline() + PACKING);
        lexical + deep.unwrap_or_default()
    }

    fn personal(&self) -> Option<&Personal> {
        self.personal.as_ref().map(|(personal, _)| &**personal)
    }

    /// Whether a question about the repository would get the preamble.
    fn would_get_preamble(&self, workspace: &Workspace) -> bool {
        let waits = self.awaits_preamble.is_some_and(|awaited| awaited.about_repository.is_some());
        waits && (paths::is_initialised(&workspace.root) || self.personal.is_some())
    }

    /// The text before the items of a block: the preamble, if the question is about the repository or the user, or what
    /// others wrote into the worklog before this session, or that a mutation is due.
    fn lead(
        &self,
        workspace: &Workspace,
        is_about_repository: bool,
        is_about_user: bool,
    ) -> (String, Vec<PreamblePart>) {
        let worklog = self.session.as_ref().and_then(|session| Some((workspace.worklog_in_use()?, session)));
        let mut handover = None;
        if let Some((worklog, (session, calls))) = &worklog {
            for call in calls {
                logged(worklog.observe_answered(session, call));
            }
            handover = logged(worklog.begin(Some(session), None, None, &self.question)).flatten();
        }
        let preamble = self.awaits_preamble.filter(|_| is_about_repository || is_about_user).and_then(|awaited| {
            let means = awaited.about_repository.filter(|_| is_about_repository);
            let personal = self.personal().filter(|_| awaited.about_user);
            Preamble::of(workspace, &self.caller, handover.as_ref(), personal, means)
        });
        if let Some(preamble) = preamble {
            return (preamble.text, preamble.parts);
        }
        let due = worklog.and_then(|(worklog, (session, _))| logged(worklog.due(Some(session))).flatten());
        let text = match (handover, due) {
            (Some(handover), _) => handover_text(&handover),
            (None, due) => due.unwrap_or_default(),
        };
        if text.is_empty() {
            return Default::default();
        }
        let part = PreamblePart { part: "worklog".to_owned(), characters: text.chars().count() };
        (text, vec![part])
    }

    /// The estimated value of a block.
    fn estimate(&self, exploration: &Exploration, tokens: u32) -> Estimate {
        let places = exploration.items.iter().filter(|item| item.kind == ItemKind::Place);
        let named: HashSet<&str> = places.map(|item| item.file()).collect();
        let share = exploration.files.map_or(1.0, |files| news(named.len(), files));
        let gain = exploration.items.iter().map(|item| item.gain).sum();
        Estimate::new(&self.prices, tokens, self.wants_map.then_some((gain, share)))
    }
}

impl Decision {
    fn failed(reason: impl ToString) -> Decision {
        Decision::Failed { reason: reason.to_string() }
    }

    /// Whether a background exploration may find more. The question must contain terms of the repository. With
    /// `only_in_doubt`, the lexical search must also have found nothing, or no clear best file.
    pub(super) fn is_worth_exploring(&self, only_in_doubt: bool) -> bool {
        // After a missed deadline it is unknown whether the question is about the repository.
        let Decision::Recorded { explored, .. } = self else {
            return false;
        };
        let exploration = &explored.exploration;
        let is_code = |item: &&Item| matches!(item.kind, ItemKind::Code | ItemKind::Place);
        let code = || exploration.items.iter().filter(is_code);
        let is_in_doubt = || {
            let Some(best) = code().next() else { return true };
            let next = code().find(|item| item.file() != best.file());
            next.is_some_and(|next| next.score >= DOUBT_RATIO * best.score)
        };
        !exploration.question_terms.is_empty() && (!only_in_doubt || is_in_doubt())
    }

    /// Drops the pending results of earlier turns once the ledger holds this turn; otherwise they are kept.
    pub(super) fn settle(&self, pending: PendingResults) {
        if matches!(self, Decision::Recorded { .. }) {
            pending.settle();
        }
    }
}

/// The share of the best score from which a second file leaves the best one in doubt.
const DOUBT_RATIO: f32 = 0.8;

/// Cancels the exploration when it is dropped.
struct CancelOnDrop(CancelFlag);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Explores on blocking threads, but on none while a model answers, and records the result. The row is written before the
/// request is sent, or never: a row that appears after a request went without it would change the conversation.
pub(super) async fn decide(
    workspace: &Arc<Workspace>,
    store: &dyn Store,
    request: ExplorationRequest,
    slot: LedgerSlot,
) -> Decision {
    let started = Instant::now();
    let lexical_until = started + workspace.settings().context.deadline;
    let until = started + request.timeout(workspace.settings().context.deadline) + GRACE;
    let cancel = CancelOnDrop(CancelFlag::default());
    let work = drive({
        let (workspace, abandoned) = (Arc::clone(workspace), cancel.0.clone());
        async move {
            let engine = workspace.engine.as_ref()?;
            let reduction = workspace.reduction();
            let (mut exploration, trace, entered) = explore(engine, &request, lexical_until, &abandoned).await;
            if exploration.items.iter().any(|item| item.kind == ItemKind::Place) {
                let reasons = exploration.reason.into_iter().chain(reduction);
                exploration.reason = reasons.reduce(|all, reason| format!("{all}; {reason}"));
            }
            let is_about_repository = exploration.is_about_repository || !exploration.items.is_empty();
            let mut is_about_user = false;
            if let Some((personal, tokens)) = &request.personal {
                let left = request.total_budget.saturating_sub(block_tokens(&exploration.items));
                let found = personal::items(personal, &request.question, &request.already, left.min(*tokens));
                is_about_user = !found.is_empty();
                exploration.items.extend(found);
            }
            let cost = block_tokens(&exploration.items);
            let has_items = !exploration.items.is_empty();
            let estimate = has_items.then(|| request.estimate(&exploration, cost));
            let (lead, preamble) = request.lead(&workspace, is_about_repository, is_about_user);
            let block = render::block_after(&lead, &exploration.items);
            if preamble.is_empty() && !is_about_repository && request.would_get_preamble(&workspace) {
                let waits = "the preamble waits for a question about the repository".to_owned();
                exploration.reason =
                    exploration.reason.into_iter().chain([waits]).reduce(|all, next| format!("{all}; {next}"));
            }
            Some(Box::new(Explored {
                cost: if lead.is_empty() { cost } else { tokens::count(&block) },
                block: Some(block).filter(|block| !block.is_empty()),
                exploration,
                preamble,
                estimate,
                trace,
                entered,
            }))
        }
    });
    let explored = tokio::time::timeout_at(tokio::time::Instant::from_std(until), work).await;
    let decision = match explored {
        Err(_) => Decision::DeadlineExceeded,
        Ok(Err(error)) if error.is_panic() => Decision::failed("the exploration panicked"),
        Ok(Err(error)) => Decision::failed(error),
        Ok(Ok(None)) => Decision::failed("there is no repository"),
        Ok(Ok(Some(explored))) => return record(store, &slot, explored, started).await,
    };
    store.record_without_block(slot.key, slot.without()).await;
    decision
}

/// Records an exploration that began at `started`. If the ledger refuses the row, the request gets no block.
pub(super) async fn record(
    store: &dyn Store,
    slot: &LedgerSlot,
    mut explored: Box<Explored>,
    started: Instant,
) -> Decision {
    let explore_ms = millis(started.elapsed());
    let recording = Instant::now();
    match store.record(slot.key, slot.entry(explored.block.take(), explored.cost)).await {
        Ok(entry) => Decision::Recorded { entry, explored, explore_ms, ledger_ms: millis(recording.elapsed()) },
        Err(error) => {
            store.record_without_block(slot.key, slot.without()).await;
            Decision::failed(error)
        }
    }
}

/// Combines the lexical results, the files of an inline exploration, and the pending results of earlier turns.
async fn explore(
    engine: &Engine,
    request: &ExplorationRequest,
    lexical_until: Instant,
    abandoned: &CancelFlag,
) -> (Exploration, Option<Box<Trace>>, Vec<String>) {
    let limits = Limits { tokens: request.lexical_budget, deadline: lexical_until };
    let mut exploration = match request.lexical_budget {
        0 => Exploration::nothing(),
        _ => engine.explore_after(
            &request.already,
            &request.question,
            &limits,
            request.wants_map.then_some(&request.prices),
        ),
    };
    let lexical_items = exploration.items.len();
    // The lexical results rarely use up their budget.
    let mut extra = request.total_budget.saturating_sub(exploration.tokens);
    let mut pack = |exploration: &Exploration, question: &str, found: &ExploreOutcome, tokens: u32| {
        let limits = Limits { tokens: tokens.min(extra), deadline: Instant::now() + PACKING };
        let items = engine.pack_cited(question, &found.citations, &request.already, &exploration.items, &limits);
        extra = extra.saturating_sub(items.iter().map(|item| item.tokens).sum());
        items
    };
    let mut trace = None;
    if let Some((explorer, progress)) = &request.deep {
        progress.begins();

        let found = explorer.explore(engine, &request.question, explorer.until(abandoned.clone()), progress).await;
        let mut items = pack(&exploration, &request.question, &found, explorer.pack_tokens());
        items.append(&mut exploration.items);
        exploration.items = items;
        trace = Some(Box::new(found.trace));
    }
    let mut entered = Vec::new();
    for result in &request.pending {
        let items = pack(&exploration, &result.question, &result.found, result.tokens);
        if !items.is_empty() {
            exploration.items.extend(items);
            entered.push(result.receipt.clone());
        }
    }
    if exploration.items.len() > lexical_items {
        exploration.reason = None;
    }
    (exploration, trace, entered)
}
