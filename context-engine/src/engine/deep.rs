//! The two steps of the deep lane: exploring with a model, and packing the citations. The second step can happen some
//! turns after the first.

use std::time::{Duration, Instant};

use muninn_base::Until;
use muninn_recall::Memories;
use muninn_text::model::{Model, block_on};

use super::{Engine, State};
use crate::explore::{self, Citation, DeepLimits, ExploreOutcome, LexicalResult, Observer};
use crate::item::{Item, Limits};
use crate::lexical;
use crate::prior_context::PriorContext;
use crate::tools::ToolContext;

/// Maximum time of the lexical lane before the model is called.
const LEXICAL_TIME: Duration = Duration::from_millis(500);

impl Engine {
    /// Like [`Self::explore_deep_async`], but blocks the thread until the exploration ends. `limits` bound that time.
    pub fn explore_deep(
        &self,
        question: &str,
        limits: &DeepLimits,
        model: &dyn Model,
        observer: &dyn Observer,
    ) -> ExploreOutcome {
        block_on(self.explore_deep_async(question, limits, model, observer))
    }

    /// Lets a model explore the worktree for a question within `limits`. This method neither fails nor panics: the
    /// trace records how the exploration ended. The future waits only for the model. Its computations block the polling
    /// thread for milliseconds.
    pub async fn explore_deep_async(
        &self,
        question: &str,
        limits: &DeepLimits,
        model: &dyn Model,
        observer: &dyn Observer,
    ) -> ExploreOutcome {
        let deadline = limits.until.no_later_than(Instant::now() + LEXICAL_TIME).instant();
        let nothing = PriorContext::default();
        let candidates = self.with_inputs(&nothing, deadline, |inputs| lexical::candidates(inputs, question, deadline));
        // The index is current, because the candidates step has updated it.
        let state = self.state();
        let memories = self.memories(&state, Instant::now() + LEXICAL_TIME);
        let inputs = explore::ExploreInputs {
            context: self.tool_context(&state, &memories, limits.until.clone()),
            model,
            observer,
        };
        let (files, candidates) = candidates;
        explore::explore(&inputs, question, &LexicalResult { files, candidates }, limits).await
    }

    /// Calls a function with the context of tools on the current index. Before that, the index is brought up to date as far
    /// as `until` allows.
    pub fn with_tool_context<T>(&self, until: Until, call: impl FnOnce(&ToolContext<'_>) -> T) -> T {
        let deadline = until.no_later_than(Instant::now() + LEXICAL_TIME).instant();
        self.catch_up(deadline);
        let state = self.state();
        let memories = self.memories(&state, deadline);
        call(&self.tool_context(&state, &memories, until))
    }

    fn tool_context<'a>(&'a self, state: &'a State, memories: &'a Memories, until: Until) -> ToolContext<'a> {
        ToolContext {
            worktree: &self.worktree,
            snapshot: state.snapshot.as_deref(),
            memories,
            max_file_bytes: self.settings.max_file_bytes,
            scope: None,
            until,
        }
    }

    /// Packs the citations of an exploration. Three things are left out: files that changed since they were cited,
    /// lines that the conversation contains, and lines that the items of `beside` show. The new items and `beside`
    /// together keep to the limits.
    pub fn pack_cited(
        &self,
        question: &str,
        citations: &[Citation],
        prior: &PriorContext,
        beside: &[Item],
        limits: &Limits,
    ) -> Vec<Item> {
        self.with_inputs(prior, limits.deadline, |inputs| {
            lexical::pack_cited(inputs, question, citations, beside, limits)
        })
    }
}
