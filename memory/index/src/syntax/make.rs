//! Builds the stored syntax of a parsed file.

use std::collections::HashMap;

use muninn_base::RelPath;
use muninn_code::syntax::{Definition, DefinitionKind, Import, Language, Parsed, ReferenceKind};
use muninn_text::lexical::Arena;

use super::manifest::Manifest;
use super::{CallEntry, ImportEntry, NameId, SymbolEntry, Syntax};

/// Maximum number of distinct calls of a definition; more are a table.
const MAX_CALLS: usize = 400;
/// Maximum number of types of a file.
const MAX_TYPES: usize = 400;
/// Number of lines that are searched for a package declaration.
const PACKAGE_LINES: usize = 400;

impl Syntax {
    /// The syntax of a parsed text or a manifest. `cut` tells that the text is not the whole file.
    pub(crate) fn of(path: &RelPath, text: &str, parsed: Option<&(Language, Parsed)>, cut: bool) -> Self {
        match parsed {
            Some((language, parsed)) => Self { cut: cut || parsed.cut, ..of_code(*language, text, parsed) },
            None => Manifest::of(path).map_or_else(Self::default, |manifest| of_manifest(manifest, text)),
        }
    }
}

fn of_code(language: Language, text: &str, parsed: &Parsed) -> Syntax {
    let mut names = NameTable::default();
    // An `impl` is not a symbol: its members belong to the type of that name.
    let is_symbol = |of: &&Definition| of.kind != DefinitionKind::Impl;
    let mut count = 0;
    let position: Vec<u32> = parsed
        .definitions
        .iter()
        .map(|of| {
            count += u32::from(is_symbol(&of));
            if is_symbol(&of) { count } else { 0 }
        })
        .collect();
    let symbols = parsed
        .definitions
        .iter()
        .filter(is_symbol)
        .map(|of| SymbolEntry {
            name: names.id(&of.name),
            container: parsed.container(of).map_or(0, |name| names.id(name)),
            line: of.name_line,
            kind: of.kind,
        })
        .collect();
    let mut taken = Vec::new();
    let imports = parsed
        .imports
        .iter()
        .map(|import| {
            let path = if language == Language::Rust { out_of_inline_modules(import, parsed) } else { &import.path };
            taken.extend(import.names.iter().map(|of| {
                let name = names.id(&of.name);
                (name, of.alias.as_ref().map_or(name, |alias| names.id(alias)))
            }));
            ImportEntry { path: names.id(path), taken: u32::try_from(import.names.len()).unwrap_or(u32::MAX) }
        })
        .collect();
    let mut calls = Vec::new();
    let mut types = Vec::new();
    for reference in &parsed.references {
        match reference.kind {
            ReferenceKind::Call => calls.push(CallEntry {
                caller: reference.inside.and_then(|at| position.get(at as usize)).copied().unwrap_or(0),
                name: names.id(&reference.name),
                qualifier: reference.qualifier.as_ref().map_or(0, |name| names.id(name)),
            }),
            ReferenceKind::Type => types.push(names.id(&reference.name)),
            ReferenceKind::Import | ReferenceKind::Other => {}
        }
    }
    calls.sort_unstable();
    calls.dedup();
    let (mut caller, mut of_caller) = (u32::MAX, 0);
    calls.retain(|call| {
        of_caller = if call.caller == caller { of_caller + 1 } else { 0 };
        caller = call.caller;
        of_caller < MAX_CALLS
    });
    types.sort_unstable();
    types.dedup();
    types.truncate(MAX_TYPES);
    let package = package(language, text).map_or(0, |name| names.id(name));
    names.finish(Syntax {
        language: Some(language),
        package,
        symbols,
        imports,
        taken: taken.into(),
        calls: calls.into(),
        types: types.into(),
        ..Syntax::default()
    })
}

fn of_manifest(manifest: Manifest, text: &str) -> Syntax {
    let found = manifest.read(text);
    let mut names = NameTable::default();
    let package = found.package.as_deref().map_or(0, |name| names.id(name));
    let mut taken = Vec::new();
    let imports = found
        .paths
        .iter()
        .map(|(pattern, targets)| {
            taken.extend(targets.iter().map(|target| (names.id(target), 0)));
            ImportEntry { path: names.id(pattern), taken: u32::try_from(targets.len()).unwrap_or(u32::MAX) }
        })
        .collect();
    names.finish(Syntax { package, imports, taken: taken.into(), ..Syntax::default() })
}

/// In `mod tests { use super::*; }`, `super` is the file itself.
fn out_of_inline_modules<'a>(import: &'a Import, parsed: &Parsed) -> &'a str {
    let mut path: &str = &import.path;
    if !path.starts_with("super") {
        return path;
    }
    let around = |of: &&Definition| {
        of.kind == DefinitionKind::Module && of.lines.first <= import.line && import.line <= of.lines.last
    };
    for _ in parsed.definitions.iter().filter(around) {
        path = match path.strip_prefix("super") {
            Some("") => return "self",
            Some(rest) => rest.trim_start_matches("::"),
            None => break,
        };
    }
    path
}

/// The package or namespace that a file declares.
fn package(language: Language, text: &str) -> Option<&str> {
    let keyword = match language {
        Language::Java => "package ",
        Language::CSharp | Language::Php => "namespace ",
        _ => return None,
    };
    let declared = text.lines().take(PACKAGE_LINES);
    let mut declared = declared.filter_map(|line| line.trim_start().strip_prefix(keyword));
    let name = declared.next()?.split([';', '{', ' ']).next()?;
    Some(name.trim()).filter(|name| !name.is_empty())
}

#[derive(Default)]
struct NameTable<'a> {
    ids: HashMap<&'a str, NameId>,
    names: Arena,
}

impl<'a> NameTable<'a> {
    fn id(&mut self, name: &'a str) -> NameId {
        if name.is_empty() {
            return 0;
        }
        *self.ids.entry(name).or_insert_with(|| u32::try_from(self.names.push(name) + 1).unwrap_or(0))
    }

    fn finish(mut self, syntax: Syntax) -> Syntax {
        self.names.shrink();
        Syntax { names: self.names, ..syntax }
    }
}

#[cfg(test)]
mod tests {
    use muninn_code::syntax::{ParseLimits, parse};

    use super::*;

    fn of(path: &str, text: &str) -> Syntax {
        let path = RelPath::new(path).unwrap();
        let language = Language::of(&path, text);
        let parsed = language.map(|language| (language, parse(language, text, &ParseLimits::default()).unwrap()));
        Syntax::of(&path, text, parsed.as_ref(), false)
    }

    #[test]
    fn symbols_imports_and_calls_are_stored_once() {
        let text = "use crate::wire::{self as w, Größe};\n\nstruct Bucket;\n\nimpl Bucket {\n    fn füllen(&self) {\n        \
                    w::send();\n        w::send();\n        self.check();\n    }\n}\n\nmod tests {\n    use super::*;\n}\n";
        let syntax = of("src/a.rs", text);
        let symbols: Vec<_> = syntax.symbols().map(|of| (of.name, of.container, of.line)).collect();
        assert_eq!(symbols, [("Bucket", None, 3), ("füllen", Some("Bucket"), 6), ("tests", None, 13)]);
        let calls: Vec<_> = syntax
            .calls
            .iter()
            .map(|call| (call.caller, syntax.name(call.name), syntax.name(call.qualifier)))
            .collect();
        assert_eq!(calls, [(2, "send", "w"), (2, "check", "self")]);
        let imports: Vec<_> = syntax
            .each_import()
            .map(|(path, taken)| {
                let shown = |(name, alias): &(u32, u32)| (syntax.name(*name), syntax.name(*alias));
                (path, taken.iter().map(shown).collect::<Vec<_>>())
            })
            .collect();
        assert_eq!(
            imports,
            [("crate", vec![("wire", "w")]), ("crate::wire", vec![("Größe", "Größe")]), ("self", vec![("*", "*")])]
        );
    }

    #[test]
    fn package_is_the_declared_one() {
        let package = |path: &str, text: &str| {
            let syntax = of(path, text);
            syntax.name(syntax.package).to_owned()
        };
        assert_eq!(package("A.java", "// x\npackage a.b;\nclass A {}\n"), "a.b");
        assert_eq!(package("A.cs", "namespace A.B {\nclass A {}\n}\n"), "A.B");
        assert_eq!(package("a.php", "<?php\nnamespace A\\B;\n"), "A\\B");
        assert_eq!(package("go.mod", "module example.org/x // y\n\ngo 1.22\n"), "example.org/x");
        assert_eq!(package("notes.txt", "package a.b;\n"), "");
    }

    #[test]
    fn stored_syntax_is_returned() {
        let syntax = of("a.py", "import os\ndef f(x):\n    return os.walk(x)\n");
        let bytes = postcard::to_allocvec(&syntax).unwrap();
        assert_eq!(postcard::from_bytes::<Syntax>(&bytes).unwrap(), syntax);
        assert_eq!((syntax.name(0), syntax.name(9_999)), ("", ""));
    }
}
