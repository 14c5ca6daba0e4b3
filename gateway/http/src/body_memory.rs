//! A limit on the memory of all request bodies together.
//!
//! Bytes are reserved as they arrive, because an announced length costs nothing until it is sent. The reservation belongs
//! to the bytes themselves: it ends when the last clone of the body (of the exchange, a retry, the learner) is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

/// The bytes of all bodies that the process holds.
#[derive(Debug, Default)]
pub(super) struct BodyMemory(AtomicUsize);

/// A reservation of body memory, released when dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    memory: Arc<BodyMemory>,
    bytes: usize,
}

impl BodyMemory {
    pub(super) fn reserve_nothing(self: &Arc<Self>) -> Reservation {
        Reservation { memory: Arc::clone(self), bytes: 0 }
    }

    /// Reserves memory for existing bytes, such as a request's body with its insertions. Never fails: the request was
    /// accepted; only later requests see less memory.
    pub(super) fn hold(self: &Arc<Self>, bytes: Bytes) -> Bytes {
        self.0.fetch_add(bytes.len(), Ordering::Relaxed);
        let reservation = Reservation { memory: Arc::clone(self), bytes: bytes.len() };
        reservation.attach(bytes)
    }

    /// The bytes held now.
    pub(super) fn held(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Reservation {
    /// Reserves more bytes, unless all bodies together would then exceed `limit`.
    pub(super) fn grow(&mut self, bytes: usize, limit: usize) -> bool {
        let add = |held: usize| held.checked_add(bytes).filter(|held| *held <= limit);
        let grown = self.memory.0.try_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok();
        self.bytes += if grown { bytes } else { 0 };
        grown
    }

    /// Ties the reservation to its bytes: it ends when the last clone of them is dropped.
    pub(super) fn attach(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(Held { bytes, _reservation: self })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.memory.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

struct Held {
    bytes: Bytes,
    _reservation: Reservation,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservation_ends_with_the_last_holder_of_the_bytes() {
        let memory = Arc::new(BodyMemory::default());
        let mut reservation = memory.reserve_nothing();
        assert!(reservation.grow(4, 10) && reservation.grow(6, 10));
        assert!(!reservation.grow(1, 10), "full");
        assert!(!memory.reserve_nothing().grow(usize::MAX, usize::MAX), "no overflow");
        let body = reservation.attach(Bytes::from_static(b"0123456789"));
        let part = body.slice(2..4);
        drop(body);
        assert_eq!(memory.held(), 10);
        drop(part);
        assert_eq!(memory.held(), 0);
        let copy = memory.hold(Bytes::from_static(b"copy"));
        assert_eq!((memory.held(), &copy[..]), (4, &b"copy"[..]));
        drop(copy);
        assert_eq!(memory.held(), 0);
    }
}
