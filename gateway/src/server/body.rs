//! Reading a request's body: bounded in size, bounded in silence.

use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body_util::BodyExt;

use crate::config::LimitsConfig;
use crate::wire::error::ErrorKind;

/// A body that is too large is read on for this long, so that the client is done sending and can read why.
const DRAIN: Duration = Duration::from_secs(10);

/// Why there is no body.
#[derive(Debug)]
pub(super) struct BodyError {
    /// What to answer.
    pub kind: ErrorKind,
    /// In words.
    pub message: String,
}

/// Reads the whole body of a request with these headers.
///
/// # Errors
/// [`BodyError`] where it is too large, stops coming, or breaks off.
pub(super) async fn read(mut body: Body, headers: &HeaderMap, limits: &LimitsConfig) -> Result<Bytes, BodyError> {
    let limit = limits.body_bytes;
    let announced: Option<u64> = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length| length > limit as u64) {
        drain(body).await;
        return Err(too_large(limit));
    }
    let expected = announced.and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
    let mut first: Option<Bytes> = None;
    let mut collected = BytesMut::new();
    loop {
        let frame = match tokio::time::timeout(limits.idle_timeout, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => break,
            Ok(Some(Err(error))) => {
                return Err(BodyError {
                    kind: ErrorKind::InvalidRequest,
                    message: format!("the request's body broke off: {error}"),
                });
            }
            Err(_) => {
                return Err(BodyError {
                    kind: ErrorKind::Timeout,
                    message: format!(
                        "nothing of the request's body came for {} s",
                        limits.idle_timeout.as_secs()
                    ),
                });
            }
        };
        let Ok(data) = frame.into_data() else {
            continue;
        };
        // Most bodies come in one piece and need no copy.
        if first.is_none() && collected.is_empty() {
            first = Some(data);
            continue;
        }
        if let Some(first) = first.take() {
            collected.reserve(expected.min(limit).max(first.len() + data.len()));
            collected.extend_from_slice(&first);
        }
        collected.extend_from_slice(&data);
        if collected.len() > limit {
            drop(collected);
            drain(body).await;
            return Err(too_large(limit));
        }
    }
    let whole = first.unwrap_or_else(|| collected.freeze());
    if whole.len() > limit {
        Err(too_large(limit))
    } else {
        Ok(whole)
    }
}

/// Reads what a client still sends, for as long as it may take, and drops it.
pub(super) async fn drain(mut body: Body) {
    let until = Instant::now() + DRAIN;
    while let Ok(Some(Ok(_))) =
        tokio::time::timeout(until.saturating_duration_since(Instant::now()), body.frame()).await
    {}
}

fn too_large(limit: usize) -> BodyError {
    BodyError {
        kind: ErrorKind::TooLarge,
        message: format!(
            "the request's body is larger than {} MB (limits.body_bytes = {limit})",
            limit >> 20
        ),
    }
}
