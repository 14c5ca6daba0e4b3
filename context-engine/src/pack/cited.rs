//! Packing an explorer's citations, in addition to the lexical items.

use muninn_base::RelPath;
use muninn_index::Span;
use muninn_repo_tools::read_text;
use muninn_text::redact;

use super::{FileContent, PackFile, Packed, Packer};
use crate::cost::measure;
use crate::explore::Citation;
use crate::item::Item;

/// Maximum share of the remaining budget for one citation, so that the first does not use it up.
const SHARE: f64 = 0.5;
/// Tokens that a citation may always take, if they remain.
const MIN_SHARE: u32 = 300;
const WHY: &str = "found by exploring";

impl Packer<'_> {
    /// Adds the cited spans, in order, for at most `budget` tokens. Lines that the pack or the conversation contains
    /// are left out, and so are files that changed since they were cited.
    pub(crate) fn cited(&self, citations: &[Citation], mut budget: u32, packed: &mut Packed) {
        for citation in citations {
            let Some(text) = self.text_of(citation) else { continue };
            let file = PackFile::of(&text, self.prior);
            for span in self.spans(citation, &text) {
                let Some(span) = uncovered(&text.path, span, &packed.items) else {
                    continue;
                };
                let Some(mut item) = file.item(&span) else { continue };
                WHY.clone_into(&mut item.why);
                let allowed = ((f64::from(budget) * SHARE) as u32).max(MIN_SHARE).min(budget);
                if measure(&mut item) > allowed {
                    let Some(shortened) = self.shortened(item, allowed) else {
                        continue;
                    };
                    item = shortened;
                }
                if file.is_known(&item) {
                    packed.known = true;
                    continue;
                }
                budget = budget.saturating_sub(item.tokens);
                packed.items.push(item);
            }
        }
    }

    fn text_of(&self, citation: &Citation) -> Option<FileContent> {
        let path = RelPath::new(&citation.path).ok()?;
        let file = read_text(self.worktree, &path, self.max_file_bytes).ok()?;
        let blob = file.blob.to_string();
        (blob == citation.blob).then(|| FileContent { path, blob, text: redact(&file.text).into_owned() })
    }

    /// Returns the cited lines; for a whole file, its chunk that matches the question best.
    fn spans(&self, citation: &Citation, text: &FileContent) -> Vec<Span> {
        match citation.lines {
            Some((first, last)) => vec![Span { first, last, title: first, test: false }],
            None => self.current_chunks(text).first().map(|pick| pick.span).into_iter().collect(),
        }
    }
}

/// Returns the longest run of a span's lines that no item shows.
fn uncovered(path: &RelPath, span: Span, items: &[Item]) -> Option<Span> {
    let shown: Vec<(u32, u32)> = items
        .iter()
        .filter(|item| item.file() == path.as_str())
        .map(|item| {
            let lines = u32::try_from(item.text.lines().count()).unwrap_or(u32::MAX);
            (item.first_line, item.first_line.saturating_add(lines.saturating_sub(1)))
        })
        .collect();
    let is_shown = |line: u32| shown.iter().any(|(first, last)| (*first..=*last).contains(&line));
    let (mut best, mut run) = (None::<(u32, u32)>, None::<u32>);
    for line in span.first..=span.last.saturating_add(1) {
        let is_free = line <= span.last && !is_shown(line);
        match (run, is_free) {
            (None, true) => run = Some(line),
            (Some(first), false) => {
                if best.is_none_or(|(start, end)| line - first > end - start + 1) {
                    best = Some((first, line - 1));
                }
                run = None;
            }
            _ => {}
        }
    }
    best.map(|(first, last)| Span { first, last, title: first, test: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::ItemKind;

    #[test]
    fn shown_lines_are_cut_out_of_a_span() {
        let path = RelPath::new("src/a.rs").unwrap();
        let item = |source: &str, first: u32, lines: usize| Item {
            kind: ItemKind::Code,
            source: source.to_owned(),
            blob: None,
            date: None,
            confidence: None,
            origin: String::new(),
            title: String::new(),
            text: vec!["x"; lines].join("\n"),
            first_line: first,
            language: "rust",
            tokens: 0,
            score: 0.0,
            gain: 0.0,
            why: String::new(),
        };
        let left = |items: &[Item], first, last| {
            let span = Span { first, last, title: first, test: false };
            uncovered(&path, span, items).map(|span| (span.first, span.last))
        };
        let items = [item("src/a.rs:10-19", 10, 10), item("src/b.rs:1-99", 1, 99)];
        assert_eq!(left(&items, 1, 9), Some((1, 9)));
        assert_eq!(left(&items, 12, 15), None);
        assert_eq!(left(&items, 15, 30), Some((20, 30)));
        assert_eq!(left(&items, 1, 40), Some((20, 40)), "the longer of two");
        assert_eq!(left(&[], 7, 7), Some((7, 7)));
    }
}
