//! Imports that name a file: C and C++, Ruby, shells, and `require` in PHP.

use super::Wanted;
use crate::graph::files::{Files, folder, join};

/// Returns the header next to the including file, or else the file whose path ends with the included path.
pub(super) fn header(files: &Files<'_>, wanted: &Wanted<'_>) -> Option<u32> {
    beside(files, wanted.from, wanted.path).or_else(|| files.by_end(wanted.path, wanted.from))
}

/// Resolves `require_relative`, and `require` from a `lib` folder.
pub(super) fn ruby(files: &Files<'_>, wanted: &Wanted<'_>) -> Option<u32> {
    let path = if wanted.path.ends_with(".rb") { wanted.path.to_owned() } else { format!("{}.rb", wanted.path) };
    beside(files, wanted.from, &path).or_else(|| files.by_end(&format!("lib/{path}"), wanted.from))
}

/// Resolves `source`, whose path often begins with a variable for the script's folder.
pub(super) fn shell(files: &Files<'_>, wanted: &Wanted<'_>) -> Option<u32> {
    let path = match wanted.path.rfind(['$', ')', '}', '`']) {
        Some(at) => wanted.path[at..].split_once('/')?.1,
        None => wanted.path,
    };
    named(files, wanted.from, path.trim_matches(['"', '\'']))
}

/// Resolves a path that is relative to the file's folder, to the root, or to any folder.
pub(super) fn named(files: &Files<'_>, from: &str, path: &str) -> Option<u32> {
    let path = path.trim_start_matches('/');
    beside(files, from, path).or_else(|| files.at(&join("", path)?)).or_else(|| files.by_end(path, from))
}

fn beside(files: &Files<'_>, from: &str, path: &str) -> Option<u32> {
    files.at(&join(folder(from), path)?)
}
