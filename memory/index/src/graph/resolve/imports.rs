use muninn_code::syntax::Language;

use super::super::files::{Files, Given};
use super::package::{self, Packages};
use super::wanted::{MAX_TARGETS, Wanted};
use super::{include, python, rust, script};

/// The files to which the imports refer.
pub(crate) struct Imported {
    /// For each file, in the given order: its number, and the offset of its pairs in `found`.
    starts: Vec<(u32, usize)>,
    /// Pairs of an import's position in its file and a file to which it refers.
    found: Vec<(u32, u32)>,
}

impl Imported {
    /// Returns the imports of the file at a position, with the files to which they refer.
    pub(crate) fn of(&self, position: usize) -> &[(u32, u32)] {
        let start = self.starts.get(position).map_or(self.found.len(), |(_, start)| *start);
        let end = self.starts.get(position + 1).map_or(self.found.len(), |(_, start)| *start);
        &self.found[start..end]
    }

    /// Returns the pairs of an importing and an imported file, without duplicates. No file imports itself.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        self.starts.iter().enumerate().flat_map(|(position, (from, _))| {
            let mut to: Vec<u32> = self.of(position).iter().map(|(_, to)| *to).collect();
            to.sort_unstable();
            to.dedup();
            to.retain(|to| to != from);
            to.into_iter().map(|to| (*from, to))
        })
    }
}

/// Resolves the imports of all files.
pub(crate) fn imports(files: &Files<'_>, given: &[Given<'_>]) -> Imported {
    let packages = Packages::new(given);
    let mut imported = Imported { starts: Vec::with_capacity(given.len()), found: Vec::new() };
    let mut targets = Vec::new();
    for (number, path, syntax) in given {
        imported.starts.push((*number, imported.found.len()));
        let Some(language) = syntax.language else {
            continue;
        };
        let mut used = None;
        for (position, (import, taken)) in (0u32..).zip(syntax.each_import()) {
            let wanted = Wanted {
                from: path.as_str(),
                path: import,
                names: taken.iter().map(|(name, _)| syntax.name(*name)).collect(),
            };
            targets.clear();
            match language {
                Language::Rust => rust::resolve(files, &wanted, &mut targets),
                Language::Python => python::resolve(files, &wanted, &mut targets),
                Language::JavaScript | Language::TypeScript | Language::Tsx => {
                    targets.extend(script::resolve(files, &wanted));
                }
                Language::C | Language::Cpp => targets.extend(include::header(files, &wanted)),
                Language::Ruby => targets.extend(include::ruby(files, &wanted)),
                Language::Bash => targets.extend(include::shell(files, &wanted)),
                Language::Go | Language::Java | Language::CSharp | Language::Php => {
                    let used = used.get_or_insert_with(|| package::used(syntax));
                    packages.resolve(language, files, &wanted, used, &mut targets);
                }
            }
            targets.sort_unstable();
            targets.dedup();
            targets.truncate(MAX_TARGETS);
            imported.found.extend(targets.iter().map(|target| (position, *target)));
        }
    }
    imported
}
