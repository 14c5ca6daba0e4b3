//! A backend's `/v1/embeddings` as an embedder.
//!
//! Carried by a [`BlockingClient`], so that it may be called from any thread. Texts of the index and of memory are embedded in
//! the background. A question is embedded on the path of its request, within [`QUESTION_PATIENCE`]; after a failure
//! questions go without a vector for [`PAUSE`], so that a backend that is down costs a request nothing.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use muninn_memory::embed::{EmbedError, Embedder, normalise};
use muninn_memory::model::block_on;
use muninn_repo_tools::Supervisor;
use serde::Deserialize;
use serde_json::json;

use super::{Backend, BlockingClient, Outgoing, Transport, apply_credentials};
use crate::wire::{WireFormat, failure};

const PATH: &str = "/v1/embeddings";
const CONNECT: Duration = Duration::from_secs(10);
/// For one batch, its answer included. A batch of long texts takes a model on a processor some seconds.
const PATIENCE: Duration = Duration::from_secs(120);
/// For one question, within the 150 ms that an exploration has by default.
const QUESTION_PATIENCE: Duration = Duration::from_millis(60);
/// How long questions ask nothing after a failure.
const PAUSE: Duration = Duration::from_secs(10);
/// Texts in a request: enough to keep a server busy, few enough for the limits of all of them.
const BATCH: usize = 64;
/// Embedded to learn the dimensions.
const PROBE: &str = "dimensions";
/// Far above what a batch of the widest vectors takes as text.
const LARGEST_ANSWER: usize = 64 << 20;

/// Embeds by asking a backend. Texts are sent to that backend and nowhere else.
pub struct RemoteEmbedder {
    asker: Arc<Asker>,
    id: String,
    dimensions: usize,
    blocking_client: BlockingClient,
    failure: Mutex<Option<(Instant, String)>>,
    /// The newest question with its vector: a turn asks for code and for memory with the same words.
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
    /// Asks the backend to embed a word, which tells how many numbers its vectors have. `model` is the name under which
    /// the backend knows it.
    ///
    /// The id holds the model's name, a hash of it and the backend's address, and the dimensions. Whether the backend
    /// still means the same model by that name cannot be known.
    ///
    /// # Errors
    /// [`EmbedError`] where it does not answer, or not with a vector.
    pub fn connect(backend: Backend, model: &str) -> Result<RemoteEmbedder, EmbedError> {
        let name = name_of(&backend.url, model);
        let blocking_client =
            BlockingClient::start(&Supervisor::default(), CONNECT).map_err(|error| failed(&name, error))?;
        let asker = Asker {
            name,
            model: model.to_owned(),
            backend,
        };
        let mut made = RemoteEmbedder {
            id: String::new(),
            asker: Arc::new(asker),
            dimensions: 0,
            blocking_client,
            failure: Mutex::default(),
            question: Mutex::default(),
        };
        made.dimensions = made.ask(&[PROBE], PATIENCE)?.first().map_or(0, Vec::len);
        if made.dimensions == 0 {
            return Err(failed(&made.asker.name, "its vectors are empty"));
        }
        made.id = format!("{}-{}", made.asker.name, made.dimensions);
        Ok(made)
    }

    /// Embeds a word, to find out whether a failure is over.
    ///
    /// # Errors
    /// [`EmbedError::Shape`] where its vectors have another dimension now: then it has to be connected anew.
    pub fn probe(&self) -> Result<(), EmbedError> {
        self.embed(&[PROBE]).map(drop)
    }

    fn ask(&self, texts: &[&str], patience: Duration) -> Result<Vec<Vec<f32>>, EmbedError> {
        let (asker, transport) = (Arc::clone(&self.asker), self.blocking_client.transport());
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let asked = block_on(self.blocking_client.run(async move {
            let late = || failed(&asker.name, format!("no answer within {} ms", patience.as_millis()));
            let asked = tokio::time::timeout(patience, asker.ask(&transport, &texts)).await;
            asked.unwrap_or_else(|_| Err(late()))
        }));
        asked.unwrap_or_else(|| Err(failed(&self.asker.name, "its thread has stopped")))
    }

    /// Texts without a word get the zero vector and are not sent: servers refuse a whole batch for an empty one.
    fn embed_within(&self, texts: &[&str], patience: Duration) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = vec![vec![0.0; self.dimensions]; texts.len()];
        let told: Vec<usize> = (0..texts.len()).filter(|at| !texts[*at].trim().is_empty()).collect();
        for batch in told.chunks(BATCH) {
            let batch_texts: Vec<&str> = batch.iter().map(|at| texts[*at]).collect();
            for (at, row) in batch.iter().zip(self.ask(&batch_texts, patience)?) {
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

    /// Keeps why a call failed, until one succeeds.
    fn noted<T>(&self, result: Result<T, EmbedError>) -> Result<T, EmbedError> {
        let failure = result.as_ref().err().map(|error| (Instant::now(), error.to_string()));
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
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
        self.noted(self.embed_within(texts, PATIENCE))
    }

    fn embed_question(&self, question: &str) -> Result<Vec<f32>, EmbedError> {
        let last = self.question.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if last.0 == question && !last.1.is_empty() {
            return Ok(last.1);
        }
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if failure.is_some_and(|(since, _)| since.elapsed() < PAUSE) {
            return Err(failed(&self.id, "its last call failed a moment ago"));
        }
        let asked = self.noted(self.embed_within(&[question], QUESTION_PATIENCE));
        let vector = asked?.pop().unwrap_or_default();
        *self.question.lock().unwrap_or_else(PoisonError::into_inner) = (question.to_owned(), vector.clone());
        Ok(vector)
    }

    fn problem(&self) -> Option<String> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.as_ref().map(|(_, reason)| reason.clone())
    }
}

/// What an errand of texts takes along.
struct Asker {
    /// The beginning of the embedder's id.
    name: String,
    model: String,
    backend: Backend,
}

impl Asker {
    async fn ask(&self, transport: &Transport, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        apply_credentials(&mut headers, &self.backend, WireFormat::Chat);
        let body = json!({"model": self.model, "input": texts, "encoding_format": "float"});
        let request = Outgoing {
            method: Method::POST,
            path: PATH.to_owned(),
            headers,
            body: Bytes::from(body.to_string()),
        };
        let sent = transport.send(&self.backend, request).await;
        let answer = sent.map_err(|error| failed(&self.name, error))?;
        let status = answer.status();
        let body = axum::body::to_bytes(answer.into_body(), LARGEST_ANSWER).await;
        let body = body.map_err(|error| failed(&self.name, error))?;
        if !status.is_success() {
            let told = failure::read(status, &String::from_utf8_lossy(&body));
            return Err(failed(&self.name, told.message));
        }
        let answer: Answer = serde_json::from_slice(&body).map_err(|error| failed(&self.name, error))?;
        self.rows_of(answer, texts.len())
    }

    /// The vectors in the order of the texts, whatever order they came in, each normalised.
    fn rows_of(&self, answer: Answer, count: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
        let wrong = |found: String| EmbedError::Shape {
            embedder: self.name.clone(),
            expected: format!("a vector for each of {count} texts"),
            found,
        };
        let given = answer.data.len();
        let mut rows: Vec<Option<Vec<f32>>> = vec![None; count];
        for mut row in answer.data {
            normalise(&mut row.embedding);
            let place = rows.get_mut(row.index).filter(|place| place.is_none());
            *place.ok_or_else(|| wrong(format!("a vector for text {}", row.index)))? = Some(row.embedding);
        }
        let rows: Option<Vec<_>> = rows.into_iter().collect();
        rows.ok_or_else(|| wrong(format!("{given} vectors")))
    }
}

/// A name out of letters, digits and `-._`, and a hash for what that leaves out.
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
    EmbedError::Failed {
        embedder: id.to_owned(),
        reason: reason.to_string(),
    }
}

#[cfg(test)]
mod tests;
