//! Keeping the loaded memory up to date with the disk.
//!
//! Memory files are edited by hand and change with a checkout. A changed memory is used for the next question. At
//! first, a changed memory is found by its words only, because vectors take longer than a question can wait. The next
//! refresh makes the vectors. A background thread reloads a large memory. A question that cannot wait for the reload
//! sees those of the loaded records that are still current. It sees no records of another branch.

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use muninn_base::with_causes;
use muninn_recall::{KeptAndChanged, Memories, MemorySources};
use muninn_team::Store;
use muninn_team::records::RecordFile;

use super::{Engine, State};

/// A question waits for memory for at most this fraction (one divided by this number) of its time.
const WAIT_DIVISOR: u32 = 2;

/// The time in which a caller that waits for memory has vectors made. A transformer makes about a hundred in a second.
const EMBEDDING: Duration = Duration::from_secs(3);

/// The time after which vectors that a background thread makes are used.
const SLICE: Duration = Duration::from_secs(20);

/// Marks that a thread reloads the memory. Dropping the guard removes the mark, also after a panic or if the thread
/// cannot be started.
struct ReloadGuard(Arc<Engine>);

impl ReloadGuard {
    /// Returns `None` if another thread is reloading the memory.
    fn begin(engine: &Arc<Engine>) -> Option<Self> {
        let is_busy = engine.reloading.swap(true, Ordering::AcqRel);
        (!is_busy).then(|| Self(Arc::clone(engine)))
    }
}

impl Drop for ReloadGuard {
    fn drop(&mut self) {
        self.0.reloading.store(false, Ordering::Release);
    }
}

impl Engine {
    /// Returns the current memory with vectors.
    pub fn current_memories(&self) -> Arc<Memories> {
        self.memories_with_vectors(&self.state())
    }

    /// The memory as it was read last, by this process or an earlier one, and what has changed since.
    pub(super) fn kept_and_changed_memories(&self) -> Option<KeptAndChanged> {
        let cache = self.settings.cache_dir.as_deref();
        let kept = || Some(Arc::new(Memories::kept(&self.home, self.encoder(), cache?)?));
        let read = self.state().memories.or_else(kept)?;
        read.and_changed(&self.home, &self.memory_sources())
    }

    /// Returns the current memory. If loading it takes longer than `deadline`, returns the part that is already loaded.
    pub(super) fn memories(&self, state: &State, deadline: Instant) -> Arc<Memories> {
        let sources = self.memory_sources();
        match &state.memories {
            Some(memories) if memories.is_current(&self.home, &sources) => Arc::clone(memories),
            Some(memories) if memories.is_large() => {
                let now = Instant::now();
                let until = now + deadline.saturating_duration_since(now) / WAIT_DIVISOR;
                self.reload_in_background(until).unwrap_or_else(|| Arc::new(memories.only(&sources.records)))
            }
            None => self.load_first(sources, deadline),
            _ => self.store_memories(Memories::load_from(&self.home, &sources, None, None)),
        }
    }

    /// Returns the memory of the current record files, with the vectors that are made in [`EMBEDDING`]. [`Engine::embed`] makes
    /// the rest.
    pub(super) fn memories_with_vectors(&self, state: &State) -> Arc<Memories> {
        let until = Instant::now() + EMBEDDING;
        self.embedded_memories(state, false, &|_, _| Instant::now() < until)
    }

    /// Returns the memory of the current record files, with the vectors that are made while `go_on` returns `true`. With
    /// `continues`, more vectors are made for a memory that is loaded.
    pub(super) fn embedded_memories(
        &self,
        state: &State,
        continues: bool,
        go_on: &dyn Fn(usize, usize) -> bool,
    ) -> Arc<Memories> {
        let sources = self.memory_sources();
        let embedder = self.encoder();
        let id = embedder.as_ref().map(|embedder| embedder.id());
        // If the embedder has failed, the memory is not read for it, because the embedder would fail again.
        let is_down = embedder.as_ref().is_some_and(|embedder| embedder.problem().is_some());
        match &state.memories {
            Some(memories)
                if memories.is_current(&self.home, &sources)
                    && (is_down || memories.embedder_id() == id && !(continues && memories.unembedded() > 0)) =>
            {
                Arc::clone(memories)
            }
            _ => {
                let cache = self.settings.cache_dir.as_deref();
                self.store_memories(Memories::load_while(go_on, &self.home, &sources, embedder, cache))
            }
        }
    }

    /// Makes all vectors of the memory, in slices after each of which questions use what is made so far.
    pub(super) fn embed_memories(&self, go_on: &dyn Fn(usize, usize) -> bool) {
        let mut left = usize::MAX;
        loop {
            let until = Instant::now() + SLICE;
            let is_wanted = Cell::new(true);
            let memories = self.embedded_memories(&self.state(), true, &|done, all| {
                is_wanted.set(go_on(done, all));
                is_wanted.get() && Instant::now() < until
            });
            // An embedder that fails meanwhile makes no vector; the next change of a file tries again.
            if memories.unembedded() == 0 || memories.unembedded() >= left || !is_wanted.get() {
                return;
            }
            left = memories.unembedded();
        }
    }

    fn memory_sources(&self) -> MemorySources {
        let of_team = || RecordFile::of_team(&self.home);
        let (records, unread) = match self.settings.memory.as_ref().map(Store::files) {
            Some(Ok(files)) => (files, None),
            Some(Err(error)) => (of_team(), Some(format!("only main memory is read: {}", with_causes(&error)))),
            None => (of_team(), None),
        };
        MemorySources { records, journal: self.settings.journal.clone(), wiki: self.settings.wiki.clone(), unread }
    }

    /// Loads the memory for the first time if loading ends by `deadline`. Otherwise, the first refresh loads it for the
    /// next question.
    fn load_first(&self, sources: MemorySources, deadline: Instant) -> Arc<Memories> {
        let home = self.home.clone();
        let (done, wait) = sync_channel(1);
        let read = move || {
            // The send fails if the question no longer waits for it.
            done.send(Memories::load_from(&home, &sources, None, None)).ok();
        };
        if let Err(error) = self.settings.supervisor.run("recall", read) {
            tracing::warn!(%error, "cannot start a thread to read memory");
        }
        let now = Instant::now();
        let time = deadline.saturating_duration_since(now) / WAIT_DIVISOR;
        wait.recv_timeout(time).map_or_else(|_| Arc::default(), |memories| self.store_memories(memories))
    }

    fn store_memories(&self, memories: Memories) -> Arc<Memories> {
        let memories = Arc::new(memories);
        self.update(|state| state.memories = Some(Arc::clone(&memories)));
        memories
    }

    /// Starts a thread that reloads the memory, and waits for the thread until `until`.
    fn reload_in_background(&self, until: Instant) -> Option<Arc<Memories>> {
        let engine = self.itself.get().and_then(Weak::upgrade)?;
        let reloading = ReloadGuard::begin(&engine)?;
        let (done, wait) = sync_channel(1);
        let supervisor = self.settings.supervisor.clone();
        let spawned = supervisor.run("recall", move || {
            let memories = engine.memories_with_vectors(&engine.state());
            drop(reloading);
            // The send fails if the question no longer waits for it.
            done.send(memories).ok();
        });
        if let Err(error) = spawned {
            tracing::warn!(%error, "cannot start a thread to reload memory");
            return None;
        }
        wait.recv_timeout(until.saturating_duration_since(Instant::now())).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::tests::Repo;

    #[test]
    fn a_panic_during_a_reload_allows_the_next_reload() {
        let engine = Arc::new(Repo::with(&[]).engine());
        let read = catch_unwind(AssertUnwindSafe(|| {
            let _guard = ReloadGuard::begin(&engine).unwrap();
            assert!(ReloadGuard::begin(&engine).is_none(), "one at a time");
            panic!("during the reload");
        }));
        assert!(read.is_err());
        assert!(ReloadGuard::begin(&engine).is_some());
    }
}
