//! The team's wiki of a worktree.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use muninn_backend::access::Caller;
use muninn_config::DigestInPrompt;
use muninn_context_engine::tokens;
use muninn_notebooks::wiki::WikiError;

use super::Wiki;
use super::place::wiki_folder;
use super::team_wiki::TeamWiki;
use crate::Workspace;

/// The pages from which a digest is part of a preamble by default.
const PAGES_FOR_PROMPTS: usize = 5;
/// The time that a preamble waits for the digest of a wiki that was not read yet.
const PROMPT_PATIENCE: Duration = Duration::from_millis(150);

impl Workspace {
    /// The team's wiki, with the settings in force, for a caller who may use the worktree.
    ///
    /// # Errors
    /// [`WikiError::NoFolder`] if there is no such folder, or a link in the repository leads out of it;
    /// [`WikiError::NotAllowed`] if the folder lies outside of the worktree, and the caller may not use it.
    pub fn wiki(&self, caller: &Caller) -> Result<Arc<Wiki>, WikiError> {
        let settings = &self.settings().wiki;
        if settings.path.is_absolute() && !settings.path.starts_with(&self.root) && !caller.may_use_root(&settings.path)
        {
            return Err(WikiError::NotAllowed);
        }
        let mut open = self.wiki.lock();
        if let Some(team) = open.as_ref().filter(|team| team.settings == *settings) {
            return Ok(Arc::clone(&team.wiki));
        }
        let folder = wiki_folder(&self.root, settings)?;
        let (style, digest) = (settings.link_style, &settings.digest);
        let wiki = Wiki::supervised(&folder, style, digest, &self.state_dir, &self.supervisor)?;
        *open = Some(TeamWiki { settings: settings.clone(), wiki: Arc::clone(&wiki) });
        Ok(wiki)
    }

    /// The Markdown of the digest for a preamble, with at most so many tokens. A wiki that takes long to read is left out,
    /// and is in memory for the next conversation. May block for a moment.
    pub(crate) fn digest_for_prompt(&self, caller: &Caller, most_tokens: u32) -> Option<String> {
        let least_pages = match self.settings().wiki.digest_in_prompt {
            DigestInPrompt::Never => return None,
            DigestInPrompt::Always => 1,
            DigestInPrompt::Auto => PAGES_FOR_PROMPTS,
        };
        let wiki = self.wiki(caller).ok()?;
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || sender.send(wiki.digest()).ok());
        let digest = receiver.recv_timeout(PROMPT_PATIENCE).ok()?;
        if digest.page_count < least_pages {
            return None;
        }
        let mut text = digest.markdown.clone();
        while tokens::count(&text) > most_tokens {
            let shorter = digest.rendered(text.len() * 3 / 4);
            if shorter.len() >= text.len() {
                return None;
            }
            text = shorter;
        }
        Some(text)
    }
}
