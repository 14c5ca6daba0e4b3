//! How much a turn's block may cost, and what the conversation holds already.

use http::HeaderMap;
use muninn_backend::access::Caller;
use muninn_context_engine::PriorContext;
use muninn_context_engine::value::Prices;
use muninn_session::inject::{Replay, replay};
use muninn_session::{Identity, Mode, has_file_tools, human_turn, identify, newest_human_turn, reads, side_request};
use muninn_wire::Prompt;

use super::{NoPackReason, chain, now_ms};
use crate::preamble::Means;
use crate::{App, Workspace};

/// A conversation with fewer tokens left is not searched for.
const MIN_BUDGET: u32 = 200;

/// The tokens that a turn may cost, and the form of what is packed.
#[derive(Clone, Copy)]
pub(crate) struct Budget {
    /// For the lexical search.
    pub(crate) lexical: u32,
    /// For the whole block, with what an explorer model found.
    pub(super) total: u32,
    /// The prices of the backend's tokens.
    pub(super) prices: Prices,
    /// Whether the client has file tools, and gets a map of places instead of code.
    pub(super) wants_map: bool,
}

impl Budget {
    /// The prices for a map of places; `None` to quote code.
    pub(crate) fn map(&self) -> Option<&Prices> {
        self.wants_map.then_some(&self.prices)
    }

    pub(super) fn of(
        workspace: &Workspace,
        prompt: &Prompt<'_>,
        (window, prices): (Option<u32>, Prices),
        replayed: &Replay,
    ) -> Result<Budget, NoPackReason> {
        let settings = workspace.settings();
        let context = &settings.context;
        if !context.enabled {
            return Err(NoPackReason::Disabled);
        }
        let left = context.tokens_per_conversation.saturating_sub(replayed.tokens());
        let total = window.map_or(left, |window| left.min(window / 5));
        let per_turn = if prompt.has_tools() { context.tokens_with_tools } else { context.tokens_without_tools };
        let lexical = per_turn.min(total);
        if lexical < MIN_BUDGET {
            return Err(NoPackReason::NoBudget);
        }
        Ok(Budget { lexical, total, prices, wants_map: has_file_tools(prompt) })
    }
}

/// The budget that a request's newest question would have before a backend, and what the conversation holds
/// already. The request leaves no trace in the ledger.
///
/// # Errors
/// [`NoPackReason`] where nothing would be added.
pub(crate) async fn preview(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    prompt: &Prompt<'_>,
    workspace: &Workspace,
) -> Result<(Budget, PriorContext), NoPackReason> {
    if let Mode::Off | Mode::Bypass = Mode::of(headers) {
        return Err(NoPackReason::NotWanted);
    }
    if let Some(side) = side_request(headers, prompt) {
        return Err(NoPackReason::SideRequest(side));
    }
    let identity = identify(headers, prompt);
    let chain = chain(app, caller, prompt, &identity);
    let replayed = match &app.store {
        Some(store) => replay(&chain, identity.session.as_deref(), &**store, now_ms()).await,
        None => Ok(Replay::default()),
    };
    let replayed = replayed.unwrap_or_default();
    let budget = Budget::of(workspace, prompt, (None, Prices::default()), &replayed)?;
    Ok((budget, already(prompt, workspace, &identity, &replayed)))
}

/// What a conversation holds of the repository: the replayed blocks, and what the client's tools have read.
pub(super) fn already(
    prompt: &Prompt<'_>,
    workspace: &Workspace,
    identity: &Identity<'_>,
    replayed: &Replay,
) -> PriorContext {
    let mut already = PriorContext::default();
    for block in replayed.each_block() {
        already.add_block(block);
    }
    for (paths, text) in reads(prompt, &workspace.root, &identity.claimed_directories.now) {
        already.add_read(paths, text);
    }
    if Means::of(prompt).can_recall() {
        already.allow_hints();
    }
    let newest = newest_human_turn(prompt).map_or(prompt.messages.len(), |turn| turn.site.message);
    if let Some(earlier) = (0..newest).rev().find_map(|index| human_turn(prompt, index)) {
        already.set_question(earlier.question);
    }
    already
}
