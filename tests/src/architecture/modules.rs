//! The imports between the files of a crate, read from the sources with syn. An import of a re-exported name leads to the
//! file that defines the name. Imports in tests do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{Item, ItemMod, ItemUse, Macro, UseTree, Visibility};

use super::sources::{Source, sources};

/// A module's path, from the crate's root.
type Module = Vec<String>;

/// The imports between the files of one crate. A file is named by its module's path.
#[derive(Debug, Default)]
pub(super) struct Imports {
    /// For each pair (importer, imported), a path in the first file that names the second.
    pub(super) edges: BTreeMap<(String, String), String>,
}

impl Imports {
    /// Reads a crate from its `lib.rs`, following `mod` items.
    pub(super) fn of_crate(folder: &Path) -> Imports {
        let sources = sources(folder);
        let names = Names::of(&sources);
        let mut imports = Imports::default();
        // A file of declarations and re-exports uses nothing itself.
        for source in sources.iter().filter(|source| !is_contents(source)) {
            let file = source.module.join("::");
            let mut reader = Reader { module: source.module.clone(), names: &names, found: Vec::new() };
            reader.visit_file(&source.file);
            for (path, imported) in reader.found {
                if imported != file {
                    imports.edges.entry((file.clone(), imported)).or_insert(path);
                }
            }
        }
        imports
    }

    /// The same imports, between the modules directly under the root.
    pub(super) fn of_top_modules(&self) -> Imports {
        let top = |file: &str| file.split("::").next().unwrap_or_default().to_owned();
        let edges = self.edges.iter().map(|((from, to), path)| ((top(from), top(to)), path.clone()));
        Imports { edges: edges.filter(|((from, to), _)| from != to && !from.is_empty() && !to.is_empty()).collect() }
    }

    /// The edges that are part of a cycle, each as `importer -> imported (path)`.
    pub(super) fn cycles(&self) -> Vec<String> {
        let edges = self.edges.iter();
        let in_cycle = edges.filter(|((importer, imported), _)| self.reaches(imported, importer));
        in_cycle.map(|((importer, imported), path)| format!("{importer} -> {imported} ({path})")).collect()
    }

    fn reaches(&self, from: &str, to: &str) -> bool {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(file) = open.pop() {
            if file == to {
                return true;
            }
            if seen.insert(file) {
                let first = (file.to_owned(), String::new());
                let next = self.edges.range(first..).take_while(|((importer, _), _)| importer == file);
                open.extend(next.map(|((_, imported), _)| imported.as_str()));
            }
        }
        false
    }
}

/// Files with modules of their own that hold more than declarations, re-exports and documentation.
pub(super) fn parents_with_code(folder: &Path) -> Vec<String> {
    let sources = sources(folder);
    let is_parent = |source: &&Source| {
        sources
            .iter()
            .any(|other| other.module.len() == source.module.len() + 1 && other.module.starts_with(&source.module))
    };
    let with_code = sources.iter().filter(is_parent).filter(|source| !is_contents(source));
    with_code.map(|source| source.path.clone()).collect()
}

/// Returns whether a file has only declarations of modules, re-exports and documentation.
fn is_contents(source: &Source) -> bool {
    source.file.items.iter().all(|item| match item {
        Item::Mod(module) => module.content.is_none(),
        Item::Use(import) => !matches!(import.vis, Visibility::Inherited),
        _ => false,
    })
}

/// What the modules of a crate define and import.
#[derive(Default)]
struct Names {
    /// The file of each module.
    files: BTreeMap<Module, String>,
    /// The items of each module.
    items: BTreeSet<(Module, String)>,
    /// The names that each module imports from this crate, each with its path from the root.
    imports: BTreeMap<(Module, String), Module>,
    /// The modules of which all names are imported.
    globs: BTreeMap<Module, Vec<Module>>,
}

impl Names {
    fn of(sources: &[Source]) -> Names {
        let mut names = Names::default();
        for source in sources {
            names.define(&source.file.items, &source.module, &source.module.join("::"));
        }
        for source in sources {
            names.import(&source.file.items, &source.module);
        }
        names
    }

    fn define(&mut self, items: &[Item], module: &Module, file: &str) {
        self.files.insert(module.clone(), file.to_owned());
        for item in items {
            let name = match item {
                Item::Mod(inner) => {
                    if let Some((_, items)) = &inner.content {
                        self.define(items, &below(module, &inner.ident.to_string()), file);
                    }
                    continue;
                }
                Item::Const(item) => &item.ident,
                Item::Enum(item) => &item.ident,
                Item::Fn(item) => &item.sig.ident,
                Item::Static(item) => &item.ident,
                Item::Struct(item) => &item.ident,
                Item::Trait(item) => &item.ident,
                Item::Type(item) => &item.ident,
                _ => continue,
            };
            self.items.insert((module.clone(), name.to_string()));
        }
    }

    fn import(&mut self, items: &[Item], module: &Module) {
        for item in items {
            match item {
                Item::Use(item) => {
                    for import in flattened(&item.tree) {
                        let Some(path) = self.absolute(module, &import.path) else { continue };
                        match import.name {
                            Some(name) => drop(self.imports.insert((module.clone(), name), path)),
                            None => self.globs.entry(module.clone()).or_default().push(path),
                        }
                    }
                }
                Item::Mod(inner) => {
                    if let Some((_, items)) = &inner.content {
                        self.import(items, &below(module, &inner.ident.to_string()));
                    }
                }
                _ => {}
            }
        }
    }

    /// The path from the root, of a path as a module writes it; `None` for a path into another crate.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Module> {
        let (mut at, mut rest) = (module.clone(), path);
        match path.first()?.as_str() {
            "crate" => (at, rest) = (Vec::new(), &path[1..]),
            "self" => rest = &path[1..],
            "super" => {}
            first if self.files.contains_key(&below(module, first)) => {}
            _ => return None,
        }
        while let [first, tail @ ..] = rest
            && first == "super"
        {
            at.pop();
            rest = tail;
        }
        at.extend_from_slice(rest);
        Some(at)
    }

    /// The file that defines what a path from the root names.
    fn file_of(&self, path: &[String], steps: usize) -> Option<&String> {
        let mut module = Vec::new();
        for (at, name) in path.iter().enumerate() {
            let inner = below(&module, name);
            if self.files.contains_key(&inner) {
                module = inner;
                continue;
            }
            if let Some(imported) = self.imports.get(&(module.clone(), name.clone()))
                && steps > 0
            {
                return self.file_of(&[imported, &path[at + 1..]].concat(), steps - 1);
            }
            if !self.items.contains(&(module.clone(), name.clone())) && steps > 0 {
                let globs = self.globs.get(&module).into_iter().flatten();
                let mut found = globs.filter(|glob| self.has(glob, name));
                if let Some(glob) = found.next() {
                    return self.file_of(&[glob, &path[at..]].concat(), steps - 1);
                }
            }
            break;
        }
        self.files.get(&module)
    }

    fn has(&self, module: &Module, name: &str) -> bool {
        let key = (module.clone(), name.to_owned());
        self.items.contains(&key) || self.imports.contains_key(&key) || self.files.contains_key(&below(module, name))
    }
}

fn below(module: &[String], name: &str) -> Module {
    [module, &[name.to_owned()]].concat()
}

/// Re-exports of re-exports are followed this far.
const MOST_STEPS: usize = 8;

struct Reader<'n> {
    /// The current module.
    module: Module,
    names: &'n Names,
    /// The paths into this crate, each with the file that it leads to.
    found: Vec<(String, String)>,
}

impl Reader<'_> {
    fn note(&mut self, path: &[String]) {
        let Some(first) = path.first() else { return };
        let imported = self.names.imports.get(&(self.module.clone(), first.clone()));
        let absolute = match imported {
            Some(imported) => Some([imported, &path[1..]].concat()),
            None => self.names.absolute(&self.module, path),
        };
        if let Some(file) = absolute.and_then(|path| self.names.file_of(&path, MOST_STEPS)) {
            self.found.push((path.join("::"), file.clone()));
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        self.module.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.module.pop();
    }

    fn visit_item_use(&mut self, import: &'ast ItemUse) {
        for import in flattened(&import.tree) {
            if let Some(path) = self.names.absolute(&self.module, &import.path)
                && let Some(file) = self.names.file_of(&path, MOST_STEPS)
            {
                self.found.push((import.path.join("::"), file.clone()));
            }
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.note(&segments);
        visit::visit_path(self, path);
    }

    /// Ignores `pub(in crate::x)`, which is no import.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    /// syn does not parse the arguments of macros, so paths are searched in their text.
    fn visit_macro(&mut self, call: &'ast Macro) {
        let text = call.tokens.to_string().replace(" :: ", "::");
        for path in text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':') {
            if path.contains("::") {
                self.note(&path.split("::").map(str::to_owned).collect::<Vec<_>>());
            }
        }
        visit::visit_macro(self, call);
    }
}

/// One path of a `use`, with the name that it brings; `None` for all names.
struct Import {
    path: Vec<String>,
    name: Option<String>,
}

fn flattened(tree: &UseTree) -> Vec<Import> {
    let mut imports = Vec::new();
    flatten(tree, &mut Vec::new(), &mut imports);
    imports
}

fn flatten(tree: &UseTree, before: &mut Vec<String>, imports: &mut Vec<Import>) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, imports);
            before.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, before, imports)),
        UseTree::Name(name) if name.ident == "self" => {
            imports.push(Import { path: before.clone(), name: before.last().cloned() });
        }
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            imports.push(Import { path: below(before, &name), name: Some(name) });
        }
        UseTree::Rename(name) => {
            let path = below(before, &name.ident.to_string());
            imports.push(Import { path, name: Some(name.rename.to_string()) });
        }
        UseTree::Glob(_) => imports.push(Import { path: before.clone(), name: None }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Imports, parents_with_code};

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn import_cycle_is_found() {
        let folder = tree(&[
            ("lib.rs", "mod a; mod b; mod c; mod d;\npub use c::Kept;\n"),
            ("a.rs", "use super::b::B; pub struct A;"),
            ("b.rs", "pub struct B; mod inner { fn f() -> crate::Kept { crate::Kept } }"),
            ("c/mod.rs", "mod deep; mod kept; pub use kept::*;"),
            ("c/kept.rs", "use super::deep; pub struct Kept; fn f() { deep::f() }"),
            ("c/deep.rs", "pub fn f() { log!(\"{}\", crate::a::A) }"),
            ("d.rs", "use crate::a::A; pub(in crate::a) struct D; #[cfg(test)] mod tests;"),
            ("d/tests.rs", "not even Rust"),
        ]);
        let imports = Imports::of_crate(folder.path());
        assert_eq!(
            imports.cycles(),
            [
                "a -> b (super::b::B)",
                "b -> c::kept (crate::Kept)",
                "c::deep -> a (crate::a::A)",
                "c::kept -> c::deep (super::deep)"
            ]
        );
        assert!(imports.edges.contains_key(&("d".to_owned(), "a".to_owned())));
        let of_modules = imports.of_top_modules().cycles();
        assert_eq!(of_modules, ["a -> b (super::b::B)", "b -> c (crate::Kept)", "c -> a (crate::a::A)"]);
    }

    #[test]
    fn parents_may_only_declare_and_export() {
        let folder = tree(&[
            ("lib.rs", "//! Docs.\nmod a; mod b; pub use a::A; #[cfg(test)] mod tests;"),
            ("a.rs", "mod inner; use inner::f; pub struct A;"),
            ("a/inner.rs", "pub fn f() {}"),
            ("b.rs", "pub struct B; #[cfg(test)] mod tests { use super::B; }"),
        ]);
        assert_eq!(parents_with_code(folder.path()), ["a.rs"]);
    }
}
