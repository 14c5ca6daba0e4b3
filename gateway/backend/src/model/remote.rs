use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use muninn_base::{Supervisor, Until};
use muninn_config::{ChosenModel, Config};
use muninn_text::model::{Model, ModelError, ModelRequest, PendingReply, Reply, block_on};
use muninn_wire::{ANTHROPIC_VERSION, WireFormat, convert};

use super::super::vendor_urls::OPENAI_URL;
use super::super::{BlockingClient, BlockingClientError, Candidate, Outgoing, Router, credentials};
use super::failure::{unreachable, unusable};
use super::{ask, fetch};

/// The interval at which the cancel flag is polled. Deadlines are exact to a millisecond, by a timer.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A backend's model, in any of the three formats. Questions are sent to that backend and nowhere else.
pub struct RemoteModel {
    id: String,
    candidate: Candidate,
    headers: HeaderMap,
    blocking_client: BlockingClient,
}

impl RemoteModel {
    /// Creates the model `model` at the candidate. The candidate's `rename` takes precedence over `model`.
    ///
    /// `client` holds the headers of the client's request, or nothing. The client's credential is used by the rules of
    /// `super::apply_credentials`, as for the client's own request.
    pub fn new(
        blocking_client: &BlockingClient,
        mut candidate: Candidate,
        model: &str,
        client: &HeaderMap,
    ) -> RemoteModel {
        let model = candidate.rename.get_or_insert_with(|| model.to_owned());
        let id = format!("{}/{model}", candidate.backend.name);
        // OpenAI's newer models refuse `max_tokens` in a chat, and older servers know no other key.
        if candidate.backend.url.base == OPENAI_URL && candidate.backend.speaks(WireFormat::Responses) {
            candidate.format = WireFormat::Responses;
        }
        RemoteModel { headers: headers(&candidate, client), id, candidate, blocking_client: blocking_client.clone() }
    }

    /// The model that the configuration names for a task outside of any request; `None` if its backend does not exist.
    pub fn chosen(config: &Config, model: &ChosenModel) -> Result<Option<RemoteModel>, BlockingClientError> {
        let Some(candidate) = Router::new(config, 0).chosen(model) else {
            return Ok(None);
        };
        let blocking_client = BlockingClient::start(&Supervisor::default(), config.limits.connect_timeout)?;
        Ok(Some(RemoteModel::new(&blocking_client, candidate, &model.model, &HeaderMap::new())))
    }

    async fn answer(&self, ask: &ModelRequest<'_>, until: &Until) -> Result<Reply, ModelError> {
        let is_over = || ModelError::Over { model: self.id.clone() };
        if until.is_over() {
            return Err(is_over());
        }
        let (outgoing, context) = self.outgoing(ask)?;
        let (id, candidate, transport) = (self.id.clone(), self.candidate.clone(), self.blocking_client.transport());
        let limit = until.clone();
        let fetched = self.blocking_client.run(async move {
            tokio::select! {
                biased;
                () = over(&limit) => None,
                body = fetch::fetch(&id, &transport, candidate, outgoing) => Some(body),
            }
        });
        let body = match fetched.await {
            Some(Some(body)) => body?,
            Some(None) => return Err(is_over()),
            None => return Err(unreachable(&self.id, "the thread of its requests has failed")),
        };
        ask::read(self.candidate.format, &context, &body).map_err(|failure| fetch::model_error(&self.id, failure))
    }

    /// Returns the request to the backend, and the context for reading the answer.
    fn outgoing(&self, ask: &ModelRequest<'_>) -> Result<(Outgoing, convert::AnswerContext), ModelError> {
        let format = self.candidate.format;
        let model = self.candidate.rename.as_deref().unwrap_or_default();
        let written = ask::write(format, model, ask).map_err(|error| unusable(&self.id, error))?;
        let outgoing = Outgoing {
            method: Method::POST,
            path: format.path().to_owned(),
            headers: self.headers.clone(),
            body: Bytes::from(written.0),
            is_judged: false,
        };
        Ok((outgoing, written.1))
    }
}

impl Model for RemoteModel {
    fn id(&self) -> &str {
        &self.id
    }

    fn ask(&self, ask: &ModelRequest<'_>, until: &Until) -> Result<Reply, ModelError> {
        block_on(self.ask_async(ask, until))
    }

    fn ask_async<'a>(&'a self, ask: &'a ModelRequest<'a>, until: &'a Until) -> PendingReply<'a> {
        Box::pin(self.answer(ask, until))
    }
}

fn headers(candidate: &Candidate, client: &HeaderMap) -> HeaderMap {
    let mut headers = credentials::headers_for_client(client, &candidate.backend, candidate.format);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if candidate.format == WireFormat::Messages {
        headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
    }
    headers
}

/// Waits until the deadline or the cancellation. The cancel flag wakes no task, so it is polled.
async fn over(until: &Until) {
    while !until.is_over() {
        tokio::time::sleep(until.left().min(POLL_INTERVAL)).await;
    }
}

#[cfg(test)]
mod tests;
