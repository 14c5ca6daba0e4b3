use std::sync::{Arc, Weak};

use http::HeaderMap;
use muninn_backend::access::Caller;
use muninn_backend::{Candidate, RemoteModel};
use muninn_config::SummarizerConfig;
use muninn_team::learn::Turn;

use super::host::SummarizerHost;
use crate::{Settings, Workspace};

/// The longest prompt, in tokens. With it a day's default budget pays for ten long conversations, or several times as many
/// short ones, and a small model can still read the whole prompt.
pub(crate) const MOST_PROMPT_TOKENS: u32 = 4_000;

/// The summarizer of a request's conversation and its limits, as configured when the request arrived.
#[derive(Clone)]
pub struct SummarizerChoice {
    candidate: Candidate,
    pub(super) config: SummarizerConfig,
    /// Weak, because the application owns the queue that holds this value.
    pub(super) app: Weak<dyn SummarizerHost>,
}

impl SummarizerChoice {
    /// `None` where no summarizer is configured, or the caller's key does not allow its backend.
    pub fn of(
        app: &Arc<impl SummarizerHost + 'static>,
        settings: &Settings,
        caller: &Caller,
    ) -> Option<SummarizerChoice> {
        let config = settings.config.summarizer.clone()?;
        let candidate = settings.router.chosen(&config.model)?;
        let host: Weak<_> = Arc::downgrade(app);
        let app: Weak<dyn SummarizerHost> = host;
        caller.may_use_backend(&candidate.backend.name).then_some(SummarizerChoice { candidate, config, app })
    }

    /// The model, with its backend's own key: no client's request asked for the summary.
    pub(super) fn model(&self) -> Option<RemoteModel> {
        let (app, name) = (self.app.upgrade()?, &self.config.model.model);
        Some(RemoteModel::new(app.blocking_client()?, self.candidate.clone(), name, &HeaderMap::new()))
    }

    /// The name of its backend.
    pub(super) fn backend(&self) -> &str {
        &self.candidate.backend.name
    }

    /// The longest prompt that leaves room for the answer.
    pub(super) fn most_prompt_tokens(&self) -> u32 {
        let window = self.candidate.backend.context_window.unwrap_or(u32::MAX);
        MOST_PROMPT_TOKENS.min(window.saturating_sub(self.config.max_answer_tokens))
    }
}

pub(super) struct ConversationTurns {
    pub(super) turns: Vec<Turn>,
    /// The agent's last answer in each turn.
    pub(super) answers: Vec<String>,
    pub(super) marks: Vec<String>,
}

pub(super) struct EndedConversation {
    /// Its session id or derived id.
    pub(super) name: String,
    pub(super) whole: ConversationTurns,
    pub(super) workspace: Arc<Workspace>,
    pub(super) summarizer: SummarizerChoice,
}
