//! Python: modules are files, and module paths begin at a root folder that no import names.

use super::Wanted;
use crate::graph::files::{Files, folder, join, upwards};

pub(super) fn resolve(files: &Files<'_>, wanted: &Wanted<'_>, targets: &mut Vec<u32>) {
    let dots = wanted.path.len() - wanted.path.trim_start_matches('.').len();
    let segments: Vec<&str> = wanted.path[dots..].split('.').filter(|part| !part.is_empty()).collect();
    let mut paths = vec![segments.clone()];
    if !wanted.names.is_empty() {
        paths = wanted
            .names
            .iter()
            .map(|name| segments.iter().chain(Some(name).filter(|name| **name != "*")).copied().collect())
            .collect();
    }
    for path in paths {
        if dots == 0 {
            targets.extend(absolute(files, wanted.from, &path));
        } else {
            let mut base = folder(wanted.from);
            for _ in 1..dots {
                base = folder(base);
            }
            let own = || files.at(&join(base, "__init__.py")?);
            targets.extend(module(files, base, &path).or_else(own));
        }
    }
}

fn absolute(files: &Files<'_>, from: &str, path: &[&str]) -> Option<u32> {
    let is_package = |at: &str| join(at, "__init__.py").is_some_and(|init| files.at(&init).is_some());
    let around = upwards(folder(from)).filter(|at| !is_package(at)).find_map(|at| {
        let source = join(at, "src")?;
        module(files, at, path).or_else(|| module(files, &source, path))
    });
    around.or_else(|| {
        let shared = |root: &str| root.split('/').zip(from.split('/')).take_while(|(a, b)| a == b).count();
        let roots = files.python_roots(path.first()?);
        let nearest = roots.iter().max_by_key(|root| shared(root))?;
        module(files, nearest, path)
    })
}

/// Returns the file of the longest prefix of a path that is a module.
fn module(files: &Files<'_>, root: &str, path: &[&str]) -> Option<u32> {
    (1..=path.len()).rev().find_map(|length| {
        let at = join(root, &path[..length].join("/"))?;
        let endings = [".py", "/__init__.py", ".pyi", "/__init__.pyi"];
        endings.iter().find_map(|ending| files.at(&format!("{at}{ending}")))
    })
}
