//! Packing a map: places for a client that can read files itself.
//!
//! A client with file tools has to read a file before it may change it, so a body in the prompt is often paid twice. A
//! map names the places that the client would otherwise search for. Each entry must be worth its tokens, see
//! [`crate::value`]: the best files get line ranges with a signature and a reason, the others only their paths.

use std::collections::HashSet;
use std::time::Instant;

use muninn_index::{FileFacts, Snapshot};
use muninn_repo_tools::stat;

use super::{DeadlineExceeded, PackFile, Packed, Packer, Pick};
use crate::cost::measure;
use crate::item::{Item, ItemKind};
use crate::rank::Candidate;
use crate::value::{Prices, news};

/// Maximum number of places with lines.
const PLACES: usize = 8;
/// Maximum number of line ranges of one file.
const RANGES: usize = 3;
/// Minimum number of tokens that a line range adds to a path. A file whose ranges are worth less is not read.
const MIN_RANGE_TOKENS: u32 = 6;
/// Maximum length of a signature, in bytes.
const MAX_SIGNATURE: usize = 120;
/// Maximum number of words in a reason.
const WORDS: usize = 4;

impl Packer<'_> {
    /// Adds places for at most `budget` tokens, best first, as long as each is worth its price. `relevance` is the
    /// probability that the question is about the repository, times the factor on expected gains; `files` is the number of
    /// the repository's files.
    pub(crate) fn map(
        &self,
        (snapshot, candidates): (&Snapshot, &[Candidate]),
        (prices, relevance, files): (&Prices, f32, usize),
        mut budget: u32,
        packed: &mut Packed,
    ) -> Result<(), DeadlineExceeded> {
        budget = budget.min(most_tokens(relevance));
        let (mut places, mut paths, mut named) = (0, Vec::new(), 0);
        for (rank, candidate) in candidates.iter().enumerate() {
            if Instant::now() >= self.deadline {
                return Err(DeadlineExceeded);
            }
            let facts = &snapshot.file(candidate.file).facts;
            let pays = places < PLACES && prices.of_range(rank, 0, relevance) >= prices.of_tokens(MIN_RANGE_TOKENS);
            let (mut path, ranges) = if pays || self.prior.has_read(&facts.path) || !self.is_unchanged(facts) {
                match self.read(snapshot, candidate) {
                    None => continue,
                    Some((_, None)) => {
                        packed.known = true;
                        continue;
                    }
                    Some((path, Some(ranges))) => (path, ranges),
                }
            } else {
                (self.path(facts, candidate), Vec::new())
            };
            path.gain = prices.of_file(rank, relevance * news(named + 1, files));
            let path_cost = measure(&mut path);
            let path_pays = path_cost <= budget && prices.of_tokens(path_cost) <= path.gain;
            let mut of_path = if path_pays { (path_cost, path.gain) } else { (0, 0.0) };
            let mut has_range = false;
            for (nth, mut item) in ranges.into_iter().take(PLACES - places).enumerate() {
                // The first range names the file, too.
                let (path_cost, path_gain) = std::mem::take(&mut of_path);
                let beyond_path = measure(&mut item).saturating_sub(path_cost);
                let gain = prices.of_range(rank, nth, relevance);
                if item.tokens > budget || prices.of_tokens(beyond_path) > gain {
                    break;
                }
                item.gain = gain + path_gain;
                has_range = true;
                if self.prior.contains_item(&item) {
                    packed.known = true;
                } else {
                    budget -= item.tokens;
                    places += 1;
                    packed.items.push(item);
                }
            }
            if has_range {
                named += 1;
                continue;
            }
            if !path_pays {
                continue;
            }
            if self.prior.mentions(&path.source) {
                packed.known = true;
            } else {
                budget -= path.tokens;
                named += 1;
                paths.push(path);
            }
        }
        packed.items.append(&mut paths);
        Ok(())
    }

    /// Returns a line range with its signature.
    fn range(&self, candidate: &Candidate, file: &PackFile<'_>, pick: &Pick) -> Option<Item> {
        let item = file.item(&pick.span)?;
        let mut text = item.title.replace('`', "'");
        text.truncate(text.floor_char_boundary(MAX_SIGNATURE));
        Some(Item {
            kind: ItemKind::Place,
            text,
            language: "",
            score: candidate.score,
            why: self.reason(pick, candidate),
            ..item
        })
    }

    /// Returns a file's path and its best line ranges, which are `None` if the conversation contains all of them. Returns
    /// `None` if the file cannot be read or must not be shown.
    fn read(&self, snapshot: &Snapshot, candidate: &Candidate) -> Option<(Item, Option<Vec<Item>>)> {
        let (text, picks) = self.current(snapshot, candidate)?;
        let path = Item { blob: Some(text.blob.clone()), ..self.path(&snapshot.file(candidate.file).facts, candidate) };
        let file = PackFile::of(&text, self.prior);
        let mut picks = file.telling(picks);
        // A long definition has several chunks with one title.
        let mut titles = HashSet::new();
        picks.retain(|pick| titles.insert(pick.span.title));
        let is_empty = picks.is_empty();
        let picks = file.unseen(picks);
        let ranges = picks.iter().take(RANGES).filter_map(|pick| self.range(candidate, &file, pick));
        let ranges = (is_empty || !picks.is_empty()).then(|| ranges.collect());
        Some((path, ranges))
    }

    /// Returns whether a file has the size and the time of the indexed version. A path alone needs no text.
    fn is_unchanged(&self, facts: &FileFacts) -> bool {
        stat(self.worktree, &facts.path).is_ok_and(|(size, modified)| facts.fits(size, modified))
    }

    /// Returns a file by its path alone.
    fn path(&self, facts: &FileFacts, candidate: &Candidate) -> Item {
        Item {
            kind: ItemKind::Place,
            source: facts.path.to_string(),
            blob: Some(facts.blob.to_string()),
            date: None,
            confidence: None,
            origin: String::new(),
            title: String::new(),
            text: String::new(),
            first_line: 0,
            language: "",
            tokens: 0,
            score: candidate.score,
            gain: 0.0,
            why: self.why(candidate.concepts, 0, candidate.path_concepts, candidate.named),
        }
    }

    /// Formats the strongest reason for a range in a few words.
    fn reason(&self, pick: &Pick, candidate: &Candidate) -> String {
        let few = |mask: u64| {
            let mut left = WORDS;
            (0..u64::BITS).fold(0, |few, bit| {
                let has = mask >> bit & 1 == 1 && left > 0;
                left -= usize::from(has);
                few | (u64::from(has) << bit)
            })
        };
        match (pick.defines, pick.concepts) {
            _ if candidate.named => self.why(0, few(pick.defines), 0, true),
            (0, concepts) => {
                self.why(few(concepts), 0, if concepts == 0 { few(candidate.path_concepts) } else { 0 }, false)
            }
            (defines, _) => self.why(0, few(defines), 0, false),
        }
    }
}

/// Returns the most tokens of a map for a question that is about the repository with this probability. With its frame, a map
/// has at most 450.
fn most_tokens(relevance: f32) -> u32 {
    const AT_HALF: f32 = 145.0;
    const SLOPE: f32 = 850.0;
    const MOST: f32 = 395.0;
    (AT_HALF + SLOPE * (relevance - 0.5).max(0.0)).min(MOST) as u32
}
