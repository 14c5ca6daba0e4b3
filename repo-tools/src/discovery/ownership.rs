//! The owner of a repository.
//!
//! A repository's configuration and files can be made to harm who works in it. Therefore git refuses a repository of
//! another user, unless `safe.directory` in the configuration of the user or the system allows it. The repository's own
//! configuration cannot allow it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use gix::bstr::{BString, ByteSlice as _};
use gix::config::file::{Metadata, includes, init};
use gix::config::{File, Source};

/// Returns whether the user owns these paths; links are not followed, as in git. A path that does not exist has no owner.
#[cfg(unix)]
pub(super) fn is_own(paths: &[&Path]) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let user = rustix::process::geteuid().as_raw();
    // The user who called `sudo` is trusted by root.
    let caller = std::env::var("SUDO_UID").ok().and_then(|id| id.parse().ok());
    let caller = caller.filter(|_| user == 0);
    paths.iter().all(|path| {
        let owner = path.symlink_metadata().map(|metadata| metadata.uid());
        owner.is_ok_and(|owner| owner == user || Some(owner) == caller)
    })
}

/// Returns whether the user owns these paths.
#[cfg(not(unix))]
pub(super) fn is_own(paths: &[&Path]) -> bool {
    paths.iter().all(|path| gix::sec::identity::is_path_owned_by_current_user(path).unwrap_or(false))
}

/// Returns whether `safe.directory` allows a repository of another user, by its canonical path. The last entry that
/// applies decides, and an empty one forgets those before it. `variable` reads the environment.
pub(super) fn is_declared_safe(repository: &Path, variable: &mut dyn FnMut(&str) -> Option<OsString>) -> bool {
    let home = variable("HOME").map(PathBuf::from);
    let mut is_safe = false;
    for entry in entries(home.as_deref(), variable) {
        is_safe = match entry.to_str_lossy().as_ref() {
            "" => false,
            "*" => true,
            _ => is_safe || names(&entry, repository, home.as_deref()),
        };
    }
    is_safe
}

/// Returns whether an entry is the path of a repository, or `/*` after the path of a directory above it.
fn names(entry: &BString, repository: &Path, home: Option<&Path>) -> bool {
    let context = gix::config::path::interpolate::Context { home_dir: home, ..Default::default() };
    let Ok(path) = gix::config::Path::from(entry.as_bstr()).interpolate(context) else {
        return false;
    };
    if path.as_os_str() != "." && !path.is_absolute() {
        return false;
    }
    if path.ends_with("*") {
        let above = path.parent().and_then(|above| above.canonicalize().ok());
        return above.is_some_and(|above| repository != above && repository.starts_with(above));
    }
    path.canonicalize().is_ok_and(|path| path == repository)
}

/// The values of `safe.directory` in the configuration of the system, of the user and of the environment. A file that
/// cannot be read allows nothing.
fn entries(home: Option<&Path>, variable: &mut dyn FnMut(&str) -> Option<OsString>) -> Vec<BString> {
    let mut entries = Vec::new();
    for source in [Source::System, Source::Git, Source::User] {
        let path = source.storage_location(variable);
        let Some(path) = path.filter(|path| path.is_file()) else {
            continue;
        };
        let options =
            init::Options { includes: includes::Options::follow_without_conditional(home), ..Default::default() };
        if let Ok(Some(file)) = File::from_paths_metadata([Metadata::from(source).at(path)], options) {
            entries.extend(values(&file));
        }
    }
    entries.extend(File::from_environment_overrides().iter().flat_map(values));
    entries
}

fn values(file: &File) -> Vec<BString> {
    file.strings("safe.directory").unwrap_or_default()
}
