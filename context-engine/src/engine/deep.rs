//! The deep lane's two halves: exploring, which takes as long as a model does, and packing what it found, which may be
//! turns later.

use std::time::{Duration, Instant};

use super::Engine;
use crate::already::PriorContext;
use crate::explore::{self, Citation, DeepLimits, ExploreOutcome, Lexical, Observer};
use crate::item::{Item, Limits};
use crate::lexical;
use crate::tools::ToolContext;
use muninn_memory::model::{Model, block_on};

/// What a look at the lexical lane may take before a model is asked.
const CANDIDATES: Duration = Duration::from_millis(500);

impl Engine {
    /// [`Self::explore_deep_async`] for a thread that may wait as long as `limits` allow.
    pub fn explore_deep(
        &self,
        question: &str,
        limits: &DeepLimits,
        model: &dyn Model,
        observer: &dyn Observer,
    ) -> ExploreOutcome {
        block_on(self.explore_deep_async(question, limits, model, observer))
    }

    /// Has a model explore the worktree for a question. Takes as long as `limits` allow, and neither fails nor panics:
    /// how it went is the trace. The future waits for the model; what it computes blocks the thread that polls it, for
    /// milliseconds at a time.
    pub async fn explore_deep_async(
        &self,
        question: &str,
        limits: &DeepLimits,
        model: &dyn Model,
        observer: &dyn Observer,
    ) -> ExploreOutcome {
        let deadline = limits.until.no_later_than(Instant::now() + CANDIDATES).instant();
        let nothing = PriorContext::default();
        let candidates = self.with_sources(&nothing, deadline, |sources| {
            lexical::candidates(sources, question, deadline)
        });
        // As the disk is now, which the look has just seen to.
        let state = self.state();
        let memories = self.memories(&state, Instant::now() + CANDIDATES);
        let sources = explore::Sources {
            context: ToolContext {
                worktree: &self.worktree,
                snapshot: state.snapshot.as_deref(),
                memories: &memories,
                max_file_bytes: self.settings.max_file_bytes,
                scope: None,
                until: limits.until.clone(),
            },
            model,
            observer,
        };
        let (files, candidates) = candidates;
        explore::explore(&sources, question, &Lexical { files, candidates }, limits).await
    }

    /// Packs what an exploration cited, as far as it is on disk as it was, the conversation does not hold it, and
    /// `beside` does not show it. The items together keep to the limits.
    pub fn pack_cited(
        &self,
        question: &str,
        citations: &[Citation],
        already: &PriorContext,
        beside: &[Item],
        limits: &Limits,
    ) -> Vec<Item> {
        self.with_sources(already, limits.deadline, |sources| {
            lexical::pack_cited(sources, question, citations, beside, limits)
        })
    }
}
