//! When a model explores for a request, which one, and where its result goes.
//!
//! A request that asks for it waits: what is found is packed into its own prompt ([`Deep::Inline`]). Where the user's
//! configuration asks for it, a model explores beside the questions, and what it finds enters the conversation at its
//! next turn ([`background`]), through the ledger like everything else that is added.

mod background;
mod progress;

use std::sync::Arc;

use http::HeaderMap;
use muninn_context_engine::explore::DeepLimits;
use muninn_memory::model::{Choice, Model};
use muninn_repo_tools::Until;

use super::turn::Mode;
use super::{Settings, Shared};
use crate::access::Caller;
use crate::backend::{Candidate, RemoteModel};
use crate::config::{ExploreConfig, ExploreMode};

pub(super) use background::{Explorations, Late, Question, begin};
pub(super) use progress::{Progress, Watching, event};

/// What a model's name ends in where its user wants the deep lane.
const SUFFIX: &str = ":deep";

/// Whether a model explores for a question.
pub(super) enum Deep {
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
#[derive(Clone)]
pub(super) struct Explorer {
    pub(super) model: Arc<dyn Model>,
    config: Arc<ExploreConfig>,
}

impl Explorer {
    /// Bounds for an exploration that begins now.
    pub(super) fn limits(&self) -> DeepLimits {
        DeepLimits {
            tokens: u64::from(self.config.tokens),
            calls: self.config.calls,
            depth: self.config.depth,
            turns: self.config.turns,
            max_answer_tokens: self.config.max_answer_tokens,
            tool_required: self.config.tool_choice == Choice::Required,
            until: Until::within(self.config.deadline),
        }
    }

    /// What of its findings may be packed, in tokens.
    pub(super) fn pack_tokens(&self) -> u32 {
        self.config.pack_tokens
    }
}

/// The model that is meant, and whether its name asks for the deep lane. A route that names the whole of it is what its
/// user means.
pub(super) fn meant<'m>(settings: &Settings, model: &'m str) -> (&'m str, bool) {
    match model.strip_suffix(SUFFIX) {
        Some(plain) if !plain.is_empty() && !settings.router.names(model) => (plain, true),
        _ => (model, false),
    }
}

/// Has backends that are to be asked for a model by its whole name asked for the plain one.
pub(super) fn rename(candidates: &mut [Candidate], plain: &str) {
    for candidate in candidates {
        candidate.rename.get_or_insert_with(|| plain.to_owned());
    }
}

/// Decides for one request. `asked` says that its model's name asks for it.
pub(super) fn choose(
    shared: &Shared,
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
    // Who asks for it by the request pays for it; what nobody asked for is never the client's to pay.
    let own = || candidates.first().filter(|_| mode == ExploreMode::Inline).cloned();
    let (Some(candidate), Some(courier)) = (named.or_else(own), shared.courier()) else {
        return Deep::No;
    };
    let explorer = Explorer {
        model: Arc::new(RemoteModel::new(courier, candidate, model, headers)),
        config: Arc::new(config.clone()),
    };
    match mode {
        ExploreMode::Inline => Deep::Inline(explorer),
        mode => Deep::Background {
            explorer,
            only_in_doubt: mode == ExploreMode::Auto,
        },
    }
}
