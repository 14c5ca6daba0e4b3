//! Files whose paths a question spells out.

use std::collections::HashSet;

use muninn_memory::index::Snapshot;
use muninn_memory::index::lexical::DocId;
use muninn_repo_tools::RelPath;

use super::Chunks;
use crate::question::NamedPath;

/// What a chunk that holds a line the question names gets on top, as a share of the best chunk's score.
const NAMED_LINE: f32 = 1.5;
/// So many files may share a name that a question spells out; one that more share names none of them.
const MAX_NAMESAKES: usize = 3;

/// The files whose paths the question spells out; a chunk with a line that it names is lifted above all others.
pub(super) fn by_path(snapshot: &Snapshot, named: &[NamedPath], chunks: &mut Chunks) -> Vec<usize> {
    if named.is_empty() {
        return Vec::new();
    }
    let best = chunks.scores.iter().copied().fold(1.0, f32::max);
    let paths = like(snapshot, named);
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
                chunks.scores[number as usize] += NAMED_LINE * best;
            }
        }
        files.extend(matches);
    }
    files
}

/// The numbers of files that are called like the last part of any named path, with their paths in lower case. One look
/// at each file, however many paths a stack trace has.
fn like(snapshot: &Snapshot, named: &[NamedPath]) -> Vec<(usize, String)> {
    let last = |path: &'_ NamedPath| path.path.rsplit('/').next().unwrap_or_default().to_owned();
    let names: HashSet<String> = named.iter().map(last).collect();
    let called_so = |path: &RelPath| {
        let name = path.file_name().to_lowercase();
        let stem = name.rsplit_once('.').map(|(stem, _)| stem);
        names.contains(&name) || stem.is_some_and(|stem| names.contains(stem))
    };
    let files = snapshot.files().filter(|(_, file)| called_so(&file.facts.path));
    files
        .map(|(number, file)| (number, file.facts.path.as_str().to_lowercase()))
        .collect()
}

/// Whether a path in lower case is meant by what a question has: its end, from a component's start, with or without the
/// extension.
fn is_named(path: &str, named: &str) -> bool {
    let end = path
        .strip_suffix(named)
        .or_else(|| path.rsplit_once('.').and_then(|(stem, _)| stem.strip_suffix(named)));
    let ends = end.is_some_and(|before| before.is_empty() || before.ends_with('/'));
    // An absolute path of the same file, as a stack trace has it.
    ends || (path.contains('/') && named.strip_suffix(path).is_some_and(|before| before.ends_with('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_meant_by_its_end() {
        assert!(is_named("src/inject/ledger.rs", "inject/ledger.rs"));
        assert!(is_named("src/inject/ledger.rs", "ledger.rs"));
        assert!(is_named("src/inject/ledger.rs", "inject/ledger"));
        assert!(is_named("src/a.py", "home/me/project/src/a.py"));
        assert!(!is_named("src/inject/ledger.rs", "edger.rs"));
        assert!(!is_named("src/inject/ledger.rs", "other/ledger.rs"));
    }
}
