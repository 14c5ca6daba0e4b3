//! Reads notify's events. Runs on notify's thread, and must not block.

use std::path::Path;
use std::sync::Arc;

use muninn_base::RelPath;
use notify::Event;
use notify::event::{AccessKind, AccessMode, CreateKind, EventKind, ModifyKind};

use super::WatchError;
use super::shared::{Shared, State};

/// Files that determine which files git ignores.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// The event handler.
pub(super) struct Events(pub(super) Arc<Shared>);

impl notify::EventHandler for Events {
    fn handle_event(&mut self, event: notify::Result<Event>) {
        let shared = &self.0;
        match event {
            Err(error) => shared.fail(WatchError::Broken { source: Box::new(error) }),
            Ok(event) if event.need_rescan() => shared.update(State::reset),
            Ok(event) => {
                if let Some(kind) = Kind::of(event.kind) {
                    event.paths.iter().for_each(|path| note(shared, path, kind));
                }
            }
        }
    }
}

/// The meaning of an event for a directory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A file was created or its content changed.
    Content,
    /// An entry was added, removed, or changed its permissions.
    Structure,
}

impl Kind {
    /// Returns the meaning of an event; `None` if nothing changed. Most events report reads by this process or by
    /// others.
    fn of(kind: EventKind) -> Option<Self> {
        match kind {
            // Writes through a memory map are noticed when the file is closed.
            EventKind::Access(AccessKind::Close(AccessMode::Write))
            | EventKind::Modify(ModifyKind::Data(_))
            | EventKind::Create(CreateKind::File) => Some(Self::Content),
            EventKind::Access(_) => None,
            _ => Some(Self::Structure),
        }
    }
}

fn note(shared: &Shared, path: &Path, kind: Kind) {
    // The directory of the marks may be in the watched one.
    if path.parent() == Some(&shared.lock().marks) {
        return mark(shared, path);
    }
    if let Some(in_git) = in_common_dir(shared, path) {
        if in_git == Path::new("info") && kind == Kind::Structure || in_git == Path::new("info/exclude") {
            shared.update(State::reset);
        }
        return;
    }
    let Ok(relative) = path.strip_prefix(shared.scope.root()) else {
        return mark(shared, path);
    };
    if relative.as_os_str().is_empty() {
        return root_changed(shared, kind);
    }
    if relative.ends_with(".git") {
        return repository_appeared(shared, relative);
    }
    // Names that are not UTF-8 are ignored.
    if let Some(relative) = RelPath::from_relative(relative) {
        inside(shared, path, relative, kind);
    }
}

fn in_common_dir<'p>(shared: &Shared, path: &'p Path) -> Option<&'p Path> {
    path.strip_prefix(shared.scope.common_dir()?).ok()
}

fn mark(shared: &Shared, path: &Path) {
    let number = path.file_name().and_then(|name| name.to_str()?.parse().ok());
    if let Some(number) = number {
        shared.update(|state| {
            if path.parent() == Some(&state.marks) {
                state.reach(number);
            }
        });
    }
}

fn root_changed(shared: &Shared, kind: Kind) {
    let root = shared.scope.root();
    if !root.is_dir() {
        let root = root.to_owned();
        shared.fail(WatchError::Gone { root });
    } else if kind == Kind::Structure {
        shared.update(State::reset);
    }
}

/// A directory with a `.git` directory, or a linked worktree's `.git` file, is another repository.
fn repository_appeared(shared: &Shared, git: &Path) {
    let Some(directory) = git.parent().and_then(RelPath::from_relative) else {
        return;
    };
    shared.update(|state| {
        if state.directories.contains(&directory) {
            state.reset();
        }
    });
}

fn inside(shared: &Shared, path: &Path, relative: RelPath, kind: Kind) {
    let is_directory = kind == Kind::Structure && path.symlink_metadata().is_ok_and(|found| found.is_dir());
    let mut state = shared.lock();
    let parent = relative.parent();
    if shared.scope.leaves_out(&relative) || parent.is_some_and(|parent| !state.directories.contains(&parent)) {
        return;
    }
    if IGNORE_FILES.contains(&relative.file_name()) {
        drop(state);
        return shared.update(State::reset);
    }
    if kind == Kind::Structure {
        state.forget(&relative);
    }
    if !is_directory {
        return state.see(relative);
    }
    drop(state);
    shared.update(|state| {
        state.see(relative.clone());
        state.look_below(relative);
    });
}
