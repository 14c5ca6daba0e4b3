//! The client's side of HTTP/1.1, on a connection that the task drives which uses it: requests with a whole body, and answers
//! whose body is read as it arrives. Heads and the sizes of chunks are parsed by `httparse`.

mod connection;
mod framing;
mod head;

pub(super) use connection::{Connection, Request, closed};
pub(super) use framing::Framing;
pub(super) use head::AnswerHead;
