//! Recorded runs of agents, and the estimated worth of a pack in their first prompt.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

/// Prices relative to an input token that is not cached.
const CACHE_WRITE: f64 = 1.25;
const CACHED_READ: f64 = 0.1;
const OUTPUT: f64 = 5.0;
/// The tokens of a call, and those of the prompt before it.
const CALL_OUTPUT: f64 = 100.0;
const PREFIX: f64 = 20_000.0;

/// One recorded run.
#[derive(Debug, Clone, Deserialize)]
pub struct Run {
    /// Its name.
    pub id: String,
    /// The issue's name.
    pub instance_id: String,
    /// `owner/name`.
    pub repo: String,
    /// The commit that the agent began at.
    pub base_commit: String,
    /// The issue.
    pub query: String,
    /// The files of the fix.
    #[serde(default)]
    pub gold_files: Vec<String>,
    /// The agent's calls, in order.
    pub calls: Vec<Call>,
    /// The number of all its calls.
    pub calls_total: usize,
    /// The number of the call that first reached each gold file.
    #[serde(default)]
    pub gold_first: BTreeMap<String, usize>,
}

/// One call of a tool.
#[derive(Debug, Clone, Deserialize)]
pub struct Call {
    /// Counted from 1.
    pub n: usize,
    /// `search`, `list`, `read`, `edit`, `run` or `other`.
    pub kind: String,
    /// The size of its result, in bytes.
    pub bytes_out: u64,
}

/// The estimated worth of a pack in a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worth {
    /// The exploring calls that it would have spared; an upper bound.
    pub spared: usize,
    /// The price of those calls less that of the pack, in input tokens.
    pub net: f64,
}

impl Run {
    /// The worth of a pack of some files with this many tokens.
    #[must_use]
    pub fn worth(&self, files: &BTreeSet<String>, tokens: u32) -> Worth {
        let turns = self.calls_total + 1;
        let kept = |turns: usize| CACHE_WRITE + CACHED_READ * turns as f64;
        let mut worth = Worth {
            spared: 0,
            // Zero tokens must not make `-0.0`.
            net: 0.0 - f64::from(tokens) * kept(turns),
        };
        let Some(first) = self.gold_first.values().min() else {
            return worth;
        };
        let has_first = |(file, n): (&String, &usize)| n == first && files.contains(file);
        if !self.gold_first.iter().any(has_first) {
            return worth;
        }
        let explores = |call: &&Call| call.n < *first && ["search", "list", "read"].contains(&&*call.kind);
        for call in self.calls.iter().filter(explores) {
            let result = call.bytes_out as f64 / 4.0;
            worth.spared += 1;
            worth.net += CALL_OUTPUT * OUTPUT + result * kept(turns.saturating_sub(call.n)) + PREFIX * CACHED_READ;
        }
        worth
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Run {
        let line = r#"{"id":"a","instance_id":"i","repo":"o/r","base_commit":"0","query":"q","gold_files":["a.py"],
            "calls":[{"n":1,"kind":"search","bytes_out":400},{"n":2,"kind":"run","bytes_out":9},{"n":3,"kind":"read","bytes_out":9}],
            "calls_total":9,"gold_first":{"a.py":3}}"#;
        serde_json::from_str(line).unwrap()
    }

    #[test]
    fn only_a_pack_with_the_first_gold_file_spares_calls() {
        let files = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let worth = run().worth(&files(&["b.py", "a.py"]), 100);
        assert_eq!(worth.spared, 1);
        let spared = 500.0 + 100.0 * (1.25 + 0.1 * 9.0) + 2_000.0;
        assert!((worth.net - (spared - 100.0 * 2.25)).abs() < 1e-6, "{worth:?}");
        let missed = run().worth(&files(&["b.py"]), 100);
        assert_eq!((missed.spared, missed.net), (0, -225.0));
    }

    #[test]
    fn run_without_gold_files_only_pays() {
        let mut run = run();
        run.gold_first.clear();
        assert_eq!(run.worth(&BTreeSet::new(), 0), Worth { spared: 0, net: 0.0 });
    }
}
