use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use muninn_backend::access::Caller;
use muninn_backend::metrics::Metrics;
use muninn_backend::{Candidate, RemoteModel};
use muninn_base::{CancelFlag, Until};
use muninn_config::ExploreConfig;
use muninn_context_engine::Engine;
use muninn_context_engine::explore::{DeepLimits, ExploreOutcome, Observer};
use muninn_text::model::Model;

use super::super::{App, Settings};
use crate::learn::SummarizerHost as _;

/// An explorer model and its limits.
pub struct Explorer {
    model: Arc<dyn Model>,
    config: ExploreConfig,
    metrics: Arc<Metrics>,
}

impl Explorer {
    /// The explorer of the configuration; `None` if it names none, or the caller may not use its backend or model. It uses its
    /// own key, because a client pays only for explorations it asked for.
    pub(crate) fn configured(app: &App, settings: &Settings, caller: &Caller, model: &str) -> Option<Explorer> {
        let candidate = settings.router.explorer(&settings.config.explore)?;
        let its_model = candidate.rename.as_deref().unwrap_or(model);
        let may_use = caller.may_use_backend(&candidate.backend.name) && caller.may_use_model(its_model);
        let candidate = Some(candidate).filter(|_| may_use)?;
        Explorer::with(app, settings, (candidate, model), &HeaderMap::new())
    }

    pub(crate) fn with(
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
    pub(crate) fn deadline(&self) -> Duration {
        self.config.deadline
    }

    /// The end of an exploration that begins now, or earlier if `abandoned` is set.
    pub(crate) fn until(&self, abandoned: CancelFlag) -> Until {
        Until::within(self.config.deadline).or(abandoned)
    }

    /// Explores until a time at the latest. Its computations block; see [`drive`].
    pub(crate) async fn explore(
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
    pub(crate) fn pack_tokens(&self) -> u32 {
        self.config.pack_tokens
    }
}
