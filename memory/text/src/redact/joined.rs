//! Finds secrets that a line end, a concatenation of strings or an escape divides.
//!
//! ```text
//! ghp_0123456789abcdef\        "sk-ant-api03-" +        muninn%2D0123...
//! 0123456789abcdef0123         "0123456789abcdef"
//! ```
//!
//! The pieces around such a *joint* are joined into a short text with the beginning of their line, and the rules read that.
//! Only secrets over a joint count; the others are found without it. Lines that merely follow each other are joined, too,
//! so a bare line end is not enough where the first piece is a secret by itself, or where only a name makes it one. Such a
//! *weak* joint can also put an innocent word before or behind a secret, so a few lines at a time are read by themselves.

use std::ops::Range;

use super::joint::{BEGINS_JOINT, Joint, PLACES, is_of_piece, joint};
use super::text::line_before;
use super::value::is_random;
use super::{Scanner, Secret};

/// The shortest text of pieces that can be a secret, and the longest that is joined, in bytes.
const SHORTEST: usize = 20;
const LONGEST: usize = 4 << 10;
/// The longest first piece, in bytes.
const LONGEST_PIECE: usize = 300;
/// The shortest piece that continues a secret which is one without it.
const LEAST_CONTINUATION: usize = 6;
/// The most lines that are read as one text, beside all of them: a secret ends there even if another word follows.
const MOST_LINES: usize = 4;
/// The most weak joints of one secret that are examined.
const MOST_EXAMINED: usize = 8;

/// The joined pieces.
#[derive(Default)]
struct Joined {
    text: String,
    /// The place of each byte in the original text.
    origin: Vec<Range<usize>>,
    /// The joints, by the place in `text` of the byte behind them; escapes by their own.
    joints: Vec<(usize, Joint)>,
}

impl Joined {
    fn push(&mut self, text: &str, piece: Range<usize>) {
        self.text.push_str(&text[piece.clone()]);
        self.origin.extend(piece.map(|at| at..at + 1));
    }
}

/// The secrets over joints, each with the rank of its rule.
pub(super) fn scan(scanner: &Scanner, text: &str) -> Vec<(usize, Secret)> {
    let Some(places) = PLACES.as_ref() else {
        return Vec::new();
    };
    let (mut found, mut done) = (Vec::new(), 0);
    let mut from = 0;
    while let Some(place) = places.find_at(text.as_bytes(), from) {
        let mut at = place.start().max(done);
        while at < place.end() {
            let Some((joint, end)) = BEGINS_JOINT[usize::from(text.as_bytes()[at])].then(|| joint(text, at)).flatten()
            else {
                at += 1;
                continue;
            };
            let before = text.as_bytes()[done..at].iter().rev().take(LONGEST_PIECE);
            let start = at - before.take_while(|byte| is_of_piece(**byte)).count();
            if start == at && !matches!(joint, Joint::Escape(_)) {
                at = end;
                continue;
            }
            let (joined, after) = join(text, start, (at, joint, end));
            let content = &joined.text[joined.text.len().min(line_before(text, start).len())..];
            if content.len() >= SHORTEST && is_mixed(content) {
                found.extend(over_joints(scanner, &joined));
            }
            (at, done) = (after, after);
        }
        // The last byte can begin the next place.
        from = done.max(place.end() - 1);
    }
    found
}

/// Whether a text has digits or many capitals, as tokens have and joined words have not.
fn is_mixed(text: &str) -> bool {
    let capitals = text.bytes().filter(u8::is_ascii_uppercase);
    text.bytes().any(|byte| byte.is_ascii_digit()) || capitals.count() > 5
}

/// Joins the pieces from `start` on, whose first joint is given. Returns them, and the place behind the last one.
fn join(text: &str, start: usize, first: (usize, Joint, usize)) -> (Joined, usize) {
    let bytes = text.as_bytes();
    let mut joined = Joined::default();
    let before = line_before(text, start).len();
    joined.push(text, start - before..start);
    let (mut from, mut next) = (start, Some(first));
    while let Some((at, joint, end)) = next {
        joined.push(text, from..at);
        joined.joints.push((joined.text.len(), joint));
        if let Joint::Escape(byte) = joint {
            joined.text.push(char::from(byte));
            joined.origin.push(at..end);
        }
        from = end;
        let at = piece_end(text, end);
        next = (joined.text.len() + (at - end) < LONGEST)
            .then(|| super::joint::joint(text, at))
            .flatten()
            .map(|(joint, end)| (at, joint, end));
        if next.is_none() {
            // With the quote that ends a string.
            let quote = bytes[at..].iter().take(2).take_while(|byte| matches!(byte, b'"' | b'\'' | b'\\')).count();
            joined.push(text, from..at + quote);
            from = at;
        }
    }
    (joined, from)
}

/// The end of a piece: the next joint, or a byte that is in no secret.
fn piece_end(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let is_end = |at: &usize| {
        let byte = bytes[*at];
        !is_of_piece(byte) || (BEGINS_JOINT[usize::from(byte)] && joint(text, *at).is_some())
    };
    (from..bytes.len().min(from + LONGEST)).find(is_end).unwrap_or_else(|| bytes.len().min(from + LONGEST))
}

/// The secrets that are divided by a joint, at their places in the original text.
fn over_joints(scanner: &Scanner, joined: &Joined) -> Vec<(usize, Secret)> {
    let weak = joined.joints.iter().filter(|(_, joint)| *joint == Joint::Weak);
    let mut bounds: Vec<usize> = std::iter::once(0).chain(weak.map(|(at, _)| *at)).collect();
    bounds.push(joined.text.len());
    let mut found = Vec::new();
    if bounds.len() > MOST_LINES + 1 {
        found.extend(divided(scanner, joined, 0..joined.text.len()));
    }
    for (first, start) in bounds.iter().enumerate() {
        for end in bounds[first + 1..].iter().take(MOST_LINES) {
            found.extend(divided(scanner, joined, *start..*end));
        }
    }
    found
}

/// The divided secrets of a part of the joined text. A secret ends at a weak joint behind which it does not go on.
fn divided(scanner: &Scanner, joined: &Joined, part: Range<usize>) -> Vec<(usize, Secret)> {
    let first = joined.joints.partition_point(|(at, _)| *at < part.start);
    let joints = joined.joints[first..].iter().take_while(|(at, _)| *at < part.end);
    // A weak joint begins the part, and divides nothing.
    let is_inside = |(at, joint): &&(usize, Joint)| matches!(joint, Joint::Escape(_)) || *at > part.start;
    let joints: Vec<(usize, Joint)> = joints.filter(is_inside).copied().collect();
    if joints.is_empty() || part.len() < SHORTEST {
        return Vec::new();
    }
    let by_name = scanner.rules.len();
    let mut found = scanner.scan_whole(&joined.text[part.clone()]);
    found.retain_mut(|(rank, secret)| {
        let mut range = part.start + secret.range.start..part.start + secret.range.end;
        let is_over = |range: &Range<usize>, (at, joint): &(usize, Joint)| match joint {
            Joint::Escape(_) => range.contains(at),
            Joint::Weak | Joint::Strong => range.start < *at && *at < range.end,
        };
        let weak = || joints.iter().filter(|(_, joint)| *joint == Joint::Weak);
        let line = weak().map(|(at, _)| *at).take_while(|at| *at <= range.start).last();
        let line = line.unwrap_or(part.start);
        let mut weak = weak().filter(|joint| is_over(&range, joint)).peekable();
        if *rank == by_name && weak.peek().is_some() {
            return false;
        }
        let end = weak.take(MOST_EXAMINED).find(|(at, _)| !continues(scanner, joined, &range, line, *at));
        if let Some((end, _)) = end {
            range.end = *end;
        }
        secret.range = joined.origin[range.start].start..joined.origin[range.end - 1].end;
        joints.iter().any(|joint| is_over(&range, joint))
    });
    found
}

/// Whether a secret of the line at `line` goes on behind the weak joint at `at`: it is none without the rest, or the rest
/// looks random.
fn continues(scanner: &Scanner, joined: &Joined, range: &Range<usize>, line: usize, at: usize) -> bool {
    let mut whole = scanner.scan_whole(&joined.text[line..at]).into_iter();
    let is_whole = whole.any(|(_, secret)| line + secret.range.end > range.start);
    let rest = &joined.text[at..range.end];
    !is_whole || (rest.len() >= LEAST_CONTINUATION && is_random(rest))
}
