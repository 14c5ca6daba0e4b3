//! A repository's history, replayed as sessions.

use std::path::Path;

use anyhow::Result;
use muninn_base::Clock;
use muninn_base::RelPath;
use muninn_context_engine::Engine;
use muninn_team::learn::query_hash;
use muninn_team::records::{Body, Origin, Record, kinds};
use std::time::{Duration, Instant};

use crate::instances::Instance;
use muninn_tests::git;

/// The largest commit that is replayed, in files. Larger ones are sweeps over the tree.
const MOST_FILES: usize = 16;
/// The relevance of an edited file in a record.
const EDITED: f64 = 0.95;
/// Parts commits, and a message from its files: no text of git's holds it.
const MARK: char = '\u{1}';

/// The records of sessions that made the last `most` commits before an instance's.
///
/// # Errors
/// When git cannot read the history.
pub(super) fn replay(clone: &Path, instance: &Instance, most: usize, engine: &Engine) -> Result<Vec<Record>> {
    let count = format!("-n{most}");
    let form = format!("--format={MARK}%H{MARK}%aI{MARK}%B{MARK}");
    let arguments = ["log", &count, "--no-merges", "--name-only", &form, &instance.base_commit];
    let log = git(clone, &arguments)?;
    let mut fields = log.split(MARK).skip(1);
    let mut records = Vec::new();
    while let (Some(commit), Some(ts), Some(message), Some(names)) =
        (fields.next(), fields.next(), fields.next(), fields.next())
    {
        let is_here = |path: &RelPath| engine.has_file(path);
        let paths = names.lines().filter(|line| !line.is_empty());
        let paths: Vec<RelPath> = paths.filter_map(|path| RelPath::new(path).ok()).collect();
        let files: Vec<String> = paths.iter().filter(|path| is_here(path)).map(ToString::to_string).collect();
        if files.is_empty() || paths.len() > MOST_FILES {
            continue;
        }
        let deadline = Instant::now() + Duration::from_secs(60);
        let body = Body::ContextHit(kinds::ContextHit {
            query_hash: query_hash(message),
            query: None,
            terms: engine.known_terms(message, deadline),
            files,
            relevance: serde_json::Number::from_f64(EDITED),
        });
        let origin = Origin { session: Some(commit.to_owned()), commit: Some(commit.to_owned()), ..Origin::default() };
        let mut record = Record::new(body, origin, &Clock::system());
        record.ts = ts.into();
        records.push(record);
    }
    Ok(records)
}
