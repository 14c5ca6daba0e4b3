//! The usage of each access key by day, in tokens that backends counted.

use jiff::civil::Date;
use serde::Serialize;

/// Requests and tokens, added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct UsageSum {
    /// Requests that were answered by a backend or by the built-in model.
    pub requests: u64,
    /// Tokens of their prompts, cached ones included.
    pub input: u64,
    /// Tokens of the answers.
    pub output: u64,
    /// Tokens of the prompts that backends had in their caches.
    pub cached: u64,
}

impl UsageSum {
    pub(super) fn add(&mut self, other: &UsageSum) {
        self.requests = self.requests.saturating_add(other.requests);
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
    }
}

/// The usage of one key. Days are in UTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeyUsage {
    /// The key's name, empty for requests without one.
    pub key: String,
    /// On the day that was asked about.
    pub today: UsageSum,
    /// On that day and the 29 before it.
    pub thirty_days: UsageSum,
    /// Since the store was made.
    pub all: UsageSum,
}

/// The day of UTC.
#[must_use]
pub fn utc_today() -> Date {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}
