//! The patterns of one ignore file, by git's rules.

use super::wildmatch;

/// Maximum number of patterns of a file.
pub(super) const MAX_PATTERNS: usize = 20_000;

/// The patterns of a file; later ones take precedence.
#[derive(Debug, Default)]
pub(super) struct Patterns(Vec<Pattern>);

#[derive(Debug)]
struct Pattern {
    /// Without a leading `!` and a slash at either end.
    text: Box<[u8]>,
    /// The length of the part before the first wildcard.
    literal: usize,
    /// Whether matches are kept.
    negated: bool,
    /// Whether only directories match.
    directory: bool,
    /// Whether the name is matched at any level, not the path.
    name_only: bool,
    /// Whether the pattern is `*` and a literal text.
    suffix: bool,
}

/// An entry to match.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<'p> {
    /// The path, with slashes.
    pub(super) path: &'p [u8],
    /// Whether it is a directory.
    pub(super) directory: bool,
}

impl Patterns {
    /// Parses a file; `None` if it has more than [`MAX_PATTERNS`].
    pub(super) fn parse(file: &[u8]) -> Option<Self> {
        let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
        let lines = file.split(|byte| *byte == b'\n').filter_map(|line| {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            // Git reads lines as C strings.
            let line = line.split(|byte| *byte == 0).next()?;
            Pattern::parse(without_trailing_spaces(line))
        });
        let patterns: Vec<Pattern> = lines.take(MAX_PATTERNS + 1).collect();
        (patterns.len() <= MAX_PATTERNS).then_some(Self(patterns))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the last matching pattern ignores the entry; `None` if no pattern matches. The path is relative to
    /// the directory of the file. `work` grows by the effort.
    pub(super) fn ignore(&self, candidate: Candidate<'_>, work: &mut u64) -> Option<bool> {
        *work += self.0.len() as u64 / 4 + 1;
        let name = memchr::memrchr(b'/', candidate.path).map_or(0, |slash| slash + 1);
        let name = &candidate.path[name..];
        let mut patterns = self.0.iter().rev();
        let last = patterns.find(|pattern| pattern.matches(name, candidate, work))?;
        Some(!last.negated)
    }
}

impl Pattern {
    fn parse(line: &[u8]) -> Option<Self> {
        if line.first().is_none_or(|first| *first == b'#') {
            return None;
        }
        let (negated, text) = match line.strip_prefix(b"!") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let (directory, text) = match text.strip_suffix(b"/") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let name_only = !text.contains(&b'/');
        let text = text.strip_prefix(b"/").unwrap_or(text);
        let literal = literal_len(text);
        Some(Self {
            literal,
            negated,
            directory,
            name_only,
            suffix: text.first() == Some(&b'*') && literal_len(&text[1..]) == text.len() - 1,
            text: text.into(),
        })
    }

    fn matches(&self, name: &[u8], candidate: Candidate<'_>, work: &mut u64) -> bool {
        if self.directory && !candidate.directory {
            return false;
        }
        let text = if self.name_only { name } else { candidate.path };
        if self.literal == self.text.len() {
            return *self.text == *text;
        }
        if self.suffix && self.name_only {
            return text.ends_with(&self.text[1..]);
        }
        // As in git, a `**` behind the literal part matches slashes: `a/b**` ignores `a/bc/d`.
        let (literal, wild) = self.text.split_at(self.literal);
        match text.strip_prefix(literal) {
            Some(rest) => wildmatch::matches(wild, rest, work),
            None => false,
        }
    }
}

/// The number of bytes before the first special one.
fn literal_len(text: &[u8]) -> usize {
    text.iter().position(wildmatch::is_special).unwrap_or(text.len())
}

/// Removes the spaces at the end of a line that no backslash protects. A line that ends in a backslash keeps them.
fn without_trailing_spaces(line: &[u8]) -> &[u8] {
    let (mut spaces, mut at) = (None, 0);
    while at < line.len() {
        if line[at] == b' ' {
            spaces.get_or_insert(at);
        } else {
            spaces = None;
        }
        at += if line[at] == b'\\' { 2 } else { 1 };
    }
    if at > line.len() {
        return line;
    }
    &line[..spaces.unwrap_or(line.len())]
}
