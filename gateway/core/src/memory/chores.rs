//! The team's chores: reconciling sessions into main memory, and resolving conflicts.

use std::time::Instant;

use muninn_backend::{BlockingClientError, RemoteModel};
use muninn_base::Progress;
use muninn_config::{ChosenModel, Config, ReconcilerConfig};
use muninn_ledger::{Outcome, Receipt, SqliteStore, Store as _, StoreError};
use muninn_reconcile::judge::FittedJudge;
use muninn_reconcile::{
    AgentDecisions, Fold, JudgeSetup, ModelReport, OpenConflict, ReconcileError, ReconcileOptions, Reconciled,
    Reconciler, ReconcilerLimits, Resolution, ResolveError, UndecidedBatch, UndecidedCost, apart, folds,
    open_conflicts, reconcile, resolve, settle, undecided_batch, undecided_cost,
};
use muninn_repo_tools::Worktree;
use muninn_team::Home;
use muninn_text::embed::LoadError;
use muninn_text::model::block_on;
use muninn_text::redact::redact;
use thiserror::Error;

use super::MemoryError;
use crate::{Workspace, millis};

/// The beginning of the name of an agent in its decisions, which no model's and no person's decisions have.
const AGENT: &str = "agent";

/// Maximum length of an agent's own name, in characters.
const LONGEST_NAME: usize = 64;

/// The options of a reconcile run.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReconcileRequest {
    /// Whether copies of the reconciled segments are kept.
    pub archive: bool,
    /// Whether to report the changes without making them.
    pub dry_run: bool,
    /// Whether a branch other than the default one is allowed.
    pub here: bool,
    /// Whether main memory is pruned to the configured size.
    pub prune: bool,
    /// Whether the model of `[memory.reconciler]` is asked.
    pub ask_model: bool,
}

/// A model that can decide the undecided pairs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReconcilerOffer {
    /// Backend and model.
    pub id: String,
    pub cost: UndecidedCost,
    pub reconciler: ReconcilerConfig,
}

/// Why a chore failed.
#[derive(Debug, Error)]
pub enum ChoreError {
    /// There is no repository.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Reconciling failed.
    #[error(transparent)]
    Reconcile(#[from] ReconcileError),
    /// The conflict was not resolved.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// The receipt of the model's cost was not written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The judge that is compiled in is damaged.
    #[error(transparent)]
    Judge(#[from] LoadError),
    /// The client for the model cannot be started.
    #[error(transparent)]
    BlockingClient(#[from] BlockingClientError),
}

/// The open conflicts of a worktree.
///
/// # Errors
/// Where main cannot be read.
pub fn conflicts(worktree: &Worktree) -> Result<Vec<OpenConflict>, ChoreError> {
    Ok(open_conflicts(&Home::Repository(worktree.clone()))?)
}

impl Workspace {
    /// Reconciles the segments into main memory. The cost of a model goes on a receipt in the state directory.
    ///
    /// # Errors
    /// [`ChoreError`]; main memory is unchanged, except for [`ChoreError::Store`].
    pub fn reconcile(
        &self,
        config: &Config,
        request: ReconcileRequest,
        comparing: &dyn Progress,
        asking: &dyn Progress,
    ) -> Result<Reconciled, ChoreError> {
        self.move_old_sessions();
        let store = self.store()?;
        let options = ReconcileOptions {
            archive: request.archive,
            dry_run: request.dry_run,
            here: request.here,
            max_main_bytes: request.prune.then_some(self.settings().memory.max_main_bytes),
        };
        let model = reconciler(config, request)?;
        let reconciler = model.as_ref().map(|(model, limits)| Reconciler::new(model, *limits, asking));
        let judge = FittedJudge::shipped()?;
        let judging = JudgeSetup {
            embedder: Some(judge.vectors()),
            judge: &judge,
            progress: comparing,
            reconciler: reconciler.as_ref(),
        };
        let started = Instant::now();
        let done = reconcile(store, options, &judging, &mut |_| {})?;
        if let Some(asked) = done.asked.as_ref().filter(|asked| asked.input > 0) {
            self.account(config, asked, started)?;
        }
        Ok(done)
    }

    /// Resolves a conflict, given any unambiguous part of its id. Returns the decision's id.
    pub fn resolve(&self, conflict: &str, resolution: &Resolution, note: Option<&str>) -> Result<String, ChoreError> {
        self.move_old_sessions();
        Ok(resolve(self.store()?, conflict, resolution, note)?.id)
    }

    /// The next undecided pairs for an agent; `None` if nobody has to be asked.
    pub fn undecided(&self) -> Result<Option<UndecidedBatch>, ChoreError> {
        Ok(undecided_batch(self.store()?.home(), &FittedJudge::shipped()?)?)
    }

    /// The default model of the first configured backend that has one, and what it would cost to ask it about the undecided pairs.
    /// `None` if there is nothing to ask, or the configuration names a model for this already.
    ///
    /// # Errors
    /// Where main cannot be read.
    pub fn reconciler_offer(&self, config: &Config) -> Result<Option<ReconcilerOffer>, ChoreError> {
        let named = config.backends.iter().enumerate().find_map(|(backend, configured)| {
            let model = configured.default_model.clone()?;
            Some(ChosenModel { backend, model })
        });
        let Some(model) = named.filter(|_| config.reconciler.is_none()) else { return Ok(None) };
        let cost = undecided_cost(self.store()?.home(), &FittedJudge::shipped()?)?;
        let id = format!("{}/{}", config.backends[model.backend].name, model.model);
        Ok((cost.pairs > 0).then(|| ReconcilerOffer { id, cost, reconciler: ReconcilerConfig::of(model) }))
    }

    /// Records an agent's answer about a batch of [`Self::undecided`] pairs. The records name the agent, and the person whose
    /// agent it is.
    ///
    /// # Errors
    /// [`ChoreError`]; nothing is written then.
    pub fn settle(&self, agent: &str, batch: &str, answer: &str) -> Result<AgentDecisions, ChoreError> {
        self.move_old_sessions();
        let store = self.store()?;
        let name: String = agent.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
        let mut by = if name == AGENT { name } else { format!("{AGENT} {name}") };
        if let Some(person) = store.home().worktree().and_then(Worktree::author) {
            by = format!("{by} for {person}");
        }
        Ok(settle(store, &FittedJudge::shipped()?, (batch, answer), &redact(&by))?)
    }

    /// The folds by rules of earlier versions that still hold; those of different texts come first.
    pub fn earlier_folds(&self) -> Result<Vec<Fold>, ChoreError> {
        let mut earlier = folds(self.store()?.home())?;
        earlier.retain(|fold| fold.earlier);
        earlier.sort_by_key(|fold| fold.same_statement);
        Ok(earlier)
    }

    /// Undoes a fold, given any unambiguous part of its id.
    pub fn keep_apart(&self, fold: &str) -> Result<Fold, ChoreError> {
        self.move_old_sessions();
        Ok(apart(self.store()?, fold)?)
    }

    /// Combines the segments that were written on this branch into one. Returns the number of segments before, and the
    /// name of the one that remains; `None` if there are fewer than two.
    pub fn squash_sessions(&self) -> Result<Option<(usize, String)>, ChoreError> {
        Ok(self.store()?.squash().map_err(MemoryError::from)?)
    }

    fn account(&self, config: &Config, asked: &ModelReport, started: Instant) -> Result<(), StoreError> {
        let receipts = SqliteStore::open(&self.state_dir, &config.limits)?;
        receipts.note_receipt(Receipt {
            model: asked.model.clone(),
            backend: asked.model.split('/').next().unwrap_or_default().to_owned(),
            outcome: Outcome::Reconciled,
            reason: Some(asked.to_string()),
            ms: millis(started.elapsed()),
            ..Receipt::of(ulid::Ulid::generate().to_string(), &self.root, "reconcile what sessions learned")
        });
        block_on(receipts.flush());
        Ok(())
    }
}

/// The model to ask and its limits. A dry run has a limit of 0 tokens and only counts the questions.
fn reconciler(
    config: &Config,
    request: ReconcileRequest,
) -> Result<Option<(RemoteModel, ReconcilerLimits)>, BlockingClientError> {
    let Some(reconciler) = config.reconciler.as_ref().filter(|_| request.ask_model) else {
        return Ok(None);
    };
    let Some(model) = RemoteModel::chosen(config, &reconciler.model)? else {
        return Ok(None);
    };
    let tokens = if request.dry_run { 0 } else { reconciler.limits.tokens };
    let limits = ReconcilerLimits { tokens, ..reconciler.limits };
    Ok(Some((model, limits)))
}
