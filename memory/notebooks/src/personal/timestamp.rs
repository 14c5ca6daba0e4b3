use jiff::Timestamp;

/// A time as JavaScript writes it, with milliseconds.
pub(super) fn timestamp(at: Timestamp) -> String {
    format!("{at:.3}")
}
