use std::path::Path;

use muninn_base::private_file;
use muninn_notebooks::personal::Personal;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::changes::{self, Change, MOST_CHANGES};
use super::error::VersionError;
use super::repository::{Repository, file_error};

/// The files that are not kept: what can be rebuilt, and what belongs to running programs.
const IGNORED: &str = ".index/\n.daemon.*\n.pending-context\n";

/// What git leaves in its directory while a person is in the middle of something.
const UNDER_WAY: [&str; 7] =
    ["MERGE_HEAD", "BISECT_LOG", "sequencer", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"];

/// The result of a look for changes.
#[derive(Debug, Default)]
pub struct Committed {
    /// The subjects of the commits.
    pub subjects: Vec<String>,
    /// Whether commits wait to be pushed.
    pub is_unpushed: bool,
    /// Why a change, or all of them, waits.
    pub error: Option<VersionError>,
}

/// Where commits go.
#[derive(Debug, Clone, Default)]
pub struct Pushing {
    /// The address that the user's configuration names.
    pub remote: Option<String>,
    /// Whether earlier commits wait.
    pub is_unpushed: bool,
}

/// Makes a repository of the directory, if it is none, and has changes committed from now on.
pub async fn begin(personal: &Personal, remote: Option<&str>) -> Result<(), VersionError> {
    let (root, stopping) = (personal.root(), CancellationToken::new());
    // The files of git are as private as those that they keep.
    private_file::own_dir(root).map_err(file_error(root))?;
    if Repository::open(root, &stopping).await?.is_none() {
        Repository::init(root, &stopping).await?;
    }
    let ignored = root.join(".gitignore");
    if ignored.symlink_metadata().is_err() {
        private_file::replace(&ignored, IGNORED.as_bytes()).map_err(file_error(&ignored))?;
    }
    personal.commit_changes()?;
    let pushing = Pushing { remote: remote.map(str::to_owned), is_unpushed: false };
    match commit(personal, pushing, &stopping).await.error {
        // A daemon or a gateway commits the same changes.
        None | Some(VersionError::Busy) => Ok(()),
        Some(error) => Err(error),
    }
}

/// A remote that only the settings in the directory name.
#[derive(Debug, Error)]
#[error(
    "nothing is pushed: macrodata.json names the remote `{0}`, but that file may come from elsewhere; set `git_remote` to \
     its address under [personal] in your muninn.toml"
)]
pub struct UnconfirmedRemote(String);

/// The remote that the settings in the directory name, if the user's configuration names none.
pub fn unconfirmed_remote(personal: &Personal, remote: Option<&str>) -> Option<UnconfirmedRemote> {
    let settings = personal.settings().ok().filter(|_| remote.is_none())?;
    settings.git.remote.map(UnconfirmedRemote)
}

/// Why a repository of the directory is not used; `None` if it is, or if there is none.
pub async fn problem(personal: &Personal) -> Option<VersionError> {
    Repository::open(personal.root(), &CancellationToken::new()).await.err()
}

/// Commits what has changed, and pushes it if the user's configuration names a remote. Nothing happens unless the settings in
/// the directory ask for it, and while the repository is in the middle of a merge or the like.
pub async fn commit(personal: &Personal, pushing: Pushing, stopping: &CancellationToken) -> Committed {
    let mut committed = Committed { is_unpushed: pushing.is_unpushed, ..Committed::default() };
    let pushed = commit_and_push(personal, pushing.remote.as_deref(), stopping, &mut committed).await;
    if let Err(error) = pushed {
        committed.error.get_or_insert(error);
    }
    committed
}

async fn commit_and_push(
    personal: &Personal,
    remote: Option<&str>,
    stopping: &CancellationToken,
    committed: &mut Committed,
) -> Result<(), VersionError> {
    let settings = personal.settings()?.git;
    let repository = if settings.enabled && settings.auto_commit {
        Repository::open(personal.root(), stopping).await?
    } else {
        None
    };
    let Some(repository) = repository else {
        committed.is_unpushed = false;
        return Ok(());
    };
    if repository.directory().join("index.lock").exists() {
        return Err(VersionError::Busy);
    }
    let is_there = |name: &&&str| repository.directory().join(name).exists();
    if let Some(name) = UNDER_WAY.iter().find(is_there) {
        return Err(VersionError::UnderWay(name));
    }
    let head = changes::head(&repository).await?;
    let changed = changes::changes(personal.root(), &repository, head.as_deref()).await?;
    if !changed.is_empty() {
        committed.subjects = write(&repository, head.as_deref(), &changed).await?;
    }
    let Some(remote) = remote else {
        committed.is_unpushed = false;
        return Ok(());
    };
    committed.is_unpushed |= !committed.subjects.is_empty();
    if committed.is_unpushed {
        if is_inside(personal.root(), remote) {
            return Err(VersionError::RemoteInside(remote.to_owned()));
        }
        let arguments = ["--quiet", "--no-verify", "--recurse-submodules=no", "--", remote, "HEAD"];
        repository.run("push", &arguments, "").await?;
        committed.is_unpushed = false;
    }
    Ok(())
}

/// Writes a commit for each change, or one for many. Returns their subjects.
async fn write(
    repository: &Repository<'_>,
    head: Option<&str>,
    changes: &[Change],
) -> Result<Vec<String>, VersionError> {
    let together = changes.len() > MOST_CHANGES;
    let commits: Vec<(String, &[Change])> = if together {
        vec![(format!("Update {} files", changes.len()), changes)]
    } else {
        changes.chunks(1).map(|change| (change[0].subject(), change)).collect()
    };
    let author = repository.ident("GIT_AUTHOR_IDENT").await?;
    let committer = repository.ident("GIT_COMMITTER_IDENT").await?;
    let mut stream = String::new();
    for (number, (subject, changes)) in commits.iter().enumerate() {
        let length = subject.len();
        stream.push_str(&format!("commit HEAD\nauthor {author}\ncommitter {committer}\ndata {length}\n{subject}\n"));
        if let Some(head) = head.filter(|_| number == 0) {
            stream.push_str(&format!("from {head}\n"));
        }
        changes.iter().for_each(|change| stream.push_str(&change.command()));
        stream.push('\n');
    }
    // The index first: it is what a person's own `git status` compares with, and what another git may hold.
    let none = "0".repeat(head.map_or(0, str::len));
    let entries: String = changes.iter().map(|change| change.index_entry(&none)).collect();
    let index = repository.update_index(&entries).await;
    if index.is_err() && repository.directory().join("index.lock").exists() {
        return Err(VersionError::Busy);
    }
    index?;
    let written = repository.run("fast-import", &["--quiet"], &stream).await;
    if written.is_err() && changes::head(repository).await?.as_deref() != head {
        return Err(VersionError::Busy);
    }
    written?;
    // Packing is for later times; the commits are there.
    if let Err(error) = repository.run("gc", &["--auto", "--quiet"], "").await {
        tracing::debug!("personal memory is not packed: {error}");
    }
    Ok(commits.into_iter().map(|(subject, _)| subject).collect())
}

/// Whether a remote is a path below the directory: a push to it runs the programs of its configuration.
fn is_inside(root: &Path, remote: &str) -> bool {
    let path = remote.strip_prefix("file://").unwrap_or(remote);
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(Path::new(path)).starts_with(real(root))
}
