//! Finds files by path, by the end of a path, and by their declared package.

use std::collections::HashMap;

use muninn_base::RelPath;

use crate::syntax::{Manifest, Syntax};

/// A file as given to the graph: its number, path and syntax.
pub(super) type Given<'a> = (u32, &'a RelPath, &'a Syntax);

/// The files of a worktree, for resolving imports.
pub struct Files<'a> {
    by_path: HashMap<&'a str, u32>,
    /// Files that can be imported by a part of their path, by their last component.
    by_name: HashMap<&'a str, Vec<u32>>,
    /// The root folders of Python modules, by the names of the modules in them.
    roots: HashMap<&'a str, Vec<&'a str>>,
    manifests: HashMap<(&'a str, Kind), &'a Syntax>,
    /// The folders of crates and npm packages, by package name.
    packages: HashMap<(Kind, &'a str), &'a str>,
    go_modules: Vec<(&'a str, &'a str)>,
    given: HashMap<u32, (&'a str, &'a Syntax)>,
}

/// The kind of manifest in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Cargo,
    Npm,
    Script,
}

/// Returns the folder of a path; empty for a path at the root.
pub(super) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns the last component of a path.
pub(super) fn last(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, last)| last)
}

/// Returns a file name up to its first dot.
pub(super) fn stem(path: &str) -> &str {
    let name = last(path);
    name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or(name)
}

/// Appends a relative path to a folder. Returns `None` if the result is outside the worktree.
pub(super) fn join(folder: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns a folder and its ancestors, innermost first.
pub(super) fn upwards(folder: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(folder), |at| (!at.is_empty()).then(|| self::folder(at)))
}

impl<'a> Files<'a> {
    pub(super) fn new(given: &[Given<'a>]) -> Self {
        let mut files = Self {
            by_path: HashMap::with_capacity(given.len()),
            by_name: HashMap::with_capacity(given.len()),
            roots: HashMap::new(),
            manifests: HashMap::new(),
            packages: HashMap::new(),
            go_modules: Vec::new(),
            given: HashMap::with_capacity(given.len()),
        };
        for (number, path, _) in given {
            files.by_path.insert(path.as_str(), *number);
        }
        for (number, path, syntax) in given {
            files.add(*number, path.as_str(), path, syntax);
        }
        // The innermost Go module comes first.
        files.go_modules.sort_by_key(|(module, _)| std::cmp::Reverse(module.len()));
        files
    }

    fn add(&mut self, number: u32, path: &'a str, rel: &RelPath, syntax: &'a Syntax) {
        let home = folder(path);
        self.given.insert(number, (path, syntax));
        self.by_name.entry(last(path)).or_default().push(number);
        let package = syntax.name(syntax.package);
        match Manifest::of(rel) {
            Some(Manifest::Go) => self.go_modules.push((package, home)),
            Some(Manifest::Cargo) => {
                self.manifests.insert((home, Kind::Cargo), syntax);
                self.packages.insert((Kind::Cargo, package), home);
            }
            Some(Manifest::Npm) => {
                self.manifests.insert((home, Kind::Npm), syntax);
                self.packages.insert((Kind::Npm, package), home);
            }
            // If a folder has several such manifests, the one with the plain name is used.
            Some(Manifest::Script) if matches!(last(path), "tsconfig.json" | "jsconfig.json") => {
                self.manifests.insert((home, Kind::Script), syntax);
            }
            Some(Manifest::Script) => {
                self.manifests.entry((home, Kind::Script)).or_insert(syntax);
            }
            None if matches!(rel.extension(), "py" | "pyi") => self.add_root(path),
            None => {}
        }
    }

    /// Adds the folder of a Python module that is in no package as a root of imports.
    fn add_root(&mut self, path: &'a str) {
        let is_package =
            |folder: &str| !folder.is_empty() && self.by_path.contains_key(format!("{folder}/__init__.py").as_str());
        let (home, module) = if stem(path) == "__init__" {
            (folder(folder(path)), last(folder(path)))
        } else {
            (folder(path), stem(path))
        };
        if !module.is_empty() && !is_package(home) {
            let roots = self.roots.entry(module).or_default();
            if !roots.contains(&home) {
                roots.push(home);
            }
        }
    }

    pub(super) fn at(&self, path: &str) -> Option<u32> {
        self.by_path.get(path).copied()
    }

    pub(super) fn path(&self, file: u32) -> &'a str {
        self.given.get(&file).map_or("", |(path, _)| *path)
    }

    pub(super) fn syntax(&self, file: u32) -> Option<&'a Syntax> {
        self.given.get(&file).map(|(_, syntax)| *syntax)
    }

    /// Returns the file whose path ends with `end`. If there are several, returns the file that is nearest to `from`.
    pub(super) fn by_end(&self, end: &str, from: &str) -> Option<u32> {
        let end = end.trim_start_matches("./").trim_start_matches("../");
        let ends = |path: &str| path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'));
        let shared = |path: &str| path.split('/').zip(from.split('/')).take_while(|(a, b)| a == b).count();
        let all = self.by_name.get(last(end))?;
        // At most 256 files of a name are compared, because among more files the nearest one is no evidence.
        let mut best: Option<(usize, u32)> = None;
        let mut tie = false;
        for file in all.iter().take(256).filter(|file| ends(self.path(**file))) {
            let near = shared(self.path(*file));
            match best {
                Some((known, _)) if near == known => tie = true,
                Some((known, _)) if near < known => {}
                _ => (best, tie) = (Some((near, *file)), false),
            }
        }
        best.filter(|_| !tie).map(|(_, file)| file)
    }

    pub(super) fn python_roots(&self, module: &str) -> &[&'a str] {
        self.roots.get(module).map_or(&[], Vec::as_slice)
    }

    /// Returns the folder of a workspace member, by the name of its package.
    pub(super) fn package(&self, kind: Kind, name: &str) -> Option<&'a str> {
        self.packages.get(&(kind, name)).copied()
    }

    /// Returns the innermost folder around `path` that has a manifest, and the manifest.
    pub(super) fn manifest<'p>(&self, kind: Kind, path: &'p str) -> Option<(&'p str, &'a Syntax)> {
        upwards(folder(path)).find_map(|at| Some((at, *self.manifests.get(&(at, kind))?)))
    }

    /// Returns the folder of a Go package, by its import path.
    pub(super) fn go_package(&self, import: &str) -> Option<String> {
        self.go_modules.iter().find_map(|(module, home)| {
            let rest = import.strip_prefix(module)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| join(home, rest))?
        })
    }
}
