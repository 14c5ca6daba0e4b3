//! Where Muninn keeps things outside the repository, and where a repository's derived cache may go.
//!
//! The state directory holds what must outlive a cache clean-up (ledger, receipts); the cache directory what can be
//! rebuilt. Both follow the platform's conventions unless a variable names another place.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use etcetera::{AppStrategy, AppStrategyArgs, choose_app_strategy};
use muninn_memory::private_file;

use super::{ConfigError, env_vars};
use crate::secrets::machine_secret;

fn strategy(variable: &'static str) -> Result<impl AppStrategy, ConfigError> {
    choose_app_strategy(AppStrategyArgs {
        top_level_domain: "dev".into(),
        author: "muninn".into(),
        app_name: "muninn".into(),
    })
    .map_err(|_| ConfigError::NoHome(variable))
}

fn from_environment(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// The user's configuration file, whether it exists or not.
///
/// # Errors
/// [`ConfigError::NoHome`] where neither a variable nor a home directory says where.
pub fn config_file() -> Result<PathBuf, ConfigError> {
    match from_environment(env_vars::CONFIG) {
        Some(path) => Ok(path),
        None => Ok(strategy(env_vars::CONFIG)?.config_dir().join("muninn.toml")),
    }
}

/// The directory of ledger and receipts.
///
/// # Errors
/// [`ConfigError::NoHome`] where neither a variable nor a home directory says where.
pub fn state_dir() -> Result<PathBuf, ConfigError> {
    match from_environment(env_vars::STATE_DIR) {
        Some(path) => Ok(path),
        None => {
            let strategy = strategy(env_vars::STATE_DIR)?;
            Ok(strategy
                .state_dir()
                .unwrap_or_else(|| strategy.data_dir().join("state")))
        }
    }
}

/// The directory of indexes for repositories that have no `.muninn/`.
///
/// # Errors
/// [`ConfigError::NoHome`] where neither a variable nor a home directory says where.
pub fn cache_dir() -> Result<PathBuf, ConfigError> {
    match from_environment(env_vars::CACHE_DIR) {
        Some(path) => Ok(path),
        None => Ok(strategy(env_vars::CACHE_DIR)?.cache_dir()),
    }
}

/// The directory of models that were fetched, one folder each.
///
/// # Errors
/// [`ConfigError::NoHome`] where neither a variable nor a home directory says where.
pub fn models_dir() -> Result<PathBuf, ConfigError> {
    Ok(cache_dir()?.join("models"))
}

/// Whether `muninn init` has been run here: its configuration and its ignore file are there, and neither `.muninn` nor
/// its cache is a link that leads elsewhere.
#[must_use]
pub fn is_initialised(root: &Path) -> bool {
    let folder = root.join(".muninn");
    let real = |path: &Path| path.symlink_metadata().is_ok_and(|meta| !meta.is_symlink());
    let ignores_cache = || {
        std::fs::read_to_string(folder.join(".gitignore"))
            .is_ok_and(|text| text.lines().any(|line| line.trim().trim_matches('/') == "cache"))
    };
    let cache = folder.join("cache");
    real(&folder) && folder.join("config.toml").is_file() && ignores_cache() && (!cache.exists() || real(&cache))
}

/// Where the derived cache of a repository is or would be, without making or trusting it: see [`repository_cache_dir`].
///
/// # Errors
/// [`ConfigError::NoHome`].
pub fn repository_cache_place(root: &Path, common_dir: &Path) -> Result<PathBuf, ConfigError> {
    let main_root = main_root(root, common_dir);
    if is_initialised(main_root) {
        return Ok(main_root.join(".muninn").join("cache"));
    }
    let name = blake3::hash(common_dir.as_os_str().as_encoded_bytes()).to_hex();
    Ok(cache_dir()?.join("repositories").join(&name[..16]))
}

fn main_root<'a>(root: &'a Path, common_dir: &'a Path) -> &'a Path {
    match common_dir.file_name() {
        Some(name) if name == ".git" => common_dir.parent().unwrap_or(root),
        _ => root,
    }
}

/// Where the derived cache of a repository goes: `.muninn/cache/` of the main worktree once that is initialised, else a
/// folder of the user's cache directory, one for each git common directory, so that linked worktrees share it.
///
/// A cache that came with a clone is not ours and could say anything; ours is told by a stamp keyed
/// with a secret of the state directory, and starts over where the stamp is missing or wrong.
///
/// # Errors
/// [`ConfigError::NoHome`], or [`ConfigError::Read`] where the directory cannot be made.
pub fn repository_cache_dir(root: &Path, common_dir: &Path, state_dir: &Path) -> Result<PathBuf, ConfigError> {
    let directory = repository_cache_place(root, common_dir)?;
    if !is_initialised(main_root(root, common_dir)) {
        return Ok(directory);
    }
    let stamp = directory.join("stamp");
    let expected = stamp_of(&directory, state_dir).map_err(|source| ConfigError::Read {
        path: state_dir.to_owned(),
        source,
    })?;
    if std::fs::read_to_string(&stamp).ok().as_deref() != Some(&expected) {
        let started_over = private_file::dir(&directory)
            .and_then(|()| empty(&directory))
            .and_then(|()| private_file::append(&stamp))
            .and_then(|mut file| file.write_all(expected.as_bytes()));
        started_over.map_err(|source| ConfigError::Read {
            path: directory.clone(),
            source,
        })?;
    }
    Ok(directory)
}

/// Removes what is in a directory and leaves the directory, which may be a volume that is mounted there.
fn empty(directory: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        // Of the entry itself: a link is removed and not followed.
        if entry.file_type()?.is_dir() {
            std::fs::remove_dir_all(entry.path())?;
        } else {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn stamp_of(directory: &Path, state_dir: &Path) -> std::io::Result<String> {
    let secret = machine_secret(state_dir)?;
    let name = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    Ok(blake3::keyed_hash(&secret, name.as_os_str().as_encoded_bytes())
        .to_hex()
        .to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_that_starts_over_is_emptied_and_its_directory_stays() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache");
        std::fs::create_dir_all(cache.join("vectors/deep")).unwrap();
        std::fs::write(cache.join("index.db"), "from elsewhere").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(folder.path(), cache.join("link")).unwrap();
        std::fs::write(folder.path().join("kept"), "x").unwrap();
        empty(&cache).unwrap();
        assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 0);
        assert!(folder.path().join("kept").exists(), "what a link leads to is not ours");
    }
}
