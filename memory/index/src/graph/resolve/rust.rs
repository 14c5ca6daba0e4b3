//! Rust: modules are files, and crates are folders with a manifest.

use super::Wanted;
use crate::graph::files::{Files, Kind, folder, join, stem};

/// Folders in which each file is a crate.
const CRATES_OF_FILES: &[&str] = &["tests", "benches", "examples", "bin"];

pub(super) fn resolve(files: &Files<'_>, wanted: &Wanted<'_>, targets: &mut Vec<u32>) {
    let segments: Vec<&str> = wanted.path.split("::").filter(|part| !part.is_empty()).collect();
    if wanted.names.is_empty() {
        targets.extend(follow(files, wanted.from, &segments));
    }
    for name in &wanted.names {
        let mut path = segments.clone();
        if *name != "*" {
            path.push(name);
        }
        targets.extend(follow(files, wanted.from, &path));
    }
}

fn follow(files: &Files<'_>, from: &str, path: &[&str]) -> Option<u32> {
    let (first, rest) = path.split_first()?;
    let below = below(from);
    match *first {
        "crate" => in_module(files, &crate_root(files, from), rest),
        "self" => in_module(files, &below, rest),
        "super" => {
            let more = rest.iter().take_while(|part| **part == "super").count();
            let mut at = folder(&below);
            for _ in 0..more {
                at = folder(at);
            }
            in_module(files, at, &rest[more..])
        }
        name => {
            let member = files.package(Kind::Cargo, name).and_then(|home| {
                let source = join(home, "src")?;
                in_module(files, &source, rest).or_else(|| in_module(files, home, rest))
            });
            // The path can begin with a module next to this one. In the 2015 edition it can begin at the root of the
            // crate.
            member
                .or_else(|| submodule(files, &below, path))
                .or_else(|| submodule(files, &crate_root(files, from), path))
        }
    }
}

/// Returns the folder of the modules that a file declares.
fn below(from: &str) -> String {
    let home = folder(from);
    let is_crate = CRATES_OF_FILES.iter().any(|name| home == *name || home.ends_with(&format!("/{name}")));
    if is_crate || matches!(stem(from), "mod" | "lib" | "main") {
        home.to_owned()
    } else {
        from.strip_suffix(".rs").unwrap_or(from).to_owned()
    }
}

/// Returns the folder to which `crate::` refers.
fn crate_root(files: &Files<'_>, from: &str) -> String {
    let Some((home, _)) = files.manifest(Kind::Cargo, from) else {
        let has_root = |at: &&str| {
            ["lib.rs", "main.rs"].iter().any(|name| join(at, name).is_some_and(|path| files.at(&path).is_some()))
        };
        return super::super::files::upwards(folder(from)).find(has_root).unwrap_or(folder(from)).to_owned();
    };
    let inside = from.strip_prefix(home).unwrap_or(from).trim_start_matches('/');
    let mut parts = inside.split('/');
    let (first, second) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let root = match (first, second) {
        ("src", "bin") if parts.next().is_some() => format!("src/bin/{}", inside.split('/').nth(2).unwrap_or_default()),
        ("src", "bin") => "src/bin".to_owned(),
        _ if inside.contains('/') => first.to_owned(),
        _ => String::new(),
    };
    let root = root.strip_suffix(".rs").map_or(root.clone(), |_| "src/bin".to_owned());
    join(home, &root).unwrap_or_default()
}

/// Returns the file of a path below a module. If no part of the path is a file, returns the module's own file.
fn in_module(files: &Files<'_>, module: &str, path: &[&str]) -> Option<u32> {
    let own = || {
        let beside = (!module.is_empty()).then(|| files.at(&format!("{module}.rs"))).flatten();
        beside.or_else(|| {
            let mut names = ["mod.rs", "lib.rs", "main.rs"].iter();
            names.find_map(|name| files.at(&join(module, name)?))
        })
    };
    submodule(files, module, path).or_else(own)
}

/// Returns the file of the longest prefix of a path that is a module.
fn submodule(files: &Files<'_>, module: &str, path: &[&str]) -> Option<u32> {
    (1..=path.len()).rev().find_map(|length| {
        let at = join(module, &path[..length].join("/"))?;
        files.at(&format!("{at}.rs")).or_else(|| files.at(&format!("{at}/mod.rs")))
    })
}
