//! The deep lane: whether a model explores for a request, which one, and where its result goes.
//!
//! A request that asks for the deep lane waits for the exploration, and its result is packed into the same prompt
//! ([`DeepLane::Inline`]). If the user's configuration asks for it, a model explores in the background, and its result is
//! packed at the conversation's next turn ([`background`]), through the ledger like every other block.

mod background;
mod drive;
mod progress;

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use muninn_context_engine::Engine;
use muninn_context_engine::explore::{ExploreOutcome, Observer};
use muninn_memory::model::Model;
use muninn_repo_tools::CancelFlag;

use super::{App, Settings};
use crate::access::Caller;
use crate::backend::{Candidate, RemoteModel};
use crate::config::{ExploreConfig, ExploreMode};
use crate::metrics::Metrics;
use crate::session::Mode;

pub(super) use background::{BackgroundExplorations, BackgroundQuestion, BackgroundResult, PendingResults, begin};
pub(super) use drive::drive;
pub(crate) use progress::{ProgressReceiver, ProgressSender};

/// The suffix of a model's name that asks for the deep lane.
const SUFFIX: &str = ":deep";

/// Whether a model explores for a question.
pub(crate) enum DeepLane {
    /// No model explores.
    Off,
    /// A model explores before the request is sent.
    Inline(Explorer),
    /// A model explores in the background, for the next turn.
    Background {
        /// The model and its limits.
        explorer: Explorer,
        /// Whether to explore only if the lexical result is in doubt.
        only_in_doubt: bool,
    },
}

/// An explorer model and its limits.
pub(crate) struct Explorer {
    model: Arc<dyn Model>,
    config: ExploreConfig,
    metrics: Arc<Metrics>,
}

impl Explorer {
    /// The longest time that it may take.
    pub(super) fn deadline(&self) -> Duration {
        self.config.deadline
    }

    /// Explores until `abandoned` is set at the latest. Its computations block; see [`drive`].
    pub(super) async fn explore(
        &self,
        engine: &Engine,
        question: &str,
        abandoned: CancelFlag,
        observer: &dyn Observer,
    ) -> ExploreOutcome {
        let _gauge = self.metrics.exploring();
        let mut limits = self.config.limits();
        limits.until = limits.until.or(abandoned);
        engine
            .explore_deep_async(question, &limits, &*self.model, observer)
            .await
    }

    /// The most tokens that may be packed of its citations.
    pub(super) fn pack_tokens(&self) -> u32 {
        self.config.pack_tokens
    }
}

/// Strips the suffix that asks for the deep lane from a model's name. Returns the name and whether it had the suffix. A
/// name that a route matches as a whole keeps it.
pub(crate) fn strip_deep_suffix<'m>(settings: &Settings, model: &'m str) -> (&'m str, bool) {
    match model.strip_suffix(SUFFIX) {
        Some(plain) if !plain.is_empty() && !settings.router.names(model) => (plain, true),
        _ => (model, false),
    }
}

/// Makes backends that would be asked for a model by its full name ask for the name without the suffix.
pub(crate) fn rename_candidates(candidates: &mut [Candidate], plain: &str) {
    for candidate in candidates {
        candidate.rename.get_or_insert_with(|| plain.to_owned());
    }
}

/// Chooses the deep lane of one request. `by_suffix`: whether the model's name asks for it.
pub(crate) fn choose_deep_lane(
    app: &App,
    settings: &Settings,
    caller: &Caller,
    headers: &HeaderMap,
    by_suffix: bool,
    (candidates, model): (&[Candidate], &str),
) -> DeepLane {
    let config = &settings.config.explore;
    let mode = match Mode::of(headers) {
        Mode::Bypass | Mode::Off => return DeepLane::Off,
        Mode::Deep => ExploreMode::Inline,
        Mode::Normal if by_suffix => ExploreMode::Inline,
        Mode::Normal => config.mode,
    };
    if mode == ExploreMode::Off {
        return DeepLane::Off;
    }
    let named = settings.router.explorer(config);
    let named = named.filter(|candidate| caller.may_use_backend(&candidate.backend.name));
    // A client pays only for explorations it asked for. So the configured explorer uses its own key, and only the
    // request's own backend gets the client's credentials.
    let no_credentials = HeaderMap::new();
    let named = named.map(|candidate| (candidate, &no_credentials));
    let own = || {
        let own = candidates.first().filter(|_| mode == ExploreMode::Inline);
        own.map(|candidate| (candidate.clone(), headers))
    };
    let (Some((candidate, credentials)), Some(blocking_client)) = (named.or_else(own), app.blocking_client()) else {
        return DeepLane::Off;
    };
    let explorer = Explorer {
        model: Arc::new(RemoteModel::new(blocking_client, candidate, model, credentials)),
        config: config.clone(),
        metrics: Arc::clone(&app.metrics),
    };
    match mode {
        ExploreMode::Inline => DeepLane::Inline(explorer),
        mode => DeepLane::Background {
            explorer,
            only_in_doubt: mode == ExploreMode::Auto,
        },
    }
}
