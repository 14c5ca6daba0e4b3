//! One pack, graded against the useful places of its prompt.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use muninn_text::tokens;
use serde::Serialize;

use super::prompts::Useful;
use crate::turns::Receipt;

/// A graded pack.
#[derive(Debug, Clone, Default, Serialize)]
pub struct GradedPack {
    /// Whether anything was packed.
    pub packed: bool,
    /// Why nothing, or only a part, was packed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The tokens of the block.
    pub tokens: u32,
    /// The items that name a place of the repository, in order.
    pub items: Vec<GradedItem>,
    /// The useful files that they name.
    pub found: BTreeSet<String>,
    /// The useful files that they do not name.
    pub missed: BTreeSet<String>,
    /// The useful files that the packs of earlier turns name.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub earlier: BTreeSet<String>,
}

/// An item that names a place.
#[derive(Debug, Clone, Serialize)]
pub struct GradedItem {
    /// `code` or `place`.
    pub kind: String,
    /// `path:first-last`, or a path.
    pub source: String,
    /// Its path.
    #[serde(skip)]
    pub path: String,
    /// Its tokens: those of its lines for code, of its entry for a place.
    pub tokens: u32,
    /// Whether its file is useful.
    pub useful_file: bool,
    /// Whether its range overlaps a useful range by half of the shorter one; `None` without a range.
    pub useful_range: Option<bool>,
    /// Its tokens on useful lines; all or none of them for a place.
    pub useful_tokens: u32,
    /// The emitted lines of code: their numbers in the file, and whether they are useful.
    #[serde(skip)]
    pub lines: Vec<(usize, bool)>,
}

impl GradedPack {
    /// Grades the pack of a receipt, whose code stands in the block that the backend got. `earlier` are the receipts of
    /// the turns before.
    ///
    /// # Errors
    /// When receipt and block disagree.
    pub fn of(receipt: &Receipt, block: Option<&str>, earlier: &[Receipt], useful: &Useful) -> Result<Self> {
        let packed = !receipt.items.is_empty();
        ensure!(block.is_some() == packed, "the receipt and the backend's request disagree about a block");
        let quoted = quoted(block.unwrap_or_default());
        let mut items = Vec::new();
        for item in &receipt.items {
            let Some(place) = item.place() else { continue };
            let mut graded = GradedItem {
                kind: item.kind.clone(),
                source: item.source.clone(),
                tokens: item.tokens,
                useful_file: useful.0.contains_key(&place.path),
                useful_range: useful.has_range(&place),
                useful_tokens: 0,
                lines: Vec::new(),
                path: place.path,
            };
            if item.kind == "code" {
                let lines = quoted.get(&*item.source).zip(place.lines);
                let (lines, numbers) = lines.with_context(|| format!("{} is not in the block", item.source))?;
                graded.tokens = 0;
                for (number, line) in numbers.zip(lines) {
                    let is_useful = useful.has_line(&graded.path, number);
                    let tokens = tokens::count(&format!("{line}\n"));
                    graded.tokens += tokens;
                    graded.useful_tokens += if is_useful { tokens } else { 0 };
                    graded.lines.push((number, is_useful));
                }
            } else if graded.useful_range == Some(true) {
                graded.useful_tokens = graded.tokens;
            }
            items.push(graded);
        }
        let named: BTreeSet<&str> = items.iter().map(|item| &*item.path).collect();
        let (found, missed) = useful.0.keys().cloned().partition(|path| named.contains(&**path));
        let earlier = earlier.iter().flat_map(|receipt| &receipt.items);
        let earlier = earlier.filter_map(|item| Some(item.place()?.path));
        Ok(Self {
            packed,
            reason: receipt.reason.clone(),
            tokens: receipt.tokens,
            items,
            found,
            missed,
            earlier: earlier.filter(|path| useful.0.contains_key(path)).collect(),
        })
    }

    /// The emitted lines of code, in order: the path, the number, and whether the line is useful.
    pub fn lines(&self) -> impl Iterator<Item = (&str, usize, bool)> {
        self.items
            .iter()
            .flat_map(|item| item.lines.iter().map(move |(number, useful)| (&*item.path, *number, *useful)))
    }
}

/// The quoted lines of a block, by the source in their heading.
fn quoted(block: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut quoted = BTreeMap::<&str, Vec<&str>>::new();
    let mut source = "";
    let mut fence: Option<&str> = None;
    for line in block.lines() {
        match fence {
            Some(open) if line == open => fence = None,
            Some(_) => quoted.entry(source).or_default().push(line),
            None if line.starts_with("```") => {
                fence = Some(&line[..line.len() - line.trim_start_matches('`').len()]);
            }
            None => {
                if let Some(heading) = line.strip_prefix("## ") {
                    source = heading.rsplit_once(" @").map_or("", |(source, _)| source);
                }
            }
        }
    }
    quoted
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::turns::ReceiptItem;

    /// Useful: lines 2 to 3 and 8 to 9 of `a.rs`, lines 1 to 4 of `b.rs`.
    pub(crate) fn useful() -> Useful {
        serde_json::from_str(r#"[{"path":"a.rs","ranges":[[2,3],[8,9]]},{"path":"b.rs","ranges":[[1,4]]}]"#).unwrap()
    }

    fn receipt(items: &[(&str, &str, u32)]) -> Receipt {
        let item = |(kind, source, tokens): &(&str, &str, u32)| ReceiptItem {
            kind: (*kind).to_owned(),
            source: (*source).to_owned(),
            tokens: *tokens,
        };
        Receipt { items: items.iter().map(item).collect(), tokens: 70, reason: None }
    }

    /// Lines 2 to 4 of `a.rs`, line 7 of `c.rs`, and a memory that quotes code.
    pub(crate) fn code() -> GradedPack {
        let block = "<muninn-context>\nAdded.\n\n## a.rs:2-4 @ab12\n````rust\nlet a;\n```\nlet b;\n````\n\n\
                     ## memory 01, 2026-01-01\n```markdown\n## a.rs:2-4 @ab12\n```\n\n\
                     ## c.rs:7-7 @ab12\n```rust\nlet c;\n```\n</muninn-context>\n";
        let receipt = receipt(&[("code", "a.rs:2-4", 20), ("memory", "01", 9), ("code", "c.rs:7-7", 9)]);
        GradedPack::of(&receipt, Some(block), &[], &useful()).unwrap()
    }

    /// `a.rs:2-3`, `a.rs:4-7`, `c.rs:1-9` and `b.rs`.
    pub(crate) fn map() -> GradedPack {
        let places = ["a.rs:2-3", "a.rs:4-7", "c.rs:1-9", "b.rs"].map(|source| ("place", source, 5));
        GradedPack::of(&receipt(&places), Some(""), &[], &useful()).unwrap()
    }

    #[test]
    fn code_is_graded_line_by_line() {
        let pack = code();
        let lines: Vec<_> = pack.lines().collect();
        assert_eq!(lines, [("a.rs", 2, true), ("a.rs", 3, true), ("a.rs", 4, false), ("c.rs", 7, false)]);
        let [a, c] = &pack.items[..] else { panic!("{pack:?}") };
        let of_lines = |lines: &[&str]| lines.iter().map(|line| tokens::count(&format!("{line}\n"))).sum::<u32>();
        assert_eq!(a.tokens, of_lines(&["let a;", "```", "let b;"]));
        assert_eq!(a.useful_tokens, of_lines(&["let a;", "```"]));
        assert_eq!((a.useful_file, c.useful_file, c.useful_tokens), (true, false, 0));
        assert_eq!((pack.found.len(), pack.missed.first().unwrap().as_str()), (1, "b.rs"));
    }

    #[test]
    fn places_are_graded_by_file_and_by_range() {
        let pack = map();
        let files: Vec<bool> = pack.items.iter().map(|item| item.useful_file).collect();
        assert_eq!(files, [true, true, false, true]);
        let ranges: Vec<Option<bool>> = pack.items.iter().map(|item| item.useful_range).collect();
        assert_eq!(ranges, [Some(true), Some(false), Some(false), None]);
        let tokens: Vec<u32> = pack.items.iter().map(|item| item.useful_tokens).collect();
        assert_eq!(tokens, [5, 0, 0, 0]);
        assert!(pack.missed.is_empty() && pack.lines().next().is_none());
        let earlier = receipt(&[("place", "b.rs", 5), ("place", "c.rs:1-2", 5)]);
        let pack = GradedPack::of(&Receipt::default(), None, &[earlier], &useful()).unwrap();
        assert_eq!((pack.missed.len(), pack.earlier.first().unwrap().as_str()), (2, "b.rs"));
    }

    #[test]
    fn receipt_that_disagrees_with_the_block_is_an_error() {
        let receipt = receipt(&[("code", "a.rs:2-4", 20)]);
        assert!(GradedPack::of(&receipt, None, &[], &useful()).is_err());
        assert!(GradedPack::of(&Receipt::default(), Some(""), &[], &useful()).is_err());
        let error = GradedPack::of(&receipt, Some("## b.rs:2-4 @ab\n```\nx\n```\n"), &[], &useful()).unwrap_err();
        assert_eq!(error.to_string(), "a.rs:2-4 is not in the block");
        assert!(!GradedPack::of(&Receipt::default(), None, &[], &useful()).unwrap().packed);
    }
}
