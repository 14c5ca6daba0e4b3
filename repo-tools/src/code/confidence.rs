//! How sure it is that a name means a definition.
//!
//! A handful of rules, the strongest that applies counts. The numbers say how they compare; they are no measured
//! probabilities.

use super::answer::{Basis, Symbol, UsageKind};
use super::definition::is_test;
use crate::path::RelPath;
use crate::syntax::{DefinitionKind, Import, Language, Parsed};

/// What the file that uses a name says about it.
pub(super) struct Seen {
    path: RelPath,
    language: Option<Language>,
    imports: Vec<Import>,
}

impl Seen {
    pub(super) fn new(path: &RelPath, language: Option<Language>, parsed: &Parsed) -> Self {
        Self {
            path: path.clone(),
            language,
            imports: parsed.imports.clone(),
        }
    }

    /// Whether an import brings in `name` from the file of a definition, or that whole file.
    fn imports(&self, name: &str, symbol: &Symbol) -> bool {
        let stem = |path: &RelPath| {
            let stem = path.file_name().split('.').next().unwrap_or_default().to_owned();
            // A folder's own file stands for the folder.
            if matches!(stem.as_str(), "mod" | "index" | "__init__" | "lib") {
                path.parent().map_or(stem, |folder| folder.file_name().to_owned())
            } else {
                stem
            }
        };
        let module = stem(&symbol.path);
        let folder = symbol.path.parent().map(|folder| folder.file_name().to_owned());
        self.imports.iter().any(|import| {
            let path = import.path.trim_end_matches(".h").trim_end_matches(".hpp");
            let last = path
                .rsplit(['/', ':', '.', '\\'])
                .find(|part| !part.is_empty())
                .unwrap_or_default();
            let last = if path.ends_with(".js") || path.ends_with(".php") || path.ends_with(".rb") {
                path.rsplit(['/', '\\'])
                    .next()
                    .and_then(|name| name.split('.').next())
                    .unwrap_or(last)
            } else {
                last
            };
            let from_there = last == module || folder.as_deref() == Some(last);
            let named = import
                .names
                .iter()
                .any(|taken| &*taken.name == name || symbol.container.as_deref() == Some(&taken.name));
            let whole = import.names.is_empty() || import.names.iter().any(|taken| &*taken.name == "*");
            let module_taken = import.names.iter().any(|taken| *taken.name == *module);
            named && (from_there || last.is_empty() || matches!(last, "crate" | "super" | "self"))
                || whole && from_there
                || module_taken
        })
    }
}

/// The confidence of a definition among all of its name.
pub(super) fn of_definition(
    symbol: &Symbol,
    language: Option<Language>,
    all: &[(&Symbol, Option<Language>)],
    container: Option<&str>,
    seen: Option<&Seen>,
) -> (f32, Basis) {
    let real = |kind| kind != DefinitionKind::Prototype;
    let rivals = all.iter().filter(|(other, _)| real(other.kind)).count();
    let (mut confidence, basis) = match (container, seen) {
        (Some(container), _) if symbol.container.as_deref() == Some(container) => (0.95, Basis::Qualified),
        (Some(_), _) => (0.2, Basis::Ambiguous),
        (None, Some(seen)) if seen.path == symbol.path => (0.95, Basis::SameFile),
        (None, Some(seen)) if seen.imports(&symbol.name, symbol) => (0.9, Basis::Imported),
        _ if rivals <= 1 && real(symbol.kind) => (1.0, Basis::Unique),
        (None, Some(seen)) if seen.path.parent() == symbol.path.parent() => (0.7, Basis::SameDirectory),
        _ => (ambiguous(all.len()), Basis::Ambiguous),
    };
    if let Some(seen) = seen
        && !akin(seen.language, language)
    {
        confidence *= 0.4;
    }
    if !real(symbol.kind) && rivals > 0 {
        confidence *= 0.6;
    }
    if is_test(&symbol.path) && all.iter().any(|(other, _)| !is_test(&other.path)) {
        confidence *= 0.7;
    }
    (confidence, basis)
}

/// The confidence that a use of `name` means one of its definitions.
pub(super) fn of_usage(
    kind: UsageKind,
    qualifier: Option<&str>,
    definitions: &[(&Symbol, Option<Language>)],
    seen: &Seen,
) -> (f32, Basis) {
    if kind == UsageKind::Text {
        return (0.2, Basis::Textual);
    }
    // A use by itself tells less than a call.
    let by_kind = if kind == UsageKind::Other { 0.75 } else { 1.0 };
    let Some((first, _)) = definitions.first() else {
        return (0.4 * by_kind, Basis::External);
    };
    let among: Vec<&Symbol> = definitions
        .iter()
        .filter(|(_, language)| akin(seen.language, *language))
        .map(|(symbol, _)| *symbol)
        .collect();
    let any = |test: &dyn Fn(&Symbol) -> bool| among.iter().any(|symbol| test(symbol));
    let qualified = |symbol: &Symbol| qualifier.is_some() && symbol.container.as_deref() == qualifier;
    let (confidence, basis) = if among.is_empty() {
        (0.15, Basis::External)
    } else if any(&qualified) {
        (0.95, Basis::Qualified)
    } else if any(&|symbol| symbol.path == seen.path) {
        (0.9, Basis::SameFile)
    } else if any(&|symbol| seen.imports(&first.name, symbol)) {
        (0.9, Basis::Imported)
    } else if among.len() == 1 {
        (0.8, Basis::Unique)
    } else if any(&|symbol| symbol.path.parent() == seen.path.parent()) {
        (0.6, Basis::SameDirectory)
    } else {
        (ambiguous(among.len()), Basis::Ambiguous)
    };
    (confidence * by_kind, basis)
}

fn ambiguous(rivals: usize) -> f32 {
    (1.0 / rivals.max(1) as f32).clamp(0.2, 0.5)
}

/// Whether a name of one language can mean a definition in the other.
fn akin(a: Option<Language>, b: Option<Language>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.is_related_to(b),
        _ => true,
    }
}
