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
use muninn_backend::access::Caller;
use muninn_backend::metrics::Metrics;
use muninn_backend::{Candidate, RemoteModel};
use muninn_base::{CancelFlag, Until};
use muninn_config::{ExploreConfig, ExploreMode};
use muninn_context_engine::Engine;
use muninn_context_engine::explore::{DeepLimits, ExploreOutcome, Observer};
use muninn_session::Mode;
use muninn_text::model::Model;

use super::{App, Settings};

pub(super) use background::{BackgroundExplorations, BackgroundQuestion, BackgroundResult, PendingResults, begin};
pub(super) use drive::drive;
pub use progress::{ProgressReceiver, ProgressSender};

/// The suffix of a model's name that asks for the deep lane.
const SUFFIX: &str = ":deep";

/// Whether a model explores for a question.
pub enum DeepLane {
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
    /// The explorer of the configuration; `None` if it names none, or the caller may not use its backend or model. It uses its
    /// own key, because a client pays only for explorations it asked for.
    pub(super) fn configured(app: &App, settings: &Settings, caller: &Caller, model: &str) -> Option<Explorer> {
        let candidate = settings.router.explorer(&settings.config.explore)?;
        let its_model = candidate.rename.as_deref().unwrap_or(model);
        let may_use = caller.may_use_backend(&candidate.backend.name) && caller.may_use_model(its_model);
        let candidate = Some(candidate).filter(|_| may_use)?;
        Explorer::with(app, settings, (candidate, model), &HeaderMap::new())
    }

    fn with(
        app: &App,
        settings: &Settings,
        (candidate, model): (Candidate, &str),
        credentials: &HeaderMap,
    ) -> Option<Explorer> {
        let blocking_client = app.blocking_client()?;
        Some(Explorer {
            model: Arc::new(RemoteModel::new(blocking_client, candidate, model, credentials)),
            config: settings.config.explore.clone(),
            metrics: Arc::clone(&app.metrics),
        })
    }

    /// The longest time that it may take.
    pub(super) fn deadline(&self) -> Duration {
        self.config.deadline
    }

    /// The end of an exploration that begins now, or earlier if `abandoned` is set.
    pub(super) fn until(&self, abandoned: CancelFlag) -> Until {
        Until::within(self.config.deadline).or(abandoned)
    }

    /// Explores until a time at the latest. Its computations block; see [`drive`].
    pub(super) async fn explore(
        &self,
        engine: &Engine,
        question: &str,
        until: Until,
        observer: &dyn Observer,
    ) -> ExploreOutcome {
        let _gauge = self.metrics.exploring();
        let limits = DeepLimits { until, ..self.config.limits() };
        engine.explore_deep_async(question, &limits, &*self.model, observer).await
    }

    /// The most tokens that may be packed of its citations.
    pub(super) fn pack_tokens(&self) -> u32 {
        self.config.pack_tokens
    }
}

/// Strips the suffix that asks for the deep lane from a model's name. Returns the name and whether it had the suffix. A
/// name that a route matches as a whole keeps it.
pub fn strip_deep_suffix<'m>(settings: &Settings, model: &'m str) -> (&'m str, bool) {
    match model.strip_suffix(SUFFIX) {
        Some(plain) if !plain.is_empty() && !settings.router.names(model) => (plain, true),
        _ => (model, false),
    }
}

/// Makes backends that would be asked for a model by its full name ask for the name without the suffix.
pub fn rename_candidates(candidates: &mut [Candidate], plain: &str) {
    for candidate in candidates {
        candidate.rename.get_or_insert_with(|| plain.to_owned());
    }
}

/// Chooses the deep lane of one request. `by_suffix`: whether the model's name asks for it.
pub fn choose_deep_lane(
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
    let named = Explorer::configured(app, settings, caller, model);
    // Only the request's own backend gets the client's credentials.
    let own = || {
        let own = candidates.first().filter(|_| mode == ExploreMode::Inline)?;
        Explorer::with(app, settings, (own.clone(), model), headers)
    };
    let Some(explorer) = named.or_else(own) else {
        return DeepLane::Off;
    };
    match mode {
        ExploreMode::Inline => DeepLane::Inline(explorer),
        mode => DeepLane::Background { explorer, only_in_doubt: mode == ExploreMode::Auto },
    }
}
