use std::cmp::Reverse;
use std::time::Instant;

use muninn_index::{Snapshot, Span, digest, language};
use muninn_repo_tools::read_text;
use muninn_text::lexical::{DocId, Tokenizer};
use muninn_text::redact;
use muninn_text::redact::redact_file;

use super::packer::{DeadlineExceeded, FileContent, PackFile, Packed, Packer, Pick};
use crate::cost::measure;
use crate::item::{Item, ItemKind};
use crate::prior_context::PriorContext;
use crate::rank::Candidate;

/// Minimum probability that a packed chunk is useful. The best chunk of the best file, and of a file that the question
/// names, is always packed.
const USEFUL: f32 = 0.25;

/// Maximum number of spans of code.
const SPANS: usize = 6;

/// Maximum number of further files, each with a signature.
const RUNNERS_UP: usize = 3;

/// Minimum probability that the best chunk of a further file is useful.
const PROBABLE: f32 = 0.06;

/// Number of lines of a signature.
const BRIEF: u32 = 2;

/// Number of matching lines of a definition that does not fit.
const EXCERPT: usize = 10;

/// Maximum number of title lines for an explorer.
const MAX_TITLES: usize = 15;

/// Maximum number of lines between two chunks that are packed as one span.
const GAP: u32 = 3;

/// The reason that is added for a file whose score was raised by context hits.
const REMEMBERED: &str = "; earlier sessions worked with it";

/// Maximum length of a line, in bytes. Longer lines are data. A span with a longer line is not packed.
const MAX_LINE_BYTES: usize = 4_000;

impl Packed {
    /// Returns the total tokens of the items.
    pub(crate) fn tokens(&self) -> u32 {
        self.items.iter().map(|item| item.tokens).fold(0, u32::saturating_add)
    }

    /// Returns whether packing found nothing at all, including text that the conversation already contains.
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty() && !self.known
    }
}

impl<'a> PackFile<'a> {
    pub(crate) fn of(text: &'a FileContent, prior: &'a PriorContext) -> Self {
        Self { text, lines: text.text.lines().collect(), known: prior.of(&text.path, &text.blob) }
    }

    fn body(&self, span: &Span) -> Option<&[&'a str]> {
        self.lines.get(span.first.saturating_sub(1) as usize..span.last as usize)
    }

    /// Returns the chunks that the conversation does not contain, best first.
    pub(crate) fn unseen(&self, mut picks: Vec<Pick>) -> Vec<Pick> {
        let is_known = |span: &Span| {
            let body = self.body(span);
            body.is_some_and(|body| self.known.contains(span.first, body.iter().copied()))
        };
        picks.retain(|pick| !is_known(&pick.span));
        picks
    }

    /// Returns the chunks that tell something: no blocks of imports, which name words that are explained elsewhere.
    pub(crate) fn telling(&self, mut picks: Vec<Pick>) -> Vec<Pick> {
        picks.retain(|pick| !self.body(&pick.span).is_some_and(is_import_block));
        picks
    }

    /// Returns a span as an item without score and reason, or `None` if one of its lines is too long.
    pub(crate) fn item(&self, span: &Span) -> Option<Item> {
        let (text, lines) = (self.text, &self.lines);
        let body = self.body(span)?;
        if body.iter().any(|line| line.len() > MAX_LINE_BYTES) {
            return None;
        }
        let title = lines.get(span.title.saturating_sub(1) as usize).map_or("", |line| line.trim());
        Some(Item {
            kind: ItemKind::Code,
            source: format!("{}:{}-{}", text.path, span.first, span.last),
            blob: Some(text.blob.clone()),
            date: None,
            confidence: None,
            origin: String::new(),
            title: title[..title.floor_char_boundary(200)].to_owned(),
            text: body.iter().map(|line| line.trim_end_matches('\r')).collect::<Vec<_>>().join("\n"),
            first_line: span.first,
            language: language(&text.path).0,
            tokens: 0,
            score: 0.0,
            gain: 0.0,
            why: String::new(),
        })
    }

    pub(crate) fn is_known(&self, item: &Item) -> bool {
        self.known.contains(item.first_line, item.text.lines())
    }
}

impl Packer<'_> {
    /// Adds the items of the best files. They use at most `budget` tokens, and fewer if the question is less probably about
    /// the repository.
    pub(crate) fn code(
        &self,
        (snapshot, candidates): (&Snapshot, &[Candidate]),
        relevance: f32,
        budget: u32,
        packed: &mut Packed,
    ) -> Result<(), DeadlineExceeded> {
        let mut budget = budget.min(most_tokens(relevance));
        let mut runners: Vec<Item> = Vec::new();
        let mut spans = 0;
        let mut is_first = true;
        for candidate in candidates {
            if Instant::now() >= self.deadline {
                return Err(DeadlineExceeded);
            }
            let must = candidate.named || is_first;
            let usefulness = candidate.chunks.iter().map(|chunk| chunk.usefulness).fold(0.0, f32::max);
            let is_useful = must || usefulness >= USEFUL;
            let is_runner = usefulness >= PROBABLE && runners.len() < RUNNERS_UP;
            if spans + runners.len() >= SPANS || !(is_useful || is_runner) {
                continue;
            }
            let Some((text, picks)) = self.current(snapshot, candidate) else {
                continue;
            };
            is_first = false;
            let file = PackFile::of(&text, self.prior);
            let mut picks = file.telling(picks);
            if is_useful {
                let best = picks.iter().map(|pick| pick.usefulness).fold(0.0, f32::max);
                let least = if must { best.min(USEFUL) } else { USEFUL };
                picks.retain(|pick| pick.usefulness >= least);
                let is_empty = picks.is_empty();
                let mut picks = file.unseen(picks);
                packed.known |= picks.is_empty() && !is_empty;
                picks.truncate(SPANS - spans - runners.len());
                let before = (packed.tokens(), packed.items.len());
                self.file(candidate, &file, picks, budget, packed);
                budget = budget.saturating_sub(packed.tokens().saturating_sub(before.0));
                spans += packed.items.len() - before.1;
            } else if let Some(brief) = self.brief(candidate, &file, &picks) {
                if file.is_known(&brief) { packed.known = true } else { runners.push(brief) }
            }
        }
        for runner in runners {
            if runner.tokens <= budget {
                budget -= runner.tokens;
                packed.items.push(runner);
            }
        }
        Ok(())
    }

    /// Returns the signature of a file's best chunk.
    fn brief(&self, candidate: &Candidate, file: &PackFile<'_>, picks: &[Pick]) -> Option<Item> {
        let pick = picks.first()?;
        let item = self.item(candidate, file, &Pick { span: signature(&pick.span), ..pick.clone() });
        item.map(|mut item| {
            measure(&mut item);
            item
        })
    }

    /// Returns the lines of a span, from its title on, that contain most words of the question.
    fn matching(&self, file: &PackFile<'_>, span: &Span, most: usize) -> Option<Span> {
        let first = span.title.clamp(span.first, span.last);
        let words = &self.question.concepts;
        let count = |line: &&str| {
            let line = line.to_lowercase();
            words.iter().filter(|concept| line.contains(&concept.word)).count()
        };
        let counts: Vec<usize> = file.body(&Span { first, ..*span })?.iter().map(count).collect();
        let sums = counts.windows(most.min(counts.len()).max(1)).map(|window| window.iter().sum::<usize>());
        // The first of equal windows.
        let (at, _) = sums.enumerate().max_by_key(|(at, sum)| (*sum, Reverse(*at)))?;
        let first = first + u32::try_from(at).unwrap_or(0);
        Some(Span { first, last: span.last.min(first + most as u32 - 1), ..*span })
    }

    /// Returns the signature of a definition that does not fit, and the lines of it that match the question.
    fn excerpts(&self, candidate: &Candidate, file: &PackFile<'_>, pick: &Pick) -> Vec<Item> {
        let signature = signature(&pick.span);
        let mut spans = vec![signature];
        match self.matching(file, &pick.span, EXCERPT) {
            Some(lines) if lines.first <= signature.last + GAP => spans[0].last = lines.last.max(signature.last),
            lines => spans.extend(lines),
        }
        spans.into_iter().filter_map(|span| self.item(candidate, file, &Pick { span, ..pick.clone() })).collect()
    }

    /// Returns the current text of a file and its matching chunks, best first. `None` if the file cannot be read or
    /// must not be shown.
    pub(crate) fn current(&self, snapshot: &Snapshot, candidate: &Candidate) -> Option<(FileContent, Vec<Pick>)> {
        let known = &snapshot.file(candidate.file).facts;
        let file = read_text(self.worktree, &known.path, self.max_file_bytes).ok()?;
        let text = FileContent {
            path: known.path.clone(),
            blob: file.blob.to_string(),
            text: redact_file(&file.text).into_owned(),
        };
        let picks = if file.blob == known.blob {
            let mut picks: Vec<Pick> = candidate
                .chunks
                .iter()
                .map(|chunk| Pick {
                    span: snapshot.span(chunk.doc),
                    score: chunk.score,
                    concepts: chunk.concepts,
                    defines: chunk.defines,
                    usefulness: chunk.usefulness,
                })
                .collect();
            if picks.is_empty() {
                // The file matches by its path alone, so its first chunk represents it.
                let first = snapshot.spans_of(candidate.file).start;
                let chunk = DocId(first);
                if !snapshot.spans_of(candidate.file).is_empty() {
                    picks.push(Pick {
                        span: snapshot.span(chunk),
                        score: 0.0,
                        concepts: 0,
                        defines: 0,
                        usefulness: 0.0,
                    });
                }
            }
            picks
        } else {
            let mut picks = self.current_chunks(&text);
            // The chunks of the indexed version are rated, the current ones have the same order.
            for (pick, rated) in picks.iter_mut().zip(&candidate.chunks) {
                pick.usefulness = rated.usefulness;
            }
            picks
        };
        (!picks.is_empty()).then_some((text, picks))
    }

    /// Splits the current text of a file that changed since it was indexed, and returns the matching chunks, best
    /// first.
    pub(crate) fn current_chunks(&self, text: &FileContent) -> Vec<Pick> {
        let digest = digest(&mut Tokenizer::new(), &text.path, &text.text);
        let mut picks = Vec::new();
        for (at, span) in digest.spans.iter().enumerate() {
            let mut pick = Pick { span: *span, score: 0.0, concepts: 0, defines: 0, usefulness: 0.0 };
            for (term, _) in digest.bag(at) {
                for probe in self.query.probes.iter().filter(|probe| probe.term == term) {
                    pick.score += probe.weight * probe.idf;
                    pick.concepts |= u64::from(probe.covers) << probe.concept;
                    pick.defines |= u64::from(digest.names(at).any(|name| name == term)) << probe.concept;
                }
            }
            if pick.score > 0.0 {
                picks.push(pick);
            }
        }
        picks.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.span.first.cmp(&b.span.first)));
        picks
    }

    /// Adds the best chunks of a file that fit the budget. The chunks are in the order of their lines, and adjacent
    /// chunks are joined.
    fn file(&self, candidate: &Candidate, file: &PackFile<'_>, picks: Vec<Pick>, budget: u32, packed: &mut Packed) {
        let mut left = budget;
        let mut chosen: Vec<(Pick, Item)> = Vec::new();
        for pick in picks {
            let Some(mut item) = self.item(candidate, file, &pick) else {
                continue;
            };
            let cost = measure(&mut item);
            if cost <= left {
                left -= cost;
                chosen.push((pick, item));
            } else if chosen.is_empty() {
                for excerpt in self.excerpts(candidate, file, &pick) {
                    let shortened = self.shortened(excerpt, left);
                    // The conversation may already contain the shortened item.
                    packed.known |= shortened.as_ref().is_some_and(|item| file.is_known(item));
                    let shortened = shortened.filter(|item| !file.is_known(item));
                    left = left.saturating_sub(shortened.as_ref().map_or(0, |item| item.tokens));
                    packed.items.extend(shortened);
                }
                return;
            }
        }
        chosen.sort_by_key(|(pick, _)| pick.span.first);
        let mut joined: Vec<(Pick, Option<Item>)> = Vec::new();
        for (pick, item) in chosen {
            match joined.last_mut() {
                Some((before, whole)) if pick.span.first <= before.span.last + GAP => {
                    join(before, &pick);
                    *whole = None;
                }
                _ => joined.push((pick, Some(item))),
            }
        }
        packed.items.extend(joined.into_iter().filter_map(|(pick, whole)| {
            whole.or_else(|| {
                let mut item = self.item(candidate, file, &pick)?;
                measure(&mut item);
                Some(item)
            })
        }));
    }

    fn item(&self, candidate: &Candidate, file: &PackFile<'_>, pick: &Pick) -> Option<Item> {
        let mut why = self.why(pick.concepts, pick.defines, candidate.path_concepts, candidate.named);
        if candidate.remembered {
            why.push_str(REMEMBERED);
        }
        Some(Item { score: candidate.score, why, ..file.item(&pick.span)? })
    }

    /// Returns the title line of a file's best chunk as an item.
    fn one_line(&self, candidate: &Candidate, file: &PackFile<'_>, picks: &[Pick]) -> Option<Item> {
        let mut pick = picks.first()?.clone();
        (pick.span.first, pick.span.last) = (pick.span.title, pick.span.title);
        let mut item = self.item(candidate, file, &pick)?;
        measure(&mut item);
        Some(item)
    }

    /// Returns one line for each of the best files: the location and the title of the file's best chunk.
    pub(crate) fn titles(&self, snapshot: &Snapshot, candidates: &[Candidate]) -> Vec<String> {
        let line = |candidate: &Candidate| {
            let (text, picks) = self.current(snapshot, candidate)?;
            let span = picks.first()?.span;
            let item = self.one_line(candidate, &PackFile::of(&text, self.prior), &picks)?;
            Some(format!("{}:{}-{}  {}", text.path, span.first, span.last, item.title))
        };
        candidates.iter().take(MAX_TITLES).filter_map(line).collect()
    }

    /// Truncates an item to those of its first lines that fit the budget; `None` if fewer than two lines fit.
    pub(crate) fn shortened(&self, mut item: Item, budget: u32) -> Option<Item> {
        // An entry of the journal keeps its name.
        let path = item.source.rsplit_once(':').filter(|_| item.first_line > 0);
        let path = path.map(|(path, _)| path.to_owned());
        let mut lines: Vec<String> = item.text.lines().map(str::to_owned).collect();
        while measure(&mut item) > budget {
            // The item keeps lines in proportion to the budget, and always loses at least one line, so that the loop
            // ends.
            let keep = (lines.len() as u64 * u64::from(budget) / u64::from(item.tokens.max(1))) as usize;
            lines.truncate(keep.min(lines.len() - 1));
            while lines.last().is_some_and(|line| line.trim().is_empty()) {
                lines.pop();
            }
            if lines.len() < 2 {
                return None;
            }
            item.text = lines.join("\n");
            let last = item.first_line as usize + lines.len() - 1;
            if let Some(path) = &path {
                item.source = format!("{path}:{}-{last}", item.first_line);
            }
        }
        Some(item)
    }

    /// Formats the reasons for the choice of an item.
    pub(crate) fn why(&self, concepts: u64, defines: u64, path: u64, named: bool) -> String {
        let words = |mask: u64| {
            let words = self.question.concepts.iter().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1);
            words.map(|(_, concept)| concept.word.as_str()).take(8).collect::<Vec<_>>().join(", ")
        };
        let mut reasons = Vec::new();
        if named {
            reasons.push("named in the question".to_owned());
        }
        for (label, mask) in [("defines", defines), ("matched", concepts), ("path", path)] {
            if mask != 0 {
                reasons.push(format!("{label}: {}", words(mask)));
            }
        }
        redact(&reasons.join("; ")).into_owned()
    }
}

/// Returns the first lines of a definition. A later chunk of a long one begins after its title.
fn signature(span: &Span) -> Span {
    let first = if span.title == 0 { span.first } else { span.title.min(span.last) };
    Span { first, last: span.last.min(first + BRIEF - 1), ..*span }
}

/// Returns the most tokens for a question that is about the repository with this probability: few at one half, where every
/// second pack is read in vain, and without a limit in effect at 1.
fn most_tokens(relevance: f32) -> u32 {
    const AT_HALF: f32 = 240.0;
    const RISE: f32 = 8_000.0;
    (AT_HALF + RISE * (relevance - 0.5).max(0.0).powi(2)) as u32
}

fn join(before: &mut Pick, pick: &Pick) {
    before.span.last = before.span.last.max(pick.span.last);
    if pick.score > before.score {
        before.span.title = pick.span.title;
        before.score = pick.score;
    }
    before.concepts |= pick.concepts;
    before.defines |= pick.defines;
}

/// The beginnings of lines that import.
const IMPORTS: [&str; 14] = [
    "#include", "export * from", "export {", "extern crate ", "from ", "import ", "import(", "mod ", "package ",
    "pub mod ", "pub use ", "require", "use ", "using ",
];

/// Returns whether most lines import something.
fn is_import_block(lines: &[&str]) -> bool {
    let (mut imports, mut others, mut is_open) = (0, 0, false);
    for line in lines.iter().map(|line| line.trim()) {
        let is_comment = ["//", "/*", "*", "#!", "--"].iter().any(|mark| line.starts_with(mark));
        if line.is_empty() || is_comment {
            continue;
        }
        let begins = IMPORTS.iter().any(|start| line.starts_with(start)) || line.contains("= require(");
        if begins || is_open {
            imports += 1;
            let ends = line.contains(['}', ')']);
            is_open = !ends && (is_open || line.contains(['{', '(']));
        } else {
            others += 1;
        }
    }
    imports > others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_imports_are_recognized_in_many_languages() {
        for block in [
            "use std::fmt;\nuse std::io::{\n    Read,\n    Write,\n};\n\nconst A: u8 = 1;",
            "// Copyright\npackage main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)",
            "from os import path\nimport sys",
            "#include <stdio.h>\n#include \"a.h\"",
            "const fs = require('fs');\nconst path = require('path');",
            "import { a,\n  b,\n} from 'c';\nexport * from './d';",
        ] {
            assert!(is_import_block(&block.lines().collect::<Vec<_>>()), "{block}");
        }
        for code in
            ["use std::fmt;\n\nfn main() {\n    run();\n}", "", "// use the force", "fn user() {}\nfn used() {}"]
        {
            assert!(!is_import_block(&code.lines().collect::<Vec<_>>()), "{code}");
        }
    }
}
