//! The life of a request before it is sent: what is put back, what is added, and the receipt of both.
//!
//! Nothing here may keep a request from being answered. A fault adds nothing, is written on the receipt, and leaves the
//! body as the client sent it, or with what was put back if that much worked.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use muninn_context_engine::{Completeness, PriorContext};
use muninn_memory::redact;
use thiserror::Error;

use super::decide::{Asking, Decision, Slot, decide};
use super::deep::{Deep, Progress, Question, Taken, begin};
use super::place::{EnterError, enter, locate, seed};
use super::{App, Workspace};
use crate::access::Caller;
use crate::config::ContextConfig;
use crate::inject::{Boundary, Chain, Replay, Seed, replay};
use crate::session::{
    HumanTurn, Identity, Mode, SideRequest, human_turn, identify, newest_human_turn, reads, side_request,
};
use crate::store::{EntryId, NewEntry, Outcome, Receipt, ReceiptItem, Replays, Store, TurnKey, Use};
use crate::wire::{Insertion, Prompt, Site, WireFormat};

/// Less room than this in a conversation's budget is not worth a search.
const SMALLEST_BUDGET: u32 = 200;

/// The insertions that a request's body gets, and the receipt of them.
pub(crate) struct Plan {
    /// What to insert.
    pub insertions: Vec<Insertion>,
    /// The receipt, still without backend and total time.
    pub receipt: Receipt,
    mode: Mode,
}

/// Why nothing new is looked for. Its words are the receipt's reason.
#[derive(Debug, Error)]
pub(super) enum NothingNew {
    #[error("the client asked for nothing new")]
    NotWanted,
    #[error("a side request: {}", .0.name())]
    SideRequest(SideRequest),
    #[error("context.enabled is false")]
    Disabled,
    #[error("the conversation's token budget is used up")]
    NoBudget,
    #[error(transparent)]
    NoRepository(#[from] EnterError),
}

impl NothingNew {
    fn outcome(&self) -> Outcome {
        match self {
            NothingNew::NotWanted | NothingNew::Disabled => Outcome::Off,
            NothingNew::SideRequest(_) | NothingNew::NoBudget | NothingNew::NoRepository(_) => Outcome::None,
        }
    }
}

/// An empty receipt for a request that came now.
#[must_use]
pub(crate) fn new_receipt(app: &App, caller: &Caller, format: WireFormat, id: &str, model: &str) -> Receipt {
    Receipt {
        format: Receipt::format_name(format).to_owned(),
        key: Some(caller.name().to_owned()).filter(|name| !name.is_empty()),
        model: model.to_owned(),
        ..Receipt::of(id.to_owned(), &app.workspace.root, "")
    }
}

/// A request, as far as planning goes by it.
pub(crate) struct Asked<'a, 'p> {
    pub(crate) caller: &'a Caller,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) prompt: &'a Prompt<'p>,
    /// The backend's context window in tokens, where known.
    pub(crate) window: Option<u32>,
    /// Whether a model explores for it.
    pub(crate) deep: Deep,
    /// Where that says what it does.
    pub(crate) progress: Progress,
}

/// Decides what goes into a prompt.
pub(crate) async fn plan(app: &Arc<App>, asked: Asked<'_, '_>, receipt: Receipt) -> Plan {
    let Asked {
        caller,
        headers,
        prompt,
        window,
        deep,
        progress,
    } = asked;
    let mode = Mode::of(headers);
    let mut plan = Plan {
        insertions: Vec::new(),
        receipt,
        mode,
    };
    if mode == Mode::Bypass {
        plan.receipt.outcome = Outcome::Bypass;
        return plan;
    }
    let identity = identify(headers, prompt);
    plan.identified(&identity);
    let session = identity.session.clone();
    let Some(store) = app.store.clone() else {
        app.metrics.unreplayed();
        return plan.failed(app.store_problem.clone().unwrap_or_default());
    };
    let place = locate(app, caller, &identity.workplace);
    if let Some(root) = place.root() {
        plan.receipt.worktree = root.display().to_string();
    }
    let chain = chain(app, caller, prompt, &identity);
    let replayed = match replay(&chain, session.as_deref(), &*store, now_ms()).await {
        Ok(replayed) => replayed,
        Err(error) => {
            app.metrics.unreplayed();
            return plan.failed(error.to_string());
        }
    };
    plan.put_back(prompt, &replayed, session.as_deref(), &*store);
    let side = side_request(headers, prompt);
    plan.receipt.side_request = side.map(|side| side.name().to_owned());
    let turn = newest_human_turn(prompt);
    if let Some(turn) = &turn {
        plan.receipt.first_words = Receipt::first_words_of(&turn.question);
    }
    let explored = side.is_none() && app.explorations.concern(&chain, session.as_deref());
    let newest = turn.filter(|_| side.is_none()).map(Newest::from);
    let Some(newest) = newest.or_else(|| Newest::results(prompt).filter(|_| explored)) else {
        note_absent(&*store, session.as_deref(), absent(prompt, &chain, &replayed)).await;
        let reason = side.map_or("there is no new question".to_owned(), |side| {
            NothingNew::SideRequest(side).to_string()
        });
        return plan.nothing_new(reason);
    };
    let Some(boundary) = chain.at(newest.site) else {
        return plan.nothing_new("there is no new question".to_owned());
    };
    let has_block = replayed.within(newest.site.message).any(|entry| entry.block.is_some());
    if replayed.at(newest.site).is_some() {
        let how = if has_block { "was asked" } else { "went without" };
        return plan.nothing_new(format!("this turn {how} before"));
    }
    let slot = Slot {
        key: boundary.key,
        before: replayed.uses(session.as_deref()),
        absent: absent(prompt, &chain, &replayed),
        session,
    };
    if has_block {
        // A client may append to a turn that has its block already; then that one is enough. The new end gets a row, so
        // that forks find this session's history there and not that of one which began with both.
        store.went_without(slot.key, slot.without()).await;
        return plan.nothing_new("this turn was asked before".to_owned());
    }
    let entered = if mode == Mode::Off {
        Err(NothingNew::NotWanted)
    } else {
        let entered = enter(app, caller, place, &identity.workplace.now).await;
        entered
            .map_err(NothingNew::from)
            .and_then(|workspace| within(&workspace, prompt, window, &replayed).map(|budget| (workspace, budget)))
    };
    let (workspace, (budget, whole)) = match entered {
        Ok(entered) => entered,
        Err(why) => {
            store.went_without(slot.key, slot.without()).await;
            return plan.without(why.outcome(), why.to_string());
        }
    };
    let already = already(prompt, &workspace, &identity, &replayed);
    let taken = Taken::of(app, &chain, slot.session.as_deref());
    let late = taken.results();
    let Some(question) = newest.question else {
        if late.is_empty() {
            store.went_without(slot.key, slot.without()).await;
            return plan.nothing_new("what is being explored is not found yet".to_owned());
        }
        let asking = Asking {
            question: String::new(),
            already,
            budget: 0,
            whole,
            late,
            deep: None,
        };
        let decision = decide(&workspace, &*store, asking, slot).await;
        decision.settle(taken);
        return plan.add(prompt, newest.site, decision);
    };
    let beside = Question {
        text: question.clone(),
        key: slot.key,
        session: slot.session.clone(),
        receipt: plan.receipt.clone(),
    };
    let (deep, background) = match deep {
        Deep::No => (None, None),
        Deep::Inline(explorer) => (Some(explorer), None),
        Deep::Background {
            explorer,
            only_in_doubt,
        } => (None, Some((explorer, only_in_doubt))),
    };
    let asking = Asking {
        question,
        already,
        budget,
        whole,
        late,
        deep: deep.map(|explorer| (explorer, progress)),
    };
    let decision = decide(&workspace, &*store, asking, slot).await;
    decision.settle(taken);
    if let Some((explorer, only_in_doubt)) = background
        && decision.is_worth_exploring(only_in_doubt)
    {
        begin(app, &workspace, explorer, beside);
    }
    plan.add(prompt, newest.site, decision)
}

/// The room that a request's newest question would have before a backend: the tokens that its block may cost, and what the
/// conversation holds already. Nothing is remembered of the request.
///
/// # Errors
/// [`NothingNew`] where nothing would be added.
pub(super) async fn preview(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    prompt: &Prompt<'_>,
    workspace: &Workspace,
) -> Result<(u32, PriorContext), NothingNew> {
    if let Mode::Off | Mode::Bypass = Mode::of(headers) {
        return Err(NothingNew::NotWanted);
    }
    if let Some(side) = side_request(headers, prompt) {
        return Err(NothingNew::SideRequest(side));
    }
    let identity = identify(headers, prompt);
    let chain = chain(app, caller, prompt, &identity);
    let replayed = match &app.store {
        Some(store) => replay(&chain, identity.session.as_deref(), &**store, now_ms()).await,
        None => Ok(Replay::default()),
    };
    let replayed = replayed.unwrap_or_default();
    let (budget, _) = within(workspace, prompt, None, &replayed)?;
    Ok((budget, already(prompt, workspace, &identity, &replayed)))
}

/// What a conversation holds of the repository: the blocks that are put back, and what the client's tools have read.
fn already(prompt: &Prompt<'_>, workspace: &Workspace, identity: &Identity<'_>, replayed: &Replay) -> PriorContext {
    let mut already = PriorContext::default();
    for block in replayed.each_block() {
        already.add_block(block);
    }
    for (paths, text) in reads(prompt, &workspace.root, &identity.workplace.now) {
        already.add_read(paths, text);
    }
    already
}

/// Where something new may stand, and for which question.
struct Newest {
    site: Site,
    /// None behind results of tools, where only what was explored for an earlier question comes in.
    question: Option<String>,
}

impl Newest {
    fn results(prompt: &Prompt<'_>) -> Option<Newest> {
        let site = prompt.newest_results()?;
        Some(Newest { site, question: None })
    }
}

impl From<HumanTurn> for Newest {
    fn from(turn: HumanTurn) -> Newest {
        Newest {
            site: turn.site,
            question: Some(turn.question),
        }
    }
}

/// What a prompt gets back of what was added to it before, for a client that only wants to know how long it is. Nothing
/// is remembered of the request.
pub(crate) async fn put_back_only(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    prompt: &Prompt<'_>,
) -> Vec<Insertion> {
    if Mode::of(headers) == Mode::Bypass {
        return Vec::new();
    }
    let Some(store) = &app.store else {
        return Vec::new();
    };
    let identity = identify(headers, prompt);
    let chain = chain(app, caller, prompt, &identity);
    match replay(&chain, identity.session.as_deref(), &**store, now_ms()).await {
        Ok(replayed) => replayed.insertions(prompt),
        Err(error) => {
            tracing::warn!("tokens are counted without what was added before: {error}");
            Vec::new()
        }
    }
}

/// The keys of a prompt's text blocks. Conversations of different callers, or that opened in different places, share none.
fn chain(app: &App, caller: &Caller, prompt: &Prompt<'_>, identity: &Identity<'_>) -> Chain {
    let seed = Seed {
        access_key: caller.name(),
        worktree: &seed(app, &identity.workplace),
    };
    Chain::of(prompt, seed)
}

/// The tokens that what is found by words may cost, and what all that is added may, with what a model found; or why it is
/// not explored at all.
fn within(
    workspace: &Workspace,
    prompt: &Prompt<'_>,
    window: Option<u32>,
    replayed: &Replay,
) -> Result<(u32, u32), NothingNew> {
    let settings = workspace.settings();
    if !settings.context.enabled {
        return Err(NothingNew::Disabled);
    }
    let budget = budget(&settings.context, prompt, window, replayed);
    if budget < SMALLEST_BUDGET {
        return Err(NothingNew::NoBudget);
    }
    let left = settings
        .context
        .tokens_per_conversation
        .saturating_sub(replayed.tokens());
    let of_window = window.map_or(u32::MAX, |window| window / 5);
    Ok((budget, left.min(of_window)))
}

/// The tokens that this turn may cost.
fn budget(context: &ContextConfig, prompt: &Prompt<'_>, window: Option<u32>, replayed: &Replay) -> u32 {
    let per_turn = if prompt.has_tools() {
        context.tokens_with_tools
    } else {
        context.tokens_without_tools
    };
    let of_window = window.map_or(u32::MAX, |window| window / 5);
    per_turn
        .min(of_window)
        .min(context.tokens_per_conversation.saturating_sub(replayed.tokens()))
}

/// The turns that people took earlier in the conversation and that have no row, whatever the reason.
fn absent(prompt: &Prompt<'_>, chain: &Chain, replayed: &Replay) -> Vec<(TurnKey, Vec<EntryId>)> {
    let is_absent = |boundary: &&Boundary| {
        let message = boundary.site.message;
        boundary.answered
            && replayed.is_unknown(boundary.site)
            && human_turn(prompt, message).is_some_and(|turn| turn.site == boundary.site)
    };
    let absent = chain.boundaries.iter().filter(is_absent);
    absent
        .map(|boundary| (boundary.key, replayed.before(boundary.site)))
        .collect()
}

/// Remembers such turns where the request has no new one, whose row would tell.
async fn note_absent(store: &dyn Store, session: Option<&str>, absent: Vec<(TurnKey, Vec<EntryId>)>) {
    for (key, before) in absent {
        let without = NewEntry {
            session: session.map(str::to_owned),
            before: before.into_iter().map(Use::of).collect(),
            now_ms: now_ms(),
            ..NewEntry::default()
        };
        store.went_without(key, without).await;
    }
}

impl Plan {
    fn identified(&mut self, identity: &Identity<'_>) {
        let shown = |id: &String| redact(id).into_owned();
        self.receipt.session = identity.session.as_ref().map(shown);
        self.receipt.agent = identity.agent.as_ref().map(shown);
        self.receipt.turn = Some(identity.turn).filter(|turn| *turn > 0);
        if identity.session.is_none() {
            self.receipt.derived = identity.derived().map(|id| id.to_string());
        }
    }

    fn failed(mut self, reason: String) -> Plan {
        tracing::warn!(id = %self.receipt.id, "forwarded without context: {reason}");
        self.receipt.outcome = Outcome::Failed;
        self.receipt.reason = Some(redact(&reason).into_owned());
        self
    }

    fn put_back(&mut self, prompt: &Prompt<'_>, replayed: &Replay, session: Option<&str>, store: &dyn Store) {
        self.insertions = replayed.insertions(prompt);
        self.receipt.replayed = Replays {
            blocks: replayed.blocks(),
            tokens: replayed.tokens(),
        };
        store.note_uses(replayed.uses(session));
    }

    fn nothing_new(self, reason: String) -> Plan {
        self.without(Outcome::None, reason)
    }

    /// Nothing new; the outcome still tells that earlier blocks were put back.
    fn without(mut self, outcome: Outcome, reason: String) -> Plan {
        self.receipt.outcome = match outcome {
            Outcome::None if self.mode == Mode::Off => Outcome::Off,
            Outcome::None if self.receipt.replayed.blocks > 0 => Outcome::Replayed,
            outcome => outcome,
        };
        self.receipt.reason = Some(redact(&reason).into_owned());
        self
    }

    fn add(mut self, prompt: &Prompt<'_>, site: Site, decision: Decision) -> Plan {
        let (entry, exploration) = match decision {
            Decision::Recorded {
                entry,
                exploration,
                explore_ms,
                ledger_ms,
                trace,
                entered,
            } => {
                self.receipt.explore_ms = explore_ms;
                self.receipt.ledger_ms = ledger_ms;
                self.receipt.exploration = trace;
                self.receipt.entered = entered;
                (entry, exploration)
            }
            Decision::Faulty { reason } => return self.failed(reason),
            Decision::Late => {
                return self.nothing_new("the deadline passed before anything was found".to_owned());
            }
        };
        let Some(block) = &entry.block else {
            return self.nothing_new(
                exploration
                    .reason
                    .unwrap_or_else(|| "nothing relevant was found".to_owned()),
            );
        };
        self.insertions.extend(prompt.insert(site, block));
        self.receipt.tokens = entry.tokens;
        self.receipt.items = exploration.items.iter().map(ReceiptItem::from).collect();
        self.receipt.reason = exploration.reason;
        self.receipt.outcome = match exploration.completeness {
            Completeness::Full => Outcome::Injected,
            Completeness::Partial => Outcome::Partial,
        };
        self
    }
}

pub(super) fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// Milliseconds with the precision that receipts show.
#[must_use]
pub(crate) fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e5).round() / 100.0
}

#[cfg(test)]
mod tests;
