//! Finding files by path, by the end of a path, and by the package that they declare.

use std::collections::HashMap;

use muninn_repo_tools::RelPath;

use crate::index::syntax::{Manifest, Syntax};

/// A file as it was given: its number, where it is, and its syntax.
pub(super) type Given<'a> = (u32, &'a RelPath, &'a Syntax);

/// The files of a worktree, for those who resolve imports.
pub(super) struct Files<'a> {
    by_path: HashMap<&'a str, u32>,
    /// Files that can be imported by less than their path, by their last component.
    by_name: HashMap<&'a str, Vec<u32>>,
    /// Folders in which the modules of a Python project begin, by the names of those modules.
    roots: HashMap<&'a str, Vec<&'a str>>,
    manifests: HashMap<(&'a str, Kind), &'a Syntax>,
    /// The folder of a crate or an npm package, by its name.
    packages: HashMap<(Kind, &'a str), &'a str>,
    go_modules: Vec<(&'a str, &'a str)>,
    given: HashMap<u32, (&'a str, &'a Syntax)>,
}

/// Which manifest a folder has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Cargo,
    Npm,
    Script,
}

/// The folder of a path; empty at the top.
pub(super) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The last component of a path.
pub(super) fn last(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, last)| last)
}

/// A file's name up to its first dot.
pub(super) fn stem(path: &str) -> &str {
    let name = last(path);
    name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or(name)
}

/// Appends a relative path to a folder; `None` where it leads out of the worktree.
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

/// A folder and all around it, the innermost first.
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
        // The innermost module of Go comes first.
        files
            .go_modules
            .sort_by_key(|(module, _)| std::cmp::Reverse(module.len()));
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
            // The plain one counts where there are several.
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

    /// A Python module that is in no package begins a path of imports in its folder.
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

    /// The one file whose path ends with `end`, or the one of them that is nearest to `from`.
    pub(super) fn by_end(&self, end: &str, from: &str) -> Option<u32> {
        let end = end.trim_start_matches("./").trim_start_matches("../");
        let ends = |path: &str| {
            path.strip_suffix(end)
                .is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        let shared = |path: &str| path.split('/').zip(from.split('/')).take_while(|(a, b)| a == b).count();
        let all = self.by_name.get(last(end))?;
        // Asking a hundred files of one name which is nearest finds nothing.
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

    /// The folder of a workspace member, by the name of its package.
    pub(super) fn package(&self, kind: Kind, name: &str) -> Option<&'a str> {
        self.packages.get(&(kind, name)).copied()
    }

    /// The innermost folder around `path` with a manifest, and that.
    pub(super) fn manifest<'p>(&self, kind: Kind, path: &'p str) -> Option<(&'p str, &'a Syntax)> {
        upwards(folder(path)).find_map(|at| Some((at, *self.manifests.get(&(at, kind))?)))
    }

    /// The folder of a Go package, by its import path.
    pub(super) fn go_package(&self, import: &str) -> Option<String> {
        self.go_modules.iter().find_map(|(module, home)| {
            let rest = import.strip_prefix(module)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| join(home, rest))?
        })
    }
}
