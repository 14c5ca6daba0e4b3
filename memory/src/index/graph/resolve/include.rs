//! Languages that name a file: C and C++, Ruby, shells, and PHP's older way.

use super::Wanted;
use crate::index::graph::files::{Files, folder, join};

/// Next to the file that includes it, else the file whose path ends so.
pub(super) fn header(files: &Files<'_>, wanted: &Wanted<'_>) -> Option<u32> {
    beside(files, wanted.from, wanted.path).or_else(|| files.by_end(wanted.path, wanted.from))
}

/// `require_relative`, and `require` from a `lib` folder.
pub(super) fn ruby(files: &Files<'_>, wanted: &Wanted<'_>) -> Option<u32> {
    let path = if wanted.path.ends_with(".rb") {
        wanted.path.to_owned()
    } else {
        format!("{}.rb", wanted.path)
    };
    beside(files, wanted.from, &path).or_else(|| files.by_end(&format!("lib/{path}"), wanted.from))
}

/// `source`, whose path often begins with a variable for the folder of the script.
pub(super) fn shell(files: &Files<'_>, wanted: &Wanted<'_>) -> Option<u32> {
    let path = match wanted.path.rfind(['$', ')', '}', '`']) {
        Some(at) => wanted.path[at..].split_once('/')?.1,
        None => wanted.path,
    };
    named(files, wanted.from, path.trim_matches(['"', '\'']))
}

/// A path that may begin in the folder of the file, at the top, or anywhere.
pub(super) fn named(files: &Files<'_>, from: &str, path: &str) -> Option<u32> {
    let path = path.trim_start_matches('/');
    beside(files, from, path)
        .or_else(|| files.at(&join("", path)?))
        .or_else(|| files.by_end(path, from))
}

fn beside(files: &Files<'_>, from: &str, path: &str) -> Option<u32> {
    files.at(&join(folder(from), path)?)
}
