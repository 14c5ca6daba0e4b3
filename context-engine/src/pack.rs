//! Filling the budget.
//!
//! Depth, not breadth: a few files with their best chunks help a model more than one chunk each of many. The first file
//! may take two fifths of the budget, the next a quarter, and so on; what one leaves over the next may use. Files that
//! did not make it are named with one line each. What is packed is what the disk holds at this moment: a file that
//! changed since it was indexed is taken apart again, and one that is gone is left out. So are chunks that the
//! conversation holds already, as they are now; a file that has no others leaves its share to the next one.

mod cited;
mod remembered;

use std::time::Instant;

use muninn_memory::index::lexical::{DocId, Tokenizer};
use muninn_memory::redact;
use muninn_repo_tools::{RelPath, Worktree, read_text};

pub(crate) use self::remembered::Remembered;
use crate::already::{Held, PriorContext};
use crate::cost::measure;
use crate::item::{Item, ItemKind};
use crate::question::Question;
use crate::rank::{Candidate, Query};
use muninn_memory::index::language;
use muninn_memory::index::{Snapshot, Span, digest};

/// The shares of the files' budget, best file first.
const SHARES: &[f32] = &[0.4, 0.25, 0.15, 0.1, 0.1];
/// So many more files are named with one line.
const RUNNERS_UP: usize = 4;
/// A file whose score is a smaller part of the best one's is at most named.
const DEEP: f32 = 0.45;
const NAMED: f32 = 0.3;
/// A chunk whose score is a smaller part of its file's best is not packed.
const GOOD_CHUNK: f32 = 0.4;
const CHUNKS_PER_FILE: usize = 6;
/// So many files are told to an explorer.
const MOST_TITLES: usize = 15;
/// Chunks with so few lines between them are packed as one.
const GAP: u32 = 3;
/// Said of a file that is where it is by what was learned, too.
const REMEMBERED: &str = "; earlier sessions worked with it";
/// Longer lines are data; a span that holds one is not packed.
const MAX_LINE_BYTES: usize = 4_000;

/// Everything that packing needs to know.
pub(crate) struct Packer<'a> {
    pub(crate) worktree: &'a Worktree,
    pub(crate) max_file_bytes: u64,
    pub(crate) question: &'a Question,
    pub(crate) query: &'a Query,
    pub(crate) already: &'a PriorContext,
    pub(crate) deadline: Instant,
}

/// The deadline passed while packing.
pub(crate) struct Late;

/// What was packed.
#[derive(Default)]
pub(crate) struct Packed {
    pub(crate) items: Vec<Item>,
    /// Whether something was left out because the conversation holds it already.
    pub(crate) held: bool,
    /// The files of what is remembered. The index knows some of them too, and they are not to be packed twice.
    pub(crate) remembered: Vec<String>,
}

impl Packed {
    /// What the items cost together.
    pub(crate) fn tokens(&self) -> u32 {
        self.items.iter().map(|item| item.tokens).fold(0, u32::saturating_add)
    }

    /// Whether nothing was found, not even what the conversation holds.
    pub(crate) fn is_nothing(&self) -> bool {
        self.items.is_empty() && !self.held
    }
}

/// A file's text now, redacted.
struct Text {
    path: RelPath,
    blob: String,
    text: String,
}

/// A file that is packed from, with what the conversation holds of it.
struct File<'a> {
    text: &'a Text,
    lines: Vec<&'a str>,
    held: Held<'a>,
}

impl<'a> File<'a> {
    fn of(text: &'a Text, already: &'a PriorContext) -> Self {
        Self {
            text,
            lines: text.text.lines().collect(),
            held: already.of(&text.path, &text.blob),
        }
    }

    fn body(&self, span: &Span) -> Option<&[&'a str]> {
        self.lines
            .get(span.first.saturating_sub(1) as usize..span.last as usize)
    }

    /// Those of a file's chunks, best first, that are good beside its best one and not in the conversation.
    fn unseen(&self, mut picks: Vec<Pick>) -> Vec<Pick> {
        let best = picks.first().map_or(0.0, |pick| pick.score);
        let held = |span: &Span| {
            let body = self.body(span);
            body.is_some_and(|body| self.held.all(span.first, body.iter().copied()))
        };
        picks.retain(|pick| pick.score >= GOOD_CHUNK * best && !held(&pick.span));
        picks
    }

    /// A span of it, still without score and reason.
    fn item(&self, span: &Span) -> Option<Item> {
        let (text, lines) = (self.text, &self.lines);
        let body = self.body(span)?;
        if body.iter().any(|line| line.len() > MAX_LINE_BYTES) {
            return None;
        }
        let title = lines
            .get(span.title.saturating_sub(1) as usize)
            .map_or("", |line| line.trim());
        Some(Item {
            kind: ItemKind::Code,
            source: format!("{}:{}-{}", text.path, span.first, span.last),
            blob: Some(text.blob.clone()),
            date: None,
            confidence: None,
            title: title[..title.floor_char_boundary(200)].to_owned(),
            text: body
                .iter()
                .map(|line| line.trim_end_matches('\r'))
                .collect::<Vec<_>>()
                .join("\n"),
            first_line: span.first,
            language: language(&text.path).0,
            tokens: 0,
            score: 0.0,
            why: String::new(),
        })
    }

    fn holds(&self, item: &Item) -> bool {
        self.held.all(item.first_line, item.text.lines())
    }
}

/// A span that was chosen.
#[derive(Clone)]
struct Pick {
    span: Span,
    score: f32,
    concepts: u64,
    defines: u64,
}

impl Packer<'_> {
    /// Adds the items of the best files, for at most `budget` tokens.
    pub(crate) fn code(
        &self,
        snapshot: &Snapshot,
        candidates: &[Candidate],
        mut budget: u32,
        packed: &mut Packed,
    ) -> Result<(), Late> {
        let best = candidates.first().map_or(0.0, |candidate| candidate.score);
        let mut runners = Vec::new();
        let mut shares = SHARES.iter();
        let mut carried = 0.0;
        let whole = f64::from(budget);
        for candidate in candidates {
            if Instant::now() >= self.deadline {
                return Err(Late);
            }
            let deep = candidate.named || candidate.score >= DEEP * best;
            match shares.as_slice().first() {
                Some(share) if deep => {
                    let Some((text, picks)) = self.current(snapshot, candidate) else {
                        continue;
                    };
                    let file = File::of(&text, self.already);
                    let picks = file.unseen(picks);
                    if picks.is_empty() {
                        packed.held = true;
                        continue;
                    }
                    shares.next();
                    carried += f64::from(*share) * whole;
                    let allowed = f64::from(budget).min(carried) as u32;
                    let before = packed.tokens();
                    self.file(candidate, &file, picks, allowed, packed);
                    let spent = packed.tokens().saturating_sub(before);
                    carried -= f64::from(spent);
                    budget = budget.saturating_sub(spent);
                }
                _ if candidate.score >= NAMED * best && runners.len() < RUNNERS_UP => {
                    let current = self.current(snapshot, candidate);
                    runners.extend(current.and_then(|(text, picks)| {
                        let file = File::of(&text, self.already);
                        let line = self.one_line(candidate, &file, &picks)?;
                        let new = !file.holds(&line);
                        packed.held |= !new;
                        new.then_some(line)
                    }));
                }
                _ => {}
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

    /// A file's text and its good chunks, best first, both as the disk has them now. `None` if it cannot be shown.
    fn current(&self, snapshot: &Snapshot, candidate: &Candidate) -> Option<(Text, Vec<Pick>)> {
        let known = &snapshot.file(candidate.file).facts;
        let file = read_text(self.worktree, &known.path, self.max_file_bytes).ok()?;
        let text = Text {
            path: known.path.clone(),
            blob: file.blob.to_string(),
            text: redact(&file.text).into_owned(),
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
                })
                .collect();
            if picks.is_empty() {
                // Found by its path alone: what it begins with says what it is.
                let first = snapshot.spans_of(candidate.file).start;
                let chunk = DocId(first);
                if !snapshot.spans_of(candidate.file).is_empty() {
                    picks.push(Pick {
                        span: snapshot.span(chunk),
                        score: 0.0,
                        concepts: 0,
                        defines: 0,
                    });
                }
            }
            picks
        } else {
            self.taken_apart(&text)
        };
        (!picks.is_empty()).then_some((text, picks))
    }

    /// The chunks of a file that is not as it was indexed, by how much of the question each holds.
    fn taken_apart(&self, text: &Text) -> Vec<Pick> {
        let digest = digest(&mut Tokenizer::new(), &text.path, &text.text);
        let mut picks = Vec::new();
        for (at, span) in digest.spans.iter().enumerate() {
            let mut pick = Pick {
                span: *span,
                score: 0.0,
                concepts: 0,
                defines: 0,
            };
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

    /// Adds a file's chunks, best first as long as they fit, then in the order of their lines with neighbours joined.
    fn file(&self, candidate: &Candidate, file: &File<'_>, picks: Vec<Pick>, budget: u32, packed: &mut Packed) {
        let mut left = budget;
        let mut chosen: Vec<(Pick, Item)> = Vec::new();
        for pick in picks.into_iter().take(CHUNKS_PER_FILE) {
            let Some(mut item) = self.item(candidate, file, &pick) else {
                continue;
            };
            let cost = measure(&mut item);
            if cost <= left {
                left -= cost;
                chosen.push((pick, item));
            } else if chosen.is_empty() {
                // What fits of it may be all that was shown before.
                let shortened = self.shortened(item, budget);
                packed.held |= shortened.as_ref().is_some_and(|item| file.holds(item));
                packed.items.extend(shortened.filter(|item| !file.holds(item)));
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

    fn item(&self, candidate: &Candidate, file: &File<'_>, pick: &Pick) -> Option<Item> {
        let mut why = self.why(pick.concepts, pick.defines, candidate.path_concepts, candidate.named);
        if candidate.remembered {
            why.push_str(REMEMBERED);
        }
        Some(Item {
            score: candidate.score,
            why,
            ..file.item(&pick.span)?
        })
    }

    /// A runner-up: the line that says what its best chunk is.
    fn one_line(&self, candidate: &Candidate, file: &File<'_>, picks: &[Pick]) -> Option<Item> {
        let mut pick = picks.first()?.clone();
        (pick.span.first, pick.span.last) = (pick.span.title, pick.span.title);
        let mut item = self.item(candidate, file, &pick)?;
        item.why = format!("runner-up; {}", item.why);
        measure(&mut item);
        Some(item)
    }

    /// A line for each of the best files: where its best chunk is, and what it begins with.
    pub(crate) fn titles(&self, snapshot: &Snapshot, candidates: &[Candidate]) -> Vec<String> {
        let line = |candidate: &Candidate| {
            let (text, picks) = self.current(snapshot, candidate)?;
            let span = picks.first()?.span;
            let item = self.one_line(candidate, &File::of(&text, self.already), &picks)?;
            Some(format!("{}:{}-{}  {}", text.path, span.first, span.last, item.title))
        };
        candidates.iter().take(MOST_TITLES).filter_map(line).collect()
    }

    /// An item cut to its first lines, so that it fits; `None` if not even two lines do.
    fn shortened(&self, mut item: Item, budget: u32) -> Option<Item> {
        let path = item.source.rsplit_once(':').map(|(path, _)| path.to_owned());
        let mut lines: Vec<String> = item.text.lines().map(str::to_owned).collect();
        while measure(&mut item) > budget {
            // Whole lines in proportion, and always some fewer, so that it ends.
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

    /// What an item was chosen for, in words.
    fn why(&self, concepts: u64, defines: u64, path: u64, named: bool) -> String {
        let words = |mask: u64| {
            let words = self
                .question
                .concepts
                .iter()
                .enumerate()
                .filter(|(bit, _)| mask >> bit & 1 == 1);
            words
                .map(|(_, concept)| concept.word.as_str())
                .take(8)
                .collect::<Vec<_>>()
                .join(", ")
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

fn join(before: &mut Pick, pick: &Pick) {
    before.span.last = before.span.last.max(pick.span.last);
    if pick.score > before.score {
        before.span.title = pick.span.title;
        before.score = pick.score;
    }
    before.concepts |= pick.concepts;
    before.defines |= pick.defines;
}
