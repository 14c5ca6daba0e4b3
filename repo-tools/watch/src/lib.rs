//! Watches a worktree, or a folder of pages, for changes, through the operating system.
//!
//! Every change is a hint: a reported file can be unchanged or ignored, but a changed file is never missed. If this
//! cannot be guaranteed, the result is [`Changes::Everything`], and the caller must walk the worktree. There are four
//! such cases: watches are being set up; the system's queue overflowed; an ignore file changed, which changes the set
//! of watched directories; or the worktree cannot be watched at all.
//!
//! Each walked directory has its own watch, so `target/` and `node_modules/` cost nothing. On systems that can only
//! watch a whole tree, events in other directories are dropped.
//!
//! A watcher has two threads, which sleep until an event arrives. notify's thread reads events and records paths
//! (`events.rs`). The thread of `setter.rs` sets watches. A new directory is reported twice: when its event arrives, and
//! when its watch is set. A walk below it after the second report finds everything that was created before.
//!
//! Not reported: writes through a memory map before the file is closed, writes through a hard link elsewhere, a nested
//! repository that ceases to be one, and changes by other machines on a shared file system (which is refused if
//! recognised).

mod change;
mod events;
mod folder;
mod marks;
mod setter;
mod shared;
#[cfg(target_os = "linux")]
mod shares;
mod watcher;
mod watching;

pub(crate) use change::MAX_PATHS;
pub use change::{Changes, Scope, WatchError};
pub use folder::WatchedFolder;
pub use watcher::Watcher;
