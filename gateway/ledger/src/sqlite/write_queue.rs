//! The queue of the ledger's writers: threads and processes.
//!
//! SQLite's write lock is not fair. A waiting connection polls for it at intervals that grow to 100 ms. A durable
//! commit takes milliseconds, and a busy process pauses microseconds between two commits. A second process then waits
//! longer than any busy timeout, although every transaction is short. So a writer queues here before it begins a
//! transaction.
//!
//! The queue is two file locks. A writer holds `queue` while it waits for `turn`, and holds `turn` while it writes. A
//! writer that has just written must acquire `queue` again, so a waiting writer is served first.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

use muninn_base::private_file;

/// Polling interval of a waiting writer; short compared to a commit.
const POLL: Duration = Duration::from_micros(500);

/// One writer's handles of the lock files. Each writer needs its own, because a lock belongs to an open file.
pub(super) struct WriteQueue {
    queue: Option<File>,
    turn: Option<File>,
}

/// The right to write. Dropping it releases the turn.
pub(super) struct WriteTurn<'q>(&'q WriteQueue);

impl WriteQueue {
    /// Opens the lock files of a directory. Without them writers do not queue; a directory that refuses them has no
    /// writable database either.
    pub(super) fn open(directory: &Path) -> WriteQueue {
        let open = |name| private_file::append(&directory.join(name)).ok();
        WriteQueue { queue: open("state.queue.lock"), turn: open("state.turn.lock") }
    }

    /// Waits for this writer's turn; `None` after the deadline.
    pub(super) fn wait(&self, until: Instant) -> Option<WriteTurn<'_>> {
        if !acquire(self.queue.as_ref(), until) {
            return None;
        }
        let has_turn = acquire(self.turn.as_ref(), until);
        release(self.queue.as_ref());
        has_turn.then_some(WriteTurn(self))
    }
}

impl Drop for WriteTurn<'_> {
    fn drop(&mut self) {
        release(self.0.turn.as_ref());
    }
}

/// Tries to lock a file until the deadline, and returns whether the writer can go on. On a file system without locks
/// every writer can, and only SQLite's own lock remains.
fn acquire(file: Option<&File>, until: Instant) -> bool {
    let Some(file) = file else { return true };
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(POLL),
            Err(TryLockError::WouldBlock) => return false,
            Ok(()) | Err(TryLockError::Error(_)) => return true,
        }
    }
}

fn release(file: Option<&File>) {
    if let Some(file) = file {
        // Closing the file releases the lock too.
        file.unlock().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_writer_precedes_the_one_that_has_just_written() {
        let folder = tempfile::tempdir().unwrap();
        let long = || Instant::now() + Duration::from_secs(30);
        let (first, second) = (WriteQueue::open(folder.path()), WriteQueue::open(folder.path()));
        let turn = first.wait(long()).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let turn = second.wait(long());
                let seen_by_first = first.wait(Instant::now()).is_none();
                drop(turn);
                seen_by_first
            });
            // The second writer waits once `queue` is locked.
            let probe = WriteQueue::open(folder.path());
            while acquire(probe.queue.as_ref(), Instant::now()) {
                release(probe.queue.as_ref());
                std::thread::yield_now();
            }
            drop(turn);
            assert!(waiting.join().unwrap());
        });
    }

    #[test]
    fn wait_ends_at_the_deadline() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (WriteQueue::open(folder.path()), WriteQueue::open(folder.path()));
        let turn = first.wait(Instant::now()).unwrap();
        assert!(second.wait(Instant::now()).is_none());
        drop(turn);
        assert!(second.wait(Instant::now()).is_some());
    }
}
