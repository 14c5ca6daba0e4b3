//! What is found by words and what is cited, as one list.

use muninn_repo_tools::RelPath;

use super::Citation;

/// The part of the list that citations may order and not fill.
const TOP: usize = 5;

/// Files, best first.
///
/// The first five by words stay the first five, those that are cited before the others; then come the files that are only
/// cited, then the rest. So nothing that words alone had found is pushed out by an explorer that is mistaken, and no
/// measure of how far it can be trusted is needed. What it found beyond is not lost on anyone: it is packed first, with a
/// budget of its own.
pub(super) fn files(by_words: &[RelPath], citations: &[Citation]) -> Vec<RelPath> {
    let (top, rest) = by_words.split_at(TOP.min(by_words.len()));
    let mut files: Vec<RelPath> = Vec::with_capacity(by_words.len() + citations.len());
    let mut add = |path: &RelPath| {
        if !files.contains(path) {
            files.push(path.clone());
        }
    };
    let cited: Vec<RelPath> = citations
        .iter()
        .filter_map(|one| RelPath::new(&one.path).ok())
        .collect();
    cited.iter().filter(|path| top.contains(path)).for_each(&mut add);
    top.iter().chain(&cited).chain(rest).for_each(&mut add);
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> Vec<RelPath> {
        names.iter().map(|name| RelPath::new(name).unwrap()).collect()
    }

    fn cited(names: &[&str]) -> Vec<Citation> {
        let citation = |name: &&str| Citation {
            path: (*name).to_owned(),
            lines: Some((1, 2)),
            blob: String::new(),
        };
        names.iter().map(citation).collect()
    }

    #[test]
    fn citations_order_the_first_five_and_follow_them() {
        let by_words = paths(&["a", "b", "c", "d", "e", "f", "g"]);
        assert_eq!(
            files(&by_words, &cited(&["x", "g", "d", "x", "b"])),
            paths(&["d", "b", "a", "c", "e", "x", "g", "f"])
        );
        assert_eq!(files(&by_words, &[]), by_words);
        assert_eq!(files(&[], &cited(&["x"])), paths(&["x"]));
    }
}
