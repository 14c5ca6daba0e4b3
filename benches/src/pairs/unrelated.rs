//! Records of which no two are about the same thing, though many look alike: each part of a system with each thing that
//! can be said of one.
//!
//! They are the hardest of what is unrelated: forty records differ in the part and the value alone, and twenty-five name
//! the same part.

const PARTS: [&str; 40] = [
    "billing service",
    "search indexer",
    "auth gateway",
    "mail sender",
    "image resizer",
    "report generator",
    "audit log",
    "payment webhook",
    "session store",
    "feature flag client",
    "schema migrator",
    "job scheduler",
    "metrics exporter",
    "rate limiter",
    "file uploader",
    "admin dashboard",
    "mobile client",
    "command line tool",
    "plugin loader",
    "template engine",
    "query planner",
    "config parser",
    "test runner",
    "release bot",
    "backup script",
    "chat bridge",
    "geo lookup",
    "price calculator",
    "tax module",
    "inventory sync",
    "order importer",
    "invoice printer",
    "user directory",
    "permission checker",
    "token vault",
    "health probe",
    "load balancer",
    "cache warmer",
    "dead letter queue",
    "event bus",
];

/// Each with the values that it may have, of which a part has one.
const SAYINGS: [(&str, [&str; 4]); 25] = [
    ("The {} is written in @.", ["Go", "Rust", "Python", "Kotlin"]),
    ("The {} listens on port @.", ["8080", "9090", "7000", "5001"]),
    (
        "@ owns the {}.",
        ["The platform team", "The data team", "Dana", "Priya"],
    ),
    (
        "The {} @ retry failed requests.",
        ["does", "does not", "must", "must never"],
    ),
    (
        "Requests to the {} time out after @.",
        ["5 seconds", "30 seconds", "2 minutes", "500 ms"],
    ),
    (
        "The tests of the {} @.",
        [
            "need a running Postgres",
            "run offline",
            "need Redis",
            "do not touch the network",
        ],
    ),
    ("Caching is @ in the {}.", ["enabled", "disabled", "on", "off"]),
    (
        "The {} stores its data in @.",
        ["Postgres", "SQLite", "S3", "a local file"],
    ),
    (
        "The {} is deployed @.",
        ["on Mondays", "every night", "by hand", "on each merge"],
    ),
    ("The API of the {} is @.", ["public", "private", "versioned", "frozen"]),
    (
        "In the {} errors are wrapped with @.",
        ["anyhow", "thiserror", "eyre", "a type of its own"],
    ),
    ("Logs of the {} go to @.", ["stdout", "stderr", "syslog", "a file"]),
    ("The {} was rewritten in version @.", ["2.0", "3.1", "4.2", "1.9"]),
    ("The {} is @ for large inputs.", ["slow", "fast", "safe", "not safe"]),
    (
        "Dates in the {} are @.",
        ["in UTC", "in local time", "ISO 8601 strings", "Unix seconds"],
    ),
    ("The {} keeps at most @ connections open.", ["10", "20", "50", "100"]),
    (
        "Run `@` after changing the {}.",
        ["just check", "make proto", "cargo insta review", "npm run gen"],
    ),
    ("The {} @ support pagination.", ["does", "does not", "will", "cannot"]),
    (
        "The settings of the {} live in `@`.",
        ["app.toml", "conf/main.yaml", ".env", "settings.json"],
    ),
    (
        "The {} uses @ for authentication.",
        ["JWT", "sessions", "mTLS", "API keys"],
    ),
    (
        "The {} panics on @.",
        ["empty input", "invalid UTF-8", "a missing header", "clock skew"],
    ),
    ("Memory of the {} is limited to @.", ["512 MB", "1 GB", "2 GB", "4 GB"]),
    ("The {} has @ unit tests.", ["few", "many", "no", "slow"]),
    (
        "The old {} was removed in @.",
        ["March", "May", "release 5.0", "release 6.2"],
    ),
    (
        "Changes to the {} need @.",
        [
            "a review by two people",
            "a changelog entry",
            "no approval",
            "a migration",
        ],
    ),
];

/// A thousand of them, always the same.
pub(super) fn records() -> Vec<String> {
    let of_saying = |(number, (saying, values)): (usize, &(&str, [&str; 4]))| {
        let parts = PARTS.iter().enumerate();
        let one = |(at, part): (usize, &&str)| {
            let value = values[(at * 7 + number * 3 + at / 4) % values.len()];
            saying.replace("{}", part).replace('@', value)
        };
        parts.map(one).collect::<Vec<String>>()
    };
    SAYINGS.iter().enumerate().flat_map(of_saying).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_thousand_distinct_records_hold_every_value() {
        let records = records();
        assert_eq!(records.iter().collect::<HashSet<_>>().len(), 1000);
        for (_, values) in SAYINGS {
            for value in values {
                assert!(records.iter().any(|record| record.contains(value)), "{value}");
            }
        }
        assert!(records.iter().all(|record| !record.contains(['{', '@'])));
    }
}
