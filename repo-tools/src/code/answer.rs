//! What the questions are answered with.

use serde::Serialize;

use crate::cut::Cuts;
use crate::path::RelPath;
use crate::syntax::{Definition, DefinitionKind, Lines, Parsed};

/// A definition and where it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: DefinitionKind,
    /// What it belongs to.
    pub container: Option<String>,
    /// The file.
    pub path: RelPath,
    /// All of it, with the comments before it.
    pub lines: Lines,
    /// The line of its name.
    pub line: u32,
    /// Its signature on one line.
    pub signature: String,
}

/// What a confidence rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Nothing else has this name.
    Unique,
    /// It is in the same file.
    SameFile,
    /// The file imports it.
    Imported,
    /// It is named together with what it belongs to.
    Qualified,
    /// It is in the same directory.
    SameDirectory,
    /// One of several with this name.
    Ambiguous,
    /// Nothing here defines it.
    External,
    /// The name stands in a text that was not parsed, or in a comment or string.
    Textual,
}

/// A definition that may be the one that is meant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoredDefinition {
    /// The definition.
    #[serde(flatten)]
    pub symbol: Symbol,
    /// From 0 to 1.
    pub confidence: f32,
    /// Why.
    pub basis: Basis,
}

/// The answer of [`super::definition`].
#[derive(Debug, Default, Serialize)]
pub struct Definitions {
    /// The likeliest first.
    pub definitions: Vec<ScoredDefinition>,
    /// Files that were parsed.
    pub parsed: usize,
    /// Which bounds were reached.
    pub cuts: Cuts,
}

/// How a name is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageKind {
    /// It is called, constructed or expanded.
    Call,
    /// It is imported.
    Import,
    /// It stands for a type.
    Type,
    /// It is used in another way.
    Other,
    /// It stands in a comment, a string, or a file that is not parsed.
    Text,
}

/// One use of a name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Usage {
    /// The file.
    pub path: RelPath,
    /// The line, counted from 1.
    pub line: u32,
    /// How.
    pub kind: UsageKind,
    /// The definition around it, with what that belongs to.
    pub inside: Option<String>,
    /// The line, shortened.
    pub text: String,
    /// From 0 to 1: that it means what was asked for.
    pub confidence: f32,
    /// Why.
    pub basis: Basis,
}

/// The answer of [`super::references`].
#[derive(Debug, Default, Serialize)]
pub struct References {
    /// By path and line.
    pub references: Vec<Usage>,
    /// How many definitions of that name there are.
    pub definitions: usize,
    /// Files that were parsed.
    pub parsed: usize,
    /// Which bounds were reached.
    pub cuts: Cuts,
}

/// A definition that calls.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Caller {
    /// The definition; `None` for code outside of all.
    pub symbol: Option<Symbol>,
    /// The file.
    pub path: RelPath,
    /// The lines of the calls.
    pub calls: Vec<u32>,
    /// The highest of its calls, from 0 to 1.
    pub confidence: f32,
    /// Why.
    pub basis: Basis,
}

/// The answer of [`super::callers`].
#[derive(Debug, Default, Serialize)]
pub struct Callers {
    /// The likeliest first.
    pub callers: Vec<Caller>,
    /// How many definitions of that name there are.
    pub definitions: usize,
    /// Files that were parsed.
    pub parsed: usize,
    /// Which bounds were reached.
    pub cuts: Cuts,
}

/// Signatures are shown up to here, in bytes.
const MAX_SIGNATURE: usize = 200;

impl Symbol {
    pub(super) fn new(path: &RelPath, source: &str, parsed: &Parsed, definition: &Definition) -> Self {
        Self {
            name: definition.name.to_string(),
            kind: definition.kind,
            container: parsed.container(definition).map(str::to_owned),
            path: path.clone(),
            lines: definition.lines,
            line: definition.name_line,
            signature: signature(source, definition),
        }
    }

    /// Its name with what it belongs to.
    pub fn qualified(&self) -> String {
        match &self.container {
            Some(container) => format!("{container}.{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// The lines of a signature as one, without the body's brace.
fn signature(source: &str, definition: &Definition) -> String {
    let (first, last) = (definition.declared, definition.signature_last);
    let lines = source.lines().skip(first.saturating_sub(1) as usize);
    let mut text = String::new();
    for line in lines.take((last.saturating_sub(first) + 1) as usize) {
        for word in line.split_whitespace() {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(word);
        }
        if text.len() > MAX_SIGNATURE {
            break;
        }
    }
    let end = text.floor_char_boundary(MAX_SIGNATURE);
    let cut = end < text.len();
    text.truncate(end);
    if cut {
        text.push_str(" ...");
        return text;
    }
    text.trim_end().trim_end_matches(['{', ':']).trim_end().to_owned()
}
