//! Checks of this machine: the repository, the index, the state directory, git.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use muninn_base::with_causes;
use muninn_config::{Config, paths, repository};
use muninn_repo_tools::{DiscoverError, Worktree};

use super::finding::Finding;

/// All findings. Without a configuration, those that need none.
pub(super) fn findings(directory: &Path, state_dir: &Path, config: Option<&Config>) -> Vec<Finding> {
    let mut findings = vec![git(), state(state_dir)];
    match Worktree::discover(directory) {
        Ok(worktree) => findings.extend(worktree_findings(&worktree, config)),
        Err(error) => {
            let to_do = match error {
                DiscoverError::NotARepository { .. } | DiscoverError::NotFound { .. } | DiscoverError::Bare { .. } => {
                    "run the command inside a git repository, or name one with --root DIR"
                }
                _ => "repair the repository, or name another one with --root DIR; `git status` shows more",
            };
            findings.push(Finding::bad("repository", with_causes(&error), to_do));
        }
    }
    findings
}

fn git() -> Finding {
    let asked = Command::new("git").arg("--version").stdin(Stdio::null()).output();
    match asked {
        Ok(output) if output.status.success() => {
            let version = String::from_utf8_lossy(&output.stdout);
            Finding::good("git", version.trim().trim_start_matches("git version ").to_owned())
        }
        Ok(output) => {
            Finding::bad("git", format!("`git --version` failed: {}", output.status), "repair the installation of git")
        }
        Err(error) => Finding::bad("git", format!("`git` cannot be run: {error}"), "install git"),
    }
}

/// The state directory must be writable and private: it holds the first words of prompts, and session ids.
fn state(directory: &Path) -> Finding {
    let about = "state";
    let shown = directory.display();
    if let Err(error) = paths::check_state_dir(directory) {
        let to_do = "follow the advice; until then no command uses the directory";
        return Finding::bad(about, error.to_string(), to_do);
    }
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    if let Some(link) = entries.map(|entry| entry.path()).find(|path| path.is_symlink()) {
        let message = format!("{} is a symbolic link, which is not followed", link.display());
        return Finding::bad(about, message, "remove it; Muninn makes a file in its place");
    }
    if !directory.exists() {
        let parent = directory.ancestors().find(|folder| folder.is_dir());
        return match parent {
            Some(parent) if is_writable(parent) => {
                Finding::good(about, format!("{shown} will be created on first use"))
            }
            _ => Finding::bad(
                about,
                format!("{shown} is missing and cannot be created"),
                "create it, or set MUNINN_STATE_DIR to a directory that you own",
            ),
        };
    };
    if let Err(error) = try_writing(directory) {
        return Finding::bad(
            about,
            format!("{shown} cannot be written: {error}"),
            "free disk space, give yourself write access, or set MUNINN_STATE_DIR to a directory that you own",
        );
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let is_private = |path: &Path| path.metadata().is_ok_and(|found| found.permissions().mode() & 0o077 == 0);
        let database = directory.join("state.db");
        if !is_private(directory) && database.exists() && !is_private(&database) {
            let to_do = format!("run `chmod 700 {shown}` and `chmod 600 {}`", database.display());
            return Finding::bad(about, format!("{shown} can be read by other users"), to_do);
        }
    }
    Finding::good(about, format!("{shown} is writable and private"))
}

fn is_writable(directory: &Path) -> bool {
    try_writing(directory).is_ok()
}

/// Writes a file and removes it: only the file system knows. On a full disk, files can be created but not filled.
fn try_writing(directory: &Path) -> std::io::Result<()> {
    let path = directory.join(format!(".doctor.{}", std::process::id()));
    let mut file = std::fs::File::create_new(&path)?;
    let written = file.write_all(&[b'x'; 16_384]).and_then(|()| file.sync_all());
    std::fs::remove_file(&path).ok();
    written
}

fn worktree_findings(worktree: &Worktree, config: Option<&Config>) -> Vec<Finding> {
    let root = worktree.root();
    let shown = root.display();
    let mut findings = vec![match (std::fs::read_dir(root), worktree.branch()) {
        (Ok(_), Ok(branch)) => {
            let branch = branch.unwrap_or_else(|| "no branch".to_owned());
            Finding::good("repository", format!("{shown} on {branch}"))
        }
        (Ok(_), Err(error)) => Finding::bad(
            "repository",
            with_causes(&error),
            "until HEAD can be read, nothing is learned, and only main memory is recalled; `git status` shows more",
        ),
        (Err(error), _) => {
            Finding::bad("repository", format!("{shown} cannot be read: {error}"), "give yourself read access to it")
        }
    }];
    findings.push(if paths::is_initialised(root) {
        Finding::good("initialised", ".muninn/ is set up")
    } else {
        Finding::note(
            "initialised",
            "no; `muninn init` creates .muninn/ for the team's knowledge. Everything else works without it",
        )
    });
    if let Some(Err(error)) = config.map(|config| repository(config, root)) {
        findings.push(Finding::bad(
            "repository config",
            error.to_string(),
            "correct the file; it is ignored until then",
        ));
    }
    findings.push(index(worktree));
    findings
}

fn index(worktree: &Worktree) -> Finding {
    let holds_files = |folder: &Path| {
        std::fs::read_dir(folder).is_ok_and(|entries| entries.flatten().any(|entry| entry.file_name() != "stamp"))
    };
    match paths::repository_cache_path(worktree.root(), worktree.common_dir()) {
        Ok(place) if holds_files(&place) => Finding::good("index", place.display().to_string()),
        Ok(_) => Finding::note("index", "not built yet; `muninn index` and `muninn serve` build it"),
        Err(error) => Finding::bad("index", error.to_string(), "set MUNINN_CACHE_DIR to a directory that you own"),
    }
}
