//! Pairs of sentences with what they are to each other, one JSON object a line.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// A pair and its label.
#[derive(Debug, Clone, Deserialize)]
pub struct Labelled {
    /// Names it.
    pub id: String,
    /// The first sentence.
    pub a: String,
    /// The second.
    pub b: String,
    /// What the first is to the second.
    pub label: Label,
    /// It was not looked at while the rules were made; absent where nothing was set apart.
    pub held: Option<bool>,
}

/// What the first sentence of a pair is to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Label {
    /// It says the same.
    Duplicate,
    /// It says all that the second does, and perhaps more.
    Entailment,
    /// Both cannot be so.
    Contradiction,
    /// Nothing of these.
    Neutral,
}

impl Label {
    /// Whether the second sentence adds nothing to the first.
    pub fn is_duplicate(self) -> bool {
        matches!(self, Self::Duplicate | Self::Entailment)
    }
}

/// Why there are no pairs.
#[derive(Debug, thiserror::Error)]
pub enum LabelledError {
    /// The file cannot be read.
    #[error("{0:?}")]
    Read(PathBuf, #[source] std::io::Error),
    /// A line, counted from 1, is no pair.
    #[error("{path:?}, line {line}: no labelled pair")]
    Format {
        /// The file.
        path: PathBuf,
        /// Which line.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The file has none.
    #[error("{0:?} holds no pairs")]
    Empty(PathBuf),
}

/// Reads a file of pairs.
///
/// # Errors
/// When it cannot be read, or a line is none, or there is no line.
pub fn read(path: &Path) -> Result<Vec<Labelled>, LabelledError> {
    let text = std::fs::read_to_string(path).map_err(|error| LabelledError::Read(path.to_owned(), error))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let pair = |(at, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|source| LabelledError::Format {
            path: path.to_owned(),
            line: at + 1,
            source,
        })
    };
    let pairs: Vec<Labelled> = lines.map(pair).collect::<Result<_, _>>()?;
    if pairs.is_empty() {
        return Err(LabelledError::Empty(path.to_owned()));
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_what_is_wrong_is_placed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.jsonl");
        let good = r#"{"id":"1","a":"x","b":"y","label":"entailment","relatedness":4.5}"#;
        std::fs::write(&path, format!("{good}\n\n{good}\n")).unwrap();
        let pairs = read(&path).unwrap();
        assert_eq!(
            (pairs.len(), pairs[0].label, pairs[0].held),
            (2, Label::Entailment, None)
        );
        std::fs::write(&path, format!("{good}\n{}\n", good.replace("entailment", "maybe"))).unwrap();
        assert!(matches!(read(&path), Err(LabelledError::Format { line: 2, .. })));
        std::fs::write(&path, "\n").unwrap();
        assert!(matches!(read(&path), Err(LabelledError::Empty(_))));
    }
}
