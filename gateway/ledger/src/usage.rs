//! The usage of each access key by day, in tokens that backends counted.

use jiff::civil::Date;
use serde::Serialize;

/// A sum of requests and tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct UsageSum {
    /// Requests that a backend or the built-in model answered.
    pub requests: u64,
    /// Prompt tokens, cached ones included.
    pub input: u64,
    /// Answer tokens.
    pub output: u64,
    /// Prompt tokens that backends read from their caches.
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
    /// The usage of the current day.
    pub today: UsageSum,
    /// The usage of that day and the 29 days before it.
    pub thirty_days: UsageSum,
    /// The usage since the store was created.
    pub all: UsageSum,
}

/// The current UTC day.
pub fn utc_today() -> Date {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}
