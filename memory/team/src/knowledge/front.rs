//! Front matter of knowledge files.

use muninn_repo_tools::GlobSet;
use muninn_repo_tools::front_matter::{Entry, FrontMatter, UnclosedFrontMatter};
use thiserror::Error;

/// The known keys.
pub const KEYS: [&str; 5] = ["type", "domain", "confidence", "source", "applies_to"];

/// Parsed front matter, and the text below it.
#[derive(Debug, Clone, PartialEq)]
pub struct Front<'t> {
    /// `convention`, `decision`, `glossary`, ...
    pub kind: Option<String>,
    pub domain: Option<String>,
    /// `high`, `medium`, `low` or a number, as 0.9, 0.6, 0.3 or that number.
    pub confidence: Option<f32>,
    pub source: Option<String>,
    /// Globs of the files that the document is about.
    pub applies_to: Vec<String>,
    /// The line of `applies_to`, counted from 1.
    pub applies_to_line: Option<u32>,
    /// Problems, sorted by line.
    pub problems: Vec<Problem>,
    /// Whether the front matter is valid or absent. If it is invalid, the whole file is text.
    pub understood: bool,
    /// The text below.
    pub body: &'t str,
    /// The first line of the text, counted from 1.
    pub body_line: u32,
}

/// A problem in front matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line, counted from 1.
    pub line: u32,
    pub kind: ProblemKind,
}

/// The kind of a problem in front matter.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProblemKind {
    /// The closing `---` is missing.
    #[error(transparent)]
    NeverClosed(#[from] UnclosedFrontMatter),
    /// A line that is neither a key nor part of one.
    #[error("this line of the front matter is neither `key: value` nor an item of a list")]
    Strange,
    #[error("`{key}` is no key of front matter")]
    UnknownKey { key: String },
    /// A repeated key; the first counts.
    #[error("`{key}` occurs twice; the first is used")]
    Twice { key: String },
    /// An invalid confidence.
    #[error("confidence is high, medium, low or a number from 0 to 1, not `{value}`")]
    Confidence { value: String },
    /// A malformed glob.
    #[error("`{glob}` in applies_to is not a valid glob")]
    Glob { glob: String },
}

/// Parses a file's front matter, if any.
pub fn front(text: &str) -> Front<'_> {
    let mut front = Front::without(text);
    let read = match FrontMatter::of(text) {
        Ok(None) => return front,
        Ok(Some(read)) => read,
        Err(error) => {
            front.broken(1, error.into());
            return front;
        }
    };
    if !read.unparsed_lines.is_empty() {
        read.unparsed_lines.iter().for_each(|line| front.broken(*line, ProblemKind::Strange));
        return front;
    }
    front.body = read.body;
    front.body_line = read.last_line + 1;
    front.kind = read.text("type");
    front.domain = read.text("domain");
    front.source = read.text("source");
    for (at, entry) in read.entries.iter().enumerate() {
        let key = entry.key.to_owned();
        if !KEYS.contains(&entry.key) {
            front.problem(entry.line, ProblemKind::UnknownKey { key });
        } else if read.entries[..at].iter().any(|before| before.key == entry.key) {
            front.problem(entry.line, ProblemKind::Twice { key });
        } else {
            front.read(entry);
        }
    }
    front
}

impl<'t> Front<'t> {
    fn without(text: &'t str) -> Self {
        Self {
            kind: None,
            domain: None,
            confidence: None,
            source: None,
            applies_to: Vec::new(),
            applies_to_line: None,
            problems: Vec::new(),
            understood: true,
            body: text,
            body_line: 1,
        }
    }

    fn broken(&mut self, line: u32, kind: ProblemKind) {
        self.understood = false;
        self.problem(line, kind);
    }

    fn problem(&mut self, line: u32, kind: ProblemKind) {
        self.problems.push(Problem { line, kind });
    }

    /// Parses a value that can be invalid.
    fn read(&mut self, entry: &Entry<'_>) {
        match entry.key {
            "confidence" => {
                let Some(value) = entry.text() else { return };
                self.confidence = confidence(&value);
                if self.confidence.is_none() {
                    self.problem(entry.line, ProblemKind::Confidence { value });
                }
            }
            "applies_to" => {
                self.applies_to_line = Some(entry.line);
                for glob in entry.list() {
                    if GlobSet::new([glob.as_str()]).is_ok() {
                        self.applies_to.push(glob);
                    } else {
                        self.problem(entry.line, ProblemKind::Glob { glob });
                    }
                }
            }
            _ => {}
        }
    }
}

/// Parses a confidence, from 0 to 1.
pub(super) fn confidence(word: &str) -> Option<f32> {
    match word {
        "high" => Some(0.9),
        "medium" => Some(0.6),
        "low" => Some(0.3),
        number => number.parse().ok().filter(|value| (0.0..=1.0).contains(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_key() {
        let text = "\u{feff}---\r\ntype: \"convention\"\r\ndomain: 'http'\r\nconfidence: medium\r\nsource: us\r\napplies_to:\r\n  - src/**\r\n  - \"*.proto\"\r\n---\r\n# A\r\n";
        let front = front(text);
        assert_eq!((front.kind.as_deref(), front.domain.as_deref()), (Some("convention"), Some("http")));
        assert_eq!((front.confidence, front.source.as_deref()), (Some(0.6), Some("us")));
        assert_eq!(front.applies_to, ["src/**", "*.proto"]);
        assert_eq!((front.body, front.body_line), ("# A\r\n", 10));
        assert_eq!(front.problems, []);
    }

    #[test]
    fn invalid_value_is_ignored_alone() {
        let text =
            "---\nconfidense: high\nconfidence: very\napplies_to: [*.rs, \"src/{a\"]\ndomain: a\ndomain: b\n---\n";
        let front = front(text);
        assert!(front.understood);
        assert_eq!((front.domain.as_deref(), front.confidence), (Some("a"), None));
        assert_eq!(front.applies_to, ["*.rs"]);
        let messages: Vec<_> = front.problems.iter().map(|p| format!("{} {}", p.line, p.kind)).collect();
        assert_eq!(
            messages,
            [
                "2 `confidense` is no key of front matter",
                "3 confidence is high, medium, low or a number from 0 to 1, not `very`",
                "4 `src/{a` in applies_to is not a valid glob",
                "6 `domain` occurs twice; the first is used",
            ]
        );
    }

    #[test]
    fn invalid_front_matter_is_text() {
        for (text, line) in [("---\ntype convention\nx: y\n---\n# A\n", 2), ("---\ntype: x\n# never closed\n", 1)] {
            let front = front(text);
            assert!(!front.understood && front.kind.is_none(), "{text}");
            assert_eq!((front.body, front.body_line), (text, 1));
            assert_eq!(front.problems[0].line, line);
        }
        assert!(front("").understood && front("# A\n").problems.is_empty());
    }

    #[test]
    fn confidence_is_a_word_or_a_number() {
        assert_eq!(confidence("medium"), Some(0.6));
        assert_eq!(confidence("0.75"), Some(0.75));
        assert_eq!(confidence("7"), None);
        assert_eq!(confidence("NaN"), None);
    }
}
