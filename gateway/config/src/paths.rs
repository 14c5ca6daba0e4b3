//! The paths of configuration, state, models and caches.
//!
//! The state directory holds data that must survive a cache clean-up: ledger and receipts. The cache directory holds
//! derived data. Both follow the platform's conventions unless an environment variable names another directory.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use etcetera::{AppStrategy, AppStrategyArgs, choose_app_strategy};
use muninn_base::{Links, private_file, read_regular, read_regular_text};

use super::{ConfigError, env_vars};
#[cfg(unix)]
use crate::ownership::OwnDirectory;
use crate::secrets::machine_secret;

/// The most bytes of the small files that are read here.
const MOST_BYTES: u64 = 1 << 20;

fn strategy(variable: &'static str) -> Result<impl AppStrategy, ConfigError> {
    choose_app_strategy(AppStrategyArgs {
        top_level_domain: "dev".into(),
        author: "muninn".into(),
        app_name: "muninn".into(),
    })
    .map_err(|_| ConfigError::NoHome(variable))
}

fn from_environment(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns the path of the user's configuration file, which may not exist.
pub fn config_file() -> Result<PathBuf, ConfigError> {
    match from_environment(env_vars::CONFIG) {
        Some(path) => Ok(path),
        None => Ok(strategy(env_vars::CONFIG)?.config_dir().join("muninn.toml")),
    }
}

/// Returns the directory of all programs' configurations of this user.
pub fn user_config_dir() -> Result<PathBuf, ConfigError> {
    let own = strategy(env_vars::CONFIG)?.config_dir();
    Ok(own.parent().unwrap_or(&own).to_owned())
}

/// Returns the directory of ledger, receipts and live records, which only the user controls. If others may enter it, that
/// right is taken away, with a warning in the log.
pub fn state_dir() -> Result<PathBuf, ConfigError> {
    let StateDir { path, notice } = closed_state_dir()?;
    if let Some(notice) = notice {
        tracing::warn!("{notice}");
    }
    Ok(path)
}

/// The state directory, and what was changed about it just now.
pub struct StateDir {
    pub path: PathBuf,
    pub notice: Option<String>,
}

/// [`state_dir`] without the warning.
pub fn closed_state_dir() -> Result<StateDir, ConfigError> {
    let path = state_dir_path()?;
    #[cfg(unix)]
    let notice = OwnDirectory::examine(&path, env_vars::STATE_DIR)?.close()?;
    #[cfg(not(unix))]
    let notice = None;
    Ok(StateDir { path, notice })
}

/// Checks who controls the state directory, and changes nothing.
pub fn check_state_dir(path: &Path) -> Result<(), ConfigError> {
    #[cfg(unix)]
    OwnDirectory::examine(path, env_vars::STATE_DIR)?;
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Returns the path of the state directory, whoever controls it.
pub fn state_dir_path() -> Result<PathBuf, ConfigError> {
    match from_environment(env_vars::STATE_DIR) {
        Some(path) => Ok(path),
        None => {
            let strategy = strategy(env_vars::STATE_DIR)?;
            Ok(strategy.state_dir().unwrap_or_else(|| strategy.data_dir().join("state")))
        }
    }
}

/// Returns the directory of personal memory, which may not exist: the given one, that of macrodata if it is used, or `personal`
/// in the user's data directory.
pub fn personal_dir(given: Option<&Path>) -> Result<PathBuf, ConfigError> {
    let named = given.map(Path::to_owned).or_else(|| from_environment(env_vars::MACRODATA_ROOT));
    if let Some(path) = named {
        return Ok(path);
    }
    if let Ok(home) = etcetera::home_dir() {
        let theirs = home.join(".config/macrodata");
        if let Some(root) = named_root(&theirs.join("config.json")) {
            return Ok(root);
        }
        if theirs.is_dir() {
            return Ok(theirs);
        }
    }
    Ok(strategy(env_vars::MACRODATA_ROOT)?.data_dir().join("personal"))
}

/// The `root` of macrodata's configuration; `None` without one.
fn named_root(file: &Path) -> Option<PathBuf> {
    let text = read_regular(file, Links::Follow, MOST_BYTES).ok()?;
    let config: serde_json::Value = serde_json::from_slice(&text).ok()?;
    let root = PathBuf::from(config.get("root")?.as_str()?);
    root.is_absolute().then_some(root)
}

/// Returns the path of Codex's configuration file, which may not exist; `None` without a home directory.
pub fn codex_config() -> Option<PathBuf> {
    let home = || Some(etcetera::home_dir().ok()?.join(".codex"));
    let directory = from_environment(env_vars::CODEX_HOME).or_else(home)?;
    Some(directory.join("config.toml"))
}

/// Returns the directory of sockets, where the system has one: `$XDG_RUNTIME_DIR/muninn`. The directory may not exist.
pub fn runtime_dir() -> Option<PathBuf> {
    strategy(env_vars::STATE_DIR).ok()?.runtime_dir()
}

/// Returns the directory of models, and of indexes for repositories without `.muninn/`.
pub fn cache_dir() -> Result<PathBuf, ConfigError> {
    match from_environment(env_vars::CACHE_DIR) {
        Some(path) => Ok(path),
        None => Ok(strategy(env_vars::CACHE_DIR)?.cache_dir()),
    }
}

/// Returns the directory of downloaded models, which has a folder for each model.
pub fn models_dir() -> Result<PathBuf, ConfigError> {
    Ok(cache_dir()?.join("models"))
}

/// Whether `muninn init` has been run in this worktree: its configuration and its ignore file exist, and neither
/// `.muninn` nor its cache is a symbolic link.
pub fn is_initialised(root: &Path) -> bool {
    let folder = root.join(".muninn");
    let is_no_link = |path: &Path| path.symlink_metadata().is_ok_and(|meta| !meta.is_symlink());
    let ignores_cache = || {
        read_regular_text(&folder.join(".gitignore"), Links::Refuse, MOST_BYTES)
            .is_ok_and(|text| text.lines().any(|line| line.trim().trim_matches('/') == "cache"))
    };
    let cache = folder.join("cache");
    is_no_link(&folder)
        && folder.join("config.toml").is_file()
        && ignores_cache()
        && (!cache.exists() || is_no_link(&cache))
}

/// Returns the path of a repository's cache without creating it or checking its stamp; see [`repository_cache_dir`].
pub fn repository_cache_path(root: &Path, common_dir: &Path) -> Result<PathBuf, ConfigError> {
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

/// Returns the directory of a repository's cache: `.muninn/cache/` of the main worktree if that is initialised, else a
/// folder of the user's cache directory for the git common directory. So linked worktrees share one cache.
///
/// A cache that came with a clone cannot be trusted. A cache of this machine has a stamp, keyed with the secret in the
/// state directory. If the stamp is missing or wrong, the cache is emptied and gets a new one.
pub fn repository_cache_dir(root: &Path, common_dir: &Path, state_dir: &Path) -> Result<PathBuf, ConfigError> {
    let directory = repository_cache_path(root, common_dir)?;
    if !is_initialised(main_root(root, common_dir)) {
        return Ok(directory);
    }
    let stamp = directory.join("stamp");
    let expected =
        stamp_of(&directory, state_dir).map_err(|source| ConfigError::Read { path: state_dir.to_owned(), source })?;
    if read_regular_text(&stamp, Links::Refuse, MOST_BYTES).ok().as_deref() != Some(&expected) {
        let emptied = private_file::dir(&directory)
            .and_then(|()| empty(&directory))
            .and_then(|()| private_file::append(&stamp))
            .and_then(|mut file| file.write_all(expected.as_bytes()));
        emptied.map_err(|source| ConfigError::Read { path: directory.clone(), source })?;
    }
    Ok(directory)
}

/// Removes the contents of a directory and keeps the directory, which may be a mounted volume.
fn empty(directory: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        // The type of the entry itself: a symbolic link is removed, not followed.
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
    Ok(blake3::keyed_hash(&secret, name.as_os_str().as_encoded_bytes()).to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emptying_a_cache_keeps_its_directory_and_follows_no_links() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache");
        std::fs::create_dir_all(cache.join("vectors/deep")).unwrap();
        std::fs::write(cache.join("index.db"), "from elsewhere").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(folder.path(), cache.join("link")).unwrap();
        std::fs::write(folder.path().join("kept"), "x").unwrap();
        empty(&cache).unwrap();
        assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 0);
        assert!(folder.path().join("kept").exists(), "the target of a link is kept");
    }
}
