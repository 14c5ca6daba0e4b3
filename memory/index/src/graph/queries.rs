use muninn_code::Basis;
use muninn_code::syntax::DefinitionKind;

use super::arrays::Graph;

/// The id of a definition: its position in the array of definitions, which is sorted by file and by position in the
/// text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DefinitionId(pub u32);

/// A definition with its location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Defined<'a> {
    pub id: DefinitionId,
    pub name: &'a str,
    pub kind: DefinitionKind,
    /// The number of the file.
    pub file: u32,
    /// The line of the name.
    pub line: u32,
    /// The name of the container.
    pub container: Option<&'a str>,
}

/// The location of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Site {
    /// Inside a definition.
    Definition(DefinitionId),
    /// In a file, outside of all definitions.
    File(u32),
}

/// A call that was resolved by name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call {
    /// The location of the call.
    pub from: Site,
    /// From 0 to 1.
    pub confidence: f32,
    /// The evidence for the confidence.
    pub basis: Basis,
}

impl Graph {
    /// Returns all definitions of a name, by file.
    pub fn definitions(&self, name: &str) -> impl Iterator<Item = Defined<'_>> {
        let found = self.names.find(name).map_or(&[] as &[_], |id| self.named(id));
        found.iter().filter_map(|id| self.definition(DefinitionId(*id)))
    }

    /// Returns all definitions whose names contain a text. Case is ignored.
    pub fn definitions_with(&self, part: &str) -> impl Iterator<Item = Defined<'_>> {
        let part = part.to_lowercase();
        let fits = move |id: &usize| {
            let name = self.names.get(*id);
            name.is_some_and(|name| name.to_lowercase().contains(&part))
        };
        let found = (0..self.names.len()).filter(fits).flat_map(|id| self.named(id));
        found.filter_map(|id| self.definition(DefinitionId(*id)))
    }

    pub fn definition(&self, id: DefinitionId) -> Option<Defined<'_>> {
        let entry = self.definitions.get(id.0 as usize)?;
        Some(Defined {
            id,
            name: self.name(entry.name),
            kind: entry.kind,
            file: entry.file,
            line: entry.line,
            container: (entry.container != u32::MAX).then(|| self.name(entry.container)),
        })
    }

    /// Returns the calls to a definition, by file.
    pub fn callers(&self, id: DefinitionId) -> impl Iterator<Item = Call> {
        self.callers.of(id.0).iter().map(|edge| Call {
            from: self.site(edge.end),
            confidence: f32::from(edge.percent) / 100.0,
            basis: edge.basis,
        })
    }

    fn named(&self, name: usize) -> &[u32] {
        self.by_name.of(u32::try_from(name).unwrap_or(u32::MAX))
    }

    fn name(&self, id: u32) -> &str {
        self.names.get(id as usize).unwrap_or_default()
    }

    fn site(&self, end: u32) -> Site {
        match (end as usize).checked_sub(self.definitions.len()) {
            Some(file) => Site::File(u32::try_from(file).unwrap_or(u32::MAX)),
            None => Site::Definition(DefinitionId(end)),
        }
    }

    /// Returns the numbers of definitions, import edges and call edges.
    pub fn size(&self) -> (usize, usize, usize) {
        (self.definitions.len(), self.imports, self.callers.len())
    }
}

#[cfg(test)]
mod tests;
