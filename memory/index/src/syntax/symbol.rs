use memchr::memmem;
use muninn_code::syntax::DefinitionKind;

use super::entries::{CallEntry, NameId, Syntax};

/// A defined symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol<'a> {
    pub name: &'a str,
    pub kind: DefinitionKind,
    /// The line of its name.
    pub line: u32,
    /// The containing type or module.
    pub container: Option<&'a str>,
}

impl Syntax {
    /// What it defines, in the order of the text.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol<'_>> {
        self.symbols.iter().map(|symbol| Symbol {
            name: self.name(symbol.name),
            kind: symbol.kind,
            line: symbol.line,
            container: Some(self.name(symbol.container)).filter(|name| !name.is_empty()),
        })
    }

    /// Returns whether the file calls a name.
    pub(crate) fn calls(&self, name: &str) -> bool {
        let named = |call: &CallEntry| self.name(call.name) == name;
        memmem::find(self.names.text().as_bytes(), name.as_bytes()).is_some() && self.calls.iter().any(named)
    }

    /// The name at a position; empty for none.
    pub(crate) fn name(&self, id: NameId) -> &str {
        let at = (id as usize).checked_sub(1);
        at.and_then(|at| self.names.get(at)).unwrap_or_default()
    }

    /// Upper bound of [`NameId`].
    pub(crate) fn names(&self) -> usize {
        self.names.len() + 1
    }

    /// Each import's path with its names and aliases.
    pub(crate) fn each_import(&self) -> impl Iterator<Item = (&str, &[(NameId, NameId)])> {
        let mut from = 0;
        self.imports.iter().map(move |import| {
            let taken = self.taken.get(from..from + import.taken as usize).unwrap_or_default();
            from += import.taken as usize;
            (self.name(import.path), taken)
        })
    }
}
