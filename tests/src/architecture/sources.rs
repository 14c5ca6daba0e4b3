//! The sources of a crate, parsed with syn, without tests.

use std::path::{Path, PathBuf};

use syn::{Attribute, ImplItem, Item};

/// A file of a crate.
pub(super) struct Source {
    /// The module's path, from the crate's root.
    pub(super) module: Vec<String>,
    /// The file's path, from the crate's `src`.
    pub(super) path: String,
    /// The items, without those that are compiled for tests only.
    pub(super) file: syn::File,
}

/// Reads a crate from its `lib.rs`, or its `main.rs` if it is no library, following `mod` items. That file is the first
/// source.
pub(super) fn sources(folder: &Path) -> Vec<Source> {
    let mut sources = Vec::new();
    let library = folder.join("lib.rs");
    let first = if library.exists() { library } else { folder.join("main.rs") };
    read(folder, &first, Vec::new(), &mut sources);
    sources
}

fn read(folder: &Path, path: &Path, module: Vec<String>, sources: &mut Vec<Source>) {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut below = Vec::new();
    strip(&mut file.items, &module, &mut below);
    let path = path.strip_prefix(folder).unwrap_or(path).display().to_string();
    sources.push(Source { module, path, file });
    for module in below {
        read(folder, &file_of(folder, &module), module, sources);
    }
}

/// Removes tests, and adds the modules with files of their own to `below`.
fn strip(items: &mut Vec<Item>, module: &[String], below: &mut Vec<Vec<String>>) {
    items.retain(|item| !is_for_tests(attributes(item)));
    for item in items {
        match item {
            Item::Mod(item) => {
                let inner = [module, &[item.ident.to_string()]].concat();
                match &mut item.content {
                    Some((_, items)) => strip(items, &inner, below),
                    None => below.push(inner),
                }
            }
            Item::Impl(item) => item.items.retain(|item| match item {
                ImplItem::Fn(function) => !is_for_tests(&function.attrs),
                _ => true,
            }),
            _ => {}
        }
    }
}

fn file_of(folder: &Path, module: &[String]) -> PathBuf {
    let path: PathBuf = module.iter().fold(folder.to_owned(), |path, part| path.join(part));
    let file = path.with_extension("rs");
    if file.exists() { file } else { path.join("mod.rs") }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Const(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        _ => &[],
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = attribute.meta.require_list().map(|list| list.tokens.to_string());
        attribute.path().is_ident("cfg")
            && condition.is_ok_and(|condition| {
                condition.split(|c: char| !c.is_alphanumeric()).any(|word| word == "test") && !condition.contains("not")
            })
    })
}
