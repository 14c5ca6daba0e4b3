//! Reads the beginning of an answer, while nothing of it was sent to the client.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::{Response, header};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use muninn_wire::convert::{Opening, OpeningReader};

use super::SendError;

/// Reads an answer until its first event, or all of a short one. The returned answer has all of its bytes. An encoded one is not
/// read.
///
/// # Errors
/// [`SendError`] if the answer breaks off before its first event.
pub(super) async fn open(response: Response<Body>, backend: &str) -> Result<(Response<Body>, Opening), SendError> {
    let coding = response.headers().get(header::CONTENT_ENCODING);
    if coding.is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Ok((response, Opening::default()));
    }
    let (head, mut body) = response.into_parts();
    let (mut reader, mut read) = (OpeningReader::default(), BytesMut::new());
    loop {
        let (bytes, opening) = match body.frame().await {
            Some(Ok(frame)) => {
                let Ok(bytes) = frame.into_data() else { continue };
                let opening = reader.push(&bytes);
                (bytes, opening)
            }
            Some(Err(error)) => {
                return Err(match error.into_inner().downcast::<SendError>() {
                    Ok(error) => *error,
                    Err(error) => SendError::BrokenOff { authority: backend.to_owned(), reason: error.to_string() },
                });
            }
            None => return Ok((Response::from_parts(head, Body::from(read.freeze())), reader.end())),
        };
        let first = if read.is_empty() {
            bytes
        } else {
            read.extend_from_slice(&bytes);
            std::mem::take(&mut read).freeze()
        };
        match opening {
            Some(opening) => {
                let body = Body::new(OpenedBody { first, rest: body });
                return Ok((Response::from_parts(head, body), opening));
            }
            None => read = first.try_into_mut().unwrap_or_else(|first| BytesMut::from(&first[..])),
        }
    }
}

/// A body whose first bytes were read already.
struct OpenedBody {
    first: Bytes,
    rest: Body,
}

impl http_body::Body for OpenedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.first.is_empty() {
            return Pin::new(&mut self.rest).poll_frame(context);
        }
        Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.first)))))
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_empty() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.size_hint();
        let first = self.first.len() as u64;
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower() + first);
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper + first);
        }
        hint
    }
}
