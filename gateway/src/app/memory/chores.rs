//! The team's chores: sessions become main memory, and people settle conflicts.

use std::sync::Arc;
use std::time::Instant;

use http::HeaderMap;
use muninn_context_engine::Progress;
use muninn_memory::Home;
use muninn_memory::embed::StaticVectors;
use muninn_memory::model::block_on;
use muninn_memory::reconcile::judge::Lexicon;
use muninn_memory::reconcile::{
    JudgeSetup, Keep, ModelReport, OpenConflict, ReconcileError, ReconcileOptions, Reconciled, Reconciler,
    ReconcilerLimits, ResolveError, open_conflicts, reconcile, resolve,
};
use muninn_repo_tools::{Supervisor, Worktree};
use thiserror::Error;

use super::MemoryError;
use crate::app::{Workspace, millis};
use crate::backend::{Courier, CourierError, RemoteModel, Router};
use crate::config::Config;
use crate::store::{Outcome, Receipt, SqliteStore, Store as _, StoreError};

/// How a worktree is to be reconciled.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReconcileRequest {
    /// Whether copies of the sessions' files are kept.
    pub archive: bool,
    /// Whether to say only what would be done.
    pub dry_run: bool,
    /// Whether a branch will do that is not the default one.
    pub here: bool,
    /// Whether main is pruned to the size that is configured.
    pub prune: bool,
    /// Whether the model is asked that `[memory.reconciler]` names.
    pub ask_model: bool,
}

/// Why a chore was not done.
#[derive(Debug, Error)]
pub enum ChoreError {
    /// There is no memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Reconciling failed.
    #[error(transparent)]
    Reconcile(#[from] ReconcileError),
    /// A conflict was not settled.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// The receipt of a model's costs could not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No model can be asked.
    #[error(transparent)]
    Courier(#[from] CourierError),
}

/// The conflicts of a worktree that wait for a person.
///
/// # Errors
/// Where main cannot be read.
pub fn conflicts(worktree: &Worktree) -> Result<Vec<OpenConflict>, ChoreError> {
    Ok(open_conflicts(&Home::Repository(worktree.clone()))?)
}

impl Workspace {
    /// Makes what sessions learned part of main memory. What a model cost is on a receipt, kept in the state directory.
    ///
    /// # Errors
    /// [`ChoreError`]; main is as it was unless it is [`ChoreError::Store`].
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
        let reconciler = model
            .as_ref()
            .map(|(model, limits)| Reconciler::new(model, *limits, asking));
        let judging = JudgeSetup {
            judge: &Lexicon::new(),
            embedder: StaticVectors::shipped().ok().map(|vectors| Arc::new(vectors) as _),
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

    /// Settles a conflict, named by any part of its id that no other has. Returns the decision's id.
    ///
    /// # Errors
    /// [`ChoreError::Memory`] and [`ChoreError::Resolve`].
    pub fn resolve(&self, conflict: &str, keep: Keep, note: Option<&str>) -> Result<String, ChoreError> {
        self.move_old_sessions();
        Ok(resolve(self.store()?, conflict, keep, note)?.id)
    }

    fn account(&self, config: &Config, asked: &ModelReport, started: Instant) -> Result<(), StoreError> {
        let receipts = SqliteStore::open(&self.state_dir, &config.limits)?;
        receipts.note_receipt(Receipt {
            model: asked.model.clone(),
            backend: asked.model.split('/').next().unwrap_or_default().to_owned(),
            outcome: Outcome::Reconciled,
            reason: Some(asked.to_string()),
            ms: millis(started.elapsed()),
            ..Receipt::of(
                ulid::Ulid::generate().to_string(),
                &self.root,
                "reconcile what sessions learned",
            )
        });
        block_on(receipts.flush());
        Ok(())
    }
}

/// The model to ask, and what that may cost: nothing where it is only to be counted what would be asked.
fn reconciler(
    config: &Config,
    request: ReconcileRequest,
) -> Result<Option<(RemoteModel, ReconcilerLimits)>, CourierError> {
    let Some(reconciler) = config.reconciler.as_ref().filter(|_| request.ask_model) else {
        return Ok(None);
    };
    let Some(candidate) = Router::new(config, 0).chosen(&reconciler.model) else {
        return Ok(None);
    };
    let courier = Courier::start(&Supervisor::default(), config.limits.connect_timeout)?;
    let model = RemoteModel::new(&courier, candidate, &reconciler.model.model, &HeaderMap::new());
    let tokens = if request.dry_run { 0 } else { reconciler.limits.tokens };
    let limits = ReconcilerLimits {
        tokens,
        ..reconciler.limits
    };
    Ok(Some((model, limits)))
}
