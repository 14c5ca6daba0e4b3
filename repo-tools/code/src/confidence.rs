//! The confidence that a name refers to a definition.
//!
//! The strongest applicable rule decides. The numbers only order the rules; they are not measured probabilities.

use muninn_base::RelPath;

use super::answer::{Basis, Symbol, UsageKind};
use crate::syntax::{DefinitionKind, Import, Language, Parsed};

/// The file that uses a name. Its language and imports are the evidence.
pub(super) struct UsingFile {
    path: RelPath,
    language: Option<Language>,
    imports: Vec<Import>,
}

impl UsingFile {
    pub(super) fn new(path: &RelPath, language: Option<Language>, parsed: &Parsed) -> Self {
        Self { path: path.clone(), language, imports: parsed.imports.clone() }
    }

    /// Returns whether the file imports `name` from the file of a definition, or imports that whole file.
    fn imports(&self, name: &str, symbol: &Symbol) -> bool {
        let stem = |path: &RelPath| {
            let stem = path.file_name().split('.').next().unwrap_or_default().to_owned();
            // `mod.rs`, `index.ts` and similar files define the module that is named after their directory.
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
            let last = path.rsplit(['/', ':', '.', '\\']).find(|part| !part.is_empty()).unwrap_or_default();
            let last = if path.ends_with(".js") || path.ends_with(".php") || path.ends_with(".rb") {
                path.rsplit(['/', '\\']).next().and_then(|name| name.split('.').next()).unwrap_or(last)
            } else {
                last
            };
            let from_module = last == module || folder.as_deref() == Some(last);
            let named = import
                .names
                .iter()
                .any(|imported| &*imported.name == name || symbol.container.as_deref() == Some(&imported.name));
            let whole = import.names.is_empty() || import.names.iter().any(|imported| &*imported.name == "*");
            let imports_module = import.names.iter().any(|imported| *imported.name == *module);
            named && (from_module || last.is_empty() || matches!(last, "crate" | "super" | "self"))
                || whole && from_module
                || imports_module
        })
    }
}

/// Returns the confidence in one definition, given `all` definitions of the name.
pub(super) fn of_definition(
    symbol: &Symbol,
    language: Option<Language>,
    all: &[(&Symbol, Option<Language>)],
    container: Option<&str>,
    user: Option<&UsingFile>,
) -> (f32, Basis) {
    let real = |kind| kind != DefinitionKind::Prototype;
    let rivals = all.iter().filter(|(other, _)| real(other.kind)).count();
    let (mut confidence, basis) = match (container, user) {
        (Some(container), _) if symbol.container.as_deref() == Some(container) => (0.95, Basis::Qualified),
        (Some(_), _) => (0.2, Basis::Ambiguous),
        (None, Some(user)) if user.path == symbol.path => (0.95, Basis::SameFile),
        (None, Some(user)) if user.imports(&symbol.name, symbol) => (0.9, Basis::Imported),
        _ if rivals <= 1 && real(symbol.kind) => (1.0, Basis::Unique),
        (None, Some(user)) if user.path.parent() == symbol.path.parent() => (0.7, Basis::SameDirectory),
        _ => (ambiguous(all.len()), Basis::Ambiguous),
    };
    if let Some(user) = user
        && !are_related(user.language, language)
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

/// Returns the confidence that a use of a name refers to one of its definitions.
pub(super) fn of_usage(
    kind: UsageKind,
    qualifier: Option<&str>,
    definitions: &[(&Symbol, Option<Language>)],
    user: &UsingFile,
) -> (f32, Basis) {
    if kind == UsageKind::Text {
        return (0.2, Basis::Textual);
    }
    // A plain identifier is weaker evidence than a call.
    let by_kind = if kind == UsageKind::Other { 0.75 } else { 1.0 };
    let Some((first, _)) = definitions.first() else {
        return (0.4 * by_kind, Basis::External);
    };
    let among: Vec<&Symbol> = definitions
        .iter()
        .filter(|(_, language)| are_related(user.language, *language))
        .map(|(symbol, _)| *symbol)
        .collect();
    let any = |test: &dyn Fn(&Symbol) -> bool| among.iter().any(|symbol| test(symbol));
    let qualified = |symbol: &Symbol| qualifier.is_some() && symbol.container.as_deref() == qualifier;
    let (confidence, basis) = if among.is_empty() {
        (0.15, Basis::External)
    } else if any(&qualified) {
        (0.95, Basis::Qualified)
    } else if any(&|symbol| symbol.path == user.path) {
        (0.9, Basis::SameFile)
    } else if any(&|symbol| user.imports(&first.name, symbol)) {
        (0.9, Basis::Imported)
    } else if among.len() == 1 {
        (0.8, Basis::Unique)
    } else if any(&|symbol| symbol.path.parent() == user.path.parent()) {
        (0.6, Basis::SameDirectory)
    } else {
        (ambiguous(among.len()), Basis::Ambiguous)
    };
    (confidence * by_kind, basis)
}

fn ambiguous(rivals: usize) -> f32 {
    (1.0 / rivals.max(1) as f32).clamp(0.2, 0.5)
}

/// Returns whether a name in one language can refer to a definition in the other. An unknown language matches any.
fn are_related(a: Option<Language>, b: Option<Language>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.is_related_to(b),
        _ => true,
    }
}

/// Returns whether a path looks like a test file.
pub(super) fn is_test(path: &RelPath) -> bool {
    let lower = path.as_str().to_lowercase();
    let mut parts = lower.split('/').rev();
    let name = parts.next().unwrap_or_default();
    let by_name =
        ["_test.", ".test.", ".spec.", "_spec."].iter().any(|mark| name.contains(mark)) || name.starts_with("test_");
    by_name || parts.any(|part| matches!(part, "test" | "tests" | "__tests__" | "spec"))
}
