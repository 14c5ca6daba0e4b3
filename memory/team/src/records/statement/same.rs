use super::super::kinds::{self, Body};
use super::super::record::Record;
use super::tokens::Tokens;

/// Nouns that mean the cited file, or a part of it, after `this`, and those that mean it after `the` as well.
const PARTS: [&str; 24] = [
    "binary", "class", "code", "component", "constant", "crate", "endpoint", "enum", "function", "interface", "job",
    "library", "macro", "method", "package", "procedure", "program", "query", "service", "struct", "test", "tests",
    "trait", "type",
];

const FILES: [&str; 15] = [
    "config", "configuration", "directory", "document", "file", "files", "folder", "header", "makefile", "manifest",
    "module", "modules", "page", "script", "template",
];

/// The most words between `this` and its noun: `this generated Rust file`.
const MOST_BETWEEN: usize = 2;

/// A statement without its harmless differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Statement {
    words: [u8; 16],
    /// A hash of the quoted spans; 0 without any.
    quotes: u64,
}

impl Statement {
    /// The statement of a text alone.
    pub fn of_text(text: &str) -> Self {
        StatementHasher::new("text").text(text).finish()
    }

    /// The statement of a claim: its text, its subject and, if the text refers to them, its files.
    pub fn of_claim<'f>(text: &str, subject: Option<&str>, files: impl Iterator<Item = &'f str>) -> Self {
        let mut hasher = StatementHasher::new("claim").text(text);
        if let Some(subject) = subject {
            hasher = hasher.part("subject").text(subject);
        }
        if refers_to_its_file(text) {
            hasher = hasher.names(files);
        }
        hasher.finish()
    }

    /// The statement of a record; `None` for a record that states nothing.
    pub fn of(record: &Record) -> Option<Self> {
        match &record.body {
            Body::Learning(kinds::Learning { text, subject, .. }) if !text.is_empty() => {
                let files = record.origin.sources.iter().map(|source| source.path.as_str());
                Some(Self::of_claim(text, subject.as_deref(), files))
            }
            Body::Pattern(kinds::Pattern { pattern, entities, .. }) if !pattern.is_empty() => {
                let hasher = StatementHasher::new("pattern").text(pattern);
                Some(hasher.names(entities.iter().map(String::as_str)).finish())
            }
            Body::Failure(kinds::Failure { attempt, outcome, .. }) if !attempt.is_empty() => {
                let hasher = StatementHasher::new("failure").text(attempt);
                Some(hasher.part("outcome").text(outcome).finish())
            }
            _ => None,
        }
    }

    /// Returns whether two statements are the same. A text without quotes equals a text with quotes; two texts with quotes
    /// around different spans differ.
    pub fn equals(self, other: Self) -> bool {
        self.words == other.words && (self.quotes == other.quotes || self.quotes == 0 || other.quotes == 0)
    }

    /// A hash of the words: equal for statements that differ at most in their quotes.
    pub fn words(self) -> [u8; 16] {
        self.words
    }

    /// A hash of the quoted spans; `None` without any.
    pub fn quotes(self) -> Option<u64> {
        (self.quotes != 0).then_some(self.quotes)
    }
}

/// Returns whether a text refers to its file, as `this module` does. Such a text says another thing about each file.
pub fn refers_to_its_file(text: &str) -> bool {
    let words: Vec<String> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    let means_file = |at: usize| {
        let nouns: &[&[&str]] = match &*words[at] {
            "here" => return true,
            "it" | "its" => return at == 0,
            "this" | "these" if at == 0 => return true,
            "this" | "these" => &[&PARTS, &FILES],
            "the" => &[&FILES],
            _ => return false,
        };
        let mut next = words[at + 1..].iter().take(MOST_BETWEEN + 1);
        next.any(|word| nouns.iter().any(|nouns| nouns.contains(&word.as_str())))
    };
    (0..words.len()).any(means_file)
}

/// Hashes the parts of a statement.
struct StatementHasher {
    words: blake3::Hasher,
    quotes: blake3::Hasher,
    has_quotes: bool,
}

impl StatementHasher {
    fn new(kind: &str) -> Self {
        let hasher = Self { words: blake3::Hasher::new(), quotes: blake3::Hasher::new(), has_quotes: false };
        hasher.part(kind)
    }

    /// Begins a part. Newlines, which no word contains, separate parts and words.
    fn part(mut self, name: &str) -> Self {
        self.words.update(b"\n\n").update(name.as_bytes());
        self.quotes.update(&u64::MAX.to_le_bytes());
        self
    }

    fn text(mut self, text: &str) -> Self {
        let tokens = Tokens::of(text);
        for word in &tokens.words {
            self.words.update(b"\n").update(word.as_bytes());
        }
        for (first, last) in tokens.quoted {
            self.has_quotes = true;
            let span = [(first as u64).to_le_bytes(), (last as u64).to_le_bytes()];
            self.quotes.update(&span.concat());
        }
        if tokens.has_stop_in_quotes {
            self.quotes.update(b".");
        }
        self
    }

    /// Adds names, in any order and each once.
    fn names<'n>(self, names: impl Iterator<Item = &'n str>) -> Self {
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        names.dedup();
        let mut hasher = self.part("names");
        for name in names {
            hasher.words.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes());
        }
        hasher
    }

    fn finish(self) -> Statement {
        let mut words = [0; 16];
        words.copy_from_slice(&self.words.finalize().as_bytes()[..16]);
        let mut quotes = [0; 8];
        if self.has_quotes {
            quotes.copy_from_slice(&self.quotes.finalize().as_bytes()[..8]);
        }
        Statement { words, quotes: u64::from_le_bytes(quotes) }
    }
}

#[cfg(test)]
mod tests;
