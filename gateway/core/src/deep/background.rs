//! Explorations in the background of a conversation, and their results until its next turn takes them.
//!
//! Results are kept in memory only and are lost at a restart. A result belongs to the turn it was explored for, identified
//! by the turn's key: a conversation without that turn never gets it.

use std::sync::Arc;

use muninn_base::CancelFlag;
use muninn_ledger::{Outcome, Receipt, TurnKey};
use muninn_session::inject::Chain;
use muninn_text::redact;

use super::super::turn::millis;
use super::super::{App, Workspace};
use super::explorations::{BackgroundResult, SessionTurn};
use super::{Explorer, drive};
use crate::learn::SummarizerHost as _;

/// A question to explore in the background.
pub(crate) struct BackgroundQuestion {
    pub(crate) text: String,
    pub(crate) key: TurnKey,
    pub(crate) session: Option<String>,
    /// The request's receipt, the base of the exploration's own.
    pub(crate) receipt: Receipt,
}

/// The results that a turn has taken. Unless the turn settles them, dropping this hands them back for the next turn: the
/// turn may miss its deadline, or its client may leave.
pub(crate) struct PendingResults {
    app: Arc<App>,
    taken: Vec<(SessionTurn, BackgroundResult)>,
}

impl PendingResults {
    pub(crate) fn of(app: &Arc<App>, chain: &Chain, session: Option<&str>) -> PendingResults {
        PendingResults { app: Arc::clone(app), taken: app.explorations.take(chain, session) }
    }

    pub(crate) fn results(&self) -> Vec<BackgroundResult> {
        self.taken.iter().map(|(_, result)| result.clone()).collect()
    }

    /// Drops the results: the ledger holds what was packed of them.
    pub(crate) fn settle(mut self) {
        self.taken.clear();
    }
}

impl Drop for PendingResults {
    fn drop(&mut self) {
        self.app.explorations.hand_back(std::mem::take(&mut self.taken));
    }
}

pub(crate) fn begin(app: &Arc<App>, workspace: &Arc<Workspace>, explorer: Explorer, question: BackgroundQuestion) {
    let turn = SessionTurn { key: question.key, session: question.session.clone() };
    // Always present: the explorer was built with it.
    let Some(blocking_client) = app.blocking_client().cloned() else {
        return;
    };
    let Some(abandoned) = app.explorations.start(&turn) else {
        tracing::debug!("not explored: the turn has an exploration already, or too many are running");
        return;
    };
    let (app, workspace) = (Arc::clone(app), Arc::clone(workspace));
    blocking_client.spawn(async move {
        let explored = drive(async move { explore(&workspace, &explorer, &question, abandoned).await });
        let explored = explored.await.unwrap_or_else(|error| {
            tracing::error!(%error, "a background exploration failed");
            None
        });
        let (result, receipt) = explored.unzip();
        app.explorations.finish(&turn, result.flatten());
        // The receipt comes last: once it is visible, the next turn can take the result.
        if let (Some(receipt), Some(store)) = (receipt, &app.store) {
            store.note_receipt(receipt);
        }
    });
}

/// Explores. Returns the result, unless it has no citations, and the receipt.
async fn explore(
    workspace: &Workspace,
    explorer: &Explorer,
    question: &BackgroundQuestion,
    abandoned: CancelFlag,
) -> Option<(Option<BackgroundResult>, Receipt)> {
    let engine = workspace.engine.as_ref()?;
    let started = std::time::Instant::now();
    let found = explorer.explore(engine, &question.text, explorer.until(abandoned), &()).await;
    let took = millis(started.elapsed());
    let receipt = Receipt {
        id: ulid::Ulid::generate().to_string(),
        at: jiff::Timestamp::now().to_string(),
        backend: found.trace.model.clone(),
        outcome: Outcome::Explored,
        reason: Some(redact(&format!("explored for {}", question.receipt.id)).into_owned()),
        ms: took,
        explore_ms: took,
        exploration: Some(Box::new(found.trace.clone())),
        ..question.receipt.clone()
    };
    let totals = found.trace.totals();
    tracing::info!(
        id = %receipt.id, ended = found.trace.ended.label(), turns = totals.turns, calls = totals.calls,
        citations = found.citations.len(), ms = took, "explored"
    );
    let result = BackgroundResult {
        question: question.text.clone(),
        tokens: explorer.pack_tokens(),
        receipt: receipt.id.clone(),
        found,
    };
    let has_citations = !result.found.citations.is_empty();
    Some((has_citations.then_some(result), receipt))
}
