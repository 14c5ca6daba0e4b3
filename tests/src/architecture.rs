//! Tests of the workspace's structure: dependencies point down, and documents name only existing files.

mod benches;
mod docs;
mod errors;
mod modules;
mod outgoing;
mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use docs::{broken_links, pages, paths_in, prose};
use errors::string_errors;
use modules::{Imports, parents_with_code};
use outgoing::opening_files;
use sources::sources;
use syn::Item;

/// The folders of the product's crates, from the top layer down. A crate may use the crates of its own folder and of the
/// folders below it; cargo refuses a circle within a folder.
const LAYERS: [&str; 4] = ["gateway", "context-engine", "memory", "repo-tools"];

/// Maximum number of lines of Rust in a crate of the product, with its tests.
const MAX_CRATE_LINES: usize = 20_000;
/// Maximum number of crates that stand on one another above a crate: each waits for the one below it.
const MAX_ABOVE: usize = 12;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn manifest(folder: &str) -> toml::Table {
    let path = root().join(folder).join("Cargo.toml");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The folders of all crates but the benchmarks, which are a workspace of their own.
fn members() -> Vec<String> {
    let workspace = manifest(".");
    let members = workspace["workspace"]["members"].as_array().unwrap();
    members.iter().map(|member| member.as_str().unwrap().to_owned()).collect()
}

/// The folders of the product's crates.
fn product() -> Vec<String> {
    members().into_iter().filter(|member| member != "tests").collect()
}

/// A crate's name without the prefix.
fn name_of(folder: &str) -> &str {
    folder.rsplit('/').next().unwrap()
}

/// The place of a crate's folder among the layers, 0 at the top.
fn layer_of(folder: &str) -> usize {
    let top = folder.split('/').next().unwrap();
    LAYERS.iter().position(|layer| *layer == top).unwrap_or_else(|| panic!("{folder} is in no layer"))
}

/// The workspace's own crates among a manifest's dependencies, by their name.
fn used_by(folder: &str, sections: &[&str]) -> Vec<String> {
    let manifest = manifest(folder);
    let platforms = manifest.get("target").and_then(toml::Value::as_table);
    let tables = platforms
        .into_iter()
        .flat_map(|platforms| platforms.values().filter_map(toml::Value::as_table))
        .chain([&manifest]);
    let names = tables
        .flat_map(|table| sections.iter().filter_map(|section| table.get(*section)?.as_table()))
        .flatten()
        // What a feature adds for the tests of other crates.
        .filter(|(_, dependency)| dependency.get("optional").is_none())
        .map(|(name, _)| name);
    let mut names: Vec<_> = names.filter_map(|name| name.strip_prefix("muninn-").map(str::to_owned)).collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn crates_depend_downwards_only() {
    let product = product();
    for folder in &product {
        let is_below =
            |used: &String| product.iter().any(|other| name_of(other) == used && layer_of(other) >= layer_of(folder));
        for used in used_by(folder, &["dependencies", "build-dependencies"]) {
            assert!(is_below(&used), "{folder} must not use {used}");
        }
        for used in used_by(folder, &["dev-dependencies"]) {
            assert!(is_below(&used) || used == "tests", "the tests of {folder} must not use {used}");
        }
    }
    for ground in ["gateway/wire", "tests"] {
        assert!(used_by(ground, &["dependencies"]).is_empty(), "{ground} must not use another crate of ours");
    }
    assert!(used_by("tests", &["dev-dependencies"]).is_empty());
}

#[test]
fn crates_are_small_and_few_stand_on_one_another() {
    let product = product();
    for folder in &product {
        let mut lines = 0;
        sources_below(&root().join(folder).join("src"), &mut |_, text| lines += text.lines().count());
        assert!(lines <= MAX_CRATE_LINES, "{folder} has {lines} lines, {MAX_CRATE_LINES} are allowed");
    }
    let users: BTreeMap<&str, Vec<&str>> = product
        .iter()
        .map(|folder| {
            let uses = |user: &&String| used_by(user, &["dependencies"]).iter().any(|used| used == name_of(folder));
            (name_of(folder), product.iter().filter(uses).map(|user| name_of(user)).collect())
        })
        .collect();
    for folder in &product {
        let above = above(name_of(folder), &users);
        assert!(above <= MAX_ABOVE, "{above} crates wait for {folder}, one after the other");
    }
}

/// The length of the longest chain of crates above a crate.
fn above(name: &str, users: &BTreeMap<&str, Vec<&str>>) -> usize {
    users[name].iter().map(|user| 1 + above(user, users)).max().unwrap_or(0)
}

#[test]
fn files_have_no_import_cycle() {
    let mut cycles = Vec::new();
    for folder in members() {
        let imports = Imports::of_crate(&root().join(&folder).join("src"));
        let mut found = imports.cycles();
        // The folders of the application share its state, which holds what they need: only its files are in layers.
        if folder != "gateway/core" {
            found.extend(imports.of_top_modules().cycles());
        }
        cycles.extend(found.into_iter().map(|edge| format!("{folder}: {edge}")));
    }
    assert!(cycles.is_empty(), "{} imports in a cycle: {cycles:#?}", cycles.len());
}

#[test]
fn parents_of_modules_declare_and_export_only() {
    let with_code = |folder: &String| {
        let files = parents_with_code(&root().join(folder).join("src")).into_iter();
        files.map(|file| format!("{folder}/src/{file}")).collect::<Vec<_>>()
    };
    let found: Vec<_> = product().iter().flat_map(with_code).collect();
    assert!(found.is_empty(), "{} files: {found:#?}", found.len());
}

/// The doors for agents beside HTTP. The daemon answers calls with the others, through the socket.
const DOORS: [&str; 2] = ["mcp", "hooks"];

#[test]
fn doors_never_call_each_other() {
    let imports = Imports::of_crate(&root().join("gateway/doors/src")).of_top_modules();
    let is_door = |module: &String| DOORS.contains(&module.as_str());
    let wrong: Vec<_> =
        imports.edges.iter().filter(|((importer, imported), _)| is_door(importer) && is_door(imported)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    for door in ["gateway/http", "gateway/doors"] {
        let others = used_by(door, &["dependencies"]);
        assert!(!others.iter().any(|used| used == "http" || used == "doors"), "{door} uses another door");
        assert!(others.iter().any(|used| used == "core"), "{door} calls the application");
    }
}

/// Maximum number of `Result<_, String>` in all layers. A caller cannot match on such an error.
const MAX_STRING_ERRORS: usize = 5;

#[test]
fn errors_are_types() {
    let found: Vec<_> = product()
        .into_iter()
        .flat_map(|folder| {
            let modules = string_errors(&root().join(&folder).join("src"));
            modules.into_iter().map(move |module| format!("{folder} {module}"))
        })
        .collect();
    assert!(
        found.len() <= MAX_STRING_ERRORS,
        "{} times Result<_, String>, {MAX_STRING_ERRORS} are allowed: {found:#?}",
        found.len()
    );
}

#[test]
fn every_crate_is_named_like_its_folder_and_inherits_the_lints() {
    for member in members() {
        let manifest = manifest(&member);
        assert_eq!(manifest["package"]["name"].as_str(), Some(format!("muninn-{}", name_of(&member)).as_str()));
        assert_eq!(manifest["lints"]["workspace"].as_bool(), Some(true), "{member} must inherit the lints");
    }
}

/// Cargo inherits nothing across workspaces, so the benchmarks repeat what the root's workspace sets.
#[test]
fn benches_repeat_the_versions_lints_and_profiles_of_the_root() {
    let (root, benches) = (manifest("."), manifest("benches"));
    let workspace = &root["workspace"];
    assert!(
        workspace["exclude"].as_array().unwrap().contains(&"benches".into()),
        "README's commands must not build them"
    );
    assert_eq!(benches["lints"], workspace["lints"]);
    for profile in ["dev", "release"] {
        assert_eq!(benches["profile"][profile], root["profile"][profile], "{profile}");
    }
    for (name, dependency) in benches["dependencies"].as_table().unwrap() {
        if !name.starts_with("muninn-") {
            assert_eq!(dependency, &workspace["dependencies"][name], "{name}");
        }
    }
    let (ours, roots) = (locked("benches"), locked("."));
    let others: Vec<_> = ours.difference(&roots).filter(|(name, _)| !name.starts_with("muninn-")).collect();
    assert!(others.is_empty(), "benches/Cargo.lock has other versions than Cargo.lock: {others:?}");
}

/// Names and versions of the packages in a lock file.
fn locked(folder: &str) -> BTreeSet<(String, String)> {
    let lock = std::fs::read_to_string(root().join(folder).join("Cargo.lock")).unwrap();
    let lock: toml::Table = lock.parse().unwrap();
    let text = |package: &toml::Value, key: &str| package[key].as_str().unwrap().to_owned();
    let packages = lock["package"].as_array().unwrap().iter();
    packages.map(|package| (text(package, "name"), text(package, "version"))).collect()
}

/// The directories that a path in ARCHITECTURE.md may be relative to: the root, a layer, a crate, or its sources.
fn base_directories() -> Vec<PathBuf> {
    let crates = members().into_iter().flat_map(|member| [root().join(&member), root().join(&member).join("src")]);
    std::iter::once(root()).chain(LAYERS.map(|layer| root().join(layer))).chain(crates).collect()
}

#[test]
fn compatibility_names_only_existing_tests() {
    let page = std::fs::read_to_string(root().join("docs/compatibility.md")).unwrap();
    let named: Vec<_> = page.split('`').skip(1).step_by(2).filter_map(|name| name.split_once(".rs::")).collect();
    assert!(named.len() > 150, "{}", named.len());
    let missing: Vec<_> = named
        .into_iter()
        .filter(|(file, test)| {
            let text = std::fs::read_to_string(root().join(format!("{file}.rs"))).unwrap_or_default();
            !text.contains(&format!("fn {test}("))
        })
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn documents_name_only_existing_files() {
    let mut documents = pages(&root().join("docs"));
    for name in ["ARCHITECTURE.md", "README.md", "SECURITY.md", "SHORTCOMINGS.md"] {
        let path = root().join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        documents.push((path, text));
    }
    let directories = base_directories();
    let exists = |name: &&str| directories.iter().any(|directory| directory.join(name).exists());
    let mut missing = Vec::new();
    for (path, text) in &documents {
        let prose = prose(text);
        let named = paths_in(&prose).into_iter().filter(|name| !exists(name));
        missing.extend(named.map(|name| format!("{}: {name}", path.display())));
        missing.extend(broken_links(path, text));
    }
    assert!(missing.is_empty(), "documents name missing files: {missing:#?}");
}

#[test]
fn architecture_describes_every_crate() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let prose = prose(&text);
    let named = paths_in(&prose);
    assert!(named.len() >= 10, "only these paths were found: {named:?}");
    for folder in members().into_iter().chain(["benches".to_owned()]) {
        assert!(text.contains(&format!("{folder}/")), "ARCHITECTURE.md does not describe {folder}/");
    }
}

#[test]
fn book_has_every_page_and_no_link_out_of_it() {
    let docs = root().join("docs");
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    for (path, text) in pages(&docs) {
        let page = path.strip_prefix(&docs).unwrap().display().to_string();
        assert!(page == "SUMMARY.md" || summary.contains(&format!("]({page})")), "docs/SUMMARY.md lacks {page}");
        let outside = format!("]({}", "../".repeat(page.split('/').count()));
        assert!(!text.contains(&outside), "docs/{page}: a link leaves the book");
    }
}

#[test]
fn security_lists_every_file_that_opens_a_connection() {
    let security = std::fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let list = security.split("\n## ").find(|section| section.starts_with("What leaves the machine"));
    let listed: BTreeSet<_> = paths_in(list.unwrap()).into_iter().map(str::to_owned).collect();
    let opening = product().into_iter().flat_map(|folder| {
        let files = opening_files(&root().join(&folder).join("src")).into_iter();
        files.map(move |file| format!("{folder}/src/{file}"))
    });
    let opening: BTreeSet<_> = opening.collect();
    let (new, gone) = (&opening - &listed, &listed - &opening);
    assert!(
        new.is_empty() && gone.is_empty(),
        "SECURITY.md, \"What leaves the machine\", lacks {new:#?}, which open a connection, and names {gone:#?}, which open none"
    );
}

#[test]
fn every_muninn_header_is_documented() {
    let page = std::fs::read_to_string(root().join("docs/reference/headers.md")).unwrap();
    let mut missing = BTreeSet::new();
    sources_below(&root().join("gateway"), &mut |_, text| {
        let quoted = text.split('"').filter(|word| word.len() > "x-muninn-".len());
        let names = quoted.filter(|word| word.starts_with("x-muninn-") && !word.contains(char::is_whitespace));
        missing.extend(names.filter(|name| !page.contains(&format!("`{name}"))).map(str::to_owned));
    });
    assert!(missing.is_empty(), "docs/reference/headers.md lacks {missing:?}");
}

const ENVIRONMENT: &str = "# Environment variables

<!-- Generated from gateway/config/src/env_vars.rs by a test. Do not edit: change the comments there, then run
     `UPDATE_GOLDEN=1 cargo test -p muninn-tests --lib environment`. -->

Environment variables override the user's file `muninn.toml`, and flags override environment variables. The libraries
for HTTP and TLS also read `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY` and `SSL_CERT_FILE`. `HOME` and the
`XDG_*` variables locate the user's directories. A backend's `key_env` names one more variable.

| variable | meaning |
|---|---|
";

#[test]
fn environment_reference_is_up_to_date() {
    let sources = sources(&root().join("gateway/config/src"));
    let variables = sources.iter().find(|source| source.path == "env_vars.rs").unwrap();
    let rows = variables.file.items.iter().filter_map(|item| match item {
        Item::Const(item) => match &*item.expr {
            syn::Expr::Lit(name) => Some(format!("| `{}` | {} |\n", string(name), doc(&item.attrs))),
            _ => None,
        },
        _ => None,
    });
    let page = format!("{ENVIRONMENT}{}", rows.collect::<String>());
    crate::golden::assert_golden(&root().join("docs/reference/environment.md"), &page);
}

fn string(literal: &syn::ExprLit) -> String {
    match &literal.lit {
        syn::Lit::Str(text) => text.value(),
        _ => panic!("the literal is no string"),
    }
}

/// The text of doc comments, on one line.
fn doc(attributes: &[syn::Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        syn::Meta::NameValue(line) if line.path.is_ident("doc") => match &line.value {
            syn::Expr::Lit(text) => Some(string(text).trim().to_owned()),
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join(" ")
}

/// Maximum number of packages in the lock file that are not Muninn's own. Users must trust every package, so each increase
/// needs a reason. The last increases were for the grammars of twelve languages (21), the larger embedder (candle and
/// its tokenizer, 69), file watching on every system (notify, 8), sqlite-vec, two columns in a terminal of any width
/// (textwrap, 3), content codings (async-compression with brotli and zstd, 14), logs as JSON (2), JSON Schemas of
/// tools' arguments (schemars, 6), asynchronous trait methods (async-trait), shell completions and manual pages
/// (clap_complete, 3), the Model Context Protocol (rmcp, 21), links in Markdown (pulldown-cmark, 2), edits of
/// clients' files that keep their comments (toml_edit, jsonc-parser), YAML in front matter (saphyr-parser, 2), and
/// three-way merges of texts (diffy). The times of reminders take three (croner),
/// WebSockets nine (axum's `ws`, with tungstenite), the allocator two (mimalloc: a seventh less CPU per request).
const MAX_PACKAGES: usize = 497;

#[test]
fn lock_file_holds_no_more_packages_than_allowed() {
    let packages = locked(".").len() - members().len();
    assert!(packages <= MAX_PACKAGES, "{packages} packages, {MAX_PACKAGES} are allowed");
}

/// The only file that may disable the lint. It only registers sqlite-vec.
const UNSAFE_FILE: &str = "memory/index/src/vectors/extension.rs";

#[test]
fn only_one_file_is_unsafe() {
    let workspace = manifest(".");
    let level = workspace["workspace"]["lints"]["rust"]["unsafe_code"].as_str();
    assert_eq!(level, Some("deny"), "the lint must be on by default");
    let mut found = Vec::new();
    for folder in LAYERS.iter().chain(&["benches", "tests"]) {
        sources_below(&root().join(folder), &mut |path, text| {
            // The patterns are split, so that this file does not contain them.
            let words = [concat!("unsafe", "_code"), concat!("unsafe", " {")];
            if words.iter().any(|word| text.contains(word)) && !path.ends_with("tests/src/architecture.rs") {
                found.push(path.to_owned());
            }
        });
    }
    assert_eq!(found, [root().join(UNSAFE_FILE)]);
    let lines = std::fs::read_to_string(root().join(UNSAFE_FILE)).unwrap().lines().count();
    assert!(lines < 30, "{lines} lines: code that needs no exception belongs elsewhere");
}

fn sources_below(directory: &Path, see: &mut dyn FnMut(&Path, &str)) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources_below(&path, see);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            see(&path, &std::fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn benchmark_options_and_fields_match_the_recorded_ones() {
    let interface = benches::interface(&root().join("benches/src"));
    crate::golden::assert_golden(&root().join("tests/contract/benches.txt"), &interface);
}
