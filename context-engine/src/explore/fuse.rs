//! Fusing the lexical ranking with the citations.

use muninn_base::RelPath;

use super::Citation;

/// Number of top-ranked lexical files that always stay in front.
const TOP: usize = 5;

/// Returns the fused files, best first.
///
/// The first five lexical files stay the first five; the cited files among them come first. Then come the other cited
/// files, and then the other lexical files. So a wrong citation cannot displace one of these five files, and no measure
/// of the explorer's reliability is needed. The other citations are packed first, with a budget of their own.
pub(super) fn files(by_words: &[RelPath], citations: &[Citation]) -> Vec<RelPath> {
    let (top, rest) = by_words.split_at(TOP.min(by_words.len()));
    let mut files: Vec<RelPath> = Vec::with_capacity(by_words.len() + citations.len());
    let mut add = |path: &RelPath| {
        if !files.contains(path) {
            files.push(path.clone());
        }
    };
    let cited: Vec<RelPath> = citations.iter().filter_map(|one| RelPath::new(&one.path).ok()).collect();
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
        let citation = |name: &&str| Citation { path: (*name).to_owned(), lines: Some((1, 2)), blob: String::new() };
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
