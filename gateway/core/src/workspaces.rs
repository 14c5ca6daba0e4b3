//! The open worktrees of one gateway: the served one, and others that requests claim.
//!
//! A claim is a directory named in a header, in metadata or in text, and is not trusted. Its symbolic links are resolved.
//! It is served only if it lies in a worktree whose root is inside the `roots` of the user's configuration and inside the
//! roots of the caller's key. Every other claim is treated as missing. A program of the user on this machine has a root of
//! its own, which only its own requests may use.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use muninn_base::Supervisor;
use muninn_config::Config;
use parking_lot::{Mutex, MutexGuard};
use thiserror::Error;

use super::Workspace;
use super::embedder::ConfiguredEmbedder;

/// Worktrees besides the served one that are open at a time; each holds an index in memory. Beyond this number the least
/// recently used one is closed, and opened again from its cache when a request next claims it.
pub const MOST_OPEN: usize = 8;

/// The worktree that a request works in, as far as it is served.
#[derive(Clone)]
pub enum Location {
    /// An open worktree.
    Open(Arc<Workspace>),
    /// The canonical root of a worktree that may be opened.
    Closed(PathBuf),
    /// The root of a worktree that the caller's key does not allow.
    Forbidden(PathBuf),
    /// A directory outside of all served roots.
    Outside,
}

impl Location {
    /// The root of the worktree, where there is one.
    pub fn root(&self) -> Option<&Path> {
        match self {
            Location::Open(workspace) => Some(&workspace.root),
            Location::Closed(root) | Location::Forbidden(root) => Some(root),
            Location::Outside => None,
        }
    }
}

/// Why a worktree is not opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The directory is no git repository, or one that cannot be read.
    #[error("{0}")]
    NoRepository(String),
    /// git's configuration places the files in another directory.
    #[error("git places the worktree of {} in {}, which the request did not claim", root.display(), worktree.display())]
    Elsewhere {
        /// The claimed root.
        root: PathBuf,
        /// The directory of its files.
        worktree: PathBuf,
    },
    /// A reload removed it from `roots`.
    #[error("{} is no longer inside `roots`", .0.display())]
    NotAllowed(PathBuf),
}

/// The registry of open worktrees. Only [`Workspaces::open`] blocks: it reads files.
pub struct Workspaces {
    served: Arc<Workspace>,
    state_dir: PathBuf,
    supervisor: Supervisor,
    inner: Mutex<Inner>,
    /// A lock for each worktree that is being opened.
    opening: Mutex<HashMap<PathBuf, Arc<tokio::sync::Mutex<()>>>>,
}

struct Inner {
    config: Arc<Config>,
    embedder: Arc<ConfiguredEmbedder>,
    /// Least recently used first.
    open: VecDeque<Arc<Workspace>>,
}

impl Workspaces {
    /// A registry with the served worktree only.
    pub fn new(served: Arc<Workspace>, config: &Config, state_dir: &Path, supervisor: &Supervisor) -> Workspaces {
        let embedder = served.embedder();
        Workspaces {
            served,
            state_dir: state_dir.to_owned(),
            supervisor: supervisor.clone(),
            inner: Mutex::new(Inner { config: Arc::new(config.clone()), embedder, open: VecDeque::new() }),
            opening: Mutex::default(),
        }
    }

    /// Finds the worktree of a request: the served one if a claimed directory lies in it or none is claimed, else the
    /// first claimed one that may be served. `own` is the root of a program of the user, and `may_use` says whether the
    /// caller may use a root.
    pub fn locate(&self, claimed: &[String], own: Option<&Path>, may_use: &dyn Fn(&Path) -> bool) -> Location {
        let roots: Vec<_> = claimed.iter().filter_map(|claim| self.root_of(claim, own)).collect();
        let is_served = |root: &PathBuf| *root == self.served.root;
        let root = match roots.iter().find(|root| is_served(root)).or(roots.first()) {
            Some(root) => root,
            None if claimed.is_empty() => &self.served.root,
            None => return Location::Outside,
        };
        if !may_use(root) {
            return Location::Forbidden(root.clone());
        }
        self.get(root).map_or_else(|| Location::Closed(root.clone()), Location::Open)
    }

    /// The root of the worktree that a claimed directory lies in, if it is or may be served.
    pub fn root_of(&self, claim: &str, own: Option<&Path>) -> Option<PathBuf> {
        let claim = Path::new(claim);
        // Nearly every claim is the root of an open worktree, which needs no file system access. The worktree of another
        // program may be open too.
        if self.is_permitted(claim, own) && self.get(claim).is_some() {
            return Some(claim.to_owned());
        }
        self.root_at(claim).filter(|root| self.is_permitted(root, own))
    }

    /// The root of the worktree that a directory lies in, whether it is served or not.
    pub fn root_at(&self, claim: &Path) -> Option<PathBuf> {
        // A relative path would be resolved against the gateway's working directory.
        if !claim.is_absolute() {
            return None;
        }
        let real = claim.canonicalize().ok()?;
        if self.served.owns(&real) {
            return Some(self.served.root.clone());
        }
        let root = real.ancestors().find(|folder| folder.join(".git").exists())?;
        let in_git =
            real.strip_prefix(root).is_ok_and(|inside| inside.iter().any(|part| part.eq_ignore_ascii_case(".git")));
        (!in_git).then(|| root.to_owned())
    }

    fn is_permitted(&self, root: &Path, own: Option<&Path>) -> bool {
        root == self.served.root || own == Some(root) || is_allowed(&self.lock().config, root)
    }

    /// Opens the worktree at a root that [`Self::locate`] returned, unless it is open by now. Blocks: it reads files. Its
    /// index is empty at first; [`Self::due`] says when to refresh it.
    ///
    /// # Errors
    /// [`OpenError`] where the root is no worktree, or one whose files are elsewhere.
    pub fn open(&self, root: &Path, own: Option<&Path>) -> Result<Arc<Workspace>, OpenError> {
        if let Some(workspace) = self.get(root) {
            return Ok(workspace);
        }
        let (config, embedder) = {
            let inner = self.lock();
            (Arc::clone(&inner.config), Arc::clone(&inner.embedder))
        };
        let clock = self.served.clock().clone();
        let owners = (&self.supervisor, &embedder);
        let workspace = Workspace::supervised(root, &config, &self.state_dir, clock, owners);
        if let Some(problem) = workspace.problem {
            return Err(OpenError::NoRepository(problem));
        }
        if workspace.root != root {
            return Err(OpenError::Elsewhere { root: root.to_owned(), worktree: workspace.root });
        }
        let mut inner = self.lock();
        if own != Some(root) && !is_allowed(&inner.config, root) {
            return Err(OpenError::NotAllowed(root.to_owned()));
        }
        if let Some(other) = inner.open.iter().find(|other| other.root == root) {
            return Ok(Arc::clone(other));
        }
        let workspace = Arc::new(workspace);
        inner.open.push_back(Arc::clone(&workspace));
        tracing::info!("opened the worktree {}", root.display());
        if inner.open.len() > MOST_OPEN
            && let Some(closed) = inner.open.pop_front()
        {
            tracing::info!(
                "closed the worktree {}: the {MOST_OPEN} others were used more recently",
                closed.root.display()
            );
        }
        Ok(workspace)
    }

    /// The lock of opening a worktree: one thread opens it, however many requests wait. A file system that hangs would
    /// otherwise take a thread for each of them.
    pub(super) fn opening(&self, root: &Path) -> Arc<tokio::sync::Mutex<()>> {
        let mut opening = self.opening.lock();
        opening.retain(|_, lock| Arc::strong_count(lock) > 1);
        Arc::clone(opening.entry(root.to_owned()).or_default())
    }

    /// The worktree of this root, if it is open and due for a refresh.
    pub fn due(&self, root: &Path) -> Option<Arc<Workspace>> {
        self.get(root).filter(|workspace| workspace.is_due())
    }

    /// The worktree of this root, if it is open.
    pub fn opened(&self, root: &Path) -> Option<Arc<Workspace>> {
        self.get(root)
    }

    /// All open worktrees, the served one first.
    pub fn all(&self) -> Vec<Arc<Workspace>> {
        let inner = self.lock();
        std::iter::once(&self.served).chain(&inner.open).cloned().collect()
    }

    /// Applies a reloaded configuration: worktrees outside of its `roots` are closed, the others get its settings.
    pub fn reload(&self, config: &Config) {
        let mut inner = self.lock();
        inner.config = Arc::new(config.clone());
        inner.embedder = inner.embedder.reloaded(config);
        let embedder = Arc::clone(&inner.embedder);
        inner.open.retain(|workspace| is_allowed(config, &workspace.root));
        drop(inner);
        for workspace in self.all() {
            workspace.reload(config, &embedder);
        }
    }

    /// The longest time that a prompt waits for a worktree to open.
    pub fn open_timeout(&self) -> std::time::Duration {
        self.lock().config.context.deadline
    }

    /// Looks an open worktree up by its root and marks it as used.
    fn get(&self, root: &Path) -> Option<Arc<Workspace>> {
        if root == self.served.root {
            return Some(Arc::clone(&self.served));
        }
        let mut inner = self.lock();
        let at = inner.open.iter().position(|workspace| workspace.root == root)?;
        let workspace = inner.open.remove(at)?;
        inner.open.push_back(Arc::clone(&workspace));
        Some(workspace)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }
}

/// Whether the user's `roots` include a worktree. Both sides are canonical. The worktree's root must lie inside, not just
/// the claimed directory, because all of a worktree can be read.
fn is_allowed(config: &Config, root: &Path) -> bool {
    config.roots.iter().any(|allowed| root.starts_with(allowed))
}

#[cfg(test)]
mod tests {
    use muninn_base::Clock;

    use super::*;
    use muninn_config::{Overrides, load};

    struct Home {
        folder: tempfile::TempDir,
    }

    impl Home {
        fn new() -> Home {
            Home { folder: tempfile::tempdir().unwrap() }
        }

        fn repository(&self, name: &str) -> PathBuf {
            let root = self.folder.path().join(name);
            std::fs::create_dir_all(root.join("src")).unwrap();
            muninn_tests::git(&root, &["init", "--quiet"]).unwrap();
            root.canonicalize().unwrap()
        }

        fn config(&self, roots: &[&str]) -> Config {
            let file = self.folder.path().join("muninn.toml");
            let roots: Vec<_> = roots.iter().map(|root| self.folder.path().join(root)).collect();
            std::fs::write(&file, format!("roots = {roots:?}\n")).unwrap();
            load(&Overrides { config: Some(file), listen: None }).unwrap()
        }

        fn serving(&self, root: &Path, roots: &[&str]) -> Workspaces {
            let config = self.config(roots);
            let state = self.folder.path().join("state");
            let served = Arc::new(Workspace::open(root, &config, &state, Clock::system()));
            Workspaces::new(served, &config, &state, &Supervisor::default())
        }
    }

    fn shown(place: &Location) -> String {
        match place {
            Location::Open(workspace) => format!("open {}", workspace.root.display()),
            Location::Closed(root) => format!("unopened {}", root.display()),
            Location::Forbidden(root) => format!("forbidden {}", root.display()),
            Location::Outside => "outside".to_owned(),
        }
    }

    fn locate(repositories: &Workspaces, claims: &[&Path]) -> String {
        let claims: Vec<_> = claims.iter().map(|claim| claim.display().to_string()).collect();
        shown(&repositories.locate(&claims, None, &|_| true))
    }

    #[test]
    fn only_worktrees_inside_the_roots_are_served() {
        let home = Home::new();
        let (served, other, outside) =
            (home.repository("served"), home.repository("code/other"), home.repository("private/x"));
        let repositories = home.serving(&served, &["code"]);
        let unopened = format!("unopened {}", other.display());
        assert_eq!(locate(&repositories, &[]), format!("open {}", served.display()));
        assert_eq!(locate(&repositories, &[&served.join("src")]), format!("open {}", served.display()));
        assert_eq!(locate(&repositories, &[&other]), unopened);
        assert_eq!(locate(&repositories, &[&other.join("src/../src")]), unopened);
        assert_eq!(locate(&repositories, &[&outside, &other]), unopened);
        assert_eq!(locate(&repositories, &[&other, &served]), format!("open {}", served.display()));
        for claim in [
            outside.as_path(),
            &other.join("../../private/x"),
            &other.join(".git"),
            &other.join("gone"),
            &home.folder.path().join("code"),
            Path::new("src"),
            Path::new(""),
        ] {
            assert_eq!(locate(&repositories, &[claim]), "outside", "{}", claim.display());
        }
    }

    #[test]
    fn worktree_of_a_local_program_is_open_to_that_program_only() {
        let home = Home::new();
        let (served, own, other) =
            (home.repository("served"), home.repository("private/own"), home.repository("private/other"));
        let repositories = home.serving(&served, &[]);
        let locate_as = |claim: &Path, own: Option<&Path>| {
            let claims = [claim.display().to_string()];
            shown(&repositories.locate(&claims, own, &|_| true))
        };
        let root = repositories.root_at(&own.join("src")).unwrap();
        assert_eq!(root, own);
        assert!(repositories.open(&own, None).is_err());
        let opened = repositories.open(&own, Some(&root)).unwrap();
        assert_eq!(opened.root, own);
        let open = format!("open {}", own.display());
        assert_eq!(locate_as(&own, Some(&root)), open);
        assert_eq!(locate_as(&own.join("src"), Some(&root)), open);
        assert_eq!(locate_as(&other, Some(&root)), "outside");
        assert_eq!(locate_as(&own, None), "outside", "another caller may not use the open worktree");
        assert_eq!(locate_as(&own.join("src"), None), "outside");
    }

    #[test]
    fn root_below_a_worktree_does_not_open_the_worktree() {
        let home = Home::new();
        let served = home.repository("served");
        let wide = home.repository("wide");
        let repositories = home.serving(&served, &["wide/src"]);
        assert_eq!(locate(&repositories, &[&wide.join("src")]), "outside");
    }

    #[cfg(unix)]
    #[test]
    fn symbolic_links_are_resolved_before_the_roots_are_checked() {
        let home = Home::new();
        let (served, outside) = (home.repository("served"), home.repository("private/x"));
        let other = home.repository("code/other");
        std::os::unix::fs::symlink(&outside, home.folder.path().join("code/link")).unwrap();
        std::os::unix::fs::symlink(&other, home.folder.path().join("short")).unwrap();
        let repositories = home.serving(&served, &["code"]);
        assert_eq!(locate(&repositories, &[&home.folder.path().join("code/link")]), "outside");
        let in_roots = locate(&repositories, &[&home.folder.path().join("short")]);
        assert_eq!(in_roots, format!("unopened {}", other.display()));
    }

    #[test]
    fn worktree_setting_of_git_cannot_redirect() {
        let home = Home::new();
        let (served, hostile) = (home.repository("served"), home.repository("code/hostile"));
        let target = home.folder.path().join("private");
        std::fs::create_dir(&target).unwrap();
        let config = hostile.join(".git/config");
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, format!("{text}\tworktree = {}\n", target.display())).unwrap();
        let repositories = home.serving(&served, &["code"]);
        match repositories.locate(&[hostile.display().to_string()], None, &|_| true) {
            Location::Closed(root) => assert!(repositories.open(&root, None).is_err()),
            other => panic!("{}", shown(&other)),
        }
        assert_eq!(repositories.all().len(), 1);
    }

    #[test]
    fn key_opens_only_its_own_roots() {
        let home = Home::new();
        let (served, other) = (home.repository("served"), home.repository("code/other"));
        let repositories = home.serving(&served, &["code"]);
        let claims = [other.display().to_string()];
        let place = repositories.locate(&claims, None, &|root| root != other);
        assert_eq!(shown(&place), format!("forbidden {}", other.display()));
        let place = repositories.locate(&[], None, &|root| root == other);
        assert_eq!(shown(&place), format!("forbidden {}", served.display()));
    }

    #[test]
    fn least_recently_used_worktree_is_closed() {
        let home = Home::new();
        let served = home.repository("served");
        let roots: Vec<_> = (0..=MOST_OPEN).map(|number| home.repository(&format!("code/{number}"))).collect();
        let repositories = home.serving(&served, &["code"]);
        for root in &roots[..MOST_OPEN] {
            repositories.open(root, None).unwrap();
        }
        assert!(repositories.get(&roots[0]).is_some(), "used again");
        repositories.open(&roots[MOST_OPEN], None).unwrap();
        let open: Vec<_> = repositories.all().iter().map(|open| open.root.clone()).collect();
        assert_eq!(open.len(), MOST_OPEN + 1);
        assert!(open.contains(&roots[0]) && !open.contains(&roots[1]));
    }

    #[test]
    fn reload_closes_worktrees_outside_the_roots() {
        let home = Home::new();
        let (served, other) = (home.repository("served"), home.repository("code/other"));
        std::fs::create_dir(home.folder.path().join("else")).unwrap();
        let repositories = home.serving(&served, &["code"]);
        repositories.open(&other, None).unwrap();
        repositories.reload(&home.config(&["else"]));
        assert_eq!(repositories.all().len(), 1);
        assert_eq!(locate(&repositories, &[&other]), "outside");
        assert!(repositories.open(&other, None).is_err());
    }
}
