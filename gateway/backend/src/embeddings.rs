//! An embedder that uses a backend's `/v1/embeddings`.
//!
//! Requests run on a [`BlockingClient`], so that any thread may call the embedder. Texts of the index and of memory are
//! embedded in the background. A question is embedded while its request waits, within [`QUESTION_TIMEOUT`]. After a
//! failure questions get no vector for [`PAUSE`], so that a backend that is down does not delay requests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use muninn_base::Supervisor;
use muninn_text::embed::{EmbedError, Embedder, normalise};
use muninn_text::model::block_on;
use muninn_wire::{WireFormat, failure};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;

use super::{Backend, BlockingClient, Outgoing, Transport, apply_credentials};

const PATH: &str = "/v1/embeddings";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The timeout of one batch, including its answer. A model on a CPU takes some seconds for a batch of long texts.
const BATCH_TIMEOUT: Duration = Duration::from_secs(120);
/// The timeout of one question. It fits into the default deadline of 150 ms for context.
const QUESTION_TIMEOUT: Duration = Duration::from_millis(60);
/// How long questions are not embedded after a failure.
const PAUSE: Duration = Duration::from_secs(10);
/// Texts per request: enough to keep a server busy, and below the limits of all known servers.
const BATCH: usize = 64;
/// The text whose vector gives the dimensions.
const PROBE: &str = "dimensions";
/// The most bytes of an answer, far above a batch of the widest vectors as text.
const LARGEST_ANSWER: usize = 64 << 20;

/// An embedder that sends texts to one backend and nowhere else.
pub struct RemoteEmbedder {
    endpoint: Arc<Endpoint>,
    id: String,
    dimensions: usize,
    blocking_client: BlockingClient,
    failure: Mutex<Option<(Instant, String)>>,
    /// The newest question and its vector. A turn searches code and memory with the same question.
    question: Mutex<(String, Vec<f32>)>,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    index: usize,
    embedding: Vec<f32>,
}

impl RemoteEmbedder {
    /// Connects to the backend and embeds one word, to learn the number of dimensions. `model` is the backend's name
    /// for the model.
    ///
    /// The id consists of the model's name, a hash of name and address, and the dimensions. It does not change if the
    /// backend serves another model under the same name.
    ///
    /// # Errors
    /// [`EmbedError`] if the backend does not answer with a vector.
    pub fn connect(backend: Backend, model: &str) -> Result<RemoteEmbedder, EmbedError> {
        let name = name_of(&backend.url.base, model);
        let blocking_client =
            BlockingClient::start(&Supervisor::default(), CONNECT_TIMEOUT).map_err(|error| failed(&name, error))?;
        let endpoint = Endpoint { name, model: model.to_owned(), backend };
        let mut embedder = RemoteEmbedder {
            id: String::new(),
            endpoint: Arc::new(endpoint),
            dimensions: 0,
            blocking_client,
            failure: Mutex::default(),
            question: Mutex::default(),
        };
        embedder.dimensions = embedder.request(&[PROBE], BATCH_TIMEOUT)?.first().map_or(0, Vec::len);
        if embedder.dimensions == 0 {
            return Err(failed(&embedder.endpoint.name, "its vectors are empty"));
        }
        embedder.id = format!("{}-{}", embedder.endpoint.name, embedder.dimensions);
        Ok(embedder)
    }

    /// Embeds one word, to check whether the backend works again after a failure.
    ///
    /// # Errors
    /// [`EmbedError`] if it still fails. [`EmbedError::Shape`] means that the vectors have another dimension; the
    /// caller must connect anew.
    pub fn probe(&self) -> Result<(), EmbedError> {
        self.embed(&[PROBE]).map(drop)
    }

    fn request(&self, texts: &[&str], timeout: Duration) -> Result<Vec<Vec<f32>>, EmbedError> {
        let (endpoint, transport) = (Arc::clone(&self.endpoint), self.blocking_client.transport());
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let vectors = block_on(self.blocking_client.run(async move {
            let timed_out = || failed(&endpoint.name, format!("no answer within {} ms", timeout.as_millis()));
            let vectors = tokio::time::timeout(timeout, endpoint.request(&transport, &texts)).await;
            vectors.unwrap_or_else(|_| Err(timed_out()))
        }));
        vectors.unwrap_or_else(|| Err(failed(&self.endpoint.name, "its thread has stopped")))
    }

    /// Embeds texts in batches. Blank texts get the zero vector and are not sent, because servers refuse a whole batch
    /// for one empty text.
    fn embed_within(&self, texts: &[&str], timeout: Duration) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = vec![vec![0.0; self.dimensions]; texts.len()];
        let sent: Vec<usize> = (0..texts.len()).filter(|at| !texts[*at].trim().is_empty()).collect();
        for batch in sent.chunks(BATCH) {
            let batch_texts: Vec<&str> = batch.iter().map(|at| texts[*at]).collect();
            for (at, row) in batch.iter().zip(self.request(&batch_texts, timeout)?) {
                if row.len() != self.dimensions {
                    return Err(EmbedError::Shape {
                        embedder: self.id.clone(),
                        expected: format!("{} numbers", self.dimensions),
                        found: format!("{} numbers", row.len()),
                    });
                }
                vectors[*at] = row;
            }
        }
        Ok(vectors)
    }

    /// Stores the error of a failed call until a call succeeds.
    fn recorded<T>(&self, result: Result<T, EmbedError>) -> Result<T, EmbedError> {
        let failure = result.as_ref().err().map(|error| (Instant::now(), error.to_string()));
        *self.failure.lock() = failure;
        result
    }
}

impl Embedder for RemoteEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.recorded(self.embed_within(texts, BATCH_TIMEOUT))
    }

    fn embed_question(&self, question: &str) -> Result<Vec<f32>, EmbedError> {
        let last = self.question.lock().clone();
        if last.0 == question && !last.1.is_empty() {
            return Ok(last.1);
        }
        let failure = self.failure.lock().clone();
        if failure.is_some_and(|(since, _)| since.elapsed() < PAUSE) {
            return Err(failed(&self.id, "its last call failed a moment ago"));
        }
        let vectors = self.recorded(self.embed_within(&[question], QUESTION_TIMEOUT));
        let vector = vectors?.pop().unwrap_or_default();
        *self.question.lock() = (question.to_owned(), vector.clone());
        Ok(vector)
    }

    fn problem(&self) -> Option<String> {
        let failure = self.failure.lock();
        failure.as_ref().map(|(_, reason)| reason.clone())
    }
}

/// The backend and model of an embedder.
struct Endpoint {
    /// The beginning of the embedder's id.
    name: String,
    model: String,
    backend: Backend,
}

impl Endpoint {
    async fn request(&self, transport: &Transport, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        apply_credentials(&mut headers, &self.backend, WireFormat::Chat);
        let body = json!({"model": self.model, "input": texts, "encoding_format": "float"});
        let request = Outgoing {
            method: Method::POST,
            path: PATH.to_owned(),
            headers,
            body: Bytes::from(body.to_string()),
            is_judged: false,
        };
        let sent = transport.send(&self.backend, request).await;
        let answer = sent.map_err(|error| failed(&self.name, error))?;
        let status = answer.status();
        let body = axum::body::to_bytes(answer.into_body(), LARGEST_ANSWER).await;
        let body = body.map_err(|error| failed(&self.name, error))?;
        if !status.is_success() {
            let failure = failure::read(status, &String::from_utf8_lossy(&body));
            return Err(failed(&self.name, failure.message));
        }
        let answer: Answer = serde_json::from_slice(&body).map_err(|error| failed(&self.name, error))?;
        self.rows_of(answer, texts.len())
    }

    /// Returns the normalised vectors in the order of the texts. An answer may list them in any order.
    fn rows_of(&self, answer: Answer, count: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
        let wrong = |found: String| EmbedError::Shape {
            embedder: self.name.clone(),
            expected: format!("a vector for each of {count} texts"),
            found,
        };
        let received = answer.data.len();
        let mut rows: Vec<Option<Vec<f32>>> = vec![None; count];
        for mut row in answer.data {
            normalise(&mut row.embedding);
            let place = rows.get_mut(row.index).filter(|place| place.is_none());
            *place.ok_or_else(|| wrong(format!("a vector for text {}", row.index)))? = Some(row.embedding);
        }
        let rows: Option<Vec<_>> = rows.into_iter().collect();
        rows.ok_or_else(|| wrong(format!("{received} vectors")))
    }
}

/// Builds a name of letters, digits and `-._`, with a hash of the exact model name and address.
fn name_of(url: &str, model: &str) -> String {
    let plain = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' => char::from(byte),
        _ => '-',
    };
    let name: String = model.bytes().take(40).map(plain).collect();
    let hash = blake3::hash(format!("{url}\n{model}").as_bytes()).to_hex();
    format!("remote-{name}-{}", &hash[..8])
}

fn failed(id: &str, reason: impl ToString) -> EmbedError {
    EmbedError::Failed { embedder: id.to_owned(), reason: reason.to_string() }
}

#[cfg(test)]
mod tests;
