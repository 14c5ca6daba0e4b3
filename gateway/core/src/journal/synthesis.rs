//! Merging two overviews of a section, by the configured model, or by the caller.

use std::time::Instant;

use muninn_backend::RemoteModel;
use muninn_base::Until;
use muninn_config::Config;
use muninn_ledger::{Outcome, Receipt};
use muninn_notebooks::journal::{Draft, OverviewSides, Version, Written};
use muninn_text::model::Model as _;
use muninn_text::redact;
use serde::Serialize;

use super::synthesis_time::SYNTHESIS_TIME;
use super::{JournalUseError, SessionJournal};
use crate::turn::millis;

/// What the caller is to do with two overviews.
const INSTRUCTIONS: &str = "Write one overview that keeps every fact of both versions, each once. Where they contradict \
each other, keep both statements and say that they disagree. Then call `journal_write` with it as `overview`, a short \
`entry` about the merge, and this `version`.";

/// Two overviews to merge.
#[derive(Debug, Clone)]
pub struct SynthesisRequest {
    pub section: String,
    /// One overview; that of the section's conflict if absent.
    pub version_a: Option<String>,
    /// The other one.
    pub version_b: Option<String>,
    /// The work that led to the conflict, the session and the agent.
    pub draft: Draft,
    /// The receipt of the call, to which the model's cost is added.
    pub receipt: Receipt,
}

/// The result of merging.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Synthesized {
    /// The model's overview is written.
    Written {
        /// The entry that tells so.
        entry: Written,
        overview: String,
        model: String,
    },
    /// The model's overview of two texts that are not the section's conflict. Nothing is written.
    Proposed {
        overview: String,
        model: String,
        /// The version of the section.
        version: Version,
    },
    /// No model is configured: the caller merges.
    Sides {
        /// Both overviews.
        #[serde(flatten)]
        sides: OverviewSides,
        /// What to do.
        instructions: &'static str,
    },
}

impl SessionJournal {
    /// The two overviews of a section's conflict; see [`Journal::sides`](muninn_notebooks::journal::Journal::sides).
    pub fn sides(&self, section: &str) -> Result<OverviewSides, JournalUseError> {
        Ok(self.journal.sides(&self.section(section)?, None, None)?)
    }

    /// Merges two overviews with the model of `[journal]`, and writes the result if they are the section's conflict.
    /// Without a model, returns both for the caller. `account` keeps the receipt of the model's cost, also of one that
    /// failed.
    ///
    /// # Errors
    /// [`JournalUseError`]; nothing is written then.
    pub fn synthesize(
        &self,
        config: &Config,
        request: SynthesisRequest,
        until: &Until,
        account: &dyn Fn(Receipt),
    ) -> Result<Synthesized, JournalUseError> {
        let section = self.section(&request.section)?;
        let sides = self.journal.sides(&section, request.version_a, request.version_b)?;
        let model = config.journal.model.as_ref();
        let model = model.map(|model| RemoteModel::chosen(config, model)).transpose()?.flatten();
        let Some(model) = model else {
            return Ok(Synthesized::Sides { sides, instructions: INSTRUCTIONS });
        };
        let context = request.draft.work_context.as_deref().unwrap_or("not told");
        let started = Instant::now();
        let until = until.no_later_than(started + SYNTHESIS_TIME);
        let answered = sides.synthesize(&model, context, config.journal.max_answer_tokens, &until);
        let cost = match &answered {
            Ok(answered) => {
                let count = |tokens: Option<u64>| tokens.map_or_else(|| "?".to_owned(), |tokens| tokens.to_string());
                let usage = answered.reply.usage;
                format!("{} + {} tokens", count(usage.input), count(usage.output))
            }
            Err(error) => redact(&error.to_string()).into_owned(),
        };
        let model = model.id().to_owned();
        account(Receipt {
            backend: model.split('/').next().unwrap_or_default().to_owned(),
            model: model.clone(),
            outcome: Outcome::Reconciled,
            reason: Some(format!("merged two overviews of {section}: {cost}")),
            ms: millis(started.elapsed()),
            ..request.receipt
        });
        let overview = answered?.overview;
        let of_conflict = self.journal.section(&section)?.conflict;
        let is_conflict = of_conflict.is_some_and(|conflict| conflict.other == sides.version_b);
        if !is_conflict {
            return Ok(Synthesized::Proposed { overview, model, version: sides.version });
        }
        let draft = Draft {
            text: format!("Two overviews of {section} were merged into one by {model}."),
            overview: Some(overview.clone()),
            ..request.draft
        };
        let entry = self.journal.write(&section, &draft, Some(sides.version))?;
        self.note(draft.session.as_deref(), &section, entry.version);
        Ok(Synthesized::Written { entry, overview, model })
    }
}
