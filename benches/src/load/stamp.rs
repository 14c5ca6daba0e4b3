//! Stamps: the time at which the mock sent an event, written into the event's text.
//!
//! Conversions keep text, so a stamp reaches the client through any gateway. Mock and client are one process with one
//! clock: the time between a stamp and its reading is the delay.

use std::sync::OnceLock;
use std::time::Instant;

use memchr::{memchr, memchr_iter};

/// Stands before the digits, and nowhere else in an event with a stamp.
const MARK: u8 = b'@';

/// Microseconds in twelve digits are enough for eleven days.
const DIGITS: usize = 12;

/// A word of the answer with room for a stamp.
pub(crate) const BLANK: &str = "@000000000000 ";

/// Microseconds at `now` since the first call in this process.
pub(crate) fn micros(now: Instant) -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let start = *START.get_or_init(Instant::now);
    u64::try_from(now.saturating_duration_since(start).as_micros()).unwrap_or(u64::MAX)
}

pub(crate) fn read(event: &[u8]) -> Option<u64> {
    let after = memchr(MARK, event)? + 1;
    let digits = event.get(after..after + DIGITS)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The offsets of the first digits of stamps.
pub(crate) fn places(bytes: &[u8]) -> Vec<usize> {
    memchr_iter(MARK, bytes).map(|at| at + 1).collect()
}

/// Writes a stamp's digits at one of the [`places`].
pub(crate) fn write(bytes: &mut [u8], place: usize, micros: u64) {
    let mut rest = micros;
    for digit in bytes[place..place + DIGITS].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamp_round_trips() {
        let mut event = format!("data: {{\"text\":\"{BLANK}\"}}\n\n").into_bytes();
        let place = places(&event)[0];
        write(&mut event, place, 1_234_567);
        assert_eq!(read(&event), Some(1_234_567));
        assert!(event.ends_with(b"@000001234567 \"}\n\n"));
    }
}
