//! The time at which a record was written.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;

use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;
use serde::{Deserialize, Serialize};

/// A time in RFC 3339, with its written text. Two UTC times compare chronologically, whatever their number of
/// fractional digits: `10:00:00.5Z` is before `10:00:00.512Z`, and a date is before all times of that day. A text that is no
/// time is before all times, so that a record with one is never the newest.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(String);

impl Moment {
    /// A time in milliseconds.
    pub fn at(time: Timestamp) -> Self {
        const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));
        Self(PRINTER.timestamp_to_string(&time))
    }

    /// The parsed time; `None` if the text is not a time.
    pub fn timestamp(&self) -> Option<Timestamp> {
        self.0.parse().ok()
    }

    /// Returns whether the text begins with a date, whole or without its day or month, and goes on with a time of day if at
    /// all. Comparing is frequent, so this does not parse the whole text.
    fn is_time(&self) -> bool {
        const LEAST: &str = "0000-01-01T00:00:00";
        const MOST: &str = "9999-12-31T23:59:60";
        const LENGTHS: [usize; 5] = [4, 7, 10, 16, 19];
        let text = self.0.as_bytes();
        let (least, most) = (LEAST.as_bytes(), MOST.as_bytes());
        let length = text.len().min(LEAST.len());
        let is_shaped = (0..length).all(|at| match least[at] {
            b'T' => matches!(text[at], b'T' | b't' | b' '),
            shape if shape.is_ascii_digit() => text[at].is_ascii_digit(),
            shape => text[at] == shape,
        });
        // Parts with two digits, each between its bounds.
        let parts = [(5, 7), (8, 10), (11, 13), (14, 16), (17, 19)];
        let parts = parts.iter().take_while(|(_, end)| *end <= length);
        is_shaped
            && LENGTHS.contains(&length)
            && parts
                .into_iter()
                .all(|(start, end)| (&least[*start..*end]..=&most[*start..*end]).contains(&&text[*start..*end]))
    }

    /// The text without its zone suffix and trailing zeros, which would break the chronological order.
    fn key(&self) -> &str {
        let text = self.0.strip_suffix(['Z', 'z']).unwrap_or(&self.0);
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
    }
}

impl Ord for Moment {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = |moment: &Self| moment.is_time();
        order(self).cmp(&order(other)).then_with(|| self.key().cmp(other.key()))
    }
}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Moment {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Moment {}

impl<T: Into<String>> From<T> for Moment {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl Deref for Moment {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_compare_chronologically() {
        let in_order = [
            "",
            "2026-13-01T00:00:00Z",
            "2026-99-99",
            "99999",
            "notadate",
            "tomorrow",
            "~",
            "\u{661}\u{662}",
            "0001-01-01T00:00:00Z",
            "2026-01",
            "2026-01-02",
            "2026-01-02T10:00:00Z",
            "2026-01-02T10:00:00.049Z",
            "2026-01-02T10:00:00.5Z",
            "2026-01-02T10:00:00.512Z",
            "2026-01-02T10:00:00.52Z",
            "2026-01-02T10:00:01Z",
        ]
        .map(Moment::from);
        assert!(in_order.is_sorted_by(|one, other| one < other), "{in_order:?}");
        for (one, other) in [("10:00:00Z", "10:00:00.000Z"), ("10:00:10.5Z", "10:00:10.500Z")] {
            assert_eq!(Moment::from(one), Moment::from(other));
        }
    }

    #[test]
    fn time_has_three_fractional_digits() {
        for (time, expected) in [
            ("2026-01-02T10:00:00.5129Z", "2026-01-02T10:00:00.512Z"),
            ("2026-01-02T10:00:00Z", "2026-01-02T10:00:00.000Z"),
        ] {
            assert_eq!(&*Moment::at(time.parse().unwrap()), expected);
        }
    }
}
