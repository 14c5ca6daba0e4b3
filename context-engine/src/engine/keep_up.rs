//! Keeping an index as fresh as the disk while questions come in.
//!
//! What the system tells of changes is looked at before each question ([`Engine::catch_up`]): an edit costs reading the
//! edited file. What takes longer, a checkout of a thousand files or a walk over a large worktree, is done by a thread of
//! its own as soon as it happens, and a question waits for it as long as it can. One that cannot is answered from the
//! index that there is: packing reads everything anew, so that it may miss what is new, and never shows what is old.
//! Where nothing is watched, each question has the worktree walked, by itself or by a thread of its own in the same way.

use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use muninn_memory::index::{Changes, Watcher};

use super::Engine;

/// A question waits for the index for at most this share of its time.
const SHARE: u32 = 2;
/// What the system has to tell arrives in far less.
const SETTLE: Duration = Duration::from_millis(20);
/// More changed paths than this are not for a question to look at.
const FEW: usize = 200;
/// Changes come in bursts, and one look at the end of it is enough.
const BURST: Duration = Duration::from_millis(50);

impl Engine {
    /// Begins to watch the worktree, and to keep the index up to date in the background for as long as the engine is in
    /// use. Does nothing the second time. Without it, the index is as it was at the last [`Engine::refresh`].
    pub fn watch(self: &Arc<Self>) {
        self.itself.get_or_init(|| Arc::downgrade(self));
        let mut first = None;
        self.watcher.get_or_init(|| {
            let home = self.settings.cache_dir.as_deref();
            let started = Watcher::start(&self.worktree, home, &self.settings.supervisor).map(Arc::new);
            match started {
                Ok(watcher) => {
                    first = Some(Arc::clone(&watcher));
                    Some(watcher)
                }
                Err(error) => {
                    tracing::warn!(%error, "the worktree is looked through before each question instead of being watched");
                    None
                }
            }
        });
        let Some(watcher) = first else { return };
        let engine = Arc::downgrade(self);
        let supervisor = &self.settings.supervisor;
        let spawned = supervisor.keep("index", move || keep_up(&engine, &watcher));
        if let Err(error) = spawned {
            tracing::warn!(%error, "the index is brought up to date by questions alone");
        }
    }

    /// Ends what [`Engine::watch`] began, for good.
    pub fn stop_watching(&self) {
        if let Some(Some(watcher)) = self.watcher.get() {
            watcher.stop();
        }
    }

    /// Whether the system tells of changes now.
    pub fn is_watching(&self) -> bool {
        let watcher = self.watcher.get().and_then(Option::as_ref);
        watcher.is_some_and(|watcher| watcher.wait_ready(Duration::ZERO))
    }

    /// Takes in what has changed on disk, as far as there is time for it.
    pub(super) fn catch_up(&self, deadline: Instant) {
        let Some(watcher) = self.watcher.get() else { return };
        if self.state().snapshot.is_none() {
            return;
        }
        let now = Instant::now();
        let until = now + deadline.saturating_duration_since(now) / SHARE;
        let Some(mut indexer) = self.indexer.try_lock_until(until) else {
            return;
        };
        let changes = watcher.as_ref().map_or(Changes::Everything, |watcher| {
            watcher.settle(SETTLE.min(until.saturating_duration_since(Instant::now())));
            watcher.changes()
        });
        match changes {
            Changes::None => {}
            Changes::Paths(paths) if paths.len() <= FEW => {
                let state = self.state();
                let last = state.snapshot.unwrap_or_default();
                self.publish(indexer.refresh_at(&self.worktree, &last, &paths).snapshot);
            }
            Changes::Paths(_) | Changes::Everything => {
                if Instant::now() + self.last_walk() <= until {
                    let _looked = self.look_through(&mut indexer, &());
                } else if let Some(watcher) = watcher.as_ref().filter(|watcher| watcher.failure().is_none()) {
                    watcher.put_back();
                    drop(indexer);
                    // The thread that keeps up takes it with the indexer in hand.
                    if watcher.wait_taken(until) {
                        let _indexer = self.indexer.try_lock_until(until);
                    }
                } else {
                    drop(indexer);
                    self.look_beside(until);
                }
            }
        }
    }

    /// Has the worktree looked through by another thread, where no one is told of changes, and waits for that as long as
    /// there is time. What is found later serves the next question.
    fn look_beside(&self, until: Instant) {
        let Some(engine) = self.itself.get().and_then(Weak::upgrade) else {
            return;
        };
        if self.looking.swap(true, Ordering::AcqRel) {
            return;
        }
        let (done, wait) = sync_channel(1);
        let spawned = self.settings.supervisor.clone().run("look", move || {
            let mut indexer = engine.indexer.lock();
            // From here on a question finds the indexer taken, and what is changed for it is looked for anew.
            engine.looking.store(false, Ordering::Release);
            let _looked = engine.look_through(&mut indexer, &());
            drop(indexer);
            let _nobody_waits = done.send(());
            engine.memories_with_vectors(&engine.state());
        });
        match spawned {
            Ok(_) => {
                let _in_time = wait.recv_timeout(until.saturating_duration_since(Instant::now()));
            }
            Err(error) => {
                self.looking.store(false, Ordering::Release);
                tracing::warn!(%error, "the worktree is not looked through");
            }
        }
    }
}

/// Looks whenever something happened, until the engine or the watching is over.
fn keep_up(engine: &Weak<Engine>, watcher: &Watcher) {
    while watcher.wait() {
        std::thread::sleep(BURST);
        let Some(engine) = engine.upgrade() else { return };
        let mut indexer = engine.indexer.lock();
        match watcher.changes() {
            Changes::None => continue,
            Changes::Paths(paths) => {
                let last = engine.state().snapshot.unwrap_or_default();
                engine.publish(indexer.refresh_at(&engine.worktree, &last, &paths).snapshot);
            }
            Changes::Everything => {
                let _looked = engine.look_through(&mut indexer, &());
            }
        }
        drop(indexer);
        let notes = engine.read_history();
        notes.iter().for_each(|note| tracing::debug!("{note}"));
        let filled = engine.embed(&|| true);
        filled.notes.iter().for_each(|note| tracing::warn!("{note}"));
    }
    if let Some(error) = watcher.failure() {
        tracing::warn!(%error, "the worktree is looked through before each question instead of being watched");
    }
}
