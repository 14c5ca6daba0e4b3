//! The answers to code questions.

use muninn_base::RelPath;
use muninn_repo_tools::Cuts;
use serde::Serialize;

use crate::syntax::{Definition, DefinitionKind, Lines, Parsed};

/// A definition with its location.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Symbol {
    pub name: String,
    pub kind: DefinitionKind,
    /// The name of the enclosing type or module.
    pub container: Option<String>,
    /// The file.
    pub path: RelPath,
    /// The lines of the definition, including the comments before it.
    pub lines: Lines,
    /// The line of the name.
    pub line: u32,
    /// The signature, joined to one line.
    pub signature: String,
}

/// The evidence for a confidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// No other definition has this name.
    Unique,
    /// The definition is in the same file.
    SameFile,
    /// The file imports the definition.
    Imported,
    /// The name was given with its container.
    Qualified,
    /// The definition is in the same directory.
    SameDirectory,
    /// Several definitions have this name.
    Ambiguous,
    /// No file of the worktree defines the name.
    External,
    /// The name occurs in a comment, a string, or a file that was not parsed.
    Textual,
}

/// A definition with the confidence that it is the one in question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoredDefinition {
    #[serde(flatten)]
    pub symbol: Symbol,
    /// From 0 to 1.
    pub confidence: f32,
    /// The evidence for the confidence.
    pub basis: Basis,
}

/// The answer of [`super::definition`].
#[derive(Debug, Default, Serialize)]
pub struct Definitions {
    /// The definitions, the most likely first.
    pub definitions: Vec<ScoredDefinition>,
    /// The number of files that were parsed.
    pub parsed: usize,
    /// The limits that were reached.
    pub cuts: Cuts,
}

/// The way a name is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageKind {
    /// A call, a construction or a macro expansion.
    Call,
    Import,
    /// A type name.
    Type,
    /// Any other use in code.
    Other,
    /// A mention in a comment, a string, or a file that is not parsed.
    Text,
}

/// One use of a name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Usage {
    /// The file.
    pub path: RelPath,
    /// The line, counted from 1.
    pub line: u32,
    /// The way the name is used.
    pub kind: UsageKind,
    /// The enclosing definition, with its container.
    pub inside: Option<String>,
    /// The text of the line, shortened.
    pub text: String,
    /// The confidence, from 0 to 1, that the use refers to the definition in question.
    pub confidence: f32,
    /// The evidence for the confidence.
    pub basis: Basis,
}

/// The answer of [`super::references`].
#[derive(Debug, Default, Serialize)]
pub struct References {
    /// The uses, by path and line.
    pub references: Vec<Usage>,
    /// The number of definitions with that name.
    pub definitions: usize,
    /// The number of files that were parsed.
    pub parsed: usize,
    /// The limits that were reached.
    pub cuts: Cuts,
}

/// A definition whose code calls the name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Caller {
    /// The calling definition; `None` for code outside of all definitions.
    pub symbol: Option<Symbol>,
    /// The file.
    pub path: RelPath,
    /// The lines of the calls.
    pub calls: Vec<u32>,
    /// The confidence of its most certain call, from 0 to 1.
    pub confidence: f32,
    /// The evidence for the confidence.
    pub basis: Basis,
}

/// The answer of [`super::callers`].
#[derive(Debug, Default, Serialize)]
pub struct Callers {
    /// The callers, the most likely first.
    pub callers: Vec<Caller>,
    /// The number of definitions with that name.
    pub definitions: usize,
    /// The number of files that were parsed.
    pub parsed: usize,
    /// The limits that were reached.
    pub cuts: Cuts,
}

/// Maximum length of a shown signature, in bytes.
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

    /// Returns the name, prefixed with its container.
    pub fn qualified(&self) -> String {
        match &self.container {
            Some(container) => format!("{container}.{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// Joins the lines of a signature to one, without the body's brace.
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
