//! The tools that may be meant, and the many ways to write their names.

use serde_json::{Map, Value};

use super::error::{ArgumentsFault, CallError};

/// What of a model's words is repeated to it in an error, in characters.
const MAX_SHOWN: usize = 60;

/// A tool that a model was offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KnownTool<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// The names of its parameters, in the order in which values without a name are given.
    pub(crate) parameters: &'a [&'a str],
}

impl KnownTool<'_> {
    /// An error for a model whose arguments could not be read.
    pub(super) fn refusal(&self, fault: ArgumentsFault) -> CallError {
        let example = match self.parameters {
            [] => "{}".to_owned(),
            [first, ..] => format!("{{\"{first}\": ...}}"),
        };
        CallError::Arguments {
            tool: self.name.to_owned(),
            fault,
            example,
        }
    }

    /// Whether these can be its arguments: at least one, and none that it does not know.
    pub(super) fn fits(&self, arguments: &Map<String, Value>) -> bool {
        !arguments.is_empty() && arguments.keys().all(|key| self.parameters.contains(&key.as_str()))
    }
}

/// All tools that a model was offered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tools<'a>(pub(super) &'a [KnownTool<'a>]);

impl<'a> Tools<'a> {
    /// The tool of this name: in any case, behind a namespace (`functions.grep`, `default_api:grep`, `mcp__x__grep`),
    /// with a number behind it (`functions.grep:0`).
    pub(super) fn named(self, said: &str) -> Option<&'a KnownTool<'a>> {
        let said = said.trim().trim_matches(['"', '\'', '`', '(', ')']);
        if said.len() > 200 {
            return None;
        }
        let numbered = said.rsplit_once(':');
        let said = match numbered {
            Some((name, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => said,
        };
        let last = said.rsplit(['.', ':', '/']).next().unwrap_or(said);
        let last = last.rsplit("__").next().unwrap_or(last);
        self.exactly(said).or_else(|| self.exactly(last))
    }

    fn exactly(self, said: &str) -> Option<&'a KnownTool<'a>> {
        let same = |a: u8, b: u8| a.eq_ignore_ascii_case(&b) || matches!((a, b), (b'-', b'_') | (b'_', b'-'));
        let is = |name: &str| name.len() == said.len() && name.bytes().zip(said.bytes()).all(|(a, b)| same(a, b));
        self.0.iter().find(|tool| is(tool.name))
    }

    /// [`Self::named`], or what to tell the model.
    pub(super) fn meant(self, said: &str) -> Result<&'a KnownTool<'a>, CallError> {
        self.named(said).ok_or_else(|| {
            let names: Vec<&str> = self.0.iter().map(|tool| tool.name).collect();
            CallError::UnknownTool {
                said: shown(said),
                known: names.join(", "),
            }
        })
    }
}

/// The beginning of what a model wrote.
pub(super) fn shown(said: &str) -> String {
    said.trim().chars().take(MAX_SHOWN).collect()
}
