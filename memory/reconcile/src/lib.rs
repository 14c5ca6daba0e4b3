//! Reconciles the records of sessions with main memory.
//!
//! [`plan`] is a pure function that computes main, the open conflicts and the log. [`reconcile`] applies it to a
//! memory's files.

mod agent;
mod blocks;
mod chains;
mod claim;
mod decide;
mod edit;
mod error;
mod files;
mod fold;
mod folds;
mod input;
pub mod judge;
mod judging;
mod layout;
mod model;
mod open;
mod options;
mod pair_indices;
mod pairs;
mod parallel;
mod plan;
mod prune;
mod rare;
mod resolve;
mod run;
mod runs;
mod setup;
mod step;
mod unseen;
mod verdict;

pub use agent::{AgentDecisions, UndecidedBatch, UndecidedCost, settle, undecided_batch, undecided_cost};
pub use error::{ReconcileError, ResolveError};
pub use fold::{Fold, FoldedRecord};
pub use folds::{apart, folds};
pub use input::{PlanInput, Segment};
pub use judging::{Judge, JudgeOther, JudgeSetup};
pub use layout::{ARCHIVE, PRUNED, RECONCILED, SESSIONS_ARCHIVE};
pub use model::{ModelReport, Reconciler, ReconcilerLimits, control_pairs};
pub use open::{ConflictState, OpenConflict, open_conflicts};
pub use options::ReconcileOptions;
pub use plan::{Plan, Summary, plan};
pub use prune::{Pruned, prune};
pub use resolve::{Keep, KeepError, Resolution, resolve};
pub use run::{Reconciled, reconcile};
pub use setup::SETUP;
pub use step::StepHook;
pub use verdict::relations;
