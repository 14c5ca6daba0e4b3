use std::sync::Arc;

use muninn_config::WikiConfig;

use super::Wiki;

/// The team's wiki of a worktree, with the settings that it was opened with.
pub(crate) struct TeamWiki {
    pub(crate) settings: WikiConfig,
    pub(crate) wiki: Arc<Wiki>,
}
