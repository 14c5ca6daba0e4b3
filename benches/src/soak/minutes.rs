//! The measurements of each minute.

use std::time::Duration;

use serde::Serialize;

use crate::report::rounded;
use crate::stats::{millis, percentile};

/// One minute. Latencies are from the time at which a request was due to the end of its answer, without those that the
/// backend was told to fail.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Minute {
    /// Requests that were answered.
    pub answered: usize,
    /// Latency of all of them, median.
    pub p50_ms: f64,
    /// The same, 95th percentile.
    pub p95_ms: f64,
    /// The same, 99th percentile.
    pub p99_ms: f64,
    /// Latency of those with a new question, median.
    pub question_p50_ms: f64,
    /// The same, 99th percentile.
    pub question_p99_ms: f64,
    /// The gateway's resident memory at the minute's end.
    pub rss_mb: Option<f64>,
    /// Its open descriptors.
    pub descriptors: Option<usize>,
}

/// The minutes so far.
#[derive(Debug, Default)]
pub(super) struct Minutes {
    done: Vec<Minute>,
    all: Vec<f64>,
    questions: Vec<f64>,
}

impl Minutes {
    /// Adds an answered request.
    pub(super) fn add(&mut self, is_question: bool, took: Duration) {
        self.all.push(millis(took));
        if is_question {
            self.questions.push(millis(took));
        }
    }

    /// The number of complete minutes.
    pub(super) fn done(&self) -> usize {
        self.done.len()
    }

    /// Ends a minute, and returns it in words.
    pub(super) fn end(&mut self, rss_mb: Option<f64>, descriptors: Option<usize>) -> String {
        let (mut all, mut questions) = (std::mem::take(&mut self.all), std::mem::take(&mut self.questions));
        let at = |values: &mut Vec<f64>, q| percentile(values, q).map(rounded).unwrap_or_default();
        let minute = Minute {
            answered: all.len(),
            p50_ms: at(&mut all, 0.5),
            p95_ms: at(&mut all, 0.95),
            p99_ms: at(&mut all, 0.99),
            question_p50_ms: at(&mut questions, 0.5),
            question_p99_ms: at(&mut questions, 0.99),
            rss_mb: rss_mb.map(rounded),
            descriptors,
        };
        let line = format!(
            "minute {}: {} answered, p50 {:.1} ms, p95 {:.1} ms, p99 {:.1} ms, questions p50 {:.1} ms, p99 {:.1} ms, \
             {:.1} MB, {} descriptors",
            self.done.len() + 1,
            minute.answered,
            minute.p50_ms,
            minute.p95_ms,
            minute.p99_ms,
            minute.question_p50_ms,
            minute.question_p99_ms,
            minute.rss_mb.unwrap_or_default(),
            minute.descriptors.unwrap_or_default(),
        );
        self.done.push(minute);
        line
    }

    /// All that are over.
    pub(super) fn into_list(self) -> Vec<Minute> {
        self.done
    }
}
