//! JavaScript and TypeScript: paths without extensions, folders with an index file, aliases, and workspace packages.

use super::Wanted;
use crate::graph::files::{Files, Kind, folder, join};

/// The extensions and index files that an import path can omit, most likely first.
const ENDINGS: &[&str] = &[
    "", ".ts", ".tsx", ".js", ".jsx", ".d.ts", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte", ".json", "/index.ts",
    "/index.tsx", "/index.js", "/index.jsx", "/index.mjs", "/index.d.ts",
];

pub(super) fn resolve(files: &Files<'_>, wanted: &Wanted<'_>) -> Option<u32> {
    let path = wanted.path.split(['?', '#']).next().filter(|path| !path.is_empty()).unwrap_or(wanted.path);
    if path.starts_with('.') {
        return module(files, &join(folder(wanted.from), path)?);
    }
    aliased(files, wanted.from, path).or_else(|| member(files, path))
}

/// Returns the file of an import path: the path as written, with an extension added, or with the source extension
/// instead of the compiled one.
fn module(files: &Files<'_>, path: &str) -> Option<u32> {
    let written = ENDINGS.iter().find_map(|ending| files.at(&format!("{path}{ending}")));
    written.or_else(|| {
        let (stem, endings): (_, &[&str]) = match path.rsplit_once('.')? {
            (stem, "js" | "jsx") => (stem, &[".ts", ".tsx", ".d.ts"]),
            (stem, "mjs") => (stem, &[".mts"]),
            (stem, "cjs") => (stem, &[".cts"]),
            _ => return None,
        };
        endings.iter().find_map(|ending| files.at(&format!("{stem}{ending}")))
    })
}

/// Resolves an import by `paths` and `baseUrl` of the nearest configuration file.
fn aliased(files: &Files<'_>, from: &str, path: &str) -> Option<u32> {
    let (home, settings) = files.manifest(Kind::Script, from)?;
    for (pattern, targets) in settings.each_import() {
        let rest = match pattern.split_once('*') {
            Some((before, after)) => path.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)),
            None => (pattern == path).then_some(""),
        };
        let Some(rest) = rest else { continue };
        for (target, _) in targets {
            let target = settings.name(*target).replacen('*', rest, 1);
            if let Some(found) = join(home, &target).and_then(|path| module(files, &path)) {
                return Some(found);
            }
        }
    }
    let base = settings.name(settings.package);
    if base.is_empty() {
        return None;
    }
    module(files, &join(&join(home, base)?, path)?)
}

/// Resolves a package of the same repository, or a path in such a package.
fn member(files: &Files<'_>, path: &str) -> Option<u32> {
    let parts = if path.starts_with('@') { 2 } else { 1 };
    let end = path.match_indices('/').nth(parts - 1).map_or(path.len(), |(at, _)| at);
    let home = files.package(Kind::Npm, &path[..end])?;
    let rest = path[end..].trim_start_matches('/');
    let tries: &[&str] =
        if rest.is_empty() { &["src/index", "index", "src/main", "lib/index"] } else { &["", "src", "lib"] };
    tries.iter().find_map(|within| {
        let base = join(home, within)?;
        module(files, &if rest.is_empty() { base } else { join(&base, rest)? })
    })
}
