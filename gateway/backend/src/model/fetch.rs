//! Sending a question to its backend and reading the whole answer as text.

use std::convert::Infallible;
use std::slice;

use axum::body::Body;
use futures_util::StreamExt;
use http::StatusCode;
use muninn_text::model::ModelError;
use muninn_wire::error::{ErrorKind, Failure};
use muninn_wire::failure;

use super::super::{AttemptError, AttemptReport, Candidate, Outgoing, Transport, attempt};
use super::{unreachable, unusable};

/// The most bytes that are read of an answer or an error. Expected answers have a few thousand tokens at most.
pub(super) const LONGEST: usize = 1 << 20;

/// Sends a question and reads the whole answer. Dropping the future cancels the request at the backend.
pub(super) async fn fetch(
    id: &str,
    transport: &Transport,
    candidate: Candidate,
    outgoing: Outgoing,
) -> Result<String, ModelError> {
    let request = |_: &Candidate| std::future::ready(Ok::<_, Infallible>((outgoing.clone(), ())));
    let AttemptReport { outcome, .. } = attempt(transport, slice::from_ref(&candidate), request).await;
    let answered = match outcome {
        Ok(answered) => answered,
        Err(AttemptError::Backend(error)) => return Err(unreachable(id, error)),
        Err(AttemptError::Request(never)) => match never {},
    };
    let (head, body) = answered.response.into_parts();
    let read = read(body).await;
    if !head.status.is_success() {
        // An incomplete error is reported too.
        return Err(refused(id, head.status, &String::from_utf8_lossy(&read.bytes)));
    }
    match read.end {
        ReadEnd::Whole => String::from_utf8(read.bytes).map_err(|_| unusable(id, "it is not UTF-8")),
        ReadEnd::TooLong => Err(unusable(id, format!("it is longer than {} KiB", LONGEST >> 10))),
        ReadEnd::Broken(error) => Err(unreachable(id, error)),
    }
}

/// Converts a failure from a body with a status of success. A plain server failure counts as an unusable answer.
pub(super) fn model_error(id: &str, failure: Failure) -> ModelError {
    match failure.kind {
        ErrorKind::Server => unusable(id, failure.message),
        kind => ModelError::Refused { model: id.to_owned(), status: kind.status().as_u16(), message: failure.message },
    }
}

fn refused(id: &str, status: StatusCode, body: &str) -> ModelError {
    ModelError::Refused { model: id.to_owned(), status: status.as_u16(), message: failure::read(status, body).message }
}

/// The beginning of a body, and how reading it ended.
struct ReadBody {
    bytes: Vec<u8>,
    end: ReadEnd,
}

/// The end of reading a body.
enum ReadEnd {
    Whole,
    TooLong,
    Broken(axum::Error),
}

async fn read(body: Body) -> ReadBody {
    let mut chunks = body.into_data_stream();
    let mut bytes = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = match chunk {
            Ok(chunk) => chunk,
            Err(error) => {
                return ReadBody { bytes, end: ReadEnd::Broken(error) };
            }
        };
        let room = LONGEST - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return ReadBody { bytes, end: ReadEnd::TooLong };
        }
    }
    ReadBody { bytes, end: ReadEnd::Whole }
}
