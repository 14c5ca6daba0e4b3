//! A model explores a repository for one question, beside any conversation.

use http::HeaderMap;
use muninn_context_engine::explore::{ExploreOutcome, Observer};
use muninn_memory::model::{Model, block_on};
use muninn_repo_tools::Supervisor;
use thiserror::Error;

use super::Workspace;
use crate::backend::{Candidate, Courier, CourierError, RemoteModel, Router, Target};
use crate::config::Config;
use crate::store::{Outcome, Receipt, SqliteStore, Store as _};
use crate::wire::WireFormat;

/// Why no model can explore.
#[derive(Debug, Error)]
pub enum ExplorerError {
    /// Nothing carries requests to a model.
    #[error(transparent)]
    Courier(#[from] CourierError),
    /// There is none.
    #[error("no model is connected that could explore")]
    NoModel,
}

/// The model that explores: `named`, the one of `[explore]`, or the one that answers questions from the command line.
///
/// # Errors
/// [`ExplorerError`].
pub async fn explorer(config: &Config, named: Option<&str>) -> Result<RemoteModel, ExplorerError> {
    let courier = Courier::start(&Supervisor::default(), config.limits.connect_timeout)?;
    let router = Router::new(config, 0);
    let found = match (router.explorer(&config.explore), named) {
        (Some(candidate), None) => Some((candidate, String::new())),
        (configured, named) => routed(&router, configured, named).await,
    };
    let (candidate, model) = found.ok_or(ExplorerError::NoModel)?;
    Ok(RemoteModel::new(&courier, candidate, &model, &HeaderMap::new()))
}

/// Where a model's name leads; without one, the model that answers questions from the command line.
async fn routed(router: &Router, configured: Option<Candidate>, named: Option<&str>) -> Option<(Candidate, String)> {
    let Some(model) = named else {
        let (backend, model) = router.default_model().await?;
        let format = backend.format_for(WireFormat::Chat);
        let rename = Some(model.clone());
        let candidate = Candidate {
            backend,
            format,
            rename,
        };
        return Some((candidate, model));
    };
    // The backend of `[explore]`, asked for another of its models.
    if let Some(candidate) = configured {
        let rename = Some(model.to_owned());
        return Some((Candidate { rename, ..candidate }, model.to_owned()));
    }
    let target = router
        .route_for(WireFormat::Chat, model, &HeaderMap::new(), &|_| true)
        .await
        .ok()?;
    match target {
        Target::Candidates(candidates) => Some((candidates.into_iter().next()?, model.to_owned())),
        Target::Context => None,
    }
}

impl Workspace {
    /// Has a model explore for a question; `None` where there is no repository. Returns what it found and the id of the
    /// receipt, which is kept in the state directory if that can be used.
    pub fn explore(
        &self,
        config: &Config,
        question: &str,
        model: &dyn Model,
        observer: &dyn Observer,
    ) -> Option<(ExploreOutcome, String)> {
        let engine = self.engine.as_ref()?;
        let found = engine.explore_deep(question, &config.explore.limits(), model, observer);
        let receipt = Receipt {
            model: found.trace.model.clone(),
            backend: found.trace.model.split('/').next().unwrap_or_default().to_owned(),
            outcome: Outcome::Explored,
            reason: Some("asked for from the command line".to_owned()),
            ms: found.trace.ms,
            explore_ms: found.trace.ms,
            exploration: Some(Box::new(found.trace.clone())),
            ..Receipt::of(ulid::Ulid::generate().to_string(), &self.root, question)
        };
        let id = receipt.id.clone();
        if let Ok(store) = SqliteStore::open(&self.state_dir, &config.limits) {
            store.note_receipt(receipt);
            block_on(store.flush());
        }
        Some((found, id))
    }
}
