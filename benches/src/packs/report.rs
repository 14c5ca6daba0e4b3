//! The report of the benchmark. Shares are percent, taken over all prompts together, and `null` of nothing.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use super::graded::{GradedItem, GradedPack};
use super::prompts::Kind;
use crate::harness::stats::{median, percent};

#[derive(Debug, Clone, Serialize)]
pub(super) struct GradedPrompt {
    pub(super) id: String,
    pub(super) kind: Kind,
    #[serde(skip)]
    pub(super) file: String,
    pub(super) useful_lines: usize,
    pub(super) with_tools: GradedPack,
    pub(super) without_tools: GradedPack,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    #[serde(flatten)]
    all: Figures,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    split: BTreeMap<String, Figures>,
}

#[derive(Debug, Clone, Serialize)]
struct Figures {
    prompts: usize,
    on_topic: usize,
    with_tools: Admission,
    without_tools: Admission,
    code: CodeFigures,
    map: MapFigures,
}

/// The shares of prompts that got a pack.
#[derive(Debug, Clone, Serialize)]
struct Admission {
    on_topic: Option<f64>,
    off_topic: Option<f64>,
    kinds: BTreeMap<Kind, Option<f64>>,
}

#[derive(Debug, Clone, Serialize)]
struct CodeFigures {
    tokens_median: Option<f64>,
    tokens_in_useful_files: Option<f64>,
    tokens_on_useful_lines: Option<f64>,
    files_found: Option<f64>,
    lines_found: Option<f64>,
    /// In the first 100 emitted lines of each pack.
    lines_found_100: Option<f64>,
    lines_found_300: Option<f64>,
    lines_found_500: Option<f64>,
    context_efficiency: Option<f64>,
}

#[derive(Debug, Clone, Serialize)]
struct MapFigures {
    tokens_median: Option<f64>,
    all: Entries,
    ranged: Entries,
    first_five: Entries,
}

#[derive(Debug, Clone, Serialize)]
struct Entries {
    entries: usize,
    in_useful_files: Option<f64>,
    on_useful_ranges: Option<f64>,
    files_found: Option<f64>,
}

impl Report {
    pub(super) fn of(prompts: &[GradedPrompt], split: bool) -> Self {
        let mut files: BTreeMap<String, Vec<&GradedPrompt>> = BTreeMap::new();
        for prompt in prompts.iter().filter(|_| split) {
            files.entry(prompt.file.clone()).or_default().push(prompt);
        }
        Self {
            all: Figures::of(&prompts.iter().collect::<Vec<_>>()),
            split: files.into_iter().map(|(file, prompts)| (file, Figures::of(&prompts))).collect(),
        }
    }
}

impl Figures {
    fn of(prompts: &[&GradedPrompt]) -> Self {
        let on_topic: Vec<&GradedPrompt> = prompts.iter().copied().filter(|prompt| is_on_topic(prompt)).collect();
        let lines = on_topic.iter().map(|prompt| prompt.useful_lines).sum();
        let code: Vec<&GradedPack> = on_topic.iter().map(|prompt| &prompt.without_tools).collect();
        let maps: Vec<&GradedPack> = on_topic.iter().map(|prompt| &prompt.with_tools).collect();
        Self {
            prompts: prompts.len(),
            on_topic: on_topic.len(),
            with_tools: Admission::of(prompts, |prompt| &prompt.with_tools),
            without_tools: Admission::of(prompts, |prompt| &prompt.without_tools),
            code: CodeFigures::of(&code, lines),
            map: MapFigures::of(&maps),
        }
    }
}

impl Admission {
    fn of(prompts: &[&GradedPrompt], pack: fn(&GradedPrompt) -> &GradedPack) -> Self {
        let rate = |is_counted: &dyn Fn(&GradedPrompt) -> bool| {
            let counted = prompts.iter().filter(|prompt| is_counted(prompt));
            let packed = counted.clone().filter(|prompt| pack(prompt).packed);
            share(packed.count(), counted.count())
        };
        let kinds = prompts.iter().map(|prompt| prompt.kind);
        Self {
            on_topic: rate(&is_on_topic),
            off_topic: rate(&|prompt| !is_on_topic(prompt)),
            kinds: kinds.map(|kind| (kind, rate(&|prompt| prompt.kind == kind))).collect(),
        }
    }
}

impl CodeFigures {
    fn of(packs: &[&GradedPack], useful_lines: usize) -> Self {
        let items = || packs.iter().flat_map(|pack| &pack.items);
        let tokens: u32 = items().map(|item| item.tokens).sum();
        let in_files = items().filter(|item| item.useful_file).map(|item| item.tokens);
        let on_lines = items().map(|item| item.useful_tokens);
        let of_tokens = |part: u32| share(part as usize, tokens as usize);
        let found = |most: usize| share(packs.iter().map(|pack| useful_lines_of(pack, most)).sum(), useful_lines);
        let emitted = || packs.iter().flat_map(|pack| pack.lines());
        let useful = emitted().filter(|(_, _, is_useful)| *is_useful);
        Self {
            tokens_median: tokens_median(packs),
            tokens_in_useful_files: of_tokens(in_files.sum()),
            tokens_on_useful_lines: of_tokens(on_lines.sum()),
            files_found: files_found(packs, |_, _| true),
            lines_found: found(usize::MAX),
            lines_found_100: found(100),
            lines_found_300: found(300),
            lines_found_500: found(500),
            context_efficiency: share(useful.count(), emitted().count()),
        }
    }
}

/// The number of distinct useful lines among the first emitted ones.
fn useful_lines_of(pack: &GradedPack, first: usize) -> usize {
    let useful = pack.lines().take(first).filter(|(_, _, is_useful)| *is_useful);
    useful.collect::<HashSet<_>>().len()
}

impl MapFigures {
    fn of(packs: &[&GradedPack]) -> Self {
        Self {
            tokens_median: tokens_median(packs),
            all: Entries::of(packs, |_, _| true),
            ranged: Entries::of(packs, |_, item| item.useful_range.is_some()),
            first_five: Entries::of(packs, |at, _| at < 5),
        }
    }
}

/// Whether an item is counted, by its position in the pack, from 0, and its content.
type Selection = fn(usize, &GradedItem) -> bool;

impl Entries {
    fn of(packs: &[&GradedPack], selection: Selection) -> Self {
        let entries: Vec<&GradedItem> = packs.iter().flat_map(|pack| selected(pack, selection)).collect();
        let ranges: Vec<bool> = entries.iter().filter_map(|item| item.useful_range).collect();
        Self {
            entries: entries.len(),
            in_useful_files: share(entries.iter().filter(|item| item.useful_file).count(), entries.len()),
            on_useful_ranges: share(ranges.iter().filter(|is_useful| **is_useful).count(), ranges.len()),
            files_found: files_found(packs, selection),
        }
    }
}

fn selected(pack: &GradedPack, selection: Selection) -> impl Iterator<Item = &GradedItem> {
    let items = pack.items.iter().enumerate();
    items.filter(move |(at, item)| selection(*at, item)).map(|(_, item)| item)
}

/// The share of the useful files that the selected items name.
fn files_found(packs: &[&GradedPack], selection: Selection) -> Option<f64> {
    let found = |pack: &&GradedPack| {
        let paths = selected(pack, selection).filter(|item| item.useful_file).map(|item| &item.path);
        paths.collect::<HashSet<_>>().len()
    };
    let all = packs.iter().map(|pack| pack.found.len() + pack.missed.len());
    share(packs.iter().map(found).sum(), all.sum())
}

fn tokens_median(packs: &[&GradedPack]) -> Option<f64> {
    let packed = packs.iter().filter(|pack| pack.packed);
    median(packed.map(|pack| f64::from(pack.tokens)).collect())
}

fn is_on_topic(prompt: &GradedPrompt) -> bool {
    prompt.kind != Kind::OffTopic
}

/// A part in percent of the whole; `None` of nothing.
fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| percent(part as f64 / whole as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packs::graded::tests::{code, map, useful};

    fn report() -> Report {
        let nothing = GradedPack { missed: useful().0.into_keys().collect(), ..GradedPack::default() };
        let prompt = |file: &str, kind, with_tools, without_tools| GradedPrompt {
            id: String::new(),
            kind,
            file: file.to_owned(),
            useful_lines: if kind == Kind::OffTopic { 0 } else { useful().lines() },
            with_tools,
            without_tools,
        };
        let prompts = [
            prompt("a.tune", Kind::Bug, map(), code()),
            prompt("b.tune", Kind::How, map(), nothing),
            prompt("b.tune", Kind::OffTopic, GradedPack::default(), code()),
        ];
        Report::of(&prompts, true)
    }

    #[test]
    fn admission_is_counted_by_topic_kind_and_file() {
        let Report { all, split } = report();
        assert_eq!((all.with_tools.on_topic, all.with_tools.off_topic), (Some(100.0), Some(0.0)));
        assert_eq!((all.without_tools.on_topic, all.without_tools.off_topic), (Some(50.0), Some(100.0)));
        assert_eq!(all.without_tools.kinds[&Kind::How], Some(0.0));
        assert_eq!((split["b.tune"].code.files_found, split["a.tune"].with_tools.off_topic), (Some(0.0), None));
    }

    #[test]
    fn shares_of_code_are_taken_over_on_topic_prompts() {
        let (figures, pack) = (report().all.code, code());
        let tokens: u32 = pack.items.iter().map(|item| item.tokens).sum();
        let share = |part: u32| Some(percent(f64::from(part) / f64::from(tokens)));
        assert_eq!(figures.tokens_in_useful_files, share(pack.items[0].tokens));
        assert_eq!(figures.tokens_on_useful_lines, share(pack.items[0].useful_tokens));
        // One of two files in one of two prompts; two of eight lines.
        assert_eq!((figures.files_found, figures.lines_found), (Some(25.0), Some(12.5)));
        assert_eq!((figures.context_efficiency, figures.tokens_median), (Some(50.0), Some(70.0)));
    }

    #[test]
    fn line_recall_counts_the_first_lines_once() {
        let mut pack = code();
        let again = GradedItem { lines: vec![(3, true), (8, true)], ..pack.items[0].clone() };
        pack.items.push(again);
        assert_eq!([1, 4, 5, 6, 100].map(|first| useful_lines_of(&pack, first)), [1, 2, 2, 3, 3]);
    }

    #[test]
    fn entries_of_maps_are_counted_by_selection() {
        let figures = report().all.map;
        assert_eq!((figures.all.entries, figures.ranged.entries, figures.first_five.entries), (8, 6, 8));
        assert_eq!((figures.all.in_useful_files, figures.ranged.in_useful_files), (Some(75.0), Some(66.7)));
        assert_eq!(figures.all.on_useful_ranges, Some(33.3));
        assert_eq!((figures.all.files_found, figures.ranged.files_found), (Some(100.0), Some(50.0)));
    }
}
