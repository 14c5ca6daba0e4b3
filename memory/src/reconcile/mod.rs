//! Reconciling what sessions learned with what the team agreed on.
//!
//! [`plan`] says what main, the open conflicts and the log are to be; it reads and writes nothing. [`reconcile`] does that
//! to a memory's files.

mod blocks;
mod chains;
mod claim;
mod decide;
mod files;
pub mod judge;
mod model;
mod open;
mod parallel;
mod plan;
mod prune;
mod resolve;
mod run;
mod runs;
mod setup;
mod unseen;
mod verdict;

use std::sync::Arc;

use self::judge::{Claim, Judgement, Lexicon};
use crate::embed::Embedder;
use crate::index::Progress;

pub use self::model::{ModelReport, Reconciler, ReconcilerLimits, known_pairs};
pub use self::open::{FileChange, OpenConflict, file_change, open_conflicts};
pub use self::plan::{Plan, PlanInput, Segment, Summary, plan};
pub use self::prune::{Pruned, prune};
pub use self::resolve::{Keep, ResolveError, resolve};
pub use self::run::{
    ARCHIVE, PRUNED, RECONCILED, ReconcileError, ReconcileOptions, Reconciled, SESSIONS_ARCHIVE, StepHook, reconcile,
};
pub use self::setup::SETUP;
pub use self::verdict::relations;

/// Says what two claims are to each other, and why.
pub trait Judge: Sync {
    /// The older one comes first. It must say the same of the same claims whenever it is asked.
    fn judge(&self, older: &Claim<'_>, newer: &Claim<'_>) -> Judgement;

    /// How much two claims say of the same, from 0 to 1, whichever way round: which of many deserve to be judged.
    fn likeness(&self, one: &Claim<'_>, other: &Claim<'_>) -> f32;

    /// The same of one claim and any other, for one that is laid beside many.
    fn likeness_to<'c>(&'c self, one: &'c Claim<'c>) -> Box<dyn Fn(&Claim<'_>) -> f32 + 'c> {
        Box::new(|other| self.likeness(one, other))
    }

    /// Whether one denies something that the other says, or uses words that exclude the other's.
    fn opposes(&self, one: &Claim<'_>, other: &Claim<'_>) -> bool;
}

/// With what claims are compared.
#[derive(Clone)]
pub struct JudgeSetup<'a> {
    /// Who says what two are to each other.
    pub judge: &'a dyn Judge,
    /// Finds partners by meaning as well; `None` for words alone.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Is told of how many new claims the partners are found.
    pub progress: &'a dyn Progress,
    /// The model that settles what rules leave open; `None` where nobody is asked.
    pub reconciler: Option<&'a Reconciler<'a>>,
}

impl Judge for Lexicon {
    fn judge(&self, older: &Claim<'_>, newer: &Claim<'_>) -> Judgement {
        judge::judge(older, newer, self)
    }

    fn likeness(&self, one: &Claim<'_>, other: &Claim<'_>) -> f32 {
        self.likeness_to(one)(other)
    }

    fn likeness_to<'c>(&'c self, one: &'c Claim<'c>) -> Box<dyn Fn(&Claim<'_>) -> f32 + 'c> {
        let one = self.read(one);
        Box::new(move |other| judge::likeness(&one, &self.read(other), self))
    }

    fn opposes(&self, one: &Claim<'_>, other: &Claim<'_>) -> bool {
        judge::opposes(&self.read(one), &self.read(other), self)
    }
}

#[cfg(test)]
mod tests;
