//! A model behind a backend, for chores of our own: exploring a repository, later summing up.
//!
//! A question is made in the neutral form of [`convert`] ([`ask`]), so that the formats' own writers and readers, which
//! real backends have taught what they know, serve here as well. It goes the way of every request, by [`attempt`], with
//! the backend's circuit and its retries; but it ends when its caller's time does, and the backend is told by the
//! connection that closes.
//!
//! [`convert`]: crate::wire::convert
//! [`attempt`]: super::attempt

mod ask;
mod fetch;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use muninn_memory::model::{Ask, Model, ModelError, PendingReply, Reply, block_on};
use muninn_repo_tools::Until;

use super::credentials::{self, OPENAI_URL};
use super::{BlockingClient, Candidate, Outgoing};
use crate::wire::{ANTHROPIC_VERSION, WireFormat, convert};

/// How often somebody looks whether the answer is still waited for. A deadline is kept by a timer, to a millisecond.
const LOOK: Duration = Duration::from_millis(5);

/// A model of a backend, in any of the three formats. Questions are sent to that backend and nowhere else.
pub struct RemoteModel {
    id: String,
    candidate: Candidate,
    headers: HeaderMap,
    blocking_client: BlockingClient,
}

impl RemoteModel {
    /// The model of this name at the candidate; the candidate's `rename` counts where it has one.
    ///
    /// `client` are the headers of the request that it is asked for, or none. The client's credential is used where it
    /// would be for the client's own request, by the rules of [`super::apply_credentials`].
    #[must_use]
    pub fn new(
        blocking_client: &BlockingClient,
        mut candidate: Candidate,
        model: &str,
        client: &HeaderMap,
    ) -> RemoteModel {
        let model = candidate.rename.get_or_insert_with(|| model.to_owned());
        let id = format!("{}/{model}", candidate.backend.name);
        // Its newer models refuse `max_tokens` in a chat, and older servers know nothing else.
        if candidate.backend.url == OPENAI_URL && candidate.backend.speaks(WireFormat::Responses) {
            candidate.format = WireFormat::Responses;
        }
        RemoteModel {
            headers: headers(&candidate, client),
            id,
            candidate,
            blocking_client: blocking_client.clone(),
        }
    }

    async fn answer(&self, ask: &Ask<'_>, until: &Until) -> Result<Reply, ModelError> {
        let is_over = || ModelError::Over { model: self.id.clone() };
        if until.is_over() {
            return Err(is_over());
        }
        let (outgoing, context) = self.outgoing(ask)?;
        let (id, candidate, transport) = (
            self.id.clone(),
            self.candidate.clone(),
            self.blocking_client.transport(),
        );
        let waits = until.clone();
        let carried = self.blocking_client.run(async move {
            tokio::select! {
                biased;
                () = over(&waits) => None,
                body = fetch::fetch(&id, &transport, candidate, outgoing) => Some(body),
            }
        });
        let body = match carried.await {
            Some(Some(body)) => body?,
            Some(None) => return Err(is_over()),
            None => return Err(unreachable(&self.id, "the thread of its requests has failed")),
        };
        ask::read(self.candidate.format, &context, &body).map_err(|failure| fetch::told(&self.id, failure))
    }

    /// The question as the backend gets it, and what reading the answer needs.
    fn outgoing(&self, ask: &Ask<'_>) -> Result<(Outgoing, convert::AnswerContext), ModelError> {
        let format = self.candidate.format;
        let model = self.candidate.rename.as_deref().unwrap_or_default();
        let written = ask::write(format, model, ask).map_err(|error| unusable(&self.id, error))?;
        let outgoing = Outgoing {
            method: Method::POST,
            path: format.path().to_owned(),
            headers: self.headers.clone(),
            body: Bytes::from(written.0),
        };
        Ok((outgoing, written.1))
    }
}

impl Model for RemoteModel {
    fn id(&self) -> &str {
        &self.id
    }

    fn ask(&self, ask: &Ask<'_>, until: &Until) -> Result<Reply, ModelError> {
        block_on(self.ask_async(ask, until))
    }

    fn ask_async<'a>(&'a self, ask: &'a Ask<'a>, until: &'a Until) -> PendingReply<'a> {
        Box::pin(self.answer(ask, until))
    }
}

fn headers(candidate: &Candidate, client: &HeaderMap) -> HeaderMap {
    let mut headers = credentials::on_behalf_of(client, &candidate.backend, candidate.format);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if candidate.format == WireFormat::Messages {
        headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
    }
    headers
}

/// Ends when the work is to. That nobody waits any more is a flag, which wakes no one: it has to be looked at.
async fn over(until: &Until) {
    while !until.is_over() {
        tokio::time::sleep(until.left().min(LOOK)).await;
    }
}

fn unreachable(model: &str, reason: impl ToString) -> ModelError {
    ModelError::Unreachable {
        model: model.to_owned(),
        reason: reason.to_string(),
    }
}

fn unusable(model: &str, reason: impl ToString) -> ModelError {
    ModelError::Unusable {
        model: model.to_owned(),
        reason: reason.to_string(),
    }
}

#[cfg(test)]
mod tests;
