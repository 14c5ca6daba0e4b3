//! The imports between modules, read from the sources with syn. A module is a file or a folder directly under `src/`.
//! Imports in tests do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{ItemMod, ItemUse, Macro, UseTree, Visibility};

use super::sources::sources;

/// The imports between the modules of one crate.
#[derive(Debug, Default)]
pub(super) struct Imports {
    /// For each pair (importer, imported), a path in the first module that names the second.
    pub(super) edges: BTreeMap<(String, String), String>,
}

impl Imports {
    /// Reads a crate from its `lib.rs`, following `mod` items.
    pub(super) fn of_crate(folder: &Path) -> Imports {
        let sources = sources(folder);
        let mut reader = Reader {
            place: Vec::new(),
            reexports: reexports(&sources[0].file),
            modules: names_below(folder),
            imports: Imports::default(),
        };
        for source in sources {
            reader.place = source.module;
            reader.visit_file(&source.file);
        }
        reader.imports
    }

    /// The edges that are part of a cycle, each as `importer -> imported (path)`.
    pub(super) fn cycles(&self) -> Vec<String> {
        let edges = self.edges.iter();
        let in_cycle = edges.filter(|((importer, imported), _)| self.reaches(imported, importer));
        in_cycle.map(|((importer, imported), path)| format!("{importer} -> {imported} ({path})")).collect()
    }

    fn reaches(&self, from: &str, to: &str) -> bool {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(module) = open.pop() {
            if module == to {
                return true;
            }
            if seen.insert(module) {
                let next = self.edges.keys().filter(|(importer, _)| importer == module);
                open.extend(next.map(|(_, imported)| imported.as_str()));
            }
        }
        false
    }
}

struct Reader {
    /// The path of the current module, from the crate's root.
    place: Vec<String>,
    /// The names that `lib.rs` re-exports, each with its module.
    reexports: BTreeMap<String, String>,
    modules: BTreeSet<String>,
    imports: Imports,
}

impl Reader {
    /// Adds the edge of a path that starts with `crate`, `self` or `super`.
    fn note(&mut self, path: &[String]) {
        let Some(importer) = self.place.first().cloned() else {
            return;
        };
        let mut at = self.place.clone();
        let mut rest = path;
        match path.first().map(String::as_str) {
            Some("crate") => (at, rest) = (Vec::new(), &path[1..]),
            Some("self") => rest = &path[1..],
            Some("super") => {}
            _ => return,
        }
        while let [first, tail @ ..] = rest
            && first == "super"
        {
            at.pop();
            rest = tail;
        }
        at.extend_from_slice(rest);
        let Some(first) = at.first() else { return };
        let imported = if self.modules.contains(first) { first } else { self.reexports.get(first).unwrap_or(first) };
        if self.modules.contains(imported) && *imported != importer {
            let place = self.place.join("::");
            let edge = (importer, imported.clone());
            self.imports.edges.entry(edge).or_insert_with(|| format!("{} in {place}", path.join("::")));
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        self.place.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.place.pop();
    }

    fn visit_item_use(&mut self, import: &'ast ItemUse) {
        let mut paths = Vec::new();
        flatten(&import.tree, &mut Vec::new(), &mut paths);
        for path in paths {
            self.note(&path);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.note(&segments);
        visit::visit_path(self, path);
    }

    /// Ignores `pub(in crate::x)`, which is no import.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    /// syn does not parse the arguments of macros, so paths that start with `crate::` are searched in their text.
    fn visit_macro(&mut self, call: &'ast Macro) {
        let text = call.tokens.to_string().replace(' ', "");
        for at in text.match_indices("crate::").map(|(at, _)| at) {
            let path = text[at..].split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').next();
            let path: Vec<String> = path.unwrap_or_default().split("::").map(str::to_owned).collect();
            self.note(&path);
        }
        visit::visit_macro(self, call);
    }
}

fn names_below(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let names = entries.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned());
    names.filter(|name| name != "lib" && name != "bin").collect()
}

/// The names that `use module::Item` in `lib.rs` brings to the crate's root, each with its module.
fn reexports(root: &syn::File) -> BTreeMap<String, String> {
    let mut paths = Vec::new();
    for item in &root.items {
        if let syn::Item::Use(import) = item {
            flatten(&import.tree, &mut Vec::new(), &mut paths);
        }
    }
    let owned = paths.into_iter().map(|mut path| {
        if path.first().is_some_and(|first| first == "crate" || first == "self") {
            path.remove(0);
        }
        (path.last().cloned().unwrap_or_default(), path.first().cloned().unwrap_or_default())
    });
    owned.collect()
}

/// Collects all paths of a `use`. The last segment of each is the original name.
fn flatten(tree: &UseTree, before: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, paths);
            before.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, before, paths)),
        UseTree::Name(name) => paths.push([&before[..], &[name.ident.to_string()]].concat()),
        UseTree::Rename(name) => paths.push([&before[..], &[name.ident.to_string()]].concat()),
        UseTree::Glob(_) => paths.push(before.clone()),
    }
}

#[test]
fn import_cycle_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("lib.rs", "mod a; mod b; mod c; mod d;\npub use c::Kept;\n");
    write("a.rs", "use super::b::B; pub struct A;");
    write("b.rs", "pub struct B; mod inner { fn f() -> crate::Kept { crate::Kept } }");
    write("c/mod.rs", "mod deep; pub struct Kept;");
    write("c/deep.rs", "fn f() { log!(\"{}\", crate::a::A) }");
    write("d.rs", "use crate::a::A; pub(in crate::a) struct D; #[cfg(test)] mod tests;");
    write("d/tests.rs", "not even Rust");
    let imports = Imports::of_crate(folder.path());
    assert_eq!(
        imports.cycles(),
        ["a -> b (super::b::B in a)", "b -> c (crate::Kept in b::inner)", "c -> a (crate::a::A in c::deep)"]
    );
    assert!(imports.edges.contains_key(&("d".to_owned(), "a".to_owned())));
}
