//! Keeping the index up to date while questions come in.
//!
//! Before each question, the file events of the watcher are processed ([`Engine::catch_up`]). After an edit, only the
//! edited file is read. A background thread handles changes that take longer, such as a checkout of a thousand files or
//! a walk over a large worktree. A question waits for this thread as long as its deadline allows. After that, it is
//! answered from the current index. Packing reads every file again, so an answer can miss new text but never shows old
//! text. Without a watcher, each question walks the worktree or waits for a background thread that walks it.

use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use muninn_watch::{Changes, Scope, Watcher};

use super::Engine;

/// A question waits for the index for at most this fraction (one divided by this number) of its time.
const WAIT_DIVISOR: u32 = 2;
/// Maximum time to wait for pending file events. Events usually arrive much sooner.
const SETTLE: Duration = Duration::from_millis(20);
/// Maximum number of changed paths that the question's own thread reads.
const MAX_PATHS: usize = 200;
/// Delay before changes are read. Changes arrive in bursts.
const DEBOUNCE: Duration = Duration::from_millis(50);

impl Engine {
    /// Watches the worktree, and keeps the index up to date in the background until the engine is dropped. A second
    /// call does nothing. Without this method, only [`Engine::refresh`] and questions update the index.
    pub fn watch(self: &Arc<Self>) {
        self.itself.get_or_init(|| Arc::downgrade(self));
        let mut first = None;
        self.watcher.get_or_init(|| {
            let home = self.settings.cache_dir.as_deref();
            let started =
                Watcher::start(Scope::Worktree(self.worktree.clone()), home, &self.settings.supervisor).map(Arc::new);
            match started {
                Ok(watcher) => {
                    first = Some(Arc::clone(&watcher));
                    Some(watcher)
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot watch the worktree; it is walked before each question");
                    None
                }
            }
        });
        let Some(watcher) = first else { return };
        let engine = Arc::downgrade(self);
        let supervisor = &self.settings.supervisor;
        let spawned = supervisor.keep("index", move || keep_up(&engine, &watcher));
        if let Err(error) = spawned {
            tracing::warn!(%error, "cannot start the index thread; only questions update the index");
        }
    }

    /// Stops the watcher that [`Engine::watch`] started. The watcher cannot be restarted.
    pub fn stop_watching(&self) {
        if let Some(Some(watcher)) = self.watcher.get() {
            watcher.stop();
        }
    }

    /// Returns whether the worktree is being watched.
    pub fn is_watching(&self) -> bool {
        let watcher = self.watcher.get().and_then(Option::as_ref);
        watcher.is_some_and(|watcher| watcher.wait_ready(Duration::ZERO))
    }

    /// Brings the index up to date with the disk, as far as `deadline` allows.
    pub fn catch_up(&self, deadline: Instant) {
        let Some(watcher) = self.watcher.get() else { return };
        if self.state().snapshot.is_none() {
            return;
        }
        let now = Instant::now();
        let until = now + deadline.saturating_duration_since(now) / WAIT_DIVISOR;
        let Some(mut indexer) = self.indexer.try_lock_until(until) else {
            return;
        };
        // Questions that waited for the lock together need one catch-up.
        if self.caught_up.lock().is_some_and(|began| began >= now) {
            return;
        }
        let began = Instant::now();
        let (is_settled, changes) = watcher.as_ref().map_or((true, Changes::Everything), |watcher| {
            (watcher.settle(SETTLE.min(until.saturating_duration_since(began))), watcher.changes())
        });
        let is_read = match changes {
            Changes::None => true,
            Changes::Paths(paths) if paths.len() <= MAX_PATHS => {
                let state = self.state();
                let last = state.snapshot.unwrap_or_default();
                self.publish(indexer.refresh_at(&self.worktree, &last, &paths).snapshot);
                true
            }
            Changes::Paths(_) | Changes::Everything => {
                if Instant::now() + self.last_walk() <= until {
                    // The error is ignored, because packing finds that the worktree is missing.
                    self.refresh_all(&mut indexer, &()).is_ok()
                } else if let Some(watcher) = watcher.as_ref().filter(|watcher| watcher.failure().is_none()) {
                    watcher.put_back();
                    drop(indexer);
                    // The background thread holds the indexer while it takes the changes. So locking the indexer waits
                    // until the thread has read them.
                    if watcher.wait_taken(until) {
                        drop(self.indexer.try_lock_until(until));
                    }
                    return;
                } else {
                    drop(indexer);
                    return self.refresh_in_background(until);
                }
            }
        };
        if is_settled && is_read {
            *self.caught_up.lock() = Some(began);
        }
    }

    /// Starts a thread that walks the worktree, for an engine without a watcher, and waits for the thread until
    /// `until`. If the walk takes longer, its result is used for the next question.
    fn refresh_in_background(&self, until: Instant) {
        let Some(engine) = self.itself.get().and_then(Weak::upgrade) else {
            return;
        };
        if self.walking.swap(true, Ordering::AcqRel) {
            return;
        }
        let (done, wait) = sync_channel(1);
        let spawned = self.settings.supervisor.clone().run("look", move || {
            let mut indexer = engine.indexer.lock();
            // From now on, a question finds the indexer locked. A change that happens after this line needs another
            // walk.
            engine.walking.store(false, Ordering::Release);
            engine.refresh_all(&mut indexer, &()).ok();
            drop(indexer);
            // The send fails if the question no longer waits for it.
            done.send(()).ok();
            engine.memories_with_vectors(&engine.state());
        });
        match spawned {
            Ok(_) => {
                wait.recv_timeout(until.saturating_duration_since(Instant::now())).ok();
            }
            Err(error) => {
                self.walking.store(false, Ordering::Release);
                tracing::warn!(%error, "cannot start a thread to walk the worktree");
            }
        }
    }
}

/// Updates the index after each change, until the engine is dropped or the watcher ends.
fn keep_up(engine: &Weak<Engine>, watcher: &Watcher) {
    while watcher.wait() {
        std::thread::sleep(DEBOUNCE);
        let Some(engine) = engine.upgrade() else { return };
        let mut indexer = engine.indexer.lock();
        match watcher.changes() {
            Changes::None => continue,
            Changes::Paths(paths) => {
                let last = engine.state().snapshot.unwrap_or_default();
                engine.publish(indexer.refresh_at(&engine.worktree, &last, &paths).snapshot);
            }
            Changes::Everything => {
                engine.refresh_all(&mut indexer, &()).ok();
            }
        }
        drop(indexer);
        let notes = engine.read_history();
        notes.iter().for_each(|note| tracing::debug!("{note}"));
        let filled = engine.embed(&|| true, &|_, _| ());
        filled.notes.iter().for_each(|note| tracing::warn!("{note}"));
    }
    if let Some(error) = watcher.failure() {
        tracing::warn!(%error, "watching the worktree failed; it is walked before each question");
    }
}
