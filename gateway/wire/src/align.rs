//! Passes on a stream of events unchanged, in whole events.
//!
//! Muninn can only add its own lines between two events: a keep-alive comment, or an error if the backend breaks off.
//! So the beginning of an event is held until its end arrives. Nearly all reads end where an event ends, and then
//! nothing is copied.

use bytes::{Bytes, BytesMut};

/// The most bytes of one event that are held. A longer event is passed on in pieces.
const LONGEST: usize = 256 << 10;

/// Holds the beginning of an event until the rest of it arrives.
#[derive(Default)]
pub struct Aligner {
    held: BytesMut,
    /// Whether the bytes that were returned end inside an event.
    inside: bool,
}

impl Aligner {
    /// Takes the next bytes and returns those that can be sent now; may be empty.
    pub fn push(&mut self, mut bytes: Bytes) -> Bytes {
        if !self.held.is_empty() {
            self.held.extend_from_slice(&bytes);
            bytes = std::mem::take(&mut self.held).freeze();
        }
        let end = end_of_events(&bytes);
        if end == bytes.len() {
            self.inside = false;
        } else if bytes.len() - end > LONGEST || (self.inside && end == 0) {
            self.inside = true;
        } else {
            self.held.extend_from_slice(&bytes[end..]);
            self.inside &= end == 0;
            return bytes.slice(..end);
        }
        bytes
    }

    /// Returns the held bytes at the end of the stream.
    pub fn rest(&mut self) -> Bytes {
        std::mem::take(&mut self.held).freeze()
    }

    /// Whether the bytes that were returned end with a whole event, so that another event may follow.
    pub fn is_between_events(&self) -> bool {
        !self.inside
    }
}

/// The offset after the last whole event in `bytes`, 0 if there is none.
fn end_of_events(bytes: &[u8]) -> usize {
    if bytes.ends_with(b"\n\n") {
        return bytes.len();
    }
    let ends = |mark: &[u8]| memchr::memmem::rfind(bytes, mark).map_or(0, |at| at + mark.len());
    // A carriage return alone is not taken as a line end: its line feed may arrive next.
    ends(b"\n\n").max(ends(b"\r\n\r\n")).max(ends(b"\n\r\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STREAM: &[u8] = b": hi\n\nevent: a\ndata: 1\n\ndata: 2\r\n\r\ndata: 3\n\r\ndata: [DONE]\n\n";

    #[test]
    fn partial_events_are_held() {
        let mut aligner = Aligner::default();
        assert_eq!(aligner.push(Bytes::from_static(b"data: 1\n\nda")), "data: 1\n\n");
        assert_eq!(aligner.push(Bytes::from_static(b"ta: 2\n")), "");
        assert!(aligner.is_between_events());
        assert_eq!(aligner.push(Bytes::from_static(b"\n")), "data: 2\n\n");
        assert_eq!(aligner.rest(), "");
    }

    #[test]
    fn events_beyond_the_limit_pass_in_pieces() {
        let mut aligner = Aligner::default();
        let piece = Bytes::from(vec![b'x'; 100 << 10]);
        assert_eq!(aligner.push(piece.clone()).len(), 0);
        assert_eq!(aligner.push(piece.clone()).len(), 0);
        assert_eq!(aligner.push(piece.clone()).len(), 300 << 10);
        assert!(!aligner.is_between_events());
        assert_eq!(aligner.push(piece).len(), 100 << 10);
        assert_eq!(aligner.push(Bytes::from_static(b"x\n\ndata: y")), "x\n\n");
        assert!(aligner.is_between_events());
        assert_eq!(aligner.rest(), "data: y");
    }

    proptest! {
        #[test]
        fn any_cuts_keep_the_bytes_and_their_order(cuts in proptest::collection::vec(0..STREAM.len(), 0..10)) {
            let mut cuts = cuts;
            cuts.sort_unstable();
            cuts.push(STREAM.len());
            let mut aligner = Aligner::default();
            let (mut out, mut from) = (Vec::new(), 0);
            for cut in cuts {
                out.extend_from_slice(&aligner.push(Bytes::from_static(&STREAM[from..cut])));
                prop_assert!(out.is_empty() || out.ends_with(b"\n\n") || out.ends_with(b"\n\r\n"));
                from = cut;
            }
            out.extend_from_slice(&aligner.rest());
            prop_assert_eq!(&out[..], STREAM);
        }
    }
}
