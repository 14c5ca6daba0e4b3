//! The queue of those who write to the ledger: threads and processes alike.
//!
//! SQLite's write lock is not fair. A waiting connection polls for it, at intervals that grow to 100 ms, while a durable
//! commit takes milliseconds and the gap between two commits of a busy process takes microseconds. Beside such a process
//! a connection waits past any busy timeout, although no single transaction is long. So a writer queues here before it
//! begins a transaction.
//!
//! Two file locks make the queue. A writer holds `queue` while it waits for `turn`, and `turn` while it writes. Whoever
//! has just written has to get `queue` again first, and so stands behind the one that waits.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

use muninn_memory::private_file;

/// How often a waiting writer looks: short against a commit.
const POLL: Duration = Duration::from_micros(500);

/// One writer's place in the queue. Each writer has its own: a lock belongs to an open file.
pub(super) struct WriteQueue {
    queue: Option<File>,
    turn: Option<File>,
}

/// The right to write, until it is dropped.
pub(super) struct WriteTurn<'q>(&'q WriteQueue);

impl WriteQueue {
    /// A directory in which no files can be made has no queue, and no database that could be written either.
    pub(super) fn open(directory: &Path) -> WriteQueue {
        let open = |name| private_file::append(&directory.join(name)).ok();
        WriteQueue {
            queue: open("state.queue.lock"),
            turn: open("state.turn.lock"),
        }
    }

    /// Waits for this writer's turn; `None` where it does not come in time.
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

/// On a file system without locks the queue lets everybody through, and SQLite's own lock is what is left.
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
        // Closing the file releases it as well.
        let _not_locked = file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiting_writer_gets_the_turn_before_the_one_that_has_just_written() {
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
            // The second waits as soon as `queue` is taken.
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
    fn a_turn_that_does_not_come_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (WriteQueue::open(folder.path()), WriteQueue::open(folder.path()));
        let turn = first.wait(Instant::now()).unwrap();
        assert!(second.wait(Instant::now()).is_none());
        drop(turn);
        assert!(second.wait(Instant::now()).is_some());
    }
}
