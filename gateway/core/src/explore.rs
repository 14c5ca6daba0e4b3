//! Exploring a repository with a model for one question, outside of any conversation.

use http::HeaderMap;
use muninn_backend::{BlockingClient, BlockingClientError, Candidate, RemoteModel, Router, Target};
use muninn_base::Supervisor;
use muninn_config::Config;
use muninn_context_engine::explore::{ExploreOutcome, Observer};
use muninn_ledger::{Outcome, Receipt, SqliteStore, Store as _};
use muninn_text::model::{Model, block_on};
use muninn_wire::WireFormat;
use thiserror::Error;

use super::Workspace;

/// Why no explorer model is available.
#[derive(Debug, Error)]
pub enum ExplorerError {
    /// The client for requests to models cannot be started.
    #[error(transparent)]
    BlockingClient(#[from] BlockingClientError),
    /// No model is configured or discovered.
    #[error("no model is connected that can explore")]
    NoModel,
}

/// The explorer model: `named`, else the model of `[explore]`, else the default model of `muninn ask`.
pub async fn explorer(config: &Config, named: Option<&str>) -> Result<RemoteModel, ExplorerError> {
    let blocking_client = BlockingClient::start(&Supervisor::default(), config.limits.connect_timeout)?;
    let router = Router::new(config, 0);
    let found = match (router.explorer(&config.explore), named) {
        (Some(candidate), None) => Some((candidate, String::new())),
        (configured, named) => routed(&router, configured, named).await,
    };
    let (candidate, model) = found.ok_or(ExplorerError::NoModel)?;
    Ok(RemoteModel::new(&blocking_client, candidate, &model, &HeaderMap::new()))
}

/// The route of a named model; without a name, the default model of `muninn ask`.
async fn routed(router: &Router, configured: Option<Candidate>, named: Option<&str>) -> Option<(Candidate, String)> {
    let Some(model) = named else {
        let (backend, model) = router.default_model().await?;
        let format = backend.format_for(WireFormat::Chat);
        let rename = Some(model.clone());
        let candidate = Candidate { backend, format, rename };
        return Some((candidate, model));
    };
    // A named model of the `[explore]` backend.
    if let Some(candidate) = configured {
        let rename = Some(model.to_owned());
        return Some((Candidate { rename, ..candidate }, model.to_owned()));
    }
    let target = router.route_for(WireFormat::Chat, model, &HeaderMap::new(), &|_| true).await.ok()?;
    match target {
        Target::Candidates(candidates) => Some((candidates.into_iter().next()?, model.to_owned())),
        Target::Context => None,
    }
}

impl Workspace {
    /// Explores for a question with a model; `None` where there is no repository. Returns the result and the id of its
    /// receipt, which is written if the state directory is usable.
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
            reason: Some("explored from the command line".to_owned()),
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
