//! One pack, graded against the useful places of its prompt.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use muninn_text::tokens;
use serde::Serialize;

use super::prompts::Useful;
use crate::graded::turns::Receipt;

#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct GradedPack {
    pub(super) packed: bool,
    /// Why nothing, or only a part, was packed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    pub(super) tokens: u32,
    /// The items that name a place of the repository, in order.
    pub(super) items: Vec<GradedItem>,
    /// The useful files that they name.
    pub(super) found: BTreeSet<String>,
    /// The other useful files.
    pub(super) missed: BTreeSet<String>,
    /// The useful files that the packs of earlier turns name.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) earlier: BTreeSet<String>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct GradedItem {
    /// `code` or `place`.
    pub(super) kind: String,
    /// `path:first-last`, or a path.
    pub(super) source: String,
    #[serde(skip)]
    pub(super) path: String,
    /// The tokens of its lines for code, of its entry for a place.
    pub(super) tokens: u32,
    pub(super) useful_file: bool,
    /// Whether its range overlaps a useful range by half of the shorter one; `None` without a range.
    pub(super) useful_range: Option<bool>,
    /// Its tokens on useful lines; all or none of them for a place.
    pub(super) useful_tokens: u32,
    /// The emitted lines of code: their numbers in the file, and whether they are useful.
    #[serde(skip)]
    pub(super) lines: Vec<(usize, bool)>,
}

impl GradedPack {
    /// Grades the pack of a receipt, whose code stands in the block that the backend got. `earlier` are the receipts of
    /// the turns before. Receipt and block must agree.
    pub(super) fn of(receipt: &Receipt, block: Option<&str>, earlier: &[Receipt], useful: &Useful) -> Result<Self> {
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
    pub(super) fn lines(&self) -> impl Iterator<Item = (&str, usize, bool)> {
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
pub(super) mod tests {
    use super::*;
    use crate::graded::turns::ReceiptItem;

    /// Useful: lines 2 to 3 and 8 to 9 of `a.rs`, lines 1 to 4 of `b.rs`.
    pub(in crate::packs) fn useful() -> Useful {
        serde_json::from_str(r#"[{"path":"a.rs","ranges":[[2,3],[8,9]]},{"path":"b.rs","ranges":[[1,4]]}]"#).unwrap()
    }

    fn receipt(items: &[(&str, &str)]) -> Receipt {
        let item = |(kind, source): &(&str, &str)| ReceiptItem {
            kind: (*kind).to_owned(),
            source: (*source).to_owned(),
            tokens: 5,
        };
        Receipt { items: items.iter().map(item).collect(), tokens: 70, reason: None }
    }

    /// Lines 2 to 4 of `a.rs`, line 7 of `c.rs`, and a memory that quotes code.
    pub(in crate::packs) fn code() -> GradedPack {
        let block = "<muninn-context>\nAdded.\n\n## a.rs:2-4 @ab12\n````rust\nlet a;\n```\nlet b;\n````\n\n\
                     ## memory 01, 2026-01-01\n```markdown\n## a.rs:2-4 @ab12\n```\n\n\
                     ## c.rs:7-7 @ab12\n```rust\nlet c;\n```\n</muninn-context>\n";
        let receipt = receipt(&[("code", "a.rs:2-4"), ("memory", "01"), ("code", "c.rs:7-7")]);
        GradedPack::of(&receipt, Some(block), &[], &useful()).unwrap()
    }

    /// `a.rs:2-3`, `a.rs:4-7`, `c.rs:1-9` and `b.rs`.
    pub(in crate::packs) fn map() -> GradedPack {
        let places = ["a.rs:2-3", "a.rs:4-7", "c.rs:1-9", "b.rs"].map(|source| ("place", source));
        GradedPack::of(&receipt(&places), Some(""), &[], &useful()).unwrap()
    }

    #[test]
    fn code_is_graded_line_by_line() {
        let pack = code();
        let lines: Vec<_> = pack.lines().collect();
        assert_eq!(lines, [("a.rs", 2, true), ("a.rs", 3, true), ("a.rs", 4, false), ("c.rs", 7, false)]);
        let of_lines = |lines: &[&str]| lines.iter().map(|line| tokens::count(&format!("{line}\n"))).sum::<u32>();
        let [a, c] = &pack.items[..] else { panic!("{pack:?}") };
        assert_eq!((a.tokens, a.useful_tokens), (of_lines(&["let a;", "```", "let b;"]), of_lines(&["let a;", "```"])));
        assert_eq!((a.useful_file, c.useful_file, c.useful_tokens), (true, false, 0));
        assert_eq!((pack.found.len(), pack.missed.first().unwrap().as_str()), (1, "b.rs"));
    }

    #[test]
    fn places_are_graded_by_file_and_by_range() {
        let items = map().items;
        let files: Vec<bool> = items.iter().map(|item| item.useful_file).collect();
        let ranges: Vec<Option<bool>> = items.iter().map(|item| item.useful_range).collect();
        let tokens: Vec<u32> = items.iter().map(|item| item.useful_tokens).collect();
        assert_eq!(files, [true, true, false, true]);
        assert_eq!(ranges, [Some(true), Some(false), Some(false), None]);
        assert_eq!(tokens, [5, 0, 0, 0]);
        let earlier = receipt(&[("place", "b.rs"), ("place", "c.rs:1-2")]);
        let pack = GradedPack::of(&Receipt::default(), None, &[earlier], &useful()).unwrap();
        assert_eq!((pack.missed.len(), pack.earlier.first().unwrap().as_str()), (2, "b.rs"));
    }
}
