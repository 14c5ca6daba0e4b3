//! The worktrees of one gateway: the served one always, and others as requests claim them.
//!
//! A claim comes from a header, from metadata or from text, and none of them is trusted: what it names is followed to
//! where it really lies, and is served only if that is a worktree whose root lies inside the `roots` of the user's
//! configuration, and inside what the caller's key may see. Whatever else it names is as good as not there.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use muninn_repo_tools::Supervisor;
use thiserror::Error;

use super::Workspace;
use super::embedder::ConfiguredEmbedder;
use crate::config::Config;

/// Worktrees besides the served one that are open at a time; each holds an index in memory. One more, and the one that
/// was used least recently goes. It is opened again when it is next asked for, from its cache.
pub const MOST_OPEN: usize = 8;

/// Where a request works, as far as that is served.
#[derive(Clone)]
pub enum Place {
    /// In a worktree that is open.
    Open(Arc<Workspace>),
    /// In one that may be opened: its root, canonical.
    Unopened(PathBuf),
    /// In one that is served, but not to this caller: its root.
    Forbidden(PathBuf),
    /// Outside of everything that is served.
    Outside,
}

impl Place {
    /// The root of the worktree, where there is one.
    #[must_use]
    pub fn root(&self) -> Option<&Path> {
        match self {
            Place::Open(workspace) => Some(&workspace.root),
            Place::Unopened(root) | Place::Forbidden(root) => Some(root),
            Place::Outside => None,
        }
    }
}

/// Why a worktree is not opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The directory is no git repository, or one that cannot be read.
    #[error("{0}")]
    NoRepository(String),
    /// git's own configuration says that the files are elsewhere.
    #[error("the worktree of {} is {}, which was not asked for", root.display(), worktree.display())]
    Elsewhere {
        /// What was to be opened.
        root: PathBuf,
        /// Where its files are.
        worktree: PathBuf,
    },
    /// The configuration no longer allows it.
    #[error("{} is no longer inside `roots`", .0.display())]
    NotAllowed(PathBuf),
}

/// The registry. All methods are short but for [`Workspaces::open`], which reads files.
pub struct Workspaces {
    served: Arc<Workspace>,
    state_dir: PathBuf,
    supervisor: Supervisor,
    inner: Mutex<Inner>,
}

struct Inner {
    config: Arc<Config>,
    embedder: Arc<ConfiguredEmbedder>,
    /// Least recently used first.
    open: VecDeque<Arc<Workspace>>,
}

impl Workspaces {
    /// With the served worktree only.
    #[must_use]
    pub fn new(served: Arc<Workspace>, config: &Config, state_dir: &Path, supervisor: &Supervisor) -> Workspaces {
        let embedder = served.embedder();
        Workspaces {
            served,
            state_dir: state_dir.to_owned(),
            supervisor: supervisor.clone(),
            inner: Mutex::new(Inner {
                config: Arc::new(config.clone()),
                embedder,
                open: VecDeque::new(),
            }),
        }
    }

    /// Finds where a request works: the served worktree if any of the claimed directories lies in it or none is claimed,
    /// else the first that may be served. `may_use` is asked about the worktree's root.
    #[must_use]
    pub fn locate(&self, claimed: &[String], may_use: &dyn Fn(&Path) -> bool) -> Place {
        let roots: Vec<_> = claimed.iter().filter_map(|claim| self.root_of(claim)).collect();
        let is_served = |root: &PathBuf| *root == self.served.root;
        let root = match roots.iter().find(|root| is_served(root)).or(roots.first()) {
            Some(root) => root,
            None if claimed.is_empty() => &self.served.root,
            None => return Place::Outside,
        };
        if !may_use(root) {
            return Place::Forbidden(root.clone());
        }
        self.get(root)
            .map_or_else(|| Place::Unopened(root.clone()), Place::Open)
    }

    /// The root of the worktree that a claimed directory lies in, where that is one which is or may be served.
    #[must_use]
    pub fn root_of(&self, claim: &str) -> Option<PathBuf> {
        let claim = Path::new(claim);
        // Nearly every claim is a root itself, and then there is no need to ask the file system.
        if self.get(claim).is_some() {
            return Some(claim.to_owned());
        }
        // A relative one would be taken from wherever the gateway was started.
        if !claim.is_absolute() {
            return None;
        }
        let real = claim.canonicalize().ok()?;
        if self.served.owns(&real) {
            return Some(self.served.root.clone());
        }
        let root = real.ancestors().find(|folder| folder.join(".git").exists())?;
        let in_git = real
            .strip_prefix(root)
            .is_ok_and(|inside| inside.iter().any(|part| part.eq_ignore_ascii_case(".git")));
        let config = Arc::clone(&self.lock().config);
        (!in_git && is_allowed(&config, root)).then(|| root.to_owned())
    }

    /// Opens the worktree at a root that [`Self::locate`] gave, unless it is open by now. Reads files, so it is for a
    /// thread that may take its time. Its index is empty at first; [`Self::due`] says when to look at it.
    ///
    /// # Errors
    /// [`OpenError`] where it is no worktree after all, or turns out to be one of another place.
    pub fn open(&self, root: &Path) -> Result<Arc<Workspace>, OpenError> {
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
            return Err(OpenError::Elsewhere {
                root: root.to_owned(),
                worktree: workspace.root,
            });
        }
        let mut inner = self.lock();
        if !is_allowed(&inner.config, root) {
            return Err(OpenError::NotAllowed(root.to_owned()));
        }
        if let Some(other) = inner.open.iter().find(|other| other.root == root) {
            return Ok(Arc::clone(other));
        }
        let workspace = Arc::new(workspace);
        inner.open.push_back(Arc::clone(&workspace));
        tracing::info!("serving the worktree {} as well", root.display());
        if inner.open.len() > MOST_OPEN
            && let Some(gone) = inner.open.pop_front()
        {
            tracing::info!(
                "no longer holding the worktree {}: {MOST_OPEN} others are in use",
                gone.root.display()
            );
        }
        Ok(workspace)
    }

    /// The worktree of this root, if it is open and it is time to look at it again.
    #[must_use]
    pub fn due(&self, root: &Path) -> Option<Arc<Workspace>> {
        self.get(root).filter(|workspace| workspace.is_due())
    }

    /// The worktree of this root, if it is open.
    #[must_use]
    pub fn opened(&self, root: &Path) -> Option<Arc<Workspace>> {
        self.get(root)
    }

    /// All that are open, the served one first.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Workspace>> {
        let inner = self.lock();
        std::iter::once(&self.served).chain(&inner.open).cloned().collect()
    }

    /// Puts a configuration that was read again in force: worktrees outside of its `roots` go, the others get its
    /// settings under their own.
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

    /// How long opening may keep a request waiting.
    #[must_use]
    pub fn patience(&self) -> std::time::Duration {
        self.lock().config.context.deadline
    }

    /// An open worktree by its root; it counts as used.
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
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the user lets this worktree be served. Both sides are canonical. It is the root that has to lie inside, not
/// what was claimed: all of a worktree can be read, not a part of it.
fn is_allowed(config: &Config, root: &Path) -> bool {
    config.roots.iter().any(|allowed| root.starts_with(allowed))
}

#[cfg(test)]
mod tests {
    use muninn_memory::Clock;

    use super::*;
    use crate::config::{Overrides, load};

    struct Home {
        folder: tempfile::TempDir,
    }

    impl Home {
        fn new() -> Home {
            Home {
                folder: tempfile::tempdir().unwrap(),
            }
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
            load(&Overrides {
                config: Some(file),
                listen: None,
            })
            .unwrap()
        }

        fn serving(&self, root: &Path, roots: &[&str]) -> Workspaces {
            let config = self.config(roots);
            let state = self.folder.path().join("state");
            let served = Arc::new(Workspace::open(root, &config, &state, Clock::system()));
            Workspaces::new(served, &config, &state, &Supervisor::default())
        }
    }

    fn shown(place: &Place) -> String {
        match place {
            Place::Open(workspace) => format!("open {}", workspace.root.display()),
            Place::Unopened(root) => format!("unopened {}", root.display()),
            Place::Forbidden(root) => format!("forbidden {}", root.display()),
            Place::Outside => "outside".to_owned(),
        }
    }

    fn locate(repositories: &Workspaces, claims: &[&Path]) -> String {
        let claims: Vec<_> = claims.iter().map(|claim| claim.display().to_string()).collect();
        shown(&repositories.locate(&claims, &|_| true))
    }

    #[test]
    fn only_what_lies_inside_the_roots_is_served() {
        let home = Home::new();
        let (served, other, outside) = (
            home.repository("served"),
            home.repository("code/other"),
            home.repository("private/x"),
        );
        let repositories = home.serving(&served, &["code"]);
        let unopened = format!("unopened {}", other.display());
        assert_eq!(locate(&repositories, &[]), format!("open {}", served.display()));
        assert_eq!(
            locate(&repositories, &[&served.join("src")]),
            format!("open {}", served.display())
        );
        assert_eq!(locate(&repositories, &[&other]), unopened);
        assert_eq!(locate(&repositories, &[&other.join("src/../src")]), unopened);
        assert_eq!(locate(&repositories, &[&outside, &other]), unopened);
        assert_eq!(
            locate(&repositories, &[&other, &served]),
            format!("open {}", served.display())
        );
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
    fn a_root_inside_a_worktree_does_not_open_all_of_it() {
        let home = Home::new();
        let served = home.repository("served");
        let wide = home.repository("wide");
        let repositories = home.serving(&served, &["wide/src"]);
        assert_eq!(locate(&repositories, &[&wide.join("src")]), "outside");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_before_anything_is_decided() {
        let home = Home::new();
        let (served, outside) = (home.repository("served"), home.repository("private/x"));
        let other = home.repository("code/other");
        std::os::unix::fs::symlink(&outside, home.folder.path().join("code/link")).unwrap();
        std::os::unix::fs::symlink(&other, home.folder.path().join("short")).unwrap();
        let repositories = home.serving(&served, &["code"]);
        assert_eq!(
            locate(&repositories, &[&home.folder.path().join("code/link")]),
            "outside"
        );
        let in_roots = locate(&repositories, &[&home.folder.path().join("short")]);
        assert_eq!(in_roots, format!("unopened {}", other.display()));
    }

    #[test]
    fn gits_own_configuration_leads_nowhere_else() {
        let home = Home::new();
        let (served, hostile) = (home.repository("served"), home.repository("code/hostile"));
        let target = home.folder.path().join("private");
        std::fs::create_dir(&target).unwrap();
        let config = hostile.join(".git/config");
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, format!("{text}\tworktree = {}\n", target.display())).unwrap();
        let repositories = home.serving(&served, &["code"]);
        match repositories.locate(&[hostile.display().to_string()], &|_| true) {
            Place::Unopened(root) => assert!(repositories.open(&root).is_err()),
            other => panic!("{}", shown(&other)),
        }
        assert_eq!(repositories.all().len(), 1);
    }

    #[test]
    fn a_key_opens_only_its_own() {
        let home = Home::new();
        let (served, other) = (home.repository("served"), home.repository("code/other"));
        let repositories = home.serving(&served, &["code"]);
        let claims = [other.display().to_string()];
        let place = repositories.locate(&claims, &|root| root != other);
        assert_eq!(shown(&place), format!("forbidden {}", other.display()));
        let place = repositories.locate(&[], &|root| root == other);
        assert_eq!(shown(&place), format!("forbidden {}", served.display()));
    }

    #[test]
    fn the_least_recently_used_one_goes() {
        let home = Home::new();
        let served = home.repository("served");
        let roots: Vec<_> = (0..=MOST_OPEN)
            .map(|number| home.repository(&format!("code/{number}")))
            .collect();
        let repositories = home.serving(&served, &["code"]);
        for root in &roots[..MOST_OPEN] {
            repositories.open(root).unwrap();
        }
        assert!(repositories.get(&roots[0]).is_some(), "used again");
        repositories.open(&roots[MOST_OPEN]).unwrap();
        let open: Vec<_> = repositories.all().iter().map(|open| open.root.clone()).collect();
        assert_eq!(open.len(), MOST_OPEN + 1);
        assert!(open.contains(&roots[0]) && !open.contains(&roots[1]));
    }

    #[test]
    fn reading_the_configuration_again_closes_what_it_no_longer_allows() {
        let home = Home::new();
        let (served, other) = (home.repository("served"), home.repository("code/other"));
        std::fs::create_dir(home.folder.path().join("else")).unwrap();
        let repositories = home.serving(&served, &["code"]);
        repositories.open(&other).unwrap();
        repositories.reload(&home.config(&["else"]));
        assert_eq!(repositories.all().len(), 1);
        assert_eq!(locate(&repositories, &[&other]), "outside");
        assert!(repositories.open(&other).is_err());
    }
}
