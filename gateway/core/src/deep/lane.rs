use http::HeaderMap;
use muninn_backend::Candidate;
use muninn_backend::access::Caller;
use muninn_config::ExploreMode;
use muninn_session::Mode;

use super::super::{App, Settings};
use super::explorer::Explorer;

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
