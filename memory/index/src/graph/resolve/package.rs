//! Imports that name a package or a namespace instead of a file: Go, Java, C#, PHP.
//!
//! A package has many files. An import refers only to the files that define a name which the importing file uses.

use std::collections::{HashMap, HashSet};

use muninn_code::syntax::{DefinitionKind, Language};

use super::{MAX_TARGETS, Wanted, include};
use crate::graph::files::{Files, Given, folder};
use crate::syntax::Syntax;

/// Maximum number of files that are taken if no used name selects the files of a package.
const MAX_UNTOLD: usize = 8;

/// The files of each package, and the names that they define.
pub(super) struct Packages<'a> {
    groups: HashMap<(Language, &'a str), Group<'a>>,
}

#[derive(Default)]
struct Group<'a> {
    files: Vec<u32>,
    defined: HashMap<&'a str, Vec<u32>>,
}

/// Returns the names that a file uses, except those that it imports.
pub(super) fn used(syntax: &Syntax) -> HashSet<&str> {
    let mut ids: Vec<u32> = syntax.types.to_vec();
    ids.extend(syntax.calls.iter().flat_map(|call| [call.name, call.qualifier]));
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter().map(|id| syntax.name(id)).filter(|name| !name.is_empty()).collect()
}

impl<'a> Packages<'a> {
    pub(super) fn new(given: &[Given<'a>]) -> Self {
        let mut groups: HashMap<(Language, &'a str), Group<'a>> = HashMap::new();
        for (number, path, syntax) in given {
            let name = match syntax.language {
                Some(Language::Go) if path.as_str().ends_with("_test.go") => continue,
                Some(Language::Go) => folder(path.as_str()),
                Some(Language::Java | Language::CSharp | Language::Php) => syntax.name(syntax.package),
                _ => continue,
            };
            let Some(language) = syntax.language else { continue };
            let group = groups.entry((language, name)).or_default();
            group.files.push(*number);
            for symbol in &syntax.symbols {
                // Only outer symbols are indexed, because members are found by their container. Namespaces are omitted,
                // because every file declares them.
                let outer = symbol.container == 0 || symbol.kind.is_type() || symbol.kind == DefinitionKind::TypeAlias;
                if outer && symbol.kind != DefinitionKind::Module {
                    let files = group.defined.entry(syntax.name(symbol.name)).or_default();
                    if files.last() != Some(number) {
                        files.push(*number);
                    }
                }
            }
        }
        Self { groups }
    }

    pub(super) fn resolve(
        &self,
        language: Language,
        files: &Files<'_>,
        wanted: &Wanted<'_>,
        used: &HashSet<&str>,
        targets: &mut Vec<u32>,
    ) {
        if language == Language::Go {
            if let Some(home) = files.go_package(wanted.path) {
                self.told(language, &home, used, targets);
            }
            return;
        }
        let separator = if language == Language::Php { '\\' } else { '.' };
        let path = wanted.path.trim_start_matches(separator);
        if wanted.names.is_empty() {
            self.told(language, path, used, targets);
            if targets.is_empty() {
                targets.extend(self.member(language, path, separator));
            }
            if targets.is_empty() && language == Language::Php {
                targets.extend(include::named(files, wanted.from, wanted.path));
            }
        }
        for name in &wanted.names {
            if *name == "*" {
                self.told(language, path, used, targets);
            } else {
                targets.extend(self.defines(language, path, name));
            }
            if targets.is_empty() {
                // The imported name can be a member of a type, or a nested type.
                targets.extend(self.member(language, path, separator));
            }
        }
    }

    fn defines<'s>(&'s self, language: Language, package: &'s str, name: &str) -> &'s [u32] {
        let group = self.groups.get(&(language, package));
        group.and_then(|group| group.defined.get(name)).map_or(&[], Vec::as_slice)
    }

    /// Returns the files of `a.b.C`, a type in a package.
    fn member(&self, language: Language, path: &str, separator: char) -> Vec<u32> {
        let mut path = path.split('<').next().unwrap_or(path);
        while let Some((package, name)) = path.rsplit_once(separator) {
            let found = self.defines(language, package, name);
            if !found.is_empty() {
                return found.to_vec();
            }
            path = package;
        }
        self.defines(language, "", path).to_vec()
    }

    /// Returns the files of a package that define a used name.
    fn told(&self, language: Language, package: &str, used: &HashSet<&str>, targets: &mut Vec<u32>) {
        let Some(group) = self.groups.get(&(language, package)) else {
            return;
        };
        let before = targets.len();
        if group.defined.len() < used.len() {
            let defined = group.defined.iter().filter(|(name, _)| used.contains(*name));
            targets.extend(defined.flat_map(|(_, files)| files));
        } else {
            targets.extend(used.iter().filter_map(|name| group.defined.get(name)).flatten());
        }
        if targets.len() == before {
            targets.extend(group.files.iter().take(MAX_UNTOLD));
        }
        targets.sort_unstable();
        targets.dedup();
        targets.truncate(MAX_TARGETS);
    }
}
