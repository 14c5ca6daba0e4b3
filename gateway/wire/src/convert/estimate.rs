//! Estimate of a request's tokens, for backends that cannot count them. Clients use the number to decide when to
//! compact.

use super::request::Dropped;
use super::request_tokens::request_tokens;
use super::{AnswerContext, ConvertError, read_body, read_request};
use crate::WireFormat;

/// Estimates a request's tokens. `count` returns the tokens of a text.
///
/// # Errors
/// [`ConvertError`] if the body is not a request of its format.
pub fn estimate(format: WireFormat, body: &str, count: impl Fn(&str) -> u32) -> Result<u64, ConvertError> {
    let (mut dropped, mut context) = (Dropped::default(), AnswerContext::default());
    let request = read_request(format, read_body(format, body)?, &mut dropped, &mut context)?;
    Ok(request_tokens(&request, &|text| u64::from(count(text))))
}
