//! Insertion into raw bytes.

use bytes::Bytes;

use crate::Insertion;

/// The body with all insertions made. All other bytes are kept in order. Without insertions the original is returned
/// without a copy. Insertions at the same offset keep their order.
pub fn splice(body: impl Into<Bytes>, mut insertions: Vec<Insertion>) -> Bytes {
    let body = body.into();
    if insertions.is_empty() {
        return body;
    }
    insertions.sort_by_key(|insertion| insertion.at);
    let added: usize = insertions.iter().map(|insertion| insertion.bytes.len()).sum();
    let mut spliced = Vec::with_capacity(body.len() + added);
    let mut copied = 0;
    for insertion in &insertions {
        spliced.extend_from_slice(&body[copied..insertion.at]);
        spliced.extend_from_slice(insertion.bytes.as_bytes());
        copied = insertion.at + insertion.replaces;
    }
    spliced.extend_from_slice(&body[copied..]);
    Bytes::from(spliced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_outside_insertions_are_kept() {
        let at = |at, bytes: &str| Insertion::new(at, bytes.to_owned());
        let body: &'static [u8] = b"abcdef";
        assert_eq!(splice(body, vec![at(6, "!"), at(0, ">"), at(3, "x"), at(3, "y")]), ">abcxydef!");
        assert_eq!(splice(body, Vec::new()).as_ptr(), body.as_ptr());
    }
}
