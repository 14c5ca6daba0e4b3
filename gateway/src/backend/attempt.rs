//! stand-in
use super::*;
use crate::wire::error::{ErrorKind, Failure};
use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Response};

pub struct Outgoing {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}
pub struct Answered {
    pub candidate: usize,
    pub response: Response<Body>,
    pub tries: Vec<Try>,
}
pub struct Exhausted {
    pub failure: Failure,
    pub retry_after: Option<u64>,
    pub tries: Vec<Try>,
}
#[derive(Debug, Clone)]
pub struct Try {
    pub backend: String,
    pub what: String,
}
impl std::fmt::Display for Try {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.backend, self.what)
    }
}

pub async fn send_to_first(
    _router: &Router,
    transport: &Transport,
    candidates: &[Candidate],
    mut make: impl FnMut(&Candidate) -> Result<Outgoing, Failure>,
) -> Result<Answered, Exhausted> {
    let candidate = &candidates[0];
    let fail = |failure| Exhausted {
        failure,
        retry_after: None,
        tries: Vec::new(),
    };
    let out = make(candidate).map_err(fail)?;
    match transport
        .send(
            http::Method::POST,
            &candidate.backend.url,
            &out.path,
            out.headers,
            out.body,
        )
        .await
    {
        Ok(response) => Ok(Answered {
            candidate: 0,
            response,
            tries: Vec::new(),
        }),
        Err(error) => Err(fail(Failure {
            kind: ErrorKind::BadGateway,
            message: format!("backend `{}`: {error}", candidate.backend.name),
        })),
    }
}
