//! A request from a client.

use super::super::ConvertError;
use super::super::request::{Dropped, Request};
use crate::wire::Members;

/// Reads a request; what has no neutral form is named in `dropped`.
///
/// # Errors
/// [`ConvertError`] where it is no request, or refers to a conversation that only its own vendor holds.
pub(in super::super) fn read_request<'a>(
    members: &Members<'a>,
    dropped: &mut Dropped,
) -> Result<Request<'a>, ConvertError> {
    let _ = (members, dropped);
    Ok(Request::default())
}
