//! What is remembered, as fresh as the disk.
//!
//! Memory is corrected by hand and changes with a checkout, so a change counts at once: by its words, for vectors may take
//! longer than a question can wait, and the next look through the worktree makes them. A large memory is read again by a
//! thread of its own. A question that cannot wait for that sees what is still so, and nothing of another branch.

use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Weak};
use std::time::Instant;

use muninn_memory::Memories;
use muninn_memory::records::RecordFile;

use super::{Engine, State};

/// A question waits for memory for at most this share of its time.
const SHARE: u32 = 2;

/// That a thread reads memory again, until this is dropped: also where that panics, or there is no thread to be had.
struct Reloading(Arc<Engine>);

impl Reloading {
    /// `None` while another is at it.
    fn begin(engine: &Arc<Engine>) -> Option<Self> {
        let is_busy = engine.reloading.swap(true, Ordering::AcqRel);
        (!is_busy).then(|| Self(Arc::clone(engine)))
    }
}

impl Drop for Reloading {
    fn drop(&mut self) {
        self.0.reloading.store(false, Ordering::Release);
    }
}

impl Engine {
    /// All that is remembered here, as it is now, to be recalled from by words and by meaning.
    pub fn current_memories(&self) -> Arc<Memories> {
        self.memories_with_vectors(&self.state())
    }

    /// The memory as it is now, as far as it can be had by `deadline`.
    pub(super) fn memories(&self, state: &State, deadline: Instant) -> Arc<Memories> {
        let files = self.record_files();
        match &state.memories {
            Some(memories) if memories.is_current(&self.home, &files) => Arc::clone(memories),
            Some(memories) if memories.is_large() => {
                let now = Instant::now();
                let until = now + deadline.saturating_duration_since(now) / SHARE;
                self.reload_beside(until)
                    .unwrap_or_else(|| Arc::new(memories.only(&files)))
            }
            None => self.load_first(files, deadline),
            _ => self.put_in_place(Memories::load_from(&self.home, &files, None, None)),
        }
    }

    /// The memory as it is now, with vectors.
    pub(super) fn memories_with_vectors(&self, state: &State) -> Arc<Memories> {
        let files = self.record_files();
        let embedder = self.vectors().map(|vectors| Arc::clone(vectors.embedder()));
        let id = embedder.as_ref().map(|embedder| embedder.id());
        // An embedder that fails would fail again, after all of memory was read for it.
        let is_down = embedder.as_ref().is_some_and(|embedder| embedder.problem().is_some());
        match &state.memories {
            Some(memories) if memories.is_current(&self.home, &files) && (is_down || memories.embedder_id() == id) => {
                Arc::clone(memories)
            }
            _ => {
                let cache = self.settings.cache_dir.as_deref();
                self.put_in_place(Memories::load_from(&self.home, &files, embedder, cache))
            }
        }
    }

    fn record_files(&self) -> Vec<RecordFile> {
        match &self.settings.memory {
            Some(store) => store.files(),
            None => RecordFile::of_team(&self.home),
        }
    }

    /// Memory where none was read yet, if it can be read in time; else the first refresh reads it for the next question.
    fn load_first(&self, files: Vec<RecordFile>, deadline: Instant) -> Arc<Memories> {
        let home = self.home.clone();
        let (done, wait) = sync_channel(1);
        let read = move || {
            let _nobody_waits = done.send(Memories::load_from(&home, &files, None, None));
        };
        if let Err(error) = self.settings.supervisor.run("recall", read) {
            tracing::warn!(%error, "memory is not read");
        }
        let now = Instant::now();
        let time = deadline.saturating_duration_since(now) / SHARE;
        wait.recv_timeout(time)
            .map_or_else(|_| Arc::default(), |memories| self.put_in_place(memories))
    }

    fn put_in_place(&self, memories: Memories) -> Arc<Memories> {
        let memories = Arc::new(memories);
        self.update(|state| state.memories = Some(Arc::clone(&memories)));
        memories
    }

    /// Has memory read again by a thread, and waits for it as long as there is time.
    fn reload_beside(&self, until: Instant) -> Option<Arc<Memories>> {
        let engine = self.itself.get().and_then(Weak::upgrade)?;
        let reloading = Reloading::begin(&engine)?;
        let (done, wait) = sync_channel(1);
        let supervisor = self.settings.supervisor.clone();
        let spawned = supervisor.run("recall", move || {
            let memories = engine.memories_with_vectors(&engine.state());
            drop(reloading);
            let _nobody_waits = done.send(memories);
        });
        if let Err(error) = spawned {
            tracing::warn!(%error, "memory is not read again");
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
    fn whoever_panics_while_memory_is_read_leaves_the_next_to_read_it() {
        let engine = Arc::new(Repo::with(&[]).engine());
        let read = catch_unwind(AssertUnwindSafe(|| {
            let _reloading = Reloading::begin(&engine).unwrap();
            assert!(Reloading::begin(&engine).is_none(), "one at a time");
            panic!("while it is read");
        }));
        assert!(read.is_err());
        assert!(Reloading::begin(&engine).is_some());
    }
}
