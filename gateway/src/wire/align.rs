//! Passing on a stream of events untouched, but whole events only.
//!
//! Something of ours can only be said between two events: that we are still there, or that the backend has gone. So the
//! beginning of an event waits here for its end. Nearly always a read ends where an event ends, and nothing is copied.

use bytes::{Bytes, BytesMut};

/// An event that grows beyond this is passed on in pieces: holding it back would cost more than it gives.
const LONGEST: usize = 256 << 10;

/// Holds back the beginning of an event until the rest of it is there.
#[derive(Default)]
pub struct Aligner {
    held: BytesMut,
    /// Whether a piece of an event has gone out whose end has not.
    inside: bool,
}

impl Aligner {
    /// Takes bytes and returns those that may go out now; may be empty.
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

    /// What was held back, for a stream that has ended.
    pub fn rest(&mut self) -> Bytes {
        std::mem::take(&mut self.held).freeze()
    }

    /// Whether what has gone out ends with an event's end, so that another one may follow.
    #[must_use]
    pub fn is_between_events(&self) -> bool {
        !self.inside
    }
}

/// Where the last whole event in `bytes` ends, 0 where there is none.
fn end_of_events(bytes: &[u8]) -> usize {
    if bytes.ends_with(b"\n\n") {
        return bytes.len();
    }
    let ends = |mark: &[u8]| memchr::memmem::rfind(bytes, mark).map_or(0, |at| at + mark.len());
    // A carriage return alone may still get its line feed, so it does not end an event for certain.
    ends(b"\n\n").max(ends(b"\r\n\r\n")).max(ends(b"\n\r\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STREAM: &[u8] = b": hi\n\nevent: a\ndata: 1\n\ndata: 2\r\n\r\ndata: 3\n\r\ndata: [DONE]\n\n";

    #[test]
    fn whole_events_pass_and_beginnings_wait() {
        let mut aligner = Aligner::default();
        assert_eq!(aligner.push(Bytes::from_static(b"data: 1\n\nda")), "data: 1\n\n");
        assert_eq!(aligner.push(Bytes::from_static(b"ta: 2\n")), "");
        assert!(aligner.is_between_events());
        assert_eq!(aligner.push(Bytes::from_static(b"\n")), "data: 2\n\n");
        assert_eq!(aligner.rest(), "");
    }

    #[test]
    fn an_endless_event_is_not_held_for_ever() {
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
        fn no_byte_is_lost_or_moved(cuts in proptest::collection::vec(0..STREAM.len(), 0..10)) {
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
