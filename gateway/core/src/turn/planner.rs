//! The steps after replay: find the newest question, enter the workspace, and decide.

use std::sync::Arc;
use std::time::Instant;

use muninn_backend::access::{Caller, Door};
use muninn_context_engine::value::Prices;
use muninn_context_engine::{Item, PriorContext, render};
use muninn_ledger::{EntryId, NewEntry, Receipt, Store, TurnKey, Use};
use muninn_session::inject::{Boundary, Chain, Replay};
use muninn_session::{
    AnsweredCall, HumanTurn, Identity, Mode, SideRequest, answered_calls, human_turn, last_human_turn,
    newest_human_turn,
};
use muninn_wire::{Message, Prompt, Site};

use super::budget::{Budget, already};
use super::{NoPackReason, Plan, now_ms};
use crate::action_notes::{ActionNotes, NewNotes};
use crate::decide::{ExplorationRequest, decide, record};
use crate::decision::{Decision, Explored, LedgerSlot};
use crate::deep::{BackgroundQuestion, DeepLane, PendingResults, ProgressSender, begin};
use crate::enter::enter;
use crate::preamble::{Awaited, Means};
use crate::{App, Location, Workspace};

/// A request whose earlier blocks are replayed.
pub(super) struct TurnPlanner<'a, 'p> {
    pub(super) app: &'a Arc<App>,
    pub(super) store: Arc<dyn Store>,
    pub(super) caller: &'a Caller,
    pub(super) prompt: &'a Prompt<'p>,
    pub(super) window: Option<u32>,
    pub(super) prices: Prices,
    pub(super) identity: &'a Identity<'a>,
    pub(super) chain: Chain,
    pub(super) replayed: Replay,
    pub(super) with_preamble: bool,
}

/// Where a new block may be inserted, and what it may hold.
struct InsertionPoint {
    site: Site,
    occasion: Occasion,
}

/// Behind tool results stands only what was found earlier, or what is about the calls.
enum Occasion {
    Question(String),
    PendingResults,
    Calls(NewNotes),
}

impl From<HumanTurn> for InsertionPoint {
    fn from(turn: HumanTurn) -> InsertionPoint {
        InsertionPoint { site: turn.site, occasion: Occasion::Question(turn.question) }
    }
}

impl TurnPlanner<'_, '_> {
    /// Decides what the newest turn gets, and writes its ledger row.
    ///
    /// # Errors
    /// [`NoPackReason`] where it gets no new block.
    pub(super) async fn decide(
        &self,
        plan: &mut Plan,
        side: Option<SideRequest>,
        location: Location,
        deep: (DeepLane, ProgressSender),
    ) -> Result<(Site, Decision), NoPackReason> {
        let point = self.find_insertion_point(side, &location, &mut plan.receipt).await?;
        let slot = self.open_slot(point.site).await?;
        // A model that the user asked for explores in any case.
        if plan.receipt.trial.is_some_and(|trial| trial.held_out) && !matches!(deep.0, DeepLane::Inline(_)) {
            self.store.record_without_block(slot.key, slot.without()).await;
            return Err(NoPackReason::HeldOut);
        }
        let (workspace, budget) = match self.enter_workspace(plan.mode, location).await {
            Ok(entered) => entered,
            Err(reason) => {
                self.store.record_without_block(slot.key, slot.without()).await;
                return Err(reason);
            }
        };
        let site = point.site;
        let decision = match point.occasion {
            Occasion::Question(question) => {
                let question = BackgroundQuestion {
                    text: question,
                    key: slot.key,
                    session: slot.session.clone(),
                    receipt: plan.receipt.clone(),
                };
                self.explore(&workspace, budget, question, slot, deep).await
            }
            Occasion::PendingResults => self.add_pending(&workspace, budget, slot).await?,
            Occasion::Calls(NewNotes { notes, block, reason }) => {
                let explored = Explored::of_notes(notes, block, reason);
                record(&*self.store, &slot, explored, Instant::now()).await
            }
        };
        Ok((site, decision))
    }

    /// Finds the newest human turn, or the newest tool results if there is something to say behind them.
    async fn find_insertion_point(
        &self,
        side: Option<SideRequest>,
        location: &Location,
        receipt: &mut Receipt,
    ) -> Result<InsertionPoint, NoPackReason> {
        receipt.side_request = side.map(|side| side.name().to_owned());
        if let Some(turn) = newest_human_turn(self.prompt) {
            receipt.first_words = Receipt::first_words_of(&turn.question);
            if side.is_none() {
                return Ok(turn.into());
            }
        }
        if side.is_none()
            && let Some(site) = self.prompt.newest_results()
            && let Some(occasion) = self.occasion_behind_results(site, location).await
        {
            if let (Occasion::Calls(_), Some(turn)) = (&occasion, last_human_turn(self.prompt)) {
                receipt.first_words = Receipt::first_words_of(&turn.question);
            }
            return Ok(InsertionPoint { site, occasion });
        }
        self.note_absent().await;
        Err(side.map_or(NoPackReason::NoQuestion, NoPackReason::SideRequest))
    }

    /// The occasion for a block behind tool results: a pending exploration's result, or notes about the calls.
    async fn occasion_behind_results(&self, site: Site, location: &Location) -> Option<Occasion> {
        if self.app.explorations.has_pending(&self.chain, self.session()) {
            return Some(Occasion::PendingResults);
        }
        let Location::Open(workspace) = location else { return None };
        if self.replayed.at(site).is_some() || !workspace.settings().context.enabled {
            return None;
        }
        let claimed = &self.identity.claimed_directories.now;
        let notes = ActionNotes::behind_results(workspace, self.prompt, claimed).await?;
        let already = self.already(workspace);
        let is_told = |note: &Item| self.prompt.body.contains(&*note.source) || already.contains_item(note);
        let new = notes.new_to((&*self.store, self.session()), &is_told, "behind the result of").await?;
        Some(Occasion::Calls(new))
    }

    /// Opens the ledger slot of a turn that has no row yet.
    async fn open_slot(&self, site: Site) -> Result<LedgerSlot, NoPackReason> {
        let boundary = self.chain.at(site).ok_or(NoPackReason::NoQuestion)?;
        let has_block = self.replayed.within(site.message).any(|entry| entry.block.is_some());
        if self.replayed.at(site).is_some() {
            return Err(if has_block { NoPackReason::HasBlock } else { NoPackReason::WentWithout });
        }
        let slot = LedgerSlot {
            key: boundary.key,
            before: self.replayed.uses(self.session()),
            absent: self.absent(),
            session: self.identity.session.clone(),
        };
        if has_block {
            // A client may append to a turn that has its block already: one block is enough. The new end gets a row, so
            // that forks find this session's history there, and not that of a session which began with both.
            self.store.record_without_block(slot.key, slot.without()).await;
            return Err(NoPackReason::HasBlock);
        }
        Ok(slot)
    }

    async fn enter_workspace(&self, mode: Mode, location: Location) -> Result<(Arc<Workspace>, Budget), NoPackReason> {
        if mode == Mode::Off {
            return Err(NoPackReason::NotWanted);
        }
        let claimed = &self.identity.claimed_directories.now;
        let within = self.app.workspaces.open_timeout();
        let workspace = enter(self.app, self.caller, location, claimed, within).await?;
        let budget = Budget::of(&workspace, self.prompt, (self.window, self.prices), &self.replayed)?;
        Ok((workspace, budget))
    }

    /// Explores for a question and records the result; begins a background exploration where one is configured.
    async fn explore(
        &self,
        workspace: &Arc<Workspace>,
        budget: Budget,
        question: BackgroundQuestion,
        slot: LedgerSlot,
        (deep, progress): (DeepLane, ProgressSender),
    ) -> Decision {
        let already = self.already(workspace);
        let pending = PendingResults::of(self.app, &self.chain, self.session());
        let (inline, background) = match deep {
            DeepLane::Off => (None, None),
            DeepLane::Inline(explorer) => (Some(explorer), None),
            DeepLane::Background { explorer, only_in_doubt } => (None, Some((explorer, only_in_doubt))),
        };
        let request = ExplorationRequest {
            caller: self.caller.clone(),
            question: question.text.clone(),
            already,
            prices: budget.prices,
            wants_map: budget.wants_map,
            awaits_preamble: self.awaits_preamble(budget.wants_map && slot.absent.is_empty()),
            session: self.worklog_turn(workspace, budget.wants_map),
            lexical_budget: budget.lexical,
            total_budget: budget.total,
            pending: pending.results(),
            personal: self.app.personal_for_prompt(self.caller),
            deep: inline.map(|explorer| (explorer, progress)),
        };
        let decision = decide(workspace, &*self.store, request, slot).await;
        decision.settle(pending);
        if let Some((explorer, only_in_doubt)) = background
            && decision.is_worth_exploring(only_in_doubt)
        {
            begin(self.app, workspace, explorer, question);
        }
        decision
    }

    /// Records the pending results of earlier explorations behind tool results.
    async fn add_pending(
        &self,
        workspace: &Arc<Workspace>,
        budget: Budget,
        slot: LedgerSlot,
    ) -> Result<Decision, NoPackReason> {
        let already = self.already(workspace);
        let pending = PendingResults::of(self.app, &self.chain, self.session());
        let results = pending.results();
        if results.is_empty() {
            self.store.record_without_block(slot.key, slot.without()).await;
            return Err(NoPackReason::StillExploring);
        }
        let request = ExplorationRequest {
            caller: self.caller.clone(),
            question: String::new(),
            already,
            prices: budget.prices,
            wants_map: false,
            awaits_preamble: None,
            session: None,
            lexical_budget: 0,
            total_budget: budget.total,
            pending: results,
            personal: None,
            deep: None,
        };
        let decision = decide(workspace, &*self.store, request, slot).await;
        decision.settle(pending);
        Ok(decision)
    }

    /// The parts of the preamble that this conversation of the user waits for. A block that the client holds itself came from
    /// a hook, which gave the preamble.
    fn awaits_preamble(&self, has_tools_and_began_here: bool) -> Option<Awaited> {
        let is_users = self.with_preamble && self.identity.agent.is_none();
        let waits = has_tools_and_began_here && is_users && !self.holds_block();
        waits.then(|| Awaited::after(self.replayed.each_block(), Means::of(self.prompt)))
    }

    /// Whether a text of the conversation holds a block. Some clients escape angle brackets in JSON.
    fn holds_block(&self) -> bool {
        let name = render::OPEN.trim_matches(['<', '>']);
        let texts = self.prompt.messages.iter().flat_map(Message::texts).chain(&self.prompt.system);
        self.prompt.body.contains(name) && texts.into_iter().any(|text| text.decoded().contains(render::OPEN))
    }

    fn already(&self, workspace: &Workspace) -> PriorContext {
        already(self.prompt, workspace, self.identity, &self.replayed)
    }

    fn session(&self) -> Option<&str> {
        self.identity.session.as_deref()
    }

    /// The session whose worklog the turn belongs to, with the calls since its last human turn. Subagents, clients without
    /// tools and callers who may not write have none, and hooks do it themselves.
    fn worklog_turn(&self, workspace: &Workspace, has_tools: bool) -> Option<(String, Vec<AnsweredCall>)> {
        let is_users = self.with_preamble && has_tools && self.identity.agent.is_none();
        let session = self
            .session()
            .filter(|_| is_users && workspace.settings().worklog.enabled)
            .filter(|_| self.caller.may(Door::Learn).is_ok())?;
        let mut turns = (0..self.prompt.messages.len()).rev();
        let mut is_human = |at: &usize| human_turn(self.prompt, *at).is_some();
        let newest = turns.find(&mut is_human)?;
        let calls = match turns.find(&mut is_human) {
            Some(before) => answered_calls(self.prompt, before + 1..newest + 1),
            None => Vec::new(),
        };
        Some((session.to_owned(), calls))
    }

    /// The earlier human turns without a ledger row, whatever the reason.
    fn absent(&self) -> Vec<(TurnKey, Vec<EntryId>)> {
        let is_absent = |boundary: &&Boundary| {
            boundary.answered
                && self.replayed.is_unknown(boundary.site)
                && human_turn(self.prompt, boundary.site.message).is_some_and(|turn| turn.site == boundary.site)
        };
        let absent = self.chain.boundaries.iter().filter(is_absent);
        absent.map(|boundary| (boundary.key, self.replayed.before(boundary.site))).collect()
    }

    /// Records the absent turns of a request without a new turn, whose row would list them.
    async fn note_absent(&self) {
        for (key, before) in self.absent() {
            let without = NewEntry {
                session: self.identity.session.clone(),
                before: before.into_iter().map(Use::of).collect(),
                now_ms: now_ms(),
                ..NewEntry::default()
            };
            self.store.record_without_block(key, without).await;
        }
    }
}
