//! When a model explores for a request, which one, and where its result goes.
//!
//! A request that asks for it waits: what is found is packed into its own prompt ([`Deep::Inline`]). Where the user's
//! configuration asks for it, a model explores beside the questions, and what it finds enters the conversation at its
//! next turn ([`background`]), through the ledger like everything else that is added.

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

pub(super) use background::{Explorations, Late, Question, Taken, begin};
pub(super) use drive::drive;
pub(crate) use progress::{Progress, Watching};

/// What a model's name ends in where its user wants the deep lane.
const SUFFIX: &str = ":deep";

/// Whether a model explores for a question.
pub(crate) enum Deep {
    /// No.
    No,
    /// Before the request goes on, which waits for it.
    Inline(Explorer),
    /// Beside it, for the next turn.
    Background {
        /// Who.
        explorer: Explorer,
        /// Only if words alone leave it in doubt.
        only_in_doubt: bool,
    },
}

/// Who explores, and how far.
pub(crate) struct Explorer {
    model: Arc<dyn Model>,
    config: ExploreConfig,
    metrics: Arc<Metrics>,
}

impl Explorer {
    /// How long it may take.
    pub(super) fn patience(&self) -> Duration {
        self.config.deadline
    }

    /// Explores, no longer than somebody waits. What it computes blocks; see [`drive`].
    pub(super) async fn explore(
        &self,
        engine: &Engine,
        question: &str,
        waiting: CancelFlag,
        observer: &dyn Observer,
    ) -> ExploreOutcome {
        let _counted = self.metrics.exploring();
        let mut limits = self.config.limits();
        limits.until = limits.until.or(waiting);
        engine
            .explore_deep_async(question, &limits, &*self.model, observer)
            .await
    }

    /// What of its findings may be packed, in tokens.
    pub(super) fn pack_tokens(&self) -> u32 {
        self.config.pack_tokens
    }
}

/// The model that is meant, and whether its name asks for the deep lane. A route that names the whole of it is what its
/// user means.
pub(crate) fn meant<'m>(settings: &Settings, model: &'m str) -> (&'m str, bool) {
    match model.strip_suffix(SUFFIX) {
        Some(plain) if !plain.is_empty() && !settings.router.names(model) => (plain, true),
        _ => (model, false),
    }
}

/// Has backends that are to be asked for a model by its whole name asked for the plain one.
pub(crate) fn rename(candidates: &mut [Candidate], plain: &str) {
    for candidate in candidates {
        candidate.rename.get_or_insert_with(|| plain.to_owned());
    }
}

/// Decides for one request. `asked` says that its model's name asks for it.
pub(crate) fn choose(
    app: &App,
    settings: &Settings,
    caller: &Caller,
    headers: &HeaderMap,
    asked: bool,
    (candidates, model): (&[Candidate], &str),
) -> Deep {
    let config = &settings.config.explore;
    let mode = match Mode::of(headers) {
        Mode::Bypass | Mode::Off => return Deep::No,
        Mode::Deep => ExploreMode::Inline,
        Mode::Normal if asked => ExploreMode::Inline,
        Mode::Normal => config.mode,
    };
    if mode == ExploreMode::Off {
        return Deep::No;
    }
    let named = settings.router.explorer(config);
    let named = named.filter(|candidate| caller.may_use_backend(&candidate.backend.name));
    // Who asks for it by the request pays for it; what nobody asked for is never the client's to pay. So the explorer
    // that is named has its own key, and only a request's own backend gets what its client brought.
    let nobodys = HeaderMap::new();
    let named = named.map(|candidate| (candidate, &nobodys));
    let own = || {
        let own = candidates.first().filter(|_| mode == ExploreMode::Inline);
        own.map(|candidate| (candidate.clone(), headers))
    };
    let (Some((candidate, credentials)), Some(courier)) = (named.or_else(own), app.courier()) else {
        return Deep::No;
    };
    let explorer = Explorer {
        model: Arc::new(RemoteModel::new(courier, candidate, model, credentials)),
        config: config.clone(),
        metrics: Arc::clone(&app.metrics),
    };
    match mode {
        ExploreMode::Inline => Deep::Inline(explorer),
        mode => Deep::Background {
            explorer,
            only_in_doubt: mode == ExploreMode::Auto,
        },
    }
}
