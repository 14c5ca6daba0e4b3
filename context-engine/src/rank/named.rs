//! Finding the files whose paths a question names.

use std::collections::HashSet;

use muninn_base::RelPath;
use muninn_index::Snapshot;
use muninn_text::lexical::DocId;

use super::ChunkScores;
use crate::question::NamedPath;

/// Score added to a chunk with a named line, relative to the best chunk's score.
const NAMED_LINE: f32 = 1.5;
/// Maximum number of files that may match a named path; with more, the path is ambiguous and ignored.
const MAX_NAMESAKES: usize = 3;

/// Returns the files whose paths the question names. A chunk with a named line is lifted above all others.
pub(super) fn by_path(snapshot: &Snapshot, named: &[NamedPath], chunks: &mut ChunkScores) -> Vec<usize> {
    if named.is_empty() {
        return Vec::new();
    }
    let best = chunks.scores.iter().copied().fold(1.0, f32::max);
    let paths = namesakes(snapshot, named);
    let mut files = Vec::new();
    for named in named {
        let matches = paths.iter().filter(|(_, path)| is_named(path, &named.path));
        let matches: Vec<usize> = matches.map(|(number, _)| *number).take(MAX_NAMESAKES + 1).collect();
        if matches.len() > MAX_NAMESAKES {
            continue;
        }
        for file in &matches {
            let Some(line) = named.line else { continue };
            let holds =
                |doc: &u32| (snapshot.span(DocId(*doc)).first..=snapshot.span(DocId(*doc)).last).contains(&line);
            if let Some(number) = snapshot.spans_of(*file).find(holds) {
                let score = chunks.scores[number as usize] + NAMED_LINE * best;
                chunks.set(snapshot, DocId(number), score);
            }
        }
        files.extend(matches);
    }
    files
}

/// Returns the files with the name of any named path, with their paths in lower case. A single pass over all files,
/// because a stack trace may have many paths.
fn namesakes(snapshot: &Snapshot, named: &[NamedPath]) -> Vec<(usize, String)> {
    let last = |path: &'_ NamedPath| path.path.rsplit('/').next().unwrap_or_default().to_owned();
    let names: HashSet<String> = named.iter().map(last).collect();
    let has_name = |path: &RelPath| {
        let name = path.file_name().to_lowercase();
        let stem = name.rsplit_once('.').map(|(stem, _)| stem);
        names.contains(&name) || stem.is_some_and(|stem| names.contains(stem))
    };
    let files = snapshot.files().filter(|(_, file)| has_name(&file.facts.path));
    files.map(|(number, file)| (number, file.facts.path.as_str().to_lowercase())).collect()
}

/// Returns whether a named path matches a file's path in lower case: it equals the end of the path from a component's
/// start, with or without the extension.
fn is_named(path: &str, named: &str) -> bool {
    let end = path.strip_suffix(named).or_else(|| path.rsplit_once('.').and_then(|(stem, _)| stem.strip_suffix(named)));
    let ends = end.is_some_and(|before| before.is_empty() || before.ends_with('/'));
    // A stack trace may have the absolute path of the file.
    ends || (path.contains('/') && named.strip_suffix(path).is_some_and(|before| before.ends_with('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_matches_by_its_end() {
        assert!(is_named("src/inject/ledger.rs", "inject/ledger.rs"));
        assert!(is_named("src/inject/ledger.rs", "ledger.rs"));
        assert!(is_named("src/inject/ledger.rs", "inject/ledger"));
        assert!(is_named("src/a.py", "home/me/project/src/a.py"));
        assert!(!is_named("src/inject/ledger.rs", "edger.rs"));
        assert!(!is_named("src/inject/ledger.rs", "other/ledger.rs"));
    }
}
